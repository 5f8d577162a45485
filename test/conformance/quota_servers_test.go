//go:build conformance

package conformance

import (
	"fmt"
	"testing"

	"isospin/test/rig"
)

// TestQuotaOfTwoServers: 64 creates at once through two servers end exactly at the limit, of a project that had nothing before
// too; what is deleted or fails is given back; a limit is not set below what is there while creates run.
func TestQuotaOfTwoServers(t *testing.T) {
	twoServers(t, map[string]string{"quotas/quota_port": "25"}, func(t *testing.T, _ string, c []rig.Caller, options map[string]string) {
		st := rig.Look(t, options)
		for round := range 3 {
			project := fmt.Sprintf("%031x%x", 7, round)
			own := func(i int) rig.Caller { return c[i%2].As(project, "member,reader") }
			n := own(0).Make("/networks", "network", map[string]any{})["id"]
			for range 2 {
				var counts tally
				ports := make([]any, 64)
				together(64, func(i int) {
					body := map[string]any{"network_id": n}
					if i%8 == 7 {
						body["fixed_ips"] = []any{map[string]any{"ip_address": "10.0.0.1"}} // there is no subnet
					}
					a := own(i).Do("POST", "/ports", map[string]any{"port": body})
					counts.add(t, a, "port")
					if a.Status == 201 {
						ports[i] = a.Under("port")["id"]
					}
				})
				if counts.n["201"] != 25 || counts.n["409 OverQuota"] != 31 {
					t.Errorf("%v", counts.n)
				}
				used := c[1].Get("/quotas/"+project+"/details", "quota")["port"]
				if fmt.Sprint(used) != "map[limit:25 reserved:0 used:25]" {
					t.Error(used)
				}
				rig.Exact(t, st)
				together(64, func(i int) {
					if ports[i] != nil {
						counts.add(t, own(i).Do("DELETE", fmt.Sprintf("/ports/%v", ports[i]), nil), "delete")
					}
				})
				rig.Exact(t, st)
			}
		}
		// The limit and creates at once: either the limit comes first and holds, or it is refused.
		var counts tally
		project := fmt.Sprintf("%032x", 9)
		n := c[0].As(project, "member,reader").Make("/networks", "network", map[string]any{})["id"]
		together(24, func(i int) {
			if i%4 == 0 {
				counts.add(t, c[i%2].Do("PUT", "/quotas/"+project, `{"quota": {"port": 5}}`), "limit")
				return
			}
			counts.add(t, c[i%2].As(project, "member,reader").Do("POST", "/ports", map[string]any{"port": map[string]any{"network_id": n}}), "port")
		})
		if made, set := counts.n["201"], counts.n["200"]; set > 0 && made != 5 || set == 0 && made != 18 {
			t.Errorf("%v", counts.n)
		}
		rig.Exact(t, st)
	})
}
