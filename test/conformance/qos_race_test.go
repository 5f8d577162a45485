//go:build conformance

package conformance

import (
	"fmt"
	"testing"

	"isospin/test/rig"
)

// TestQoSRace: two servers at once make default policies and equal rules, give out policies that go, and share what is withdrawn.
func TestQoSRace(t *testing.T) {
	twoServers(t, nil, func(t *testing.T, _ string, c []rig.Caller, options map[string]string) {
		st := rig.Look(t, options)
		net := c[0].Make("/networks", "network", map[string]any{})["id"]
		for round := range 5 {
			var counts tally
			project := fmt.Sprintf("%032x", round+1)
			together(8, func(i int) {
				counts.add(t, c[i%2].Do("POST", "/qos/policies", map[string]any{"policy": map[string]any{"is_default": true, "project_id": project}}), "default policy")
			})
			if counts.n["201"] != 1 || counts.n["409 QoSPolicyDefaultAlreadyExists"] != 7 {
				t.Errorf("default policies: %v", counts.n)
			}
			p := fmt.Sprint(c[0].Make("/qos/policies", "policy", map[string]any{})["id"])
			counts = tally{}
			together(8, func(i int) {
				counts.add(t, c[i%2].Do("POST", "/qos/policies/"+p+"/bandwidth_limit_rules", map[string]any{"bandwidth_limit_rule": map[string]any{"max_kbps": 1000 + i}}), "rule")
			})
			if counts.n["201"] != 1 || counts.n["409 QoSRulesConflict"] != 7 {
				t.Errorf("equal rules: %v", counts.n)
			}
			counts = tally{}
			together(12, func(i int) {
				var a rig.Answer
				switch c := c[i%2]; i % 6 {
				case 0, 1:
					a = c.Do("POST", "/ports", map[string]any{"port": map[string]any{"network_id": net, "qos_policy_id": p}})
				case 2:
					a = c.Do("POST", "/networks", map[string]any{"network": map[string]any{"qos_policy_id": p}})
				case 3:
					a = c.Do("DELETE", "/qos/policies/"+p, nil)
				case 4:
					a = c.Do("POST", "/qos/policies/"+p+"/dscp_marking_rules", map[string]any{"dscp_marking_rule": map[string]any{"dscp_mark": 8}})
				case 5:
					a = c.Do("POST", "/rbac-policies", map[string]any{"rbac_policy": map[string]any{"object_type": "qos_policy", "object_id": p, "action": "access_as_shared", "target_tenant": fmt.Sprintf("%032x", i)}})
				}
				counts.add(t, a, fmt.Sprint("case ", i%6))
			})
			t.Log(counts.n)
			rig.Exact(t, st)
		}
	})
}
