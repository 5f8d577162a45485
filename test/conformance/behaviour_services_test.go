package conformance

import (
	"testing"

	"isospin/internal/model"
	"isospin/test/rig"
)

// TestBehaviourOfServices holds lines of behaviour.md, sections 13 to 15, that need hosts or several services.
func TestBehaviourOfServices(t *testing.T) {
	for _, s := range []struct {
		section string
		steps   []rig.Step
	}{
		{"13 routers", routerLines()}, {"14 floating IPs", floatingLines()}, {"15 agents and schedulers", agentLines()},
		{"15 quotas and the rest", quotaLines()}, {"15 QoS, groups, trunks", otherLines()},
	} {
		t.Run(s.section, func(t *testing.T) {
			r := newRealms(t, "M")[0]
			ids := r.host("h1")
			v := rig.Vars{"l2": ids[model.AgentOVS], "dhcp": ids[model.AgentDHCP], "l3": ids[model.AgentL3], "l3b": r.host("h2")[model.AgentL3]}
			r.c.Run(t, v, append([]rig.Step{
				{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net=network.id"},
				{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net}", "ip_version": 4, "cidr": "10.0.0.0/24"}}`, Want: "201", Save: "sub=subnet.id"},
				{As: "A", Do: "POST /networks", Body: `{"network": {"router:external": true, "name": "out"}}`, Want: "201", Save: "ext=network.id"},
				{As: "A", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${ext}", "ip_version": 4, "cidr": "192.168.0.0/24", "enable_dhcp": false}}`, Want: "201", Save: "esub=subnet.id"},
				{As: "M", Do: "POST /routers", Body: `{"router": {}}`, Want: "201", Save: "r=router.id"},
			}, s.steps...))
		})
	}
}

func routerLines() []rig.Step {
	return []rig.Step{
		{As: "M", Do: "PUT /routers/${r}/add_router_interface", Body: `{}`, Want: "400"},
		{As: "M", Do: "PUT /routers/${r}/add_router_interface", Body: `{"subnet_id": "${sub}"}`, Want: "200", Save: "p=port_id",
			Has: "id = \"${r}\"\nsubnet_id = \"${sub}\"\nnetwork_id = \"${net}\"\nsubnet_ids = [\"${sub}\"]\nproject_id = \"" + rig.ProjectM + "\"\ntenant_id = \"" + rig.ProjectM + "\""},
		{As: "M", Do: "PUT /routers/${r}/add_router_interface", Body: `{"subnet_id": "${sub}"}`, Want: "400"},
		{As: "M", Do: "GET /ports/${p}", Want: "200", Has: "port.device_owner = \"network:router_interface\"\nport.fixed_ips.0.ip_address = \"10.0.0.1\""},
		{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net2=network.id"},
		{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net2}", "ip_version": 4, "cidr": "10.0.0.128/25"}}`, Want: "201", Save: "over=subnet.id"},
		{As: "M", Do: "PUT /routers/${r}/add_router_interface", Body: `{"subnet_id": "${over}"}`, Want: "400"},
		{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net2}", "ip_version": 4, "cidr": "10.2.0.0/24", "gateway_ip": null}}`, Want: "201", Save: "none=subnet.id"},
		{As: "M", Do: "PUT /routers/${r}/add_router_interface", Body: `{"subnet_id": "${none}"}`, Want: "400"},
		{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net}", "ip_version": 6, "cidr": "2001:db8::/64"}}`, Want: "201", Save: "six=subnet.id"},
		{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net}", "ip_version": 6, "cidr": "2001:db8:1::/64"}}`, Want: "201", Save: "six2=subnet.id"},
		{As: "M", Do: "PUT /routers/${r}/add_router_interface", Body: `{"subnet_id": "${six}"}`, Want: "200", Save: "p6=port_id"},
		{As: "M", Do: "PUT /routers/${r}/add_router_interface", Body: `{"subnet_id": "${six2}"}`, Want: "200", Has: "port_id = \"${p6}\""},
		{As: "M", Do: "PUT /routers/${r}", Body: `{"router": {"external_gateway_info": {"network_id": "${net2}"}}}`, Want: "400"},
		{As: "M", Do: "PUT /routers/${r}", Body: `{"router": {"external_gateway_info": {"enable_snat": true}}}`, Want: "400"},
		{As: "M", Do: "PUT /routers/${r}", Body: `{"router": {"external_gateway_info": {"network_id": "${ext}", "enable_snat": false}}}`, Want: "403 PolicyNotAuthorized"},
		{As: "M", Do: "PUT /routers/${r}", Body: `{"router": {"external_gateway_info": {"network_id": "${ext}", "external_fixed_ips": []}}}`, Want: "403 PolicyNotAuthorized"},
		{As: "M", Do: "PUT /routers/${r}", Body: `{"router": {"external_gateway_info": {"network_id": "${ext}"}}}`, Want: "200",
			Has: "router.external_gateway_info.network_id = \"${ext}\"\nrouter.external_gateway_info.enable_snat = true\nrouter.external_gateway_info.external_fixed_ips.# = 1\nrouter.gw_port_id absent"},
		{As: "M", Do: "GET /ports?device_owner=network:router_gateway", Want: "200", Has: "ports.# = 0"},
		{As: "A", Do: "GET /ports?device_owner=network:router_gateway", Want: "200", Has: "ports.# = 1\nports.0.project_id = \"\""},
		{As: "M", Do: "PUT /routers/${r}", Body: `{"router": {"routes": [{"destination": "10.9.0.0/16", "nexthop": "10.0.0.5"}]}}`, Want: "200", Has: "router.routes.# = 1"},
		{As: "M", Do: "PUT /routers/${r}", Body: `{"router": {"routes": [{"destination": "10.9.0.0/16", "nexthop": "10.77.0.5"}]}}`, Want: "400"},
		{As: "M", Do: "PUT /routers/${r}", Body: `{"router": {"routes": [{"destination": "10.9.0.0/16", "nexthop": "10.0.0.1"}]}}`, Want: "400"},
		{As: "M", Do: "PUT /routers/${r}/remove_router_interface", Body: `{"subnet_id": "${sub}"}`, Want: "409 RouterInterfaceInUseByRoute"},
		{As: "M", Do: "PUT /routers/${r}/add_extraroutes", Body: `{"router": {"routes": [{"destination": "10.9.0.0/16", "nexthop": "10.0.0.5"}]}}`, Want: "200", Has: "router.routes.# = 1"},
		{As: "M", Do: "PUT /routers/${r}/remove_extraroutes", Body: `{"router": {"routes": [{"destination": "10.8.0.0/16", "nexthop": "10.0.0.5"}]}}`, Want: "200", Has: "router.routes.# = 1"},
		{As: "M", Do: "PUT /routers/${r}", Body: `{"router": {"routes": null}}`, Want: "200", Has: "router.routes = []"},
		{As: "M", Do: "PUT /routers/${r}", Body: `{"router": {"ha": true}}`, Want: "403 PolicyNotAuthorized"},
		{As: "A", Do: "PUT /routers/${r}", Body: `{"router": {"distributed": true}}`, Want: "400"},
		{As: "M", Do: "DELETE /routers/${r}", Want: "409 RouterInUse"},
		{As: "M", Do: "PUT /routers/${r}/remove_router_interface", Body: `{"port_id": "${p}"}`, Want: "200", Has: "port_id = \"${p}\""},
		{As: "M", Do: "GET /ports/${p}", Want: "404 PortNotFound"},
		{As: "M", Do: "PUT /routers/${r}/remove_router_interface", Body: `{"subnet_id": "${sub}"}`, Want: "404"},
		{As: "M", Do: "PUT /routers/${r}/remove_router_interface", Body: `{"subnet_id": "${six}"}`, Want: "200"},
		{As: "M", Do: "PUT /routers/${r}/remove_router_interface", Body: `{"subnet_id": "${six2}"}`, Want: "200"},
		{As: "M", Do: "DELETE /routers/${r}", Want: "204"},
	}
}

func floatingLines() []rig.Step {
	return []rig.Step{
		{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "name": "in"}}`, Want: "201", Save: "p=port.id ip=port.fixed_ips.0.ip_address"},
		{As: "M", Do: "POST /floatingips", Body: `{"floatingip": {"floating_network_id": "${ext}", "port_id": "${p}"}}`, Want: "404 ExternalGatewayForFloatingIPNotFound"},
		{As: "M", Do: "PUT /routers/${r}", Body: `{"router": {"external_gateway_info": {"network_id": "${ext}"}}}`, Want: "200"},
		{As: "M", Do: "PUT /routers/${r}/add_router_interface", Body: `{"subnet_id": "${sub}"}`, Want: "200"},
		{As: "M", Do: "POST /floatingips", Body: `{"floatingip": {"floating_network_id": "${net}"}}`, Want: "400"},
		{As: "M", Do: "POST /floatingips", Body: `{"floatingip": {"floating_network_id": "${ext}", "floating_ip_address": "192.168.0.99"}}`, Want: "403 PolicyNotAuthorized"},
		{As: "M", Do: "POST /floatingips", Body: `{"floatingip": {"floating_network_id": "${ext}", "fixed_ip_address": "${ip}"}}`, Want: "400"},
		{As: "M", Do: "POST /floatingips", Body: `{"floatingip": {"floating_network_id": "${ext}", "port_id": "${p}"}}`, Want: "201", Save: "f=floatingip.id",
			Has: "floatingip.status = \"DOWN\"\nfloatingip.router_id = \"${r}\"\nfloatingip.fixed_ip_address = \"${ip}\"\nfloatingip.port_details.name = \"in\"\nfloatingip.port_details.network_id = \"${net}\""},
		{As: "M", Do: "POST /floatingips", Body: `{"floatingip": {"floating_network_id": "${ext}", "port_id": "${p}"}}`, Want: "409"},
		{As: "M", Do: "PUT /routers/${r}", Body: `{"router": {"external_gateway_info": null}}`, Want: "409"},
		{As: "M", Do: "PUT /routers/${r}/remove_router_interface", Body: `{"subnet_id": "${sub}"}`, Want: "409 RouterInterfaceInUseByFloatingIP"},
		{As: "M", Do: "PUT /floatingips/${f}", Body: `{"floatingip": {"description": "x"}}`, Want: "200", Has: "floatingip.port_id = \"${p}\""},
		{As: "M", Do: "PUT /floatingips/${f}", Body: `{"floatingip": {}}`, Want: "200", Has: "floatingip.port_id = null\nfloatingip.router_id = null\nfloatingip.fixed_ip_address = null\nfloatingip.port_details = null"},
		{As: "M", Do: "PUT /floatingips/${f}", Body: `{"floatingip": {"port_id": "${p}", "fixed_ip_address": "10.0.0.250"}}`, Want: "400"},
		{As: "M", Do: "PUT /floatingips/${f}", Body: `{"floatingip": {"port_id": "${p}"}}`, Want: "200", Has: "floatingip.router_id = \"${r}\""},
		{As: "M", Do: "DELETE /ports/${p}", Want: "204"},
		{As: "M", Do: "GET /floatingips/${f}", Want: "200", Has: "floatingip.port_id = null"},
		{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}"}}`, Want: "201", Save: "q=port.id qip=port.fixed_ips.0.ip_address"},
		{As: "M", Do: "POST /floatingips/${f}/port_forwardings", Body: `{"port_forwarding": {"protocol": "tcp", "internal_port_id": "${q}", "internal_ip_address": "${qip}", "internal_port": 80, "external_port": 8080}}`, Want: "201", Save: "pf=port_forwarding.id",
			Has: "port_forwarding.external_port = 8080\nport_forwarding.external_port_range = \"8080:8080\""},
		{As: "M", Do: "GET /port_forwardings/${pf}", Want: "404"},
		{As: "M", Do: "DELETE /floatingips/${f}", Want: "409 FipInUseByPortForwarding"},
		{As: "M", Do: "DELETE /floatingips/${f}/port_forwardings/${pf}", Want: "204"},
		{As: "M", Do: "DELETE /floatingips/${f}", Want: "204"},
	}
}

func agentLines() []rig.Step {
	return []rig.Step{
		{As: "A", Do: "POST /agents", Body: `{"agent": {}}`, Want: "400"},
		{As: "A", Do: "GET /agents/${l2}", Want: "200", Has: "agent.alive = true\nagent.admin_state_up = true"},
		{As: "A", Do: "PUT /agents/${l2}", Body: `{"agent": {"description": "x", "admin_state_up": false}}`, Want: "200", Has: "agent.description = \"x\"\nagent.admin_state_up = false"},
		{As: "A", Do: "PUT /agents/${l2}", Body: `{"agent": {"host": "y"}}`, Want: "400"},
		{As: "A", Do: "POST /networks", Body: `{"network": {"name": "bare"}}`, Want: "201", Save: "bare=network.id"},
		{As: "A", Do: "POST /agents/${dhcp}/dhcp-networks", Body: `{"network_id": "${bare}"}`, Want: "201"},
		{As: "A", Do: "POST /agents/${dhcp}/dhcp-networks", Body: `{"network_id": "${bare}"}`, Want: "409"},
		{As: "A", Do: "GET /networks/${bare}/dhcp-agents", Want: "200", Has: "agents.# = 1\nagents.0.id = \"${dhcp}\""},
		{As: "A", Do: "POST /agents/${l3}/dhcp-networks", Body: `{"network_id": "${bare}"}`, Want: "404 InvalidDHCPAgent"},
		{As: "A", Do: "DELETE /agents/${dhcp}/dhcp-networks/${bare}", Want: "204"},
		{As: "A", Do: "DELETE /agents/${dhcp}/dhcp-networks/${bare}", Want: "409"},
		{As: "A", Do: "POST /agents/${l3}/l3-routers", Body: `{"router_id": "${r}"}`, Want: "201"},
		{As: "A", Do: "POST /agents/${l3}/l3-routers", Body: `{"router_id": "${r}"}`, Want: "201"},
		{As: "A", Do: "POST /agents/${l3b}/l3-routers", Body: `{"router_id": "${r}"}`, Want: "409 RouterHostedByL3Agent"},
		{As: "A", Do: "POST /agents/${dhcp}/l3-routers", Body: `{"router_id": "${r}"}`, Want: "404 InvalidL3Agent"},
		{As: "A", Do: "GET /routers/${r}/l3-agents", Want: "200", Has: "agents.# = 1\nagents.0.id = \"${l3}\"\nagents.0.ha_state present"},
		{As: "A", Do: "GET /agents/${l3}/l3-routers", Want: "200", Has: "routers.# = 1"},
		{As: "A", Do: "DELETE /agents/${l3}/l3-routers/${r}", Want: "204"},
		{As: "M", Do: "POST /agents/${l3}/l3-routers", Body: `{"router_id": "${r}"}`, Want: "403"},
		{As: "A", Do: "GET /availability_zones", Want: "200", Has: "availability_zones.# = 2\navailability_zones.0.name = \"nova\"\navailability_zones.0.state = \"available\""},
		{As: "M", Do: "POST /networks", Body: `{"network": {"availability_zone_hints": ["nope"]}}`, Want: "404"},
		{As: "A", Do: "DELETE /agents/${l2}", Want: "204"},
	}
}

func quotaLines() []rig.Step {
	q := "/quotas/" + rig.ProjectM
	return []rig.Step{
		{As: "A", Do: "GET " + q, Want: "200", Has: "quota.project_id absent\nquota.router = -1\nquota.trunk = -1"},
		{As: "A", Do: "GET " + q + "/details", Want: "200", Has: "quota.network.used = 1\nquota.network.reserved = 0\nquota.router.used = 1\nquota.subnet.used = 1"},
		{As: "A", Do: "PUT " + q, Body: `{"quota": {"router": 0}}`, Want: "400"},
		{As: "A", Do: "PUT " + q, Body: `{"quota": {"router": 0, "force": true}}`, Want: "200", Has: "quota.router = 0"},
		{As: "M", Do: "POST /routers", Body: `{"router": {}}`, Want: "409 OverQuota"},
		{As: "A", Do: "PUT " + q, Body: `{"quota": {"router": -2}}`, Want: "400"},
		{As: "A", Do: "GET /quotas", Want: "200", Has: "quotas.# = 1\nquotas.0.project_id = \"" + rig.ProjectM + "\"\nquotas.0.tenant_id = \"" + rig.ProjectM + "\""},
		{As: "A", Do: "DELETE " + q, Want: "204"},
		{As: "A", Do: "DELETE " + q, Want: "404 TenantQuotaNotFound"},
		{As: "M", Do: "GET /quotas/tenant", Want: "200", Has: "tenant.tenant_id = \"" + rig.ProjectM + "\""},
		{As: "M", Do: "GET /quotas/project", Want: "200", Has: "project.project_id = \"" + rig.ProjectM + "\""},
		{As: "A", Do: "GET /quotas/nobody", Want: "200"},
		{As: "A", Do: "GET /network-ip-availabilities/${net}", Want: "200", Has: "network_ip_availability.total_ips = 253\nnetwork_ip_availability.network_id = \"${net}\""},
		{As: "M", Do: "GET /auto-allocated-topology/" + rig.ProjectO, Want: "403"},
		{As: "M", Do: "GET /auto-allocated-topology/" + rig.ProjectM + "?fields=dry-run", Want: "409"},
		{As: "A", Do: "PUT /networks/${ext}", Body: `{"network": {"is_default": true}}`, Want: "200"},
		{As: "A", Do: "POST /subnetpools", Body: `{"subnetpool": {"name": "d", "prefixes": ["10.50.0.0/16"], "default_prefixlen": 26, "is_default": true, "shared": true}}`, Want: "201"},
		{As: "M", Do: "GET /auto-allocated-topology/" + rig.ProjectM + "?fields=dry-run", Want: "200", Has: "auto_allocated_topology.id = \"dry-run=pass\""},
		{As: "M", Do: "GET /auto-allocated-topology/None", Want: "200", Save: "auto=auto_allocated_topology.id"},
		{As: "M", Do: "GET /auto-allocated-topology/" + rig.ProjectM, Want: "200", Has: "auto_allocated_topology.id = \"${auto}\""},
		{As: "M", Do: "GET /networks/${auto}", Want: "200"},
		{As: "M", Do: "DELETE /auto-allocated-topology/" + rig.ProjectM, Want: "204"},
		{As: "M", Do: "GET /networks/${auto}", Want: "404"},
	}
}

func otherLines() []rig.Step {
	return []rig.Step{
		{As: "A", Do: "POST /qos/policies", Body: `{"policy": {"name": "q"}}`, Want: "201", Save: "q=policy.id"},
		{As: "A", Do: "POST /qos/policies/${q}/bandwidth_limit_rules", Body: `{"bandwidth_limit_rule": {"max_kbps": 100}}`, Want: "201", Has: "bandwidth_limit_rule.qos_policy_id absent"},
		{As: "A", Do: "POST /qos/policies/${q}/bandwidth_limit_rules", Body: `{"bandwidth_limit_rule": {"max_kbps": 200}}`, Want: "409 QoSRulesConflict"},
		{As: "A", Do: "GET /qos/policies/${q}", Want: "200", Has: "policy.rules.# = 1\npolicy.rules.0.type = \"bandwidth_limit\"\npolicy.rules.0.qos_policy_id = \"${q}\""},
		{As: "A", Do: "GET /qos/policies/${q}/minimum_packet_rate_rules", Want: "200"},
		{As: "A", Do: "GET /qos/policies/${q}/minimum-packet-rate-rules", Want: "200"},
		{As: "A", Do: "PUT /networks/${net}", Body: `{"network": {"qos_policy_id": "${q}"}}`, Want: "200"},
		{As: "A", Do: "DELETE /qos/policies/${q}", Want: "409"},
		{As: "M", Do: "POST /address-groups", Body: `{"address_group": {"addresses": ["10.0.0.1"]}}`, Want: "400"},
		{As: "M", Do: "POST /address-groups", Body: `{"address_group": {"addresses": ["10.0.0.1/32"]}}`, Want: "201", Save: "ag=address_group.id"},
		{As: "M", Do: "PUT /address-groups/${ag}/remove_addresses", Body: `{"addresses": ["10.0.0.2/32"]}`, Want: "404 AddressesNotFound"},
		{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}"}}`, Want: "201", Save: "parent=port.id"},
		{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}"}}`, Want: "201", Save: "sub1=port.id mac=port.mac_address"},
		{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}"}}`, Want: "201", Save: "sub2=port.id"},
		{As: "M", Do: "POST /trunks", Body: `{"trunk": {"port_id": "${parent}", "sub_ports": [{"port_id": "${sub1}", "segmentation_type": "vlan", "segmentation_id": 9}]}}`, Want: "201", Save: "t=trunk.id"},
		{As: "M", Do: "POST /trunks", Body: `{"trunk": {"port_id": "${parent}"}}`, Want: "409 ParentPortInUse"},
		{As: "M", Do: "GET /ports/${parent}", Want: "200", Has: "port.trunk_details.trunk_id = \"${t}\"\nport.trunk_details.sub_ports.0.mac_address = \"${mac}\""},
		{As: "M", Do: "PUT /trunks/${t}/add_subports", Body: `{"sub_ports": [{"port_id": "${sub2}", "segmentation_type": "vlan", "segmentation_id": 9}]}`, Want: "409"},
		{As: "M", Do: "PUT /trunks/${t}", Body: `{"trunk": {"admin_state_up": false}}`, Want: "200"},
		{As: "M", Do: "PUT /trunks/${t}/add_subports", Body: `{"sub_ports": [{"port_id": "${sub2}", "segmentation_type": "vlan", "segmentation_id": 10}]}`, Want: "409 TrunkDisabled"},
		{As: "M", Do: "DELETE /trunks/${t}", Want: "409 TrunkDisabled"},
	}
}
