//go:build conformance

package conformance

import (
	"fmt"
	"testing"

	"isospin/test/rig"
)

// TestWithdrawRace: a network, a security group and a QoS policy are withdrawn from a project at the moment at which it begins to use
// them: either they stay its to use, or nothing of it uses them.
func TestWithdrawRace(t *testing.T) {
	twoServers(t, nil, func(t *testing.T, _ string, c []rig.Caller, options map[string]string) {
		m := []rig.Caller{c[0].Who("M"), c[1].Who("M")}
		for _, p := range []string{rig.ProjectA, rig.ProjectM} {
			if a := c[0].Do("PUT", "/quotas/"+p, map[string]any{"quota": map[string]any{"network": -1, "port": -1, "security_group": -1, "rbac_policy": -1}}); a.Status != 200 {
				t.Fatal(string(a.Body))
			}
		}
		own := fmt.Sprint(m[0].Make("/networks", "network", map[string]any{})["id"])
		for kind, k := range map[string]struct {
			path, name string
			with       func(id string) map[string]any // a port that uses it
		}{
			"network": {"/networks", "network", func(id string) map[string]any { return map[string]any{"network_id": id} }},
			"security_group": {"/security-groups", "security_group", func(id string) map[string]any {
				return map[string]any{"network_id": own, "security_groups": []string{id}}
			}},
			"qos_policy": {"/qos/policies", "policy", func(id string) map[string]any { return map[string]any{"network_id": own, "qos_policy_id": id} }},
		} {
			for range 12 {
				id := fmt.Sprint(c[0].Make(k.path, k.name, map[string]any{"name": "lent"})["id"])
				lent := fmt.Sprint(c[0].Make("/rbac-policies", "rbac_policy", map[string]any{"object_type": kind, "object_id": id, "action": "access_as_shared", "target_tenant": rig.ProjectM})["id"])
				var used, back tally
				together(6, func(i int) {
					if i > 3 {
						back.add(t, c[i%2].Do("DELETE", "/rbac-policies/"+lent, nil), "withdraw")
						return
					}
					used.add(t, m[i%2].Do("POST", "/ports", map[string]any{"port": k.with(id)}), "use")
				})
				if used.n["201"] > 0 && back.n["204"] > 0 || used.n["201"] == 0 && back.n["204"] == 0 {
					t.Errorf("%s: used %v, withdrawn %v", kind, used.n, back.n)
				}
			}
		}
		rig.Exact(t, rig.Look(t, options))
	})
}
