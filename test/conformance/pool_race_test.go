//go:build conformance

package conformance

import (
	"fmt"
	"net/netip"
	"sync"
	"testing"

	"isospin/test/rig"
)

// TestPoolRace: 48 networks on two servers want the 32 subnets of one pool at once; each prefix is given once, and what goes
// can be had again. The quota of a project is exact.
func TestPoolRace(t *testing.T) {
	twoServers(t, nil, func(t *testing.T, _ string, c []rig.Caller, options map[string]string) {
		pool := c[0].Make("/subnetpools", "subnetpool", map[string]any{"name": "p", "prefixes": []string{"10.0.0.0/20", "10.0.32.0/20"}, "default_prefixlen": 24})
		var nets []string
		for range 48 {
			nets = append(nets, c[0].Make("/networks", "network", map[string]any{})["id"].(string)) //nolint:errcheck // a test may panic
		}
		create := func(i int) rig.Answer {
			return c[i%2].Do("POST", "/subnets", map[string]any{"subnet": map[string]any{"network_id": nets[i], "ip_version": 4, "subnetpool_id": pool["id"]}})
		}
		for range 2 {
			var counts tally
			var mu sync.Mutex
			var subs []string
			var got []netip.Prefix
			together(48, func(i int) {
				a := create(i)
				counts.add(t, a, "subnet")
				if a.Status != 201 {
					return
				}
				s := a.Under("subnet")
				mu.Lock()
				defer mu.Unlock()
				subs = append(subs, s["id"].(string))                        //nolint:errcheck // a test may panic
				got = append(got, netip.MustParsePrefix(s["cidr"].(string))) //nolint:errcheck // a test may panic
			})
			for i := range got {
				for j := range i {
					if got[i].Overlaps(got[j]) {
						t.Errorf("%v and %v", got[i], got[j])
					}
				}
			}
			if counts.n["201"] != 32 || counts.n["409 SubnetAllocationError"] != 16 {
				t.Errorf("%v", counts.n)
			}
			together(len(subs), func(i int) { counts.add(t, c[i%2].Do("DELETE", "/subnets/"+subs[i], nil), "delete") })
			if n := counts.n["204"]; n != 32 {
				t.Errorf("%v", counts.n)
			}
		}
		whole := c[0].Do("POST", "/subnets", map[string]any{"subnet": map[string]any{"network_id": nets[0], "ip_version": 4, "subnetpool_id": pool["id"], "prefixlen": 20}})
		if whole.Status != 201 {
			t.Errorf("the halves were not joined: %s", whole.Body)
		}
		if a := c[1].Do("PUT", fmt.Sprintf("/subnetpools/%v", pool["id"]), `{"subnetpool": {"default_quota": 4864}}`); a.Status != 200 {
			t.Fatal(string(a.Body))
		}
		var counts tally
		together(16, func(i int) { counts.add(t, create(i+8), "quota") }) // 4096 are taken: 3 more of 256
		if counts.n["201"] != 3 || counts.n["409 SubnetPoolQuotaExceeded"] != 13 {
			t.Errorf("%v", counts.n)
		}
		rig.Exact(t, rig.Look(t, options))
	})
}

// TestPoolsTogether: of two default pools one is made, of two pools with the same addresses one joins a scope, and nothing
// is left that names a pool, a scope or an address group that went at the same moment.
func TestPoolsTogether(t *testing.T) {
	twoServers(t, nil, func(t *testing.T, _ string, c []rig.Caller, options map[string]string) {
		pool := func(rest map[string]any) map[string]any {
			rest["name"] = "p"
			return map[string]any{"subnetpool": rest}
		}
		var counts tally
		together(8, func(i int) {
			counts.add(t, c[i%2].Do("POST", "/subnetpools", pool(map[string]any{"prefixes": []string{"10.0.0.0/8"}, "is_default": true})), "default")
		})
		if counts.n["201"] != 1 || counts.n["400 InvalidInput"] != 7 {
			t.Errorf("default pools: %v", counts.n)
		}
		scope := c[0].Make("/address-scopes", "address_scope", map[string]any{"ip_version": 4})["id"]
		counts = tally{}
		together(8, func(i int) {
			counts.add(t, c[i%2].Do("POST", "/subnetpools", pool(map[string]any{"prefixes": []string{fmt.Sprintf("10.%d.0.0/15", i&1)}, "address_scope_id": scope})), "join")
		})
		if counts.n["201"] != 1 || counts.n["409 AddressScopePrefixConflict"] != 7 {
			t.Errorf("pools of one scope: %v", counts.n)
		}
		counts = tally{}
		for range 10 {
			n := c[0].Make("/networks", "network", map[string]any{})["id"]
			p := c[0].Make("/subnetpools", "subnetpool", map[string]any{"name": "q", "prefixes": []string{"10.0.0.0/16"}, "default_prefixlen": 24})["id"]
			s := c[0].Make("/address-scopes", "address_scope", map[string]any{"ip_version": 4})["id"]
			ag := c[0].Make("/address-groups", "address_group", map[string]any{"addresses": []string{"10.0.0.0/24"}})["id"]
			sg := c[0].Make("/security-groups", "security_group", map[string]any{"name": "g"})["id"]
			together(12, func(i int) {
				c := c[i%2]
				var a rig.Answer
				switch i % 6 {
				case 0:
					a = c.Do("POST", "/subnets", map[string]any{"subnet": map[string]any{"network_id": n, "ip_version": 4, "subnetpool_id": p}})
				case 1:
					a = c.Do("DELETE", fmt.Sprintf("/subnetpools/%v", p), nil)
				case 2:
					a = c.Do("PUT", fmt.Sprintf("/subnetpools/%v", p), map[string]any{"subnetpool": map[string]any{"address_scope_id": s}})
				case 3:
					a = c.Do("DELETE", fmt.Sprintf("/address-scopes/%v", s), nil)
				case 4:
					a = c.Do("POST", "/security-group-rules", map[string]any{"security_group_rule": map[string]any{"security_group_id": sg, "direction": "ingress",
						"remote_address_group_id": ag, "protocol": "tcp", "port_range_min": i + 1, "port_range_max": i + 1}})
				case 5:
					a = c.Do("DELETE", fmt.Sprintf("/address-groups/%v", ag), nil)
				}
				counts.add(t, a, fmt.Sprint("case ", i%6))
			})
			rig.Exact(t, rig.Look(t, options))
		}
		t.Log(counts.n)
	})
}
