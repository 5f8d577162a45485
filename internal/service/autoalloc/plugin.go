package autoalloc

import (
	"context"
	"net/http"

	"isospin/internal/auth"
	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/service"
	"isospin/internal/service/ml2"
	"isospin/internal/store"
)

// Nets makes the networks; ml2.Plugin is one.
type Nets interface {
	CreateNetwork(ctx context.Context, tx store.WriteTx, n model.Network) (model.Network, error)
	CreateSubnet(ctx context.Context, tx store.WriteTx, s model.Subnet, given ...string) (model.Subnet, error)
	DeleteNetwork(ctx context.Context, tx store.WriteTx, id string) error
}

// Routers makes the routers; l3.Plugin is one.
type Routers interface {
	CreateRouter(ctx context.Context, tx store.WriteTx, r model.Router, external string) (model.Router, error)
	Lock(ctx context.Context, tx store.WriteTx, id string) (model.Router, error)
	AddSubnet(ctx context.Context, tx store.WriteTx, r model.Router, subnet string) (model.InterfaceInfo, error)
	RemoveSubnet(ctx context.Context, tx store.WriteTx, r model.Router, subnet string) (model.InterfaceInfo, error)
	Remove(ctx context.Context, tx store.WriteTx, r model.Router) error
}

// Config is what the plugin is made of.
type Config struct {
	Networks *ml2.Networks
	Subnets  *ml2.Subnets
	Nets     Nets
	Routers  Routers
}

// Plugin is topologies that projects get by themselves.
type Plugin struct{ Config }

// New makes the plugin.
func New(c Config) *Plugin { return &Plugin{c} }

// Name is the plugin's name in `service_plugins`.
func (p *Plugin) Name() string { return "auto_allocate" }

// Bindings is the collection of topologies.
func (p *Plugin) Bindings() []rest.Binding {
	return []rest.Binding{rest.Special("auto_allocated_topologies", rest.HandlerFunc(p.handle))}
}

// handle answers /auto-allocated-topology/{project}; None is the caller's own.
func (p *Plugin) handle(ctx context.Context, c *rest.Call) error {
	if len(c.Rest) == 0 || len(c.Rest) > 1 {
		return c.Nothing()
	}
	project := c.Rest[0]
	if project == "None" {
		project = auth.From(ctx).ProjectID
	}
	if !rest.Plain(project) {
		return fault.HTTPNotFound("There is no such project.")
	}
	object := map[string]string{"project_id": project, "tenant_id": project}
	switch c.Method {
	case http.MethodGet:
		if err := c.May(ctx, "get_auto_allocated_topology", object); err != nil {
			return err
		}
		return p.show(ctx, c, project)
	case http.MethodDelete:
		if err := c.May(ctx, "delete_auto_allocated_topology", object); err != nil {
			return err
		}
		if err := c.NoBody(); err != nil {
			return err
		}
		if err := c.Write(ctx, func(tx store.WriteTx) error { return p.remove(ctx, tx, project) }); err != nil {
			return err
		}
		return c.Answer(http.StatusNoContent, nil)
	}
	return c.NotAllowed()
}

// dryRun in `fields` asks whether a topology could be made.
const dryRun = "dry-run"

// show answers with the project's network, which is made if it has none.
func (p *Plugin) show(ctx context.Context, c *rest.Call, project string) error {
	fields, err := c.Fields()
	if err != nil {
		return err
	}
	id := ""
	switch {
	case len(fields) == 1 && fields[0] == dryRun:
		id = "dry-run=pass"
		err = c.Read(ctx, func(tx store.Tx) error {
			_, _, err := sources(ctx, tx)
			return err
		})
	case len(fields) > 0:
		return fault.BadRequest("auto_allocate", "fields knows "+dryRun+" alone here.")
	default:
		err = c.Write(ctx, func(tx store.WriteTx) error {
			var err error
			if id, _, err = topology(ctx, tx, project, ""); err == nil && id == "" {
				id, err = p.build(ctx, tx, project)
			}
			return err
		})
	}
	if err != nil {
		return err
	}
	return c.Answer(http.StatusOK, map[string]any{"auto_allocated_topology": map[string]string{"id": id, "tenant_id": project, "project_id": project}})
}

// topology reads what a project got; lock is a suffix that keeps the row. One statement.
func topology(ctx context.Context, tx store.Tx, project, lock string) (network, router string, err error) {
	err = store.Each(ctx, tx, store.Q("SELECT network_id, router_id FROM auto_allocated_topologies WHERE project_id = ?"+lock, project),
		func(scan func(...any) error) error { return scan(&network, &router) })
	return network, router, err
}

// pool is a default subnet pool.
type pool struct {
	id      string
	version int64
}

// sources are what topologies are made of: the default external network and the default subnet pools. Two statements.
func sources(ctx context.Context, tx store.Tx) (external string, pools []pool, err error) {
	err = store.Each(ctx, tx, store.Q("SELECT id FROM networks WHERE default_external = '1'"), func(scan func(...any) error) error { return scan(&external) })
	if err == nil && external == "" {
		err = fault.AutoAllocationFailure("there is no default external network.")
	}
	if err != nil {
		return "", nil, err
	}
	err = store.Each(ctx, tx, store.Q("SELECT id, ip_version FROM subnetpools WHERE default_for IS NOT NULL ORDER BY ip_version"), func(scan func(...any) error) error {
		var x pool
		err := scan(&x.id, &x.version)
		pools = append(pools, x)
		return err
	})
	if err == nil && len(pools) == 0 {
		err = fault.AutoAllocationFailure("there are no default subnet pools.")
	}
	return external, pools, err
}

// build makes a project's topology.
func (p *Plugin) build(ctx context.Context, tx store.WriteTx, project string) (string, error) {
	external, pools, err := sources(ctx, tx)
	if err != nil {
		return "", err
	}
	n := model.Network{Name: "auto_allocated_network", AdminStateUp: true}
	n.Own(project)
	if n, err = p.Nets.CreateNetwork(ctx, tx, n); err != nil {
		return "", failed(err)
	}
	var subnets []model.Subnet
	for _, x := range pools {
		name := "auto_allocated_subnet_v4"
		if x.version == 6 {
			name = "auto_allocated_subnet_v6"
		}
		s := model.Subnet{Name: name, NetworkID: n.ID, IPVersion: x.version, SubnetPoolID: &x.id, EnableDHCP: true}
		s.Own(project)
		if s, err = p.Nets.CreateSubnet(ctx, tx, s, "subnetpool_id", "ip_version"); err != nil {
			return "", failed(err)
		}
		subnets = append(subnets, s)
	}
	r := model.Router{Name: "auto_allocated_router", AdminStateUp: true}
	r.Own(project)
	if r, err = p.Routers.CreateRouter(ctx, tx, r, external); err != nil {
		return "", failed(err)
	}
	for i := range subnets {
		if r, err = p.Routers.Lock(ctx, tx, r.ID); err != nil {
			return "", err
		}
		if _, err := p.Routers.AddSubnet(ctx, tx, r, subnets[i].ID); err != nil {
			return "", failed(err)
		}
	}
	_, err = tx.Exec(ctx, store.Q("INSERT INTO auto_allocated_topologies (project_id, network_id, router_id) VALUES (?, ?, ?)", project, n.ID, r.ID))
	if _, dup := store.AsDuplicate(err); dup {
		// Another request of the project made one meanwhile: begin anew and find it.
		return "", &store.Stale{Table: "auto_allocated_topologies", ID: project}
	}
	return n.ID, err
}

// failed says of what a topology needs and cannot be had that the topology cannot be made; other errors stay.
func failed(err error) error {
	if f := fault.Of(err); f.Kind == fault.Invalid || f.Kind == fault.NotFound {
		return fault.AutoAllocationFailure(f.Message)
	}
	return err
}

// remove takes a project's topology apart; what somebody uses keeps it.
func (p *Plugin) remove(ctx context.Context, tx store.WriteTx, project string) error {
	network, router, err := topology(ctx, tx, project, tx.Dialect().ForUpdate(false))
	if err != nil || network == "" {
		return err
	}
	if _, err := tx.Exec(ctx, store.Q("DELETE FROM auto_allocated_topologies WHERE project_id = ?", project)); err != nil {
		return err
	}
	if router != "" {
		if err := p.unroute(ctx, tx, network, router); err != nil && !fault.IsNotFound(err) {
			return err
		}
	}
	return p.Nets.DeleteNetwork(ctx, tx, network)
}

func (p *Plugin) unroute(ctx context.Context, tx store.WriteTx, network, router string) error {
	subnets, err := p.Subnets.Find(ctx, tx, store.List{Where: store.Eq("network_id", network)})
	if err != nil {
		return err
	}
	for i := range subnets {
		r, err := p.Routers.Lock(ctx, tx, router)
		if err != nil {
			return err
		}
		if _, err := p.Routers.RemoveSubnet(ctx, tx, r, subnets[i].ID); err != nil && !fault.IsNotFound(err) {
			return err
		}
	}
	r, err := p.Routers.Lock(ctx, tx, router)
	if err != nil {
		return err
	}
	if err := p.Routers.Remove(ctx, tx, r); err != nil {
		return err
	}
	if len(r.Tags) == 0 {
		return nil
	}
	return rest.ForgetTags(ctx, tx, r.ID)
}

// Networks takes part in the writes of networks: is_default is an attribute of external ones, and a network that goes takes the memory
// of its topology along.
type Networks struct{ *Plugin }

// Guard settles is_default.
func (Networks) Guard(_ context.Context, _ store.WriteTx, w service.Write[model.Network]) error {
	switch {
	case w.New == nil:
	case !w.New.External:
		w.New.IsDefault = nil
	case w.New.IsDefault == nil:
		w.New.IsDefault = new(bool)
	}
	return nil
}

// Follow forgets the topology of a network that went. One statement.
func (Networks) Follow(ctx context.Context, tx store.WriteTx, w service.Write[model.Network]) error {
	if w.Op != service.Delete {
		return nil
	}
	_, err := tx.Exec(ctx, store.Q("DELETE FROM auto_allocated_topologies WHERE network_id = ?", w.Old.ID))
	return err
}

// OnRouter forgets routers that go.
type OnRouter struct{ *Plugin }

// Follow forgets a router that went. One statement.
func (OnRouter) Follow(ctx context.Context, tx store.WriteTx, w service.Write[model.Router]) error {
	if w.Op != service.Delete {
		return nil
	}
	_, err := tx.Exec(ctx, store.Q("UPDATE auto_allocated_topologies SET router_id = '' WHERE router_id = ?", w.Old.ID))
	return err
}

var (
	_ service.Guard[model.Network]    = Networks{}
	_ service.Follower[model.Network] = Networks{}
	_ service.Follower[model.Router]  = OnRouter{}
)
