package identity

import (
	"net/http"
	"slices"
	"strings"

	"isospin/internal/fault"
)

func (s *Service) showOfDomain(c *call, d *Domain) object {
	return object{
		"id": d.ID, "name": d.Name, "description": d.Description, "enabled": d.Enabled, "tags": []string{}, "options": object{},
		"links": s.self(c, "/domains/"+d.ID),
	}
}

func (s *Service) showOfProject(c *call, p *Project) object {
	tags := p.Tags
	if tags == nil {
		tags = []string{}
	}
	return object{
		"id": p.ID, "name": p.Name, "domain_id": p.DomainID, "parent_id": p.ParentID, "is_domain": false,
		"description": p.Description, "enabled": p.Enabled, "tags": tags, "options": object{}, "links": s.self(c, "/projects/"+p.ID),
	}
}

// fields are the attributes that domains, projects, users and roles may be given; nil: not given.
type fields struct {
	Name             *string   `json:"name"`
	DomainID         *string   `json:"domain_id"`
	ParentID         *string   `json:"parent_id"`
	Description      *string   `json:"description"`
	Enabled          *bool     `json:"enabled"`
	Tags             *[]string `json:"tags"`
	Email            *string   `json:"email"`
	DefaultProjectID *string   `json:"default_project_id"`
	Password         *string   `json:"password"`
	IsDomain         bool      `json:"is_domain"`
}

// checkName refuses names that cannot be; given false: the request may leave the name out.
func (f *fields) checkName(needed bool) error {
	if f.Name == nil {
		if needed {
			return bad("The attribute name is missing.")
		}
		return nil
	}
	if n := strings.TrimSpace(*f.Name); n == "" || len(*f.Name) > 255 {
		return bad("A name has 1 to 255 characters.")
	}
	return nil
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

func (s *Service) listDomains(c *call) (any, error) {
	var out []object
	for i := range c.st.snap.Domains {
		out = append(out, s.showOfDomain(c, &c.st.snap.Domains[i]))
	}
	return s.list(c, "domains", keep(c, out, "name", "enabled")), nil
}

func (s *Service) showDomain(c *call) (any, error) {
	id := c.PathValue("id")
	p := c.me.principal
	if !c.admin() && id != p.DomainID && id != p.ProjectDomainID && id != p.UserDomainID {
		return nil, forbidden()
	}
	d := c.st.domains[id]
	if d == nil {
		return nil, notFound("domain", id)
	}
	return object{"domain": s.showOfDomain(c, d)}, nil
}

func (s *Service) createDomain(c *call) (any, error) {
	in, err := read[fields](c, "domain")
	if err != nil {
		return nil, err
	}
	if err := in.checkName(true); err != nil {
		return nil, err
	}
	d := Domain{ID: s.newID(), Name: *in.Name, Enabled: true}
	set(&d.Description, in.Description)
	set(&d.Enabled, in.Enabled)
	err = s.update(func(st *state, next *Snapshot) error {
		if st.domainNames[d.Name] != nil {
			return conflict("There is a domain named %q already.", d.Name)
		}
		next.Domains = append(next.Domains, d)
		return nil
	})
	c.code = http.StatusCreated
	return object{"domain": s.showOfDomain(c, &d)}, err
}

func (s *Service) updateDomain(c *call) (any, error) {
	in, err := read[fields](c, "domain")
	if err != nil {
		return nil, err
	}
	if err := in.checkName(false); err != nil {
		return nil, err
	}
	id := c.PathValue("id")
	var out Domain
	err = s.update(func(st *state, _ *Snapshot) error {
		d := st.domains[id]
		if d == nil {
			return notFound("domain", id)
		}
		if in.Name != nil && st.domainNames[*in.Name] != nil && st.domainNames[*in.Name] != d {
			return conflict("There is a domain named %q already.", *in.Name)
		}
		set(&d.Name, in.Name)
		set(&d.Description, in.Description)
		set(&d.Enabled, in.Enabled)
		out = *d
		return nil
	})
	return object{"domain": s.showOfDomain(c, &out)}, err
}

func (s *Service) deleteDomain(c *call) (any, error) {
	id := c.PathValue("id")
	return nil, s.update(func(st *state, next *Snapshot) error {
		d := st.domains[id]
		switch {
		case d == nil:
			return notFound("domain", id)
		case d.Enabled:
			return fault.Newf(fault.Forbidden, "Forbidden", "A domain that is enabled cannot be deleted; disable it first.")
		}
		users, projects, roles := map[string]bool{}, map[string]bool{}, map[string]bool{}
		for _, u := range next.Users {
			users[u.ID] = u.DomainID == id
		}
		for _, p := range next.Projects {
			projects[p.ID] = p.DomainID == id
		}
		for _, r := range next.Roles {
			roles[r.ID] = r.DomainID == id
		}
		next.drop(func(a Assignment) bool {
			return users[a.UserID] || roles[a.RoleID] || projects[a.Scope.ProjectID] || a.Scope.DomainID == id
		})
		next.Users = slices.DeleteFunc(next.Users, func(u User) bool { return u.DomainID == id })
		next.Projects = slices.DeleteFunc(next.Projects, func(p Project) bool { return p.DomainID == id })
		next.Roles = slices.DeleteFunc(next.Roles, func(r Role) bool { return r.DomainID == id })
		next.Domains = slices.DeleteFunc(next.Domains, func(d Domain) bool { return d.ID == id })
		return nil
	})
}

func (s *Service) listProjects(c *call) (any, error) {
	var out []object
	for i := range c.st.snap.Projects {
		out = append(out, s.showOfProject(c, &c.st.snap.Projects[i]))
	}
	if c.URL.Query().Has("is_domain") && truth(c.URL.Query().Get("is_domain")) {
		out = nil
	}
	return s.list(c, "projects", keep(c, out, "name", "domain_id", "parent_id", "enabled")), nil
}

func (s *Service) showProject(c *call) (any, error) {
	id := c.PathValue("id")
	p := c.st.projects[id]
	if !c.admin() && (p == nil || !slices.Contains(c.st.projectsOf(c.me.claims.user), p)) {
		return nil, forbidden()
	}
	if p == nil {
		return nil, notFound("project", id)
	}
	return object{"project": s.showOfProject(c, p)}, nil
}

func (s *Service) createProject(c *call) (any, error) {
	in, err := read[fields](c, "project")
	if err != nil {
		return nil, err
	}
	if err := in.checkName(true); err != nil {
		return nil, err
	}
	if in.IsDomain {
		return nil, bad("A project that acts as a domain is made as a domain.")
	}
	p := Project{ID: s.newID(), Name: *in.Name, DomainID: c.ownDomain(), Enabled: true}
	set(&p.DomainID, in.DomainID)
	set(&p.Description, in.Description)
	set(&p.Enabled, in.Enabled)
	set(&p.Tags, in.Tags)
	err = s.update(func(st *state, next *Snapshot) error {
		p.ParentID = p.DomainID
		if in.ParentID != nil && *in.ParentID != "" {
			p.ParentID = *in.ParentID
		}
		parent := st.projects[p.ParentID]
		switch {
		case st.domains[p.DomainID] == nil:
			return notFound("domain", p.DomainID)
		case p.ParentID != p.DomainID && parent == nil:
			return notFound("project", p.ParentID)
		case parent != nil && parent.DomainID != p.DomainID:
			return bad("The parent project is in another domain.")
		case st.projNames[[2]string{p.DomainID, p.Name}] != nil:
			return conflict("There is a project named %q in the domain already.", p.Name)
		}
		next.Projects = append(next.Projects, p)
		return nil
	})
	c.code = http.StatusCreated
	return object{"project": s.showOfProject(c, &p)}, err
}

// ownDomain is where things go when the request names no domain: that of the token.
func (c *call) ownDomain() string {
	p := c.me.principal
	switch {
	case p.DomainID != "":
		return p.DomainID
	case p.ProjectDomainID != "":
		return p.ProjectDomainID
	}
	return DefaultDomain
}

func (s *Service) updateProject(c *call) (any, error) {
	in, err := read[fields](c, "project")
	if err != nil {
		return nil, err
	}
	if err := in.checkName(false); err != nil {
		return nil, err
	}
	id := c.PathValue("id")
	var out Project
	err = s.update(func(st *state, _ *Snapshot) error {
		p := st.projects[id]
		if p == nil {
			return notFound("project", id)
		}
		if in.DomainID != nil && *in.DomainID != p.DomainID || in.ParentID != nil && *in.ParentID != p.ParentID {
			return bad("A project stays in its domain and below its parent.")
		}
		if in.Name != nil {
			if q := st.projNames[[2]string{p.DomainID, *in.Name}]; q != nil && q != p {
				return conflict("There is a project named %q in the domain already.", *in.Name)
			}
		}
		set(&p.Name, in.Name)
		set(&p.Description, in.Description)
		set(&p.Enabled, in.Enabled)
		set(&p.Tags, in.Tags)
		out = *p
		return nil
	})
	return object{"project": s.showOfProject(c, &out)}, err
}

func (s *Service) deleteProject(c *call) (any, error) {
	id := c.PathValue("id")
	return nil, s.update(func(st *state, next *Snapshot) error {
		if st.projects[id] == nil {
			return notFound("project", id)
		}
		for _, p := range next.Projects {
			if p.ParentID == id {
				return fault.Newf(fault.Forbidden, "Forbidden", "The project has projects below it.")
			}
		}
		next.drop(func(a Assignment) bool { return a.Scope.ProjectID == id })
		next.Projects = slices.DeleteFunc(next.Projects, func(p Project) bool { return p.ID == id })
		return nil
	})
}
