//go:build conformance

package conformance

import (
	"fmt"
	"testing"

	"isospin/test/rig"
)

// TestServicesTogether: of equal associations, offers and overlapping metering rules that two servers are asked for at once one is
// made; and nothing is left that names a port, a group, a flavour, a profile or a label that went at the same moment.
func TestServicesTogether(t *testing.T) {
	const haDriver = "neutron.services.l3_router.service_providers.ha.HaDriver"
	twoServers(t, nil, func(t *testing.T, _ string, c []rig.Caller, options map[string]string) {
		st := rig.Look(t, options)
		id := func(path, name string, attributes map[string]any) string {
			return fmt.Sprint(c[0].Make(path, name, attributes)["id"])
		}
		one := func(what, path string, body map[string]any, lose string) {
			var counts tally
			together(8, func(i int) { counts.add(t, c[i%2].Do("POST", path, body), what) })
			if counts.n["201"] != 1 || counts.n[lose] != 7 {
				t.Errorf("%s: %v", what, counts.n)
			}
		}
		net := id("/networks", "network", map[string]any{})
		id("/subnets", "subnet", map[string]any{"network_id": net, "cidr": "10.0.0.0/22", "ip_version": 4})
		var counts tally
		for range 6 {
			port := id("/ports", "port", map[string]any{"network_id": net})
			held := id("/ports", "port", map[string]any{"network_id": net})
			lip := id("/local-ips", "local_ip", map[string]any{"network_id": net})
			label := id("/metering/metering-labels", "metering_label", map[string]any{})
			flavor := id("/flavors", "flavor", map[string]any{"service_type": "L3_ROUTER_NAT"})
			profile := id("/service_profiles", "service_profile", map[string]any{"driver": haDriver})
			group := id("/security-groups", "security_group", map[string]any{"name": "g"})
			assoc := map[string]any{"port_association": map[string]any{"fixed_port_id": port}}
			rule := map[string]any{"metering_label_rule": map[string]any{"metering_label_id": label, "direction": "ingress", "remote_ip_prefix": "10.0.0.0/8"}}
			offer := map[string]any{"service_profile": map[string]any{"id": profile}}
			one("associations", "/local-ips/"+lip+"/port_associations", assoc, "409 NeutronDbObjectDuplicateEntry")
			one("rules", "/metering/metering-label-rules", rule, "409 MeteringLabelRuleOverlaps")
			one("offers", "/flavors/"+flavor+"/service_profiles", offer, "409 FlavorServiceProfileBindingExists")
			rig.Exact(t, st)
			for _, path := range []string{"/local-ips/" + lip + "/port_associations/" + port, "/flavors/" + flavor + "/service_profiles/" + profile} {
				if a := c[1].Do("DELETE", path, nil); a.Status != 204 {
					t.Fatalf("DELETE %s: %d %s", path, a.Status, a.Body)
				}
			}
			rule["metering_label_rule"].(map[string]any)["remote_ip_prefix"] = "192.0.2.0/24" //nolint:errcheck // a test may panic
			requests := []struct {
				method, path string
				body         any
			}{
				{"POST", "/local-ips/" + lip + "/port_associations", assoc},
				{"PUT", "/ports/" + port, map[string]any{"port": map[string]any{"binding:host_id": "h1"}}},
				{"DELETE", "/ports/" + port, nil},
				{"DELETE", "/local-ips/" + lip, nil},
				{"POST", "/local-ips", map[string]any{"local_ip": map[string]any{"local_port_id": held}}},
				{"DELETE", "/ports/" + held, nil},
				{"POST", "/metering/metering-label-rules", rule},
				{"DELETE", "/metering/metering-labels/" + label, nil},
				{"POST", "/flavors/" + flavor + "/service_profiles", offer},
				{"DELETE", "/service_profiles/" + profile, nil},
				{"DELETE", "/flavors/" + flavor, nil},
				{"POST", "/log/logs", map[string]any{"log": map[string]any{"resource_type": "security_group", "resource_id": group}}},
				{"POST", "/log/logs", map[string]any{"log": map[string]any{"resource_type": "security_group", "target_id": port}}},
				{"DELETE", "/security-groups/" + group, nil},
			}
			together(2*len(requests), func(i int) {
				r := requests[i%len(requests)]
				counts.add(t, c[i%2].Do(r.method, r.path, r.body), r.method+" "+r.path)
			})
			rig.Exact(t, st)
		}
		t.Log(counts.n)
	})
}
