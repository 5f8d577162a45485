package main

import (
	"fmt"
	"net/http"
)

// above measures what stands on networks and ports: security groups and their rules, routers with a gateway and an interface,
// floating IPs. A cloud makes them all the time, and each is several rows of several tables.
func (b *bench) above() {
	n := b.others
	if n == 0 {
		return
	}
	groups, rules, routers, addresses := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	make4 := func(network, cidr string) (string, error) {
		id, _, err := b.make("subnets", "subnet", map[string]any{"network_id": network, "ip_version": 4, "cidr": cidr})
		return id, err
	}
	outside, _, err := b.make("networks", "network", map[string]any{"name": "bench-outside", "router:external": true})
	if err == nil {
		_, err = make4(outside, "198.18.0.0/15")
	}
	inside, ports := make([]string, n), make([]string, n)
	for i := 0; err == nil && i < n; i++ {
		var network string
		if network, _, err = b.make("networks", "network", map[string]any{"name": fmt.Sprintf("bench-inside-%d", i)}); err == nil {
			inside[i], err = make4(network, "192.168.0.0/24")
		}
		if err == nil {
			ports[i], _, err = b.make("ports", "port", map[string]any{"network_id": network})
		}
	}
	if err != nil {
		_, _ = fmt.Fprintln(b.trouble, "setting up:", err)
		b.failed++
		return
	}
	one := func(name, collection, resource string, ids []string, body func(i int) map[string]any) {
		b.phase(name, n, b.inFlight, func(i int) (size int, err error) {
			ids[i], size, err = b.make(collection, resource, body(i))
			return size, err
		})
	}
	put := func(name, path, resource string, ids []string, body map[string]any) {
		b.phase(name, n, b.inFlight, func(i int) (int, error) {
			return b.call(http.MethodPut, path+ids[i], map[string]any{resource: body}, nil)
		})
	}
	remove := func(name, path string, ids []string) {
		b.phase(name, n, b.inFlight, func(i int) (int, error) { return b.call(http.MethodDelete, path+ids[i], nil, nil) })
	}
	one("group-create", "security-groups", "security_group", groups, func(i int) map[string]any { return map[string]any{"name": fmt.Sprintf("bench-%d", i)} })
	one("rule-create", "security-group-rules", "security_group_rule", rules, func(i int) map[string]any {
		return map[string]any{"security_group_id": groups[i], "direction": "ingress", "protocol": "tcp", "port_range_min": 1 + i%60000, "port_range_max": 1 + i%60000}
	})
	one("router-create", "routers", "router", routers, func(i int) map[string]any {
		return map[string]any{"name": fmt.Sprintf("bench-%d", i), "external_gateway_info": map[string]any{"network_id": outside}}
	})
	b.phase("router-interface-add", n, b.inFlight, func(i int) (int, error) {
		return b.call(http.MethodPut, "/v2.0/routers/"+routers[i]+"/add_router_interface", map[string]any{"subnet_id": inside[i]}, nil)
	})
	put("router-update", "/v2.0/routers/", "router", routers, map[string]any{"name": "renamed"})
	one("floatingip-create", "floatingips", "floatingip", addresses, func(i int) map[string]any {
		return map[string]any{"floating_network_id": outside, "port_id": ports[i]}
	})
	put("floatingip-update", "/v2.0/floatingips/", "floatingip", addresses, map[string]any{"port_id": nil})
	list := func(name, path string) {
		b.phase(name, b.lists, 1, func(int) (int, error) { return b.call(http.MethodGet, path, nil, nil) })
	}
	list("group-list-all", "/v2.0/security-groups")
	list("router-list-all", "/v2.0/routers")
	list("floatingip-list-all", "/v2.0/floatingips")
	if b.keep {
		return
	}
	remove("floatingip-delete", "/v2.0/floatingips/", addresses)
	b.phase("router-interface-remove", n, b.inFlight, func(i int) (int, error) {
		return b.call(http.MethodPut, "/v2.0/routers/"+routers[i]+"/remove_router_interface", map[string]any{"subnet_id": inside[i]}, nil)
	})
	remove("router-delete", "/v2.0/routers/", routers)
	remove("rule-delete", "/v2.0/security-group-rules/", rules)
	remove("group-delete", "/v2.0/security-groups/", groups)
}
