package rig

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"isospin/internal/assemble"
	"isospin/internal/store"
)

// invariant is a statement that must yield no row.
type invariant struct{ what, sql string }

// invariants are what holds in every database at any moment between two commits.
func invariants() []invariant {
	return []invariant{
		{"subnets of no network", "SELECT id FROM subnets WHERE network_id NOT IN (SELECT id FROM networks)"},
		{"ports of no network", "SELECT id FROM ports WHERE network_id NOT IN (SELECT id FROM networks)"},
		{"segments of no network", "SELECT id FROM segments WHERE network_id NOT IN (SELECT id FROM networks)"},
		{"networks that show a segment and have none", "SELECT id FROM networks WHERE id NOT IN (SELECT network_id FROM segments) AND body LIKE '%\"provider:network_type\":\"%'"},
		{"subnets on no segment of their network", "SELECT id FROM subnets WHERE segment_id IS NOT NULL AND segment_id NOT IN (SELECT s.id FROM segments s WHERE s.network_id = subnets.network_id)"},
		{"trunks of no port", "SELECT id FROM trunks WHERE port_id NOT IN (SELECT p.id FROM ports p WHERE p.trunk_id = trunks.id AND p.body LIKE '%\"trunk_details\":%')"},
		{"subports that are no port of their trunk", "SELECT port_id FROM subports WHERE port_id NOT IN (SELECT p.id FROM ports p WHERE p.trunk_id = subports.trunk_id)"},
		{"subports of no trunk", "SELECT port_id FROM subports WHERE trunk_id NOT IN (SELECT id FROM trunks)"},
		{"ports of no trunk", "SELECT id FROM ports WHERE trunk_id <> '' AND id NOT IN (SELECT port_id FROM trunks) AND id NOT IN (SELECT port_id FROM subports)"},
		{"free ids of no range", "SELECT pool FROM free_range WHERE pool LIKE 'segments:%' AND SUBSTR(pool, 10) NOT IN (SELECT id FROM network_segment_ranges)"},
		{"claims of no segment", "SELECT segment_id FROM segment_claims WHERE segment_id NOT IN (SELECT id FROM segments)"},
		{"segments without their claim", "SELECT id FROM segments WHERE network_type <> 'local' AND id NOT IN (SELECT segment_id FROM segment_claims)"},
		{"addresses of no port", "SELECT ip_address FROM ip_allocations WHERE port_id NOT IN (SELECT id FROM ports)"},
		{"addresses of no subnet", "SELECT ip_address FROM ip_allocations WHERE subnet_id NOT IN (SELECT id FROM subnets)"},
		{"levels of no port", "SELECT port_id FROM binding_levels WHERE port_id NOT IN (SELECT id FROM ports)"},
		{"levels of no segment", "SELECT port_id FROM binding_levels WHERE segment_id NOT IN (SELECT id FROM segments)"},
		{"dynamic segments that nobody uses", "SELECT id FROM segments WHERE is_dynamic <> 0 AND id NOT IN (SELECT segment_id FROM binding_levels)"},
		{"provisioning of no port", "SELECT port_id FROM provisioning WHERE port_id NOT IN (SELECT id FROM ports)"},
		{"rules of no group", "SELECT id FROM security_group_rules WHERE security_group_id NOT IN (SELECT id FROM security_groups)"},
		{"rules about no group", "SELECT id FROM security_group_rules WHERE remote_group_id IS NOT NULL AND remote_group_id NOT IN (SELECT id FROM security_groups)"},
		{"members of no group", "SELECT port_id FROM port_security_groups WHERE security_group_id NOT IN (SELECT id FROM security_groups)"},
		{"members that are no port", "SELECT port_id FROM port_security_groups WHERE port_id NOT IN (SELECT id FROM ports)"},
		{"sharing of no network", "SELECT object_id FROM rbac_policies WHERE object_type = 'network' AND object_id NOT IN (SELECT id FROM networks)"},
		{"sharing of no security group", "SELECT object_id FROM rbac_policies WHERE object_type = 'security_group' AND object_id NOT IN (SELECT id FROM security_groups)"},
		{"tags of nothing", "SELECT object_id FROM tags WHERE object_id NOT IN (SELECT id FROM networks) AND object_id NOT IN (SELECT id FROM subnets) AND object_id NOT IN (SELECT id FROM ports)" +
			" AND object_id NOT IN (SELECT id FROM security_groups) AND object_id NOT IN (SELECT id FROM subnetpools) AND object_id NOT IN (SELECT id FROM floatingips) AND object_id NOT IN (SELECT id FROM routers) AND object_id NOT IN (SELECT id FROM qos_policies) AND object_id NOT IN (SELECT id FROM trunks) AND object_id NOT IN (SELECT id FROM network_segment_ranges)"},
		{"hosts kept off no network", "SELECT network_id FROM dhcp_refused WHERE network_id NOT IN (SELECT id FROM networks)"},
		{"subnets of no pool", "SELECT id FROM subnets WHERE subnetpool_id IS NOT NULL AND subnetpool_id NOT IN (SELECT id FROM subnetpools)"},
		{"pools of no scope", "SELECT id FROM subnetpools WHERE address_scope_id IS NOT NULL AND address_scope_id NOT IN (SELECT id FROM address_scopes)"},
		{"free prefixes of no pool", "SELECT prefix FROM subnetpool_free WHERE subnetpool_id NOT IN (SELECT id FROM subnetpools)"},
		{"rules about no address group", "SELECT id FROM security_group_rules WHERE remote_address_group_id IS NOT NULL AND remote_address_group_id NOT IN (SELECT id FROM address_groups)"},
		{"offers of no flavour", "SELECT id FROM flavor_profiles WHERE flavor_id NOT IN (SELECT id FROM flavors)"},
		{"offers of no profile", "SELECT id FROM flavor_profiles WHERE service_profile_id NOT IN (SELECT id FROM service_profiles)"},
		{"metering rules of no label", "SELECT id FROM metering_label_rules WHERE metering_label_id NOT IN (SELECT id FROM metering_labels)"},
		{"logs of no group", "SELECT id FROM logs WHERE resource_id IS NOT NULL AND resource_id NOT IN (SELECT id FROM security_groups)"},
		{"logs at no port", "SELECT id FROM logs WHERE target_id IS NOT NULL AND target_id NOT IN (SELECT id FROM ports)"},
		{"local addresses of no port", "SELECT id FROM local_ips WHERE local_port_id NOT IN (SELECT id FROM ports)"},
		{"ports of no local address", "SELECT id FROM ports WHERE device_owner = 'network:local_ip' AND device_id NOT IN (SELECT id FROM local_ips)"},
		{"associations of no local address", "SELECT id FROM local_ip_associations WHERE local_ip_id NOT IN (SELECT id FROM local_ips)"},
		{"associations with no port", "SELECT id FROM local_ip_associations WHERE fixed_port_id NOT IN (SELECT id FROM ports)"},
		{"associations elsewhere than their port", "SELECT a.id FROM local_ip_associations a JOIN ports p ON p.id = a.fixed_port_id WHERE p.host <> a.host"},
		{"floating IPs without their port", "SELECT id FROM floatingips WHERE floating_port_id NOT IN (SELECT id FROM ports WHERE device_owner = 'network:floatingip')"},
		{"ports of no floating IP", "SELECT id FROM ports WHERE device_owner = 'network:floatingip' AND id NOT IN (SELECT floating_port_id FROM floatingips)"},
		{"floating IPs that lead half way", "SELECT id FROM floatingips WHERE (port_id IS NULL AND fixed_ip_address IS NOT NULL) OR (port_id IS NOT NULL AND (fixed_ip_address IS NULL OR router_id IS NULL))"},
		{"floating IPs to no address", "SELECT id FROM floatingips f WHERE port_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM ip_allocations a WHERE a.port_id = f.port_id AND a.ip_address = f.fixed_ip_address)"},
		{"floating IPs through no gateway", "SELECT id FROM floatingips f WHERE router_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM router_ports g WHERE g.router_id = f.router_id AND g.network_id = f.floating_network_id AND g.port_type = 'network:router_gateway')"},
		{"floating IPs of routers that lead nowhere", "SELECT id FROM floatingips WHERE router_id IS NOT NULL AND port_id IS NULL AND id NOT IN (SELECT floatingip_id FROM port_forwardings)"},
		{"floating IPs without an interface", "SELECT f.id FROM floatingips f JOIN ip_allocations a ON a.port_id = f.port_id AND a.ip_address = f.fixed_ip_address WHERE NOT EXISTS " +
			"(SELECT 1 FROM router_ports r JOIN ip_allocations b ON b.port_id = r.port_id WHERE r.router_id = f.router_id AND b.subnet_id = a.subnet_id)"},
		{"forwardings of no floating IP", "SELECT id FROM port_forwardings WHERE floatingip_id NOT IN (SELECT id FROM floatingips WHERE router_id IS NOT NULL AND port_id IS NULL)"},
		{"forwardings to no address", "SELECT id FROM port_forwardings f WHERE NOT EXISTS (SELECT 1 FROM ip_allocations a WHERE a.port_id = f.internal_port_id AND a.ip_address = f.internal_ip_address)"},
		{"forwardings without an interface", "SELECT f.id FROM port_forwardings f JOIN floatingips o ON o.id = f.floatingip_id JOIN ip_allocations a ON a.port_id = f.internal_port_id AND a.ip_address = f.internal_ip_address " +
			"WHERE NOT EXISTS (SELECT 1 FROM router_ports r JOIN ip_allocations b ON b.port_id = r.port_id WHERE r.router_id = o.router_id AND b.subnet_id = a.subnet_id)"},
		{"forwardings whose ports meet outside", "SELECT a.id FROM port_forwardings a JOIN port_forwardings b ON b.floatingip_id = a.floatingip_id AND b.protocol = a.protocol AND b.id <> a.id " +
			"WHERE a.external_first <= b.external_last AND b.external_first <= a.external_last"},
		{"forwardings whose ports meet inside", "SELECT a.id FROM port_forwardings a JOIN port_forwardings b ON b.internal_port_id = a.internal_port_id AND b.internal_ip_address = a.internal_ip_address AND b.protocol = a.protocol AND b.id <> a.id " +
			"WHERE a.internal_first <= b.internal_last AND b.internal_first <= a.internal_last"},
		{"conntrack helpers of no router", "SELECT id FROM conntrack_helpers WHERE router_id NOT IN (SELECT id FROM routers)"},
		{"NDP proxies of no router", "SELECT id FROM ndp_proxies WHERE router_id NOT IN (SELECT id FROM routers WHERE external_network_id IS NOT NULL)"},
		{"NDP proxies of no address", "SELECT id FROM ndp_proxies x WHERE NOT EXISTS (SELECT 1 FROM ip_allocations a WHERE a.port_id = x.port_id AND a.ip_address = x.ip_address)"},
		{"QoS rules of no policy", "SELECT id FROM qos_rules WHERE qos_policy_id NOT IN (SELECT id FROM qos_policies)"},
		{"what has no QoS policy that is there", "SELECT id FROM ports WHERE qos_policy_id IS NOT NULL AND qos_policy_id NOT IN (SELECT id FROM qos_policies) UNION ALL " +
			"SELECT id FROM networks WHERE qos_policy_id IS NOT NULL AND qos_policy_id NOT IN (SELECT id FROM qos_policies) UNION ALL " +
			"SELECT id FROM floatingips WHERE qos_policy_id IS NOT NULL AND qos_policy_id NOT IN (SELECT id FROM qos_policies) UNION ALL " +
			"SELECT id FROM routers WHERE qos_policy_id IS NOT NULL AND qos_policy_id NOT IN (SELECT id FROM qos_policies)"},
		{"sharing of no QoS policy", "SELECT object_id FROM rbac_policies WHERE object_type = 'qos_policy' AND object_id NOT IN (SELECT id FROM qos_policies)"},
		{"ports of no router", "SELECT port_id FROM router_ports WHERE router_id NOT IN (SELECT id FROM routers)"},
		{"routers' ports that are no port", "SELECT port_id FROM router_ports WHERE port_id NOT IN (SELECT id FROM ports)"},
		{"routers' ports of another kind or elsewhere", "SELECT r.port_id FROM router_ports r JOIN ports p ON p.id = r.port_id WHERE p.device_owner <> r.port_type OR p.device_id <> r.router_id OR p.network_id <> r.network_id"},
		{"gateways of no port", "SELECT id FROM routers WHERE gw_port_id IS NOT NULL AND gw_port_id NOT IN (SELECT port_id FROM router_ports)"},
		{"gateways on networks that are not external", "SELECT r.port_id FROM router_ports r JOIN networks n ON n.id = r.network_id WHERE r.port_type = 'network:router_gateway' AND n.body LIKE '%\"router:external\":false%'"},
		{"hosts of no router", "SELECT router_id FROM router_hosts WHERE router_id NOT IN (SELECT id FROM routers)"},
		{"numbers of no router", "SELECT router_id FROM router_vrids WHERE router_id NOT IN (SELECT id FROM routers)"},
		{"numbers on no network", "SELECT router_id FROM router_vrids WHERE network_id NOT IN (SELECT network_id FROM router_ha_networks)"},
		{"networks of highly available routers that are no network", "SELECT network_id FROM router_ha_networks WHERE network_id NOT IN (SELECT id FROM networks)"},
		{"topologies of no network", "SELECT network_id FROM auto_allocated_topologies WHERE network_id NOT IN (SELECT id FROM networks)"},
		{"topologies of no router", "SELECT router_id FROM auto_allocated_topologies WHERE router_id <> '' AND router_id NOT IN (SELECT id FROM routers)"},
		{"free ranges of no subnet", "SELECT pool FROM free_range WHERE pool LIKE 'subnet:%' AND SUBSTR(pool, 8) NOT IN (SELECT id FROM subnets)"},
	}
}

// Exact fails the test for every row that hangs in the air, every pool that is not exact and every column that does not
// say what its body says.
func Exact(tb testing.TB, st store.Store) {
	tb.Helper()
	ctx := tb.Context()
	err := st.Read(ctx, func(tx store.Tx) error {
		for _, i := range invariants() {
			if err := none(ctx, tb, tx, i); err != nil {
				return fmt.Errorf("%s: %w", i.what, err)
			}
		}
		return pools(ctx, tb, tx)
	})
	if err != nil {
		tb.Fatal(err)
	}
	err = store.CheckAll(ctx, st, assemble.Checkers(), func(d store.Difference) { tb.Error(d) })
	if err != nil {
		tb.Fatal(err)
	}
}

func none(ctx context.Context, tb testing.TB, tx store.Tx, i invariant) error {
	tb.Helper()
	n := 0
	return store.Each(ctx, tx, store.Q(i.sql), func(scan func(...any) error) error {
		var id string
		if err := scan(&id); err != nil {
			return err
		}
		if n++; n <= 3 {
			tb.Errorf("%s: %s", i.what, id)
		}
		return nil
	})
}

// pools holds the free ranges to what is in use: no value is both free and in use, ranges of a pool do not overlap.
func pools(ctx context.Context, tb testing.TB, tx store.Tx) error {
	tb.Helper()
	used := map[string]map[string]bool{} // pool → 32 hexadecimal digits
	mark := func(pool, v string) {
		if used[pool] == nil {
			used[pool] = map[string]bool{}
		}
		used[pool][v] = true
	}
	err := store.Each(ctx, tx, store.Q("SELECT subnet_id, ip FROM ip_allocations"), func(scan func(...any) error) error {
		var subnet, ip string
		err := scan(&subnet, &ip)
		mark("subnet:"+subnet, ip)
		return err
	})
	if err != nil {
		return err
	}
	type ownedRange struct{ id, kind, physical string }
	var owned []ownedRange
	err = store.Each(ctx, tx, store.Q("SELECT id, network_type, physical_network FROM network_segment_ranges WHERE project_id <> ''"), func(scan func(...any) error) error {
		var r ownedRange
		err := scan(&r.id, &r.kind, &r.physical)
		owned = append(owned, r)
		return err
	})
	if err != nil {
		return err
	}
	err = store.Each(ctx, tx, store.Q("SELECT network_type, physical_network, segmentation_id FROM segment_claims"), func(scan func(...any) error) error {
		var kind, physical string
		var id int64
		err := scan(&kind, &physical, &id)
		mark("segment:"+kind+":"+physical, fmt.Sprintf("%032x", id))
		for _, r := range owned {
			if r.kind == kind && r.physical == physical {
				mark("segments:"+r.id, fmt.Sprintf("%032x", id))
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	before, last := "", ""
	return store.Each(ctx, tx, store.Q("SELECT pool, first, last FROM free_range WHERE first > '' ORDER BY pool, first"), func(scan func(...any) error) error {
		var pool, a, b string
		if err := scan(&pool, &a, &b); err != nil {
			return err
		}
		if pool == before && a <= last || strings.Compare(a, b) > 0 {
			tb.Errorf("pool %s: the free range %s-%s overlaps one before it", pool, a, b)
		}
		for v := range used[pool] {
			if v >= a && v <= b {
				tb.Errorf("pool %s: %s is free and in use", pool, v)
			}
		}
		before, last = pool, b
		return nil
	})
}

// FreeOf counts the free values of a pool.
func FreeOf(tb testing.TB, st store.Store, pool string) uint64 {
	tb.Helper()
	var n uint64
	err := st.Read(tb.Context(), func(tx store.Tx) error {
		n = 0
		return store.Each(tb.Context(), tx, store.Q("SELECT first, last FROM free_range WHERE pool = ? AND first > ''", pool), func(scan func(...any) error) error {
			var a, b string
			if err := scan(&a, &b); err != nil {
				return err
			}
			var x, y uint64
			if _, err := fmt.Sscanf(a[16:]+" "+b[16:], "%x %x", &x, &y); err != nil {
				return err
			}
			n += y - x + 1
			return nil
		})
	})
	if err != nil {
		tb.Fatal(err)
	}
	return n
}
