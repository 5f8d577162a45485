//go:build conformance

package conformance

import (
	"fmt"
	"testing"

	"isospin/test/rig"
)

// TestFloatingIPsAtOnce: through two servers at once the same address is given once, the same port inside gets one floating IP
// of a network, a port outside is forwarded once, and ranges do not meet.
func TestFloatingIPsAtOnce(t *testing.T) {
	twoServers(t, map[string]string{"quotas/quota_floatingip": "-1"}, func(t *testing.T, _ string, c []rig.Caller, options map[string]string) {
		st := rig.Look(t, options)
		v := rig.Vars{}
		c[0].Run(t, v, topology())
		m := func(i int) rig.Caller { return c[i%2].Who("M") }
		fip := func(rest map[string]any) map[string]any {
			rest["floating_network_id"] = v["ext"]
			return map[string]any{"floatingip": rest}
		}
		for round := range 3 {
			var counts tally
			address := fmt.Sprintf("203.0.113.%d", 100+round)
			together(8, func(i int) {
				counts.add(t, c[i%2].Do("POST", "/floatingips", fip(map[string]any{"floating_ip_address": address})), "address")
			})
			if counts.n["201"] != 1 || counts.n["409 IpAddressAlreadyAllocated"] != 7 {
				t.Errorf("one address: %v", counts.n)
			}
			port := m(0).Make("/ports", "port", map[string]any{"network_id": v["net"], "fixed_ips": []any{map[string]any{"ip_address": fmt.Sprintf("10.0.0.%d", 100+round)}}})
			counts = tally{}
			together(8, func(i int) {
				counts.add(t, m(i).Do("POST", "/floatingips", fip(map[string]any{"port_id": port["id"]})), "create")
			})
			if counts.n["201"] != 1 || counts.n["409 FloatingIPPortAlreadyAssociated"] != 7 {
				t.Errorf("one port, created: %v", counts.n)
			}
			counts = tally{}
			var idle []any
			for range 8 {
				idle = append(idle, m(0).Make("/floatingips", "floatingip", map[string]any{"floating_network_id": v["ext"]})["id"])
			}
			other := m(0).Make("/ports", "port", map[string]any{"network_id": v["net"], "fixed_ips": []any{map[string]any{"ip_address": fmt.Sprintf("10.0.0.%d", 150+round)}}})
			together(8, func(i int) {
				counts.add(t, m(i).Do("PUT", fmt.Sprintf("/floatingips/%v", idle[i]), map[string]any{"floatingip": map[string]any{"port_id": other["id"]}}), "associate")
			})
			if counts.n["200"] != 1 || counts.n["409 FloatingIPPortAlreadyAssociated"] != 7 {
				t.Errorf("one port, associated: %v", counts.n)
			}
			inside := m(0).Make("/ports", "port", map[string]any{"network_id": v["net"], "fixed_ips": []any{map[string]any{"ip_address": fmt.Sprintf("10.0.0.%d", 200+round)}}})
			free := m(0).Make("/floatingips", "floatingip", map[string]any{"floating_network_id": v["ext"]})["id"]
			forward := func(i int, of any, rest map[string]any) rig.Answer {
				rest["internal_port_id"], rest["internal_ip_address"], rest["protocol"] = inside["id"], fmt.Sprintf("10.0.0.%d", 200+round), "tcp"
				return m(i).Do("POST", fmt.Sprintf("/floatingips/%v/port_forwardings", of), map[string]any{"port_forwarding": rest})
			}
			counts = tally{}
			together(8, func(i int) {
				counts.add(t, forward(i, free, map[string]any{"external_port": 80, "internal_port": 1000 + i}), "outside")
			})
			together(8, func(i int) {
				counts.add(t, forward(i, free, map[string]any{"external_port_range": fmt.Sprintf("%d:%d", 8000+i, 8010+i), "internal_port": 2000 + i}), "ranges")
			})
			if counts.n["201"] != 2 || counts.n["400 BadRequest"] != 14 {
				t.Errorf("forwardings outside: %v", counts.n)
			}
			second := m(0).Make("/floatingips", "floatingip", map[string]any{"floating_network_id": v["ext"]})["id"]
			counts = tally{}
			together(8, func(i int) {
				counts.add(t, forward(i, []any{free, second}[i/2%2], map[string]any{"external_port": 3000 + i, "internal_port": 22}), "inside")
			})
			if counts.n["201"] != 1 || counts.n["400 BadRequest"] != 7 {
				t.Errorf("forwardings inside: %v", counts.n)
			}
			rig.Exact(t, st)
		}
	})
}

// TestFloatingIPsComeAndGo: whatever goes while floating IPs and forwardings come, ports, interfaces and gateways, nothing hangs in
// the air, and nobody is told of a fault of the server.
func TestFloatingIPsComeAndGo(t *testing.T) {
	twoServers(t, map[string]string{"quotas/quota_floatingip": "-1"}, func(t *testing.T, _ string, c []rig.Caller, options map[string]string) {
		st := rig.Look(t, options)
		v := rig.Vars{}
		c[0].Run(t, v, topology())
		var counts tally
		for round := range 8 {
			m := func(i int) rig.Caller { return c[i%2].Who("M") }
			ip := fmt.Sprintf("10.0.0.%d", 100+round)
			port := m(0).Make("/ports", "port", map[string]any{"network_id": v["net"], "fixed_ips": []any{map[string]any{"ip_address": ip}}})["id"]
			a := m(0).Make("/floatingips", "floatingip", map[string]any{"floating_network_id": v["ext"]})["id"]
			b := m(0).Make("/floatingips", "floatingip", map[string]any{"floating_network_id": v["ext"]})["id"]
			do := []func(c rig.Caller) rig.Answer{
				func(c rig.Caller) rig.Answer {
					return c.Do("PUT", fmt.Sprintf("/floatingips/%v", a), map[string]any{"floatingip": map[string]any{"port_id": port}})
				},
				func(c rig.Caller) rig.Answer {
					return c.Do("POST", fmt.Sprintf("/floatingips/%v/port_forwardings", b), map[string]any{"port_forwarding": map[string]any{
						"internal_port_id": port, "internal_ip_address": ip, "protocol": "tcp", "external_port": 80, "internal_port": 80}})
				},
				func(c rig.Caller) rig.Answer {
					return c.Do("POST", fmt.Sprintf("/floatingips/%v/port_forwardings", a), map[string]any{"port_forwarding": map[string]any{
						"internal_port_id": port, "internal_ip_address": ip, "protocol": "udp", "external_port": 80, "internal_port": 80}})
				},
				func(c rig.Caller) rig.Answer { return c.Do("DELETE", fmt.Sprintf("/floatingips/%v", b), nil) },
				func(c rig.Caller) rig.Answer {
					switch round % 4 {
					case 0:
						return c.Do("DELETE", fmt.Sprintf("/ports/%v", port), nil)
					case 1:
						return c.Do("PUT", fmt.Sprintf("/ports/%v", port), map[string]any{"port": map[string]any{"fixed_ips": []any{map[string]any{"ip_address": fmt.Sprintf("10.0.0.%d", 200+round)}}}})
					case 2:
						return c.Do("PUT", "/routers/"+v["r"]+"/remove_router_interface", map[string]any{"subnet_id": v["sub"]})
					}
					return c.Do("PUT", "/routers/"+v["r"], `{"router": {"external_gateway_info": null}}`)
				},
			}
			together(15, func(i int) { counts.add(t, do[i%len(do)](m(i)), "something") })
			rig.Exact(t, st)
			// What went comes back for the next round.
			m(0).Do("PUT", "/routers/"+v["r"]+"/add_router_interface", map[string]any{"subnet_id": v["sub"]})
			m(0).Do("PUT", "/routers/"+v["r"], map[string]any{"router": map[string]any{"external_gateway_info": map[string]any{"network_id": v["ext"]}}})
		}
		t.Logf("%v", counts.n)
	})
}
