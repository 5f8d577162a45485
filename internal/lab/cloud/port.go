package cloud

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
)

// Port is what the lab needs to know of one.
type Port struct {
	ID         string         `json:"id"`
	Name       string         `json:"name"`
	Network    string         `json:"network_id"`
	MAC        string         `json:"mac_address"`
	Status     string         `json:"status"`
	Device     string         `json:"device_id"`
	Owner      string         `json:"device_owner"`
	FixedIPs   []FixedIP      `json:"fixed_ips"`
	Host       string         `json:"binding:host_id"`
	VIFType    string         `json:"binding:vif_type"`
	VIFDetails map[string]any `json:"binding:vif_details"`
}

// FixedIP is an address of a port.
type FixedIP struct {
	Subnet string     `json:"subnet_id"`
	IP     netip.Addr `json:"ip_address"`
}

// attributes is a body as it goes out; the binding attributes have no common shape in create and update.
type attributes map[string]any

// ToPortCreateMap is the body of a create.
func (a attributes) ToPortCreateMap() (map[string]any, error) { return map[string]any{"port": a}, nil }

// Plug is who asks for a port: a server of Nova's, on a host.
type Plug struct {
	Device, Host string
}

func (p Plug) attributes() attributes {
	return attributes{"device_id": p.Device, "device_owner": "compute:nova", "binding:host_id": p.Host}
}

// Create makes a port on a network for a project, bound in the same request, as Nova does for a server
// that was given a network.
func (c *Client) Create(ctx context.Context, n Network, name string, plug Plug) (Port, error) {
	body := plug.attributes()
	body["network_id"], body["name"], body["admin_state_up"] = n.ID, name, true
	if n.Project != "" {
		body["project_id"] = n.Project
	}
	var p Port
	if err := ports.Create(ctx, c.api, body).ExtractInto(&p); err != nil {
		return Port{}, fmt.Errorf("create port on network %s: %w", n.ID, err)
	}
	return p, nil
}

// Bind gives an existing port to a server.
func (c *Client) Bind(ctx context.Context, id string, plug Plug) (Port, error) {
	return c.update(ctx, id, plug.attributes())
}

// Unbind takes a port from its server, as Nova does with ports it did not make.
func (c *Client) Unbind(ctx context.Context, id string) error {
	_, err := c.update(ctx, id, attributes{"device_id": "", "device_owner": "", "binding:host_id": ""})
	if gone(err) {
		return nil
	}
	return err
}

// Move binds a port to another host by its host_id, as clouds without the bindings API do.
func (c *Client) Move(ctx context.Context, id, host string) (Port, error) {
	return c.update(ctx, id, attributes{"binding:host_id": host})
}

func (c *Client) update(ctx context.Context, id string, body attributes) (Port, error) {
	// gophercloud's update wants its options to be a struct, in which "not given" and "empty" are hard to
	// tell apart.
	var answer struct {
		Port Port `json:"port"`
	}
	_, err := c.api.Put(ctx, c.api.ServiceURL("ports", id), map[string]any{"port": body}, &answer, &gophercloud.RequestOpts{OkCodes: []int{200, 201}})
	if err != nil {
		return Port{}, fmt.Errorf("update port %s: %w", id, err)
	}
	return answer.Port, nil
}

// Port shows one.
func (c *Client) Port(ctx context.Context, id string) (Port, error) {
	var p Port
	if err := ports.Get(ctx, c.api, id).ExtractInto(&p); err != nil {
		return Port{}, fmt.Errorf("get port %s: %w", id, err)
	}
	return p, nil
}

// FindPort finds one by name or id.
func (c *Client) FindPort(ctx context.Context, ref string) (Port, error) {
	p, err := c.Port(ctx, ref)
	if !gone(err) {
		return p, err
	}
	found, err := c.list(ctx, ports.ListOpts{Name: ref})
	if err != nil {
		return Port{}, err
	}
	if len(found) == 0 {
		return Port{}, fmt.Errorf("no port is called %q", ref)
	}
	if len(found) != 1 {
		return Port{}, fmt.Errorf("%d ports are called %q: give the id", len(found), ref)
	}
	return found[0], nil
}

// Delete removes a port; a missing one is not an error.
func (c *Client) Delete(ctx context.Context, id string) error {
	if err := ports.Delete(ctx, c.api, id).ExtractErr(); err != nil && !gone(err) {
		return fmt.Errorf("delete port %s: %w", id, err)
	}
	return nil
}

func (c *Client) list(ctx context.Context, opts ports.ListOpts) ([]Port, error) {
	pages, err := ports.List(c.api, opts).AllPages(ctx)
	if err != nil {
		return nil, fmt.Errorf("list ports: %w", err)
	}
	var found []Port
	if err := ports.ExtractPortsInto(pages, &found); err != nil {
		return nil, fmt.Errorf("read ports: %w", err)
	}
	return found, nil
}

// Binding is one binding of a port.
type Binding struct {
	Host       string         `json:"host"`
	Status     string         `json:"status"`
	VIFType    string         `json:"vif_type"`
	VIFDetails map[string]any `json:"vif_details"`
}

// AddBinding makes an inactive binding to a host. False: the API has no bindings for this port.
func (c *Client) AddBinding(ctx context.Context, id, host string) (Binding, bool, error) {
	var body struct {
		Binding Binding `json:"binding"`
	}
	request := map[string]any{"binding": map[string]any{"host": host}}
	_, err := c.api.Post(ctx, c.bindings(id), request, &body, &gophercloud.RequestOpts{OkCodes: []int{200, 201}})
	switch {
	case gone(err):
		return Binding{}, false, nil
	case err != nil:
		return Binding{}, false, fmt.Errorf("bind port %s to host %s too: %w", id, host, err)
	}
	return body.Binding, true, nil
}

// WaitWired returns once a host that waits for a port could take it, as Nova waits for network-vif-plugged before a guest leaves. False: the
// API does not tell.
func (c *Client) WaitWired(ctx context.Context, id, host string, within time.Duration) (bool, error) {
	limit := time.NewTimer(within)
	defer limit.Stop()
	for pause := 2 * time.Millisecond; ; pause = min(pause*3/2, 50*time.Millisecond) {
		var why struct {
			Bindings []struct {
				Host  string `json:"host"`
				Wired bool   `json:"wired"`
			} `json:"bindings"`
			Entities []struct {
				Host   string `json:"host"`
				State  string `json:"state"`
				Detail string `json:"detail"`
			} `json:"entities"`
		}
		if _, err := c.api.Get(ctx, c.api.Endpoint+"isospin/why/port/"+id, &why, nil); err != nil {
			return false, ctx.Err()
		}
		last := "nothing"
		for _, e := range why.Entities {
			if e.Host == host {
				last = e.State + " " + e.Detail
			}
		}
		for _, b := range why.Bindings {
			if b.Host == host && b.Wired {
				return true, nil
			}
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-limit.C:
			return false, fmt.Errorf("host %s is not ready for port %s after %s, it says %s: %w", host, id, within, last, ErrTimeout)
		case <-time.After(pause):
		}
	}
}

// Activate makes a host's binding the active one.
func (c *Client) Activate(ctx context.Context, id, host string) error {
	_, err := c.api.Put(ctx, c.bindings(id, host, "activate"), nil, nil, &gophercloud.RequestOpts{OkCodes: []int{200}})
	if err != nil {
		return fmt.Errorf("activate binding of port %s to host %s: %w", id, host, err)
	}
	return nil
}

// DropBinding removes a host's binding; a missing one is not an error.
func (c *Client) DropBinding(ctx context.Context, id, host string) error {
	_, err := c.api.Delete(ctx, c.bindings(id, host), nil)
	if err != nil && !gone(err) {
		return fmt.Errorf("remove binding of port %s to host %s: %w", id, host, err)
	}
	return nil
}

func (c *Client) bindings(id string, more ...string) string {
	return c.api.ServiceURL(append([]string{"ports", id, "bindings"}, more...)...)
}

func gone(err error) bool { return err != nil && gophercloud.ResponseCodeIs(err, http.StatusNotFound) }
