package conformance

import (
	"fmt"
	"time"

	"isospin/internal/clock"
	"isospin/internal/model"
	"isospin/test/rig"
)

func now() time.Time { return clock.System{}.Now() }

// recipes are how objects of the collections are made. What stands here may not be served yet; what is served and has neither a
// recipe nor attributes that the registry can fill fails the tests that make one of each.
func recipes() map[string]recipe {
	type m = map[string]any
	return map[string]recipe{
		"subnets": {body: func(w *realm, n int) m {
			return m{"network_id": w.room("subnets"), "ip_version": 4, "enable_dhcp": false, "cidr": fmt.Sprintf("10.%d.%d.0/24", n/256, n%256)}
		}},
		"bindings": {as: "A", parent: (*realm).guest, body: func(w *realm, n int) m {
			w.host(fmt.Sprint("h", n))
			return m{"host": fmt.Sprint("h", n)}
		}, change: func(int) m { return m{"profile": m{"a": "b"}} }},
		"security_group_rules": {body: func(_ *realm, n int) m {
			return m{"direction": "ingress", "protocol": "tcp", "port_range_min": n, "port_range_max": n}
		}},
		"default_security_group_rules": {as: "A", common: true, body: func(_ *realm, n int) m {
			return m{"direction": "egress", "protocol": "tcp", "port_range_min": n, "port_range_max": n, "used_in_default_sg": false, "used_in_non_default_sg": false}
		}},
		"security_groups_default_statefulness": {why: "one switch of a project"},
		"address_groups":                       {body: func(_ *realm, n int) m { return m{"addresses": []any{fmt.Sprintf("10.%d.%d.1/32", n/256, n%256)}} }},
		"agents":                               {find: func(w *realm, n int) *object { return w.agent(model.AgentOVS, n) }, change: func(n int) m { return m{"description": fmt.Sprint("changed-", n)} }},
		"availability_zones":                   {why: "computed from agents"},
		"dhcp-agents":                          {find: (*realm).served},
		"dhcp-networks":                        {why: "the schedule from the agents' side"},
		"l3-agents":                            {find: (*realm).hosted},
		"l3-routers":                           {why: "the schedule from the agents' side"},
		"subnetpools":                          {body: func(_ *realm, n int) m { return m{"prefixes": []any{fmt.Sprintf("10.%d.%d.0/24", n/256, n%256)}} }},
		"address_scopes":                       {body: func(*realm, int) m { return m{"ip_version": 4} }},
		"floatingips":                          {body: func(w *realm, _ int) m { return m{"floating_network_id": w.outside()} }},
		"floatingip_pools":                     {why: "computed from external networks"},
		"ndp_proxies":                          {body: (*realm).proxied},
		"port_forwardings": {body: func(w *realm, n int) m {
			p := w.routed()
			return m{"protocol": "tcp", "internal_port_id": p.id, "internal_ip_address": w.address(p), "internal_port": n, "external_port": n}
		}},
		"conntrack_helpers": {body: func(_ *realm, n int) m { return m{"helper": "tftp", "protocol": "udp", "port": n} }, change: func(n int) m { return m{"port": n} }},

		"policies":                  {as: "A"},
		"bandwidth_limit_rules":     {as: "A", lone: true, body: func(*realm, int) m { return m{"max_kbps": 1000} }, change: func(n int) m { return m{"max_kbps": 1000 + n} }},
		"dscp_marking_rules":        {as: "A", lone: true, body: func(*realm, int) m { return m{"dscp_mark": 10} }, change: func(n int) m { return m{"dscp_mark": 8 + n%2*8} }},
		"minimum_bandwidth_rules":   {as: "A", lone: true, body: func(*realm, int) m { return m{"min_kbps": 1000} }, change: func(n int) m { return m{"min_kbps": 1000 + n} }},
		"packet_rate_limit_rules":   {as: "A", lone: true, body: func(*realm, int) m { return m{"max_kpps": 1000} }, change: func(n int) m { return m{"max_kpps": 1000 + n} }},
		"minimum_packet_rate_rules": {as: "A", lone: true, body: func(*realm, int) m { return m{"min_kpps": 1000} }, change: func(n int) m { return m{"min_kpps": 1000 + n} }},
		"rule_types":                {why: "computed from drivers"},

		"alias_bandwidth_limit_rules":     {find: alias("bandwidth_limit_rules"), change: func(n int) m { return m{"max_kbps": 1000 + n} }},
		"alias_dscp_marking_rules":        {find: alias("dscp_marking_rules"), change: func(n int) m { return m{"dscp_mark": 8 + n%2*8} }},
		"alias_minimum_bandwidth_rules":   {find: alias("minimum_bandwidth_rules"), change: func(n int) m { return m{"min_kbps": 1000 + n} }},
		"alias_minimum_packet_rate_rules": {find: alias("minimum_packet_rate_rules"), change: func(n int) m { return m{"min_kpps": 1000 + n} }},

		"trunks": {body: func(w *realm, _ int) m { return m{"port_id": w.make("ports").id} }},
		"rbac_policies": {body: func(w *realm, n int) m {
			return m{"object_type": "network", "action": "access_as_shared", "object_id": w.room("sharing"), "target_tenant": fmt.Sprintf("%032x", n)}
		}, change: func(n int) m { return m{"target_tenant": fmt.Sprintf("%032x", n)} }},
		"segments": {as: "A", body: func(w *realm, _ int) m { return m{"network_id": w.room("segments"), "network_type": "vxlan"} }},
		"network_segment_ranges": {as: "A", body: func(_ *realm, n int) m {
			return m{"network_type": "gre", "minimum": 1000000 + 10*n, "maximum": 1000009 + 10*n, "shared": false}
		}},
		"quotas":          {find: (*realm).quota, change: func(n int) m { return m{"network": 1000 + n} }},
		"metering_labels": {as: "A"},
		"metering_label_rules": {as: "A", body: func(_ *realm, n int) m {
			return m{"direction": "ingress", "remote_ip_prefix": fmt.Sprintf("10.%d.%d.0/24", n/256, n%256)}
		}},
		"flavors":                  {as: "A", common: true, body: func(*realm, int) m { return m{"service_type": "L3_ROUTER_NAT"} }},
		"flavors/service_profiles": {as: "A", named: true, find: (*realm).profiled},
		"next_providers":           {why: "computed from flavors"},
		"service_profiles":         {as: "A", named: true, body: func(_ *realm, n int) m { return m{"metainfo": fmt.Sprintf(`{"n": %d}`, n)} }},
		"service_providers":        {why: "computed from drivers"},

		"network_ip_availabilities": {find: func(w *realm, _ int) *object {
			return w.found("network_ip_availabilities", nil, w.id("networks"))
		}},
		"auto_allocated_topologies": {why: "one of a project"},
		"local_ips":                 {body: func(w *realm, _ int) m { return m{"network_id": w.net()} }},
		"port_associations":         {body: func(w *realm, _ int) m { return m{"fixed_port_id": w.addressed().id} }},
		"loggable_resources":        {why: "computed from drivers"},
		"logs": {as: "A", body: func(w *realm, _ int) m {
			return m{"resource_type": "security_group", "resource_id": w.make("security_groups").id, "event": "ALL"}
		}},
	}
}

// room is a network of the realm beside its first, for what many objects of one kind are on.
func (w *realm) room(what string) string {
	return w.keep("room for "+what, func() *object { return w.make("networks") }).id
}

// net is a network with a subnet that has room for many ports.
func (w *realm) net() string {
	return w.keep("net", func() *object {
		o := w.make("networks")
		w.post("subnets", nil, map[string]any{"network_id": o.id, "ip_version": 4, "cidr": "172.16.0.0/16", "name": w.secret() + "-wide"}, "")
		return o
	}).id
}

// addressed is a new port with an address.
func (w *realm) addressed() *object {
	return w.post("ports", nil, map[string]any{"network_id": w.net(), "name": w.secret() + "-addressed"}, "")
}

// address is the first address of a port.
func (w *realm) address(p *object) string {
	ips := w.c.Get(p.path, "port")["fixed_ips"].([]any)   //nolint:errcheck // a test may panic
	return ips[0].(map[string]any)["ip_address"].(string) //nolint:errcheck // a test may panic
}

// guest is a port of a server, which can have further bindings.
func (w *realm) guest() *object {
	return w.keep("guest", func() *object {
		return w.post("ports", nil, map[string]any{"network_id": w.id("networks"), "device_owner": "compute:nova", "device_id": w.secret() + "-server"}, "")
	})
}

// agent finds the agent of a kind on a new host.
func (w *realm) agent(kind string, n int) *object {
	return w.found("agents", nil, w.host(fmt.Sprint("host", n))[kind])
}

// found is an object that is there without a POST.
func (w *realm) found(collection string, parent *object, id string) *object {
	o := &object{res: w.resource(collection), parent: parent, id: id}
	o.at = w.where(o.res, parent)
	o.path = o.at + "/" + id
	return o
}

// served is a network of a DHCP agent.
func (w *realm) served(n int) *object {
	agent := w.host(fmt.Sprint("dhcp", n))[model.AgentDHCP]
	network := w.keep("served", func() *object { return w.make("networks") })
	w.must("POST", "/agents/"+agent+"/dhcp-networks", map[string]any{"network_id": network.id}, 201)
	o := w.found("dhcp-agents", network, agent)
	o.path = "" // only the list tells
	return o
}

// hosted is a router of an L3 agent.
func (w *realm) hosted(n int) *object {
	agent := w.host(fmt.Sprint("l3", n))[model.AgentL3]
	router := w.make("routers")
	w.must("POST", "/agents/"+agent+"/l3-routers", map[string]any{"router_id": router.id}, 201)
	o := w.found("l3-agents", router, agent)
	o.path = ""
	return o
}

// must sends a request as an administrator that has to be answered so.
func (w *realm) must(method, path string, body any, status int) rig.Answer {
	w.t.Helper()
	a := w.c.Do(method, path, body)
	if a.Status != status {
		w.t.Fatalf("%s %s %s: %d %s %v", method, path, jsonOf(body), a.Status, a.Body, a.Err)
	}
	return a
}

// quota is the limits of the realm's project.
func (w *realm) quota(n int) *object {
	w.must("PUT", "/quotas/"+w.project(), map[string]any{"quota": map[string]any{"subnetpool": 1000 + n}}, 200)
	return w.found("quotas", nil, w.project())
}

// outside is an external network, which all realms of a server share and see.
func (w *realm) outside() string {
	if have := w.c.List("/networks?name=outside", "networks"); len(have) > 0 {
		return have[0]["id"].(string) //nolint:errcheck // a test may panic
	}
	n := w.c.Make("/networks", "network", map[string]any{"name": "outside", "router:external": true})
	w.c.Make("/subnets", "subnet", map[string]any{"network_id": n["id"], "ip_version": 4, "cidr": "192.168.0.0/16", "enable_dhcp": false})
	return n["id"].(string) //nolint:errcheck // a test may panic
}

// routed is a port behind a router with a way out.
func (w *realm) routed() *object {
	return w.keep("routed", func() *object {
		network := w.make("networks")
		subnet := w.post("subnets", nil, map[string]any{"network_id": network.id, "ip_version": 4, "cidr": "172.20.0.0/16", "name": w.secret() + "-routed"}, "")
		router := w.post("routers", nil, map[string]any{"name": w.secret() + "-out", "external_gateway_info": map[string]any{"network_id": w.outside()}}, "")
		w.must("PUT", router.path+"/add_router_interface", map[string]any{"subnet_id": subnet.id}, 200)
		return w.post("ports", nil, map[string]any{"network_id": network.id, "name": w.secret() + "-behind"}, "")
	})
}

// alias finds a rule of a policy by its address of its own.
func alias(rules string) func(w *realm, n int) *object {
	return func(w *realm, _ int) *object {
		o := w.found("alias_"+rules, nil, w.make(rules).id)
		o.at = ""
		return o
	}
}

// profiled is a service profile of a flavor.
func (w *realm) profiled(int) *object {
	flavor, profile := w.make("flavors"), w.make("service_profiles")
	w.must("POST", flavor.path+"/service_profiles", map[string]any{"service_profile": map[string]any{"id": profile.id}}, 201)
	o := w.found("flavors/service_profiles", flavor, profile.id)
	o.path = ""
	return o
}

// proxied are the attributes of an NDP proxy: a port with an address of a scope that reaches the outside.
func (w *realm) proxied(int) map[string]any {
	type m = map[string]any
	var router, network string
	w.keep("proxied", func() *object {
		scope := w.c.Make("/address-scopes", "address_scope", m{"name": "v6", "ip_version": 6, "shared": true})["id"]
		pool := w.c.Make("/subnetpools", "subnetpool", m{"name": "v6", "prefixes": []any{fmt.Sprintf("2001:db8:%x::/48", w.next())}, "default_prefixlen": 64, "address_scope_id": scope, "shared": true})["id"]
		outside := w.c.Make("/networks", "network", m{"name": "outside v6", "router:external": true})["id"]
		w.c.Make("/subnets", "subnet", m{"network_id": outside, "ip_version": 6, "subnetpool_id": pool, "enable_dhcp": false})
		inside := w.make("networks")
		subnet := w.post("subnets", nil, m{"network_id": inside.id, "ip_version": 6, "subnetpool_id": pool, "ipv6_address_mode": "dhcpv6-stateful", "ipv6_ra_mode": "dhcpv6-stateful"}, "")
		r := w.post("routers", nil, m{"name": w.secret() + "-v6", "external_gateway_info": m{"network_id": outside}}, "")
		w.must("PUT", r.path, m{"router": m{"enable_ndp_proxy": true}}, 200)
		w.must("PUT", r.path+"/add_router_interface", m{"subnet_id": subnet.id}, 200)
		w.kept["proxied router"] = r
		return inside
	})
	router, network = w.kept["proxied router"].id, w.kept["proxied"].id
	port := w.post("ports", nil, m{"network_id": network, "name": w.secret() + "-proxied"}, "")
	return m{"router_id": router, "port_id": port.id}
}
