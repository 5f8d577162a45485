package keystonetest

import (
	"context"
	"fmt"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/services"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"
)

// login opens the administrator's client.
func (k *Keystone) login(ctx context.Context) error {
	p, err := k.As(ctx, gophercloud.AuthOptions{Username: "admin", Password: k.AdminPassword, DomainID: "default", AllowReauth: true,
		Scope: &gophercloud.AuthScope{ProjectName: "admin", DomainID: "default"}})
	if err != nil {
		return err
	}
	k.admin, err = openstack.NewIdentityV3(p, gophercloud.EndpointOpts{Region: "RegionOne"})
	return err
}

// Admin is Keystone's API in the administrator's name.
func (k *Keystone) Admin() *gophercloud.ServiceClient { return k.admin }

// As logs somebody in.
func (k *Keystone) As(ctx context.Context, o gophercloud.AuthOptions) (*gophercloud.ProviderClient, error) {
	o.IdentityEndpoint = k.URL
	p, err := openstack.AuthenticatedClient(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("log in to Keystone: %w", err)
	}
	return p, nil
}

// InProject says how a user of domain default logs in to a project of that domain.
func InProject(user, password, project string) gophercloud.AuthOptions {
	return gophercloud.AuthOptions{Username: user, Password: password, DomainID: "default",
		Scope: &gophercloud.AuthScope{ProjectName: project, DomainID: "default"}}
}

// Env is the environment by which OpenStack's clients log in to a project.
func (k *Keystone) Env(user, password, project string) []string {
	return []string{"OS_AUTH_URL=" + k.URL, "OS_USERNAME=" + user, "OS_PASSWORD=" + password, "OS_PROJECT_NAME=" + project,
		"OS_USER_DOMAIN_ID=default", "OS_PROJECT_DOMAIN_ID=default", "OS_IDENTITY_API_VERSION=3", "OS_REGION_NAME=RegionOne"}
}

// Authtoken is the section [keystone_authtoken] of a service whose user this is, in the project service.
func (k *Keystone) Authtoken(user, password string) map[string]string {
	return map[string]string{"www_authenticate_uri": k.URL, "auth_url": k.URL, "auth_type": "password", "username": user, "password": password,
		"project_name": ServiceProject, "user_domain_id": "default", "project_domain_id": "default"}
}

// Project makes a project in domain default, or finds it, and gives its id.
func (k *Keystone) Project(ctx context.Context, name string) (string, error) {
	page, err := projects.List(k.admin, projects.ListOpts{Name: name, DomainID: "default"}).AllPages(ctx)
	if err != nil {
		return "", fmt.Errorf("list projects: %w", err)
	}
	if found, err := projects.ExtractProjects(page); err != nil || len(found) > 0 {
		if err != nil {
			return "", fmt.Errorf("read projects: %w", err)
		}
		return found[0].ID, nil
	}
	p, err := projects.Create(ctx, k.admin, projects.CreateOpts{Name: name, DomainID: "default"}).Extract()
	if err != nil {
		return "", fmt.Errorf("make project %s: %w", name, err)
	}
	return p.ID, nil
}

// Role makes a role, or finds it, and gives its id.
func (k *Keystone) Role(ctx context.Context, name string) (string, error) {
	page, err := roles.List(k.admin, roles.ListOpts{Name: name}).AllPages(ctx)
	if err != nil {
		return "", fmt.Errorf("list roles: %w", err)
	}
	if found, err := roles.ExtractRoles(page); err != nil || len(found) > 0 {
		if err != nil {
			return "", fmt.Errorf("read roles: %w", err)
		}
		return found[0].ID, nil
	}
	r, err := roles.Create(ctx, k.admin, roles.CreateOpts{Name: name}).Extract()
	if err != nil {
		return "", fmt.Errorf("make role %s: %w", name, err)
	}
	return r.ID, nil
}

// User makes a user in domain default with roles in a project, which are made as well where they are missing.
func (k *Keystone) User(ctx context.Context, name, password, project string, in ...string) (string, error) {
	where, err := k.Project(ctx, project)
	if err != nil {
		return "", err
	}
	u, err := users.Create(ctx, k.admin, users.CreateOpts{Name: name, Password: password, DomainID: "default"}).Extract()
	if err != nil {
		return "", fmt.Errorf("make user %s: %w", name, err)
	}
	for _, role := range in {
		if err := k.Grant(ctx, u.ID, role, roles.AssignOpts{ProjectID: where}); err != nil {
			return "", err
		}
	}
	return u.ID, nil
}

// Grant gives a user a role in a project or domain.
func (k *Keystone) Grant(ctx context.Context, user, role string, where roles.AssignOpts) error {
	id, err := k.Role(ctx, role)
	if err != nil {
		return err
	}
	where.UserID = user
	if err := roles.Assign(ctx, k.admin, id, where).ExtractErr(); err != nil {
		return fmt.Errorf("give the role %s: %w", role, err)
	}
	return nil
}

// Register puts a service with its address into the catalogue.
func (k *Keystone) Register(ctx context.Context, kind, name, url string) error {
	s, err := services.Create(ctx, k.admin, services.CreateOpts{Type: kind, Extra: map[string]any{"name": name}}).Extract()
	if err != nil {
		return fmt.Errorf("make service %s: %w", kind, err)
	}
	_, err = endpoints.Create(ctx, k.admin, endpoints.CreateOpts{Availability: gophercloud.AvailabilityPublic, Region: "RegionOne",
		URL: url, ServiceID: s.ID, Name: name}).Extract()
	if err != nil {
		return fmt.Errorf("make endpoint %s: %w", url, err)
	}
	return nil
}
