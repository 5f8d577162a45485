package status

import (
	"context"

	"isospin/internal/model"
	"isospin/internal/store"
	"isospin/internal/wire"
)

// waits tells whether the server waits for entities before a port of this owner is ACTIVE; for the others the L2 agent's word is
// enough (NO_PROVISIONING_BLOCKS_OWNERS in neutron-lib's constants).
func waits(owner string) bool {
	switch owner {
	case "", "network:router_interface_distributed", "network:ha_router_replicated_interface", "network:router_interface",
		"network:router_gateway", "network:router_centralized_snat", "network:dhcp", "network:floatingip_agent_gateway",
		"network:router_ha_interface", "network:floatingip":
		return false
	}
	return true
}

// Entities are those whose word each port needs to be ACTIVE: L2, and DHCP when a subnet of its addresses has DHCP and somebody
// serves its network (behaviour.md, section 11). Ports that wait for nobody are left out. Two statements.
func Entities(ctx context.Context, tx store.Tx, ports []model.Port) (map[string][]string, error) {
	out := map[string][]string{}
	var subnets, networks []string
	seen := map[string]bool{}
	for i := range ports {
		p := &ports[i]
		if !waits(p.DeviceOwner) {
			continue
		}
		out[p.ID] = []string{wire.EntityL2}
		for _, f := range p.FixedIPs {
			if !seen[f.SubnetID] {
				seen[f.SubnetID] = true
				subnets = append(subnets, f.SubnetID)
			}
		}
		if !seen[p.NetworkID] {
			seen[p.NetworkID] = true
			networks = append(networks, p.NetworkID)
		}
	}
	served, err := column(ctx, tx, "SELECT DISTINCT network_id FROM dhcp_hosts", store.In("network_id", networks))
	if err != nil {
		return nil, err
	}
	dhcp, err := column(ctx, tx, "SELECT id FROM subnets", store.And(store.In("id", subnets),
		store.Expr(tx.Dialect().JSONText("body", "enable_dhcp")+" IN ('true', '1')")))
	if err != nil {
		return nil, err
	}
	for i := range ports {
		p := &ports[i]
		if out[p.ID] == nil || !served[p.NetworkID] {
			continue
		}
		for _, f := range p.FixedIPs {
			if dhcp[f.SubnetID] {
				out[p.ID] = append(out[p.ID], wire.EntityDHCP)
				break
			}
		}
	}
	return out, nil
}

// column reads one column as a set.
func column(ctx context.Context, tx store.Tx, head string, where store.Cond) (map[string]bool, error) {
	out := map[string]bool{}
	err := store.Each(ctx, tx, store.Q(head+" WHERE "+where.SQL, where.Args...), func(scan func(...any) error) error {
		var v string
		err := scan(&v)
		out[v] = true
		return err
	})
	return out, err
}
