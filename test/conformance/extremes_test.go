package conformance

import (
	"fmt"
	"strings"
	"testing"

	"isospin/isospintest"
	"isospin/test/rig"
)

// TestManyRulesAndPairs: 10,000 rules on one port and 500 address pairs are stored and shown where an administrator allows that many, and
// refused with a clear limit where he does not.
func TestManyRulesAndPairs(t *testing.T) {
	const rules, each, pairs = 10_000, 1_000, 500
	s := isospintest.Start(t, isospintest.Options{Config: map[string]string{"DEFAULT/max_allowed_address_pair": fmt.Sprint(pairs), "quotas/quota_security_group_rule": fmt.Sprint(rules + 4)}})
	c := rig.Caller{TB: t, URL: s.URL}
	list := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `, {"ip_address": "10.9.%d.%d"}`, i/250, 1+i%250)
		}
		return fmt.Sprintf(`, "security_groups": ["${group}"], "allowed_address_pairs": [%s]`, strings.TrimPrefix(b.String(), ", "))
	}
	batch := func(from, n int) string {
		var b strings.Builder
		for i := from; i < from+n; i++ {
			fmt.Fprintf(&b, `, {"security_group_id": "${group}", "direction": "ingress", "protocol": "tcp", "port_range_min": %d, "port_range_max": %d}`, 1+i, 1+i)
		}
		return fmt.Sprintf(`{"security_group_rules": [%s]}`, strings.TrimPrefix(b.String(), ", "))
	}
	vars := rig.Vars{}
	steps := []rig.Step{
		{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net=network.id"},
		{As: "M", Do: "POST /security-groups", Body: `{"security_group": {"name": "many"}}`, Want: "201", Save: "group=security_group.id"},
	}
	for from := 0; from < rules-8; from += each { // eight are there: two groups' rules to send
		steps = append(steps, rig.Step{As: "M", Do: "POST /security-group-rules", Body: batch(from, min(each, rules-8-from)), Want: "201"})
	}
	steps = append(steps,
		rig.Step{As: "M", Do: "POST /security-group-rules", Body: batch(20_000, 50), Want: "409 OverQuota"},
		rig.Step{As: "M", Do: "POST /ports", Body: portOf(list(pairs + 1)), Want: "400 AllowedAddressPairExhausted"},
		rig.Step{As: "M", Do: "POST /ports", Body: portOf(list(pairs)), Want: "201", Save: "port=port.id", Has: fmt.Sprintf("port.allowed_address_pairs.# = %d", pairs)},
		rig.Step{As: "M", Do: "GET /ports/${port}", Want: "200", Has: fmt.Sprintf("port.allowed_address_pairs.# = %d\nport.allowed_address_pairs.499.ip_address = \"10.9.1.250\"", pairs)},
		rig.Step{As: "M", Do: "GET /security-group-rules?security_group_id=${group}&direction=ingress&fields=id", Want: "200", Has: fmt.Sprintf("security_group_rules.# = %d", rules-8)},
	)
	c.Run(t, vars, steps)
}
