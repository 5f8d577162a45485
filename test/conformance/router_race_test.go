//go:build conformance

package conformance

import (
	"fmt"
	"testing"

	"isospin/test/rig"
)

// TestRouterRace: two servers are asked at once to join one subnet to a router and to two routers, to give, take and move gateways, to
// make the first highly available routers of a project and its topology: one wins each time, and nothing hangs in the air.
func TestRouterRace(t *testing.T) {
	twoServers(t, nil, func(t *testing.T, _ string, c []rig.Caller, options map[string]string) {
		st := rig.Look(t, options)
		id := func(path, name string, attributes map[string]any) string {
			return fmt.Sprint(c[0].Make(path, name, attributes)["id"])
		}
		if a := c[0].Do("PUT", "/quotas/"+rig.ProjectA, map[string]any{"quota": map[string]any{"router": -1}}); a.Status != 200 {
			t.Fatal(string(a.Body))
		}
		ext := id("/networks", "network", map[string]any{"router:external": true, "is_default": true})
		id("/subnets", "subnet", map[string]any{"network_id": ext, "cidr": "203.0.113.0/24", "ip_version": 4})
		id("/subnetpools", "subnetpool", map[string]any{"name": "p", "prefixes": []string{"10.128.0.0/16"}, "default_prefixlen": 26, "is_default": true})
		for range 6 {
			net := id("/networks", "network", map[string]any{})
			sub := id("/subnets", "subnet", map[string]any{"network_id": net, "cidr": "10.0.0.0/24", "ip_version": 4})
			r := []string{id("/routers", "router", map[string]any{}), id("/routers", "router", map[string]any{})}
			join := func(router string) func(int) rig.Answer {
				return func(i int) rig.Answer {
					return c[i%2].Do("PUT", "/routers/"+router+"/add_router_interface", map[string]any{"subnet_id": sub})
				}
			}
			var one tally
			together(6, func(i int) { one.add(t, join(r[0])(i), "join") })
			if one.n["200"] != 1 || one.n["400 BadRequest"] != 5 {
				t.Errorf("one router: %v", one.n)
			}
			if a := c[1].Do("PUT", "/routers/"+r[0]+"/remove_router_interface", map[string]any{"subnet_id": sub}); a.Status != 200 {
				t.Fatal(string(a.Body))
			}
			var two tally
			together(2, func(i int) { two.add(t, join(r[i])(i), "join") })
			if two.n["200"] != 1 || two.n["409 IpAddressAlreadyAllocated"] != 1 {
				t.Errorf("two routers: %v", two.n)
			}
			rig.Exact(t, st)
			// Everything at once: whatever wins, the rows agree.
			var all tally
			set := func(i int, network any) rig.Answer {
				var info any
				if network != nil {
					info = map[string]any{"network_id": network}
				}
				return c[i%2].Do("PUT", "/routers/"+r[i/2%2], map[string]any{"router": map[string]any{"external_gateway_info": info}})
			}
			together(16, func(i int) {
				switch i % 8 {
				case 0, 1, 2:
					all.add(t, set(i, ext), "gateway")
				case 3:
					all.add(t, set(i, nil), "gateway")
				case 4:
					all.add(t, join(r[i/8])(i), "join")
				case 5:
					all.add(t, c[i%2].Do("PUT", "/routers/"+r[i/8]+"/remove_router_interface", map[string]any{"subnet_id": sub}), "leave")
				case 6:
					all.add(t, c[i%2].Do("DELETE", "/subnets/"+sub, nil), "delete subnet")
				case 7:
					all.add(t, c[i%2].Do("DELETE", "/routers/"+r[i/8], nil), "delete router")
				}
			})
			if all.n["500"] > 0 {
				t.Errorf("%v", all.n)
			}
			rig.Exact(t, st)
		}
		insideOut(t, c)
		rig.Exact(t, st)
		var ha tally
		var made []string
		together(8, func(i int) {
			ha.add(t, c[i%2].Do("POST", "/routers", map[string]any{"router": map[string]any{"ha": true, "name": "ha"}}), "ha")
		})
		for _, r := range c[0].List("/routers?name=ha", "routers") {
			made = append(made, fmt.Sprint(r["id"]))
		}
		if n := len(c[0].List("/networks?name=HA%20network%20project%20"+rig.ProjectA, "networks")); ha.n["201"] != 8 || len(made) != 8 || n != 1 {
			t.Errorf("highly available routers: %v, %d networks", ha.n, n)
		}
		together(len(made), func(i int) { ha.add(t, c[i%2].Do("DELETE", "/routers/"+made[i], nil), "ha") })
		if n := len(c[0].List("/networks?name=HA%20network%20project%20"+rig.ProjectA, "networks")); ha.n["204"] != 8 || n != 0 {
			t.Errorf("highly available routers: %v, %d networks", ha.n, n)
		}
		var auto tally
		together(6, func(i int) { auto.add(t, c[i%2].Do("GET", "/auto-allocated-topology/"+rig.ProjectM, nil), "topology") })
		if n := len(c[0].List("/networks?name=auto_allocated_network", "networks")); auto.n["200"] != 6 || n != 1 {
			t.Errorf("topologies: %v, %d networks", auto.n, n)
		}
		rig.Exact(t, st)
	})
}

// insideOut makes networks internal while gateways come onto them: it is the one or the others.
func insideOut(t *testing.T, c []rig.Caller) {
	for range 6 {
		ext := fmt.Sprint(c[0].Make("/networks", "network", map[string]any{"router:external": true})["id"])
		c[0].Make("/subnets", "subnet", map[string]any{"network_id": ext, "cidr": "198.51.100.0/24", "ip_version": 4})
		var in, out tally
		together(8, func(i int) {
			if i%4 == 3 {
				in.add(t, c[i%2].Do("PUT", "/networks/"+ext, map[string]any{"network": map[string]any{"router:external": false}}), "inside")
				return
			}
			out.add(t, c[i%2].Do("POST", "/routers", map[string]any{"router": map[string]any{"external_gateway_info": map[string]any{"network_id": ext}}}), "gateway")
		})
		if in.n["200"] > 0 && out.n["201"] > 0 || in.n["200"]+in.n["409 ExternalNetworkInUse"] != 2 || out.n["201"]+out.n["400 BadRequest"] != 6 {
			t.Errorf("inside out: %v, gateways: %v", in.n, out.n)
		}
	}
}
