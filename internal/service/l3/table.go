package l3

import (
	"context"
	"encoding/json"
	"fmt"

	"isospin/internal/model"
	"isospin/internal/store"
)

// Routers is the plugin's table.
type Routers = store.Table[model.Router]

// NewRouters declares the table of routers.
func NewRouters() *Routers {
	return store.NewTable("routers",
		func(r *model.Router) string { return r.ID }, func(r *model.Router) string { return r.ProjectID },
		store.Column[model.Router]{Name: "revision", Attr: "revision_number", Of: func(r *model.Router) any { return r.Revision }},
		store.Column[model.Router]{Name: "name", Attr: "name", Of: func(r *model.Router) any { return r.Name }},
		store.Column[model.Router]{Name: "status", Attr: "status", Of: func(r *model.Router) any { return r.Status }},
		store.Column[model.Router]{Name: "gw_port_id", Of: func(r *model.Router) any { return textOrNil(r.GatewayPort()) }},
		store.Column[model.Router]{Name: "external_network_id", Of: func(r *model.Router) any {
			if r.ExternalGatewayInfo == nil {
				return nil
			}
			return r.ExternalGatewayInfo.NetworkID
		}},
		store.Column[model.Router]{Name: "qos_policy_id", Of: func(r *model.Router) any {
			if r.ExternalGatewayInfo == nil || r.ExternalGatewayInfo.QoSPolicyID == nil {
				return nil
			}
			return *r.ExternalGatewayInfo.QoSPolicyID
		}},
		store.Column[model.Router]{Name: "flavor_id", Attr: "flavor_id", Of: func(r *model.Router) any {
			if r.FlavorID == nil {
				return nil
			}
			return *r.FlavorID
		}},
		store.Column[model.Router]{Name: "gateway_ports", Of: func(r *model.Router) any { return r.MarshalGatewayPorts() }, Load: loadGatewayPorts},
		store.Column[model.Router]{Name: "vr_id", Of: func(r *model.Router) any { return r.VRID }, Load: loadVRID},
	).Counted("router")
}

func textOrNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func loadGatewayPorts(r *model.Router, raw any) error {
	s, ok := raw.(string)
	if !ok {
		return fmt.Errorf("l3: gateway_ports is a %T", raw)
	}
	if s == "" {
		return nil
	}
	return json.Unmarshal([]byte(s), &r.GatewayPorts)
}

func loadVRID(r *model.Router, raw any) error {
	n, ok := raw.(int64)
	if !ok {
		return fmt.Errorf("l3: vr_id is a %T", raw)
	}
	r.VRID = n
	return nil
}

// own writes that a port is a router's.
func own(ctx context.Context, tx store.WriteTx, router string, p *model.Port) error {
	_, err := tx.Exec(ctx, store.Q("INSERT INTO router_ports (port_id, router_id, network_id, port_type) VALUES (?, ?, ?, ?)",
		p.ID, router, p.NetworkID, p.DeviceOwner))
	return err
}

// disown forgets that a port is a router's.
func disown(ctx context.Context, tx store.WriteTx, port string) error {
	_, err := tx.Exec(ctx, store.Q("DELETE FROM router_ports WHERE port_id = ?", port))
	return err
}

// owner tells whose port it is, and which kind; "" for a port of no router. One statement.
func owner(ctx context.Context, tx store.Tx, port string) (router, kind string, err error) {
	err = store.Each(ctx, tx, store.Q("SELECT router_id, port_type FROM router_ports WHERE port_id = ?", port), func(scan func(...any) error) error {
		return scan(&router, &kind)
	})
	return router, kind, err
}

// portsOf reads a router's ports, those of its gateways too. One statement.
func (p *Plugin) portsOf(ctx context.Context, tx store.Tx, router string) ([]model.Port, error) {
	return p.Rows.Find(ctx, tx, store.List{Where: store.Expr("id IN (SELECT port_id FROM router_ports WHERE router_id = ?)", router)})
}

// subnetsOf reads the subnets that a router's ports have addresses of. One statement.
func (p *Plugin) subnetsOf(ctx context.Context, tx store.Tx, router string) ([]model.Subnet, error) {
	return p.Subnets.Find(ctx, tx, store.List{Where: store.Expr(
		"id IN (SELECT a.subnet_id FROM ip_allocations a JOIN router_ports r ON r.port_id = a.port_id WHERE r.router_id = ?)", router)})
}

// RouterFor finds the router that leads from a subnet to an external network: the one whose interface is the subnet's gateway,
// else the first; ok is false without any (get_router_for_floatingip in neutron/db/l3_db.py). One statement.
func (p *Plugin) RouterFor(ctx context.Context, tx store.Tx, subnet *model.Subnet, external string) (router string, ok bool, err error) {
	gateway := ""
	if subnet.GatewayIP != nil {
		gateway = *subnet.GatewayIP
	}
	err = store.Each(ctx, tx, store.Q(`SELECT r.router_id, a.ip_address FROM ip_allocations a
JOIN router_ports r ON r.port_id = a.port_id
WHERE a.subnet_id = ? AND r.port_type IN (?, ?, ?)
AND EXISTS (SELECT 1 FROM router_ports g WHERE g.router_id = r.router_id AND g.network_id = ? AND g.port_type = ?)
ORDER BY r.router_id`,
		subnet.ID, model.OwnerRouterInterface, model.OwnerRouterReplicated, model.OwnerRouterDVR, external, model.OwnerRouterGateway),
		func(scan func(...any) error) error {
			var id, ip string
			if err := scan(&id, &ip); err != nil {
				return err
			}
			if !ok || ip == gateway {
				router, ok = id, true
			}
			return nil
		})
	return router, ok, err
}

// Reaches tells whether a router has an interface in the subnet. One statement.
func (p *Plugin) Reaches(ctx context.Context, tx store.Tx, router, subnet string) (bool, error) {
	n, _, err := store.Int(ctx, tx, store.Q(`SELECT COUNT(*) FROM ip_allocations a JOIN router_ports r ON r.port_id = a.port_id
WHERE a.subnet_id = ? AND r.router_id = ? AND r.port_type IN (?, ?, ?)`,
		subnet, router, model.OwnerRouterInterface, model.OwnerRouterReplicated, model.OwnerRouterDVR))
	return n > 0, err
}
