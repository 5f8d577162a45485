package conformance

import (
	"testing"

	"isospin/test/rig"
)

// TestBehaviour goes through behaviour.md, section by section, and holds each line that no test of its own subject holds.
func TestBehaviour(t *testing.T) {
	for _, s := range []struct {
		section string
		steps   []rig.Step
	}{
		{"1 front ends", frontEnds()}, {"2 verbs", verbsAndEnvelopes()}, {"3 bulk", bulkCreates()}, {"4 errors", errorShapes()},
		{"5 who sees what", whoSeesWhat()}, {"6 filters", portFilters()}, {"7 standard attributes", standardAttributes()},
		{"8 networks", networkLines()}, {"10 ports", portLines()}, {"12 security groups", defaultGroupLines()},
	} {
		t.Run(s.section, func(t *testing.T) { roomy(t).Run(t, rig.Vars{}, s.steps) })
	}
}

func frontEnds() []rig.Step {
	return []rig.Step{
		{As: "M", Do: "GET /security_groups", Want: "200", Has: "security_groups.# = 1"},
		{As: "M", Do: "GET /security-groups/", Want: "200", Has: "security_groups.# = 1"},
		{As: "M", Do: "GET /security-groups.json", Want: "200", Has: "security_groups.# = 1"},
		{As: "M", Do: "GET /address_scopes", Want: "200", Has: "address_scopes.# = 0"},
		{As: "M", Do: "GET /qos/rule_types", Want: "200"},
		{As: "R", Do: "GET /extensions/nope", Want: "404"},
		{As: "R", Do: "GET /nope", Want: "404"},
	}
}

func verbsAndEnvelopes() []rig.Step {
	return []rig.Step{
		{As: "M", Do: "POST /networks", Body: `{"network": {"project_id": "` + rig.ProjectM + `", "tenant_id": "` + rig.ProjectO + `"}}`, Want: "400"},
		{As: "M", Do: "POST /networks", Body: `{"network": {"project_id": "` + rig.ProjectM + `", "tenant_id": "` + rig.ProjectM + `"}}`, Want: "201", Save: "net=network.id"},
		{As: "M", Do: "POST /routers", Body: `{"router": {"project_id": "` + rig.ProjectO + `"}}`, Want: "400"},
		{As: "M", Do: "PUT /networks/${net}", Body: `{"network": {"tenant_id": "` + rig.ProjectM + `"}}`, Want: "400 HTTPBadRequest"},
		{As: "M", Do: "PUT /networks/${net}", Body: `{"network": {"description": null}}`, Want: "400 HTTPBadRequest"},
		{As: "M", Do: "DELETE /networks/${net}", Body: `{}`, Want: "400"},
		{As: "M", Do: "PUT /routers", Body: `{"router": {}}`, Want: "404 RouterNotFound"},
		{As: "M", Do: "DELETE /routers", Want: "404 RouterNotFound"},
		{As: "M", Do: "PUT /qos/policies", Body: `{"policy": {}}`, Want: "404 QosPolicyNotFound"},
		{As: "M", Do: "POST /routers", Body: `{"router": {}}`, Want: "201", Save: "r=router.id", Has: "router.tenant_id = \"" + rig.ProjectM + "\"\nrouter.project_id = \"" + rig.ProjectM + "\""},
		{As: "M", Do: "GET /routers/${r}/add_router_interface", Want: "405"},
		{As: "M", Do: "POST /routers/${r}", Body: `{"router": {}}`, Want: "405"},
		{As: "M", Do: "PATCH /routers/${r}", Body: `{"router": {}}`, Want: "405"},
		{As: "M", Do: "HEAD /routers/${r}", Want: "405"},
		{As: "M", Do: "PUT /routers/${r}/nope", Body: `{}`, Want: "404"},
		{As: "M", Do: "POST /routers", Body: `{`, Want: "400 MalformedRequestBody"},
		{As: "M", Do: "POST /routers", Want: "400"},
		{As: "M", Do: "PUT /routers/${r}", Want: "400"},
		{As: "M", Do: "POST /routers", Body: `{"router": {"admin_state_up": "0"}}`, Want: "201", Has: "router.admin_state_up = false"},
		{As: "M", Do: "POST /routers", Body: `{"router": {"admin_state_up": "maybe"}}`, Want: "400 InvalidInput"},
		// What a member action answers: bare objects, and an envelope for address groups.
		{As: "M", Do: "POST /subnetpools", Body: `{"subnetpool": {"name": "p", "prefixes": ["10.10.0.0/16"]}}`, Want: "201", Save: "p=subnetpool.id"},
		{As: "M", Do: "PUT /subnetpools/${p}/add_prefixes", Body: `{"prefixes": ["10.11.0.0/16"]}`, Want: "200", Has: `prefixes = ["10.10.0.0/15"]`},
		{As: "M", Do: "POST /address-groups", Body: `{"address_group": {"name": "g"}}`, Want: "201", Save: "g=address_group.id"},
		{As: "M", Do: "PUT /address-groups/${g}/add_addresses", Body: `{"addresses": ["10.0.0.0/8"]}`, Want: "200", Has: `address_group.addresses = ["10.0.0.0/8"]`},
	}
}

func bulkCreates() []rig.Step {
	return []rig.Step{
		{As: "M", Do: "POST /networks", Body: `{"network": {"name": "one"}, "networks": [{"name": "a"}, {"name": "b"}]}`, Want: "201", Has: "networks.# = 2\nnetwork absent", Save: "net=networks.0.id"},
		{As: "M", Do: "POST /routers", Body: `{"routers": [{"name": "a"}]}`, Want: "400"},
		{As: "M", Do: "POST /subnetpools", Body: `{"subnetpools": [{"name": "p", "prefixes": ["10.10.0.0/16"]}]}`, Want: "400"},
		{As: "M", Do: "POST /floatingips", Body: `{"floatingips": [{"floating_network_id": "${net}"}]}`, Want: "400"},
		{As: "M", Do: "POST /trunks", Body: `{"trunks": [{"port_id": "${net}"}]}`, Want: "400"},
		{As: "A", Do: "POST /segments", Body: `{"segments": [{"network_id": "${net}", "network_type": "vxlan"}]}`, Want: "400"},
		{As: "A", Do: "POST /qos/policies", Body: `{"policies": [{"name": "p"}]}`, Want: "400"},
		{As: "M", Do: "POST /rbac-policies", Body: `{"rbac_policies": [{}]}`, Want: "400"},
		{As: "A", Do: "POST /metering/metering-labels", Body: `{"metering_labels": [{"name": "a"}, {"name": "b"}]}`, Want: "201", Has: "metering_labels.# = 2", Save: "l=metering_labels.0.id"},
		{As: "A", Do: "POST /metering/metering-label-rules", Body: `{"metering_label_rules": [{"metering_label_id": "${l}", "direction": "ingress", "remote_ip_prefix": "10.0.0.0/24"}, {"metering_label_id": "${l}", "direction": "ingress", "remote_ip_prefix": "10.0.0.0/25"}]}`, Want: "409"},
		{As: "A", Do: "GET /metering/metering-label-rules", Want: "200", Has: "metering_label_rules.# = 0"},
		{As: "M", Do: "POST /routers", Body: `{"router": {}}`, Want: "201", Save: "r=router.id"},
		{As: "M", Do: "POST /routers/${r}/conntrack_helpers", Body: `{"conntrack_helpers": [{"helper": "tftp", "protocol": "udp", "port": 69}, {"helper": "tftp", "protocol": "udp", "port": 70}]}`, Want: "201", Has: "conntrack_helpers.# = 2"},
		{As: "M", Do: "POST /routers/${r}/conntrack_helpers", Body: `{"conntrack_helpers": [{"helper": "tftp", "protocol": "udp", "port": 71}, {"helper": "tftp", "protocol": "udp", "port": 69}]}`, Want: "400"},
		{As: "M", Do: "GET /routers/${r}/conntrack_helpers", Want: "200", Has: "conntrack_helpers.# = 2"},
		{As: "M", Do: "PUT /routers/${r}", Body: `{"routers": [{"name": "x"}]}`, Want: "400"},
	}
}

func errorShapes() []rig.Step {
	const id = "5b9c5d1e-0d83-4d0c-a1ff-7d8b4a8f7d00"
	shape := "NeutronError.type present\nNeutronError.message present\nNeutronError.detail = \"\""
	return []rig.Step{
		{As: "M", Do: "GET /networks/" + id, Want: "404 NetworkNotFound", Has: shape},
		{As: "M", Do: "GET /routers/" + id, Want: "404 RouterNotFound", Has: shape},
		{As: "M", Do: "GET /floatingips/" + id, Want: "404 FloatingIPNotFound", Has: shape},
		{As: "M", Do: "GET /trunks/" + id, Want: "404 TrunkNotFound", Has: shape},
		{As: "M", Do: "GET /qos/policies/" + id, Want: "404 QosPolicyNotFound", Has: shape},
		{As: "A", Do: "GET /agents/" + id, Want: "404 AgentNotFound", Has: shape},
		{As: "M", Do: "POST /networks", Body: `{"network": {"nope": 1}}`, Want: "400 HTTPBadRequest", Has: shape},
		{As: "R", Do: "POST /networks", Body: `{"network": {}}`, Want: "403 PolicyNotAuthorized", Has: shape},
		{As: "M", Do: "POST /subnetpools", Body: `{"subnetpool": {"name": "p", "prefixes": ["10.10.0.0/24"]}}`, Want: "201", Save: "p=subnetpool.id"},
		{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net=network.id"},
		{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net}", "ip_version": 4, "subnetpool_id": "${p}", "prefixlen": 25}}`, Want: "201"},
		{As: "M", Do: "DELETE /subnetpools/${p}", Want: "400 SubnetPoolDeleteError", Has: shape},
	}
}

func whoSeesWhat() []rig.Step {
	return []rig.Step{
		{As: "M", Do: "GET /agents", Want: "200", Has: "agents = []"},
		{As: "M", Do: "GET /network-ip-availabilities", Want: "200", Has: "network_ip_availabilities = []"},
		{As: "M", Do: "GET /segments", Want: "200", Has: "segments = []"},
		{As: "M", Do: "POST /networks", Body: `{"network": {"shared": false}}`, Want: "201", Save: "net=network.id"},
		{As: "M", Do: "PUT /networks/${net}", Body: `{"network": {"shared": false}}`, Want: "403 PolicyNotAuthorized"},
		{As: "M", Do: "GET /network-ip-availabilities/${net}", Want: "404"},
		{As: "A", Do: "GET /segments?network_id=${net}", Want: "200", Save: "seg=segments.0.id", Has: "segments.0.name = null"},
		{As: "M", Do: "GET /segments/${seg}", Want: "404 SegmentNotFound"},
		{As: "M", Do: "GET /networks/${net}", Want: "200", Has: "network.provider:network_type absent\nnetwork.provider:segmentation_id absent\nnetwork.provider:physical_network absent"},
		{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "mac_address": "fa:16:3e:00:00:77", "port_security_enabled": false, "device_owner": "network:x"}}`, Want: "201",
			Has: "port.binding:host_id absent\nport.binding:profile absent\nport.binding:vif_type absent\nport.binding:vif_details absent\nport.binding:vnic_type present"},
		{As: "M", Do: "POST /routers", Body: `{"router": {}}`, Want: "201", Save: "r=router.id", Has: "router.ha absent\nrouter.distributed absent"},
		{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net}", "ip_version": 4, "cidr": "10.0.0.0/24"}}`, Want: "201", Save: "sub=subnet.id", Has: "subnet.segment_id absent"},
		{As: "R", Do: "PUT /routers/${r}/add_router_interface", Body: `{"subnet_id": "${sub}"}`, Want: "403 PolicyNotAuthorized"},
		{As: "O", Do: "PUT /routers/${r}/add_router_interface", Body: `{"subnet_id": "${sub}"}`, Want: "404 RouterNotFound"},
		{As: "R", Do: "PUT /networks/${net}", Body: `{"network": {"name": "x"}}`, Want: "403 PolicyNotAuthorized"},
		{As: "M", Do: "GET /networks/${net}/dhcp-agents", Want: "403"},
		{As: "M", Do: "GET /quotas/" + rig.ProjectO, Want: "403"},
		{As: "M", Do: "PUT /quotas/" + rig.ProjectM, Body: `{"quota": {"network": 5}}`, Want: "403"},
		// A foreign network that is shared: subnet_id yes, address, MAC and the rest no.
		{As: "A", Do: "POST /networks", Body: `{"network": {"shared": true}}`, Want: "201", Save: "pub=network.id"},
		{As: "A", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${pub}", "ip_version": 4, "cidr": "10.1.0.0/24"}}`, Want: "201", Save: "psub=subnet.id"},
		{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${pub}", "fixed_ips": [{"subnet_id": "${psub}"}]}}`, Want: "201"},
		{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${pub}", "fixed_ips": [{"ip_address": "10.1.0.9"}]}}`, Want: "403 PolicyNotAuthorized"},
		{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${pub}", "mac_address": "fa:16:3e:00:00:78"}}`, Want: "403 PolicyNotAuthorized"},
		{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${pub}", "port_security_enabled": false}}`, Want: "403 PolicyNotAuthorized"},
		{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${pub}", "device_owner": "network:x"}}`, Want: "403 PolicyNotAuthorized"},
		{As: "M", Do: "PUT /networks/${pub}", Body: `{"network": {"name": "x"}}`, Want: "403 PolicyNotAuthorized"},
	}
}

func portFilters() []rig.Step {
	return []rig.Step{
		{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net=network.id"},
		{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net}", "ip_version": 4, "cidr": "10.0.0.0/24"}}`, Want: "201", Save: "sub=subnet.id"},
		{As: "M", Do: "GET /security-groups", Want: "200", Save: "sg=security_groups.0.id"},
		{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "fixed_ips": [{"ip_address": "10.0.0.77"}], "device_owner": "compute:a"}}`, Want: "201", Save: "p=port.id"},
		{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "fixed_ips": [{"ip_address": "10.0.0.88"}], "security_groups": []}}`, Want: "201"},
		{As: "M", Do: "GET /ports?fixed_ips=ip_address=10.0.0.77", Want: "200", Has: "ports.# = 1\nports.0.id = \"${p}\""},
		{As: "M", Do: "GET /ports?fixed_ips=subnet_id=${sub}", Want: "200", Has: "ports.# = 2"},
		{As: "M", Do: "GET /ports?fixed_ips=ip_address_substr=.77", Want: "200", Has: "ports.# = 1"},
		{As: "M", Do: "GET /ports?fixed_ips=10.0.0.77", Want: "400"},
		{As: "M", Do: "GET /ports?security_groups=${sg}", Want: "200", Has: "ports.# = 1\nports.0.id = \"${p}\""},
		{As: "M", Do: "GET /ports?device_owner=compute", Want: "200", Has: "ports.# = 0"},
		{As: "M", Do: "GET /ports?device_owner=compute:a", Want: "200", Has: "ports.# = 1"},
		{As: "M", Do: "GET /networks?router:external=false", Want: "200", Has: "networks.# = 1"},
		{As: "A", Do: "GET /networks?provider:network_type=vxlan", Want: "200", Has: "networks.# = 1"},
		{As: "M", Do: "GET /networks?fields=", Want: "200", Has: "networks = [{}]"},
		{As: "M", Do: "GET /routers?sort_key=name", Want: "400"},
		{As: "M", Do: "GET /routers?nope=1", Want: "400"},
	}
}

func standardAttributes() []rig.Step {
	return []rig.Step{
		{As: "M", Do: "POST /routers", Body: `{"router": {}}`, Want: "201", Save: "r=router.id", Has: "router.revision_number = 1"},
		{As: "M", Do: "PUT /routers/${r}", Body: `{"router": {}}`, Want: "200", Has: "router.revision_number = 1"},
		{As: "M", Do: "PUT /routers/${r}", Body: `{"router": {"name": "x"}}`, Header: "If-Match: revision_number=7", Want: "412 RevisionNumberConstraintFailed"},
		{As: "M", Do: "PUT /routers/${r}", Body: `{"router": {"name": "x"}}`, Header: "If-Match: revision_number=1", Want: "200", Has: "router.revision_number = 2"},
		{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net=network.id"},
		{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net}", "ip_version": 4, "cidr": "10.0.0.0/24"}}`, Want: "201", Save: "sub=subnet.id"},
		{As: "M", Do: "PUT /routers/${r}/add_router_interface", Body: `{"subnet_id": "${sub}"}`, Want: "200"},
		{As: "M", Do: "GET /routers/${r}", Want: "200", Has: "router.revision_number = 3"},
		{As: "A", Do: "POST /networks", Body: `{"network": {"router:external": true}}`, Want: "201", Save: "ext=network.id"},
		{As: "A", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${ext}", "ip_version": 4, "cidr": "192.168.0.0/24"}}`, Want: "201"},
		{As: "M", Do: "POST /floatingips", Body: `{"floatingip": {"floating_network_id": "${ext}"}}`, Want: "201", Save: "f=floatingip.id", Has: "floatingip.revision_number = 0\nfloatingip.status = \"DOWN\""},
		{As: "M", Do: "PUT /floatingips/${f}/tags", Body: `{"tags": ["a"]}`, Want: "200", Has: `tags = ["a"]`},
		{As: "M", Do: "GET /floatingips/${f}", Want: "200", Has: "floatingip.revision_number = 1\nfloatingip.tags = [\"a\"]"},
		{As: "A", Do: "POST /qos/policies", Body: `{"policy": {"name": "p"}}`, Want: "201", Save: "q=policy.id", Has: "policy.revision_number = 0"},
		{As: "A", Do: "PUT /policies/${q}/tags/x", Want: "201"},
		{As: "A", Do: "GET /policies/${q}/tags", Want: "200", Has: `tags = ["x"]`},
		{As: "A", Do: "GET /qos/policies?tags=x", Want: "200", Has: "policies.# = 1"},
	}
}

func networkLines() []rig.Step {
	return []rig.Step{
		{As: "A", Do: "POST /networks", Body: `{"network": {"router:external": true, "is_default": true}}`, Want: "201", Save: "ext=network.id"},
		{As: "A", Do: "POST /networks", Body: `{"network": {"router:external": true, "is_default": true}}`, Want: "409 DefaultExternalNetworkExists"},
		{As: "A", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${ext}", "ip_version": 4, "cidr": "192.168.0.0/24"}}`, Want: "201"},
		{As: "M", Do: "POST /routers", Body: `{"router": {"external_gateway_info": {"network_id": "${ext}"}}}`, Want: "201", Save: "r=router.id"},
		{As: "A", Do: "PUT /networks/${ext}", Body: `{"network": {"router:external": false}}`, Want: "409 ExternalNetworkInUse"},
		{As: "M", Do: "PUT /routers/${r}", Body: `{"router": {"external_gateway_info": null}}`, Want: "200", Has: "router.external_gateway_info = null"},
		{As: "A", Do: "PUT /networks/${ext}", Body: `{"network": {"router:external": false, "is_default": false}}`, Want: "200"},
	}
}

func portLines() []rig.Step {
	return []rig.Step{
		{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net=network.id"},
		{As: "O", Do: "POST /routers", Body: `{"router": {}}`, Want: "201", Save: "r=router.id"},
		{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "device_id": "${r}", "device_owner": "network:router_interface"}}`, Want: "409 DeviceIDNotOwnedByTenant"},
		{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}"}}`, Want: "201", Save: "parent=port.id", Has: "port.fixed_ips = []"},
		{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}"}}`, Want: "201", Save: "sub=port.id"},
		{As: "M", Do: "POST /trunks", Body: `{"trunk": {"port_id": "${parent}", "sub_ports": [{"port_id": "${sub}", "segmentation_type": "vlan", "segmentation_id": 9}]}}`, Want: "201"},
		{As: "M", Do: "DELETE /ports/${parent}", Want: "409"},
		{As: "M", Do: "DELETE /ports/${sub}", Want: "409"},
		{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "fixed_ips": null}}`, Want: "400"},
	}
}

func defaultGroupLines() []rig.Step {
	return []rig.Step{
		{As: "M", Do: "POST /security-groups", Body: `{"security_group": {"name": "DeFault"}}`, Want: "409 SecurityGroupDefaultAlreadyExists"},
		{As: "M", Do: "GET /security-groups", Want: "200", Save: "d=security_groups.0.id", Has: "security_groups.# = 1\nsecurity_groups.0.description = \"Default security group\""},
		{As: "M", Do: "PUT /security-groups/${d}", Body: `{"security_group": {"name": "x"}}`, Want: "409"},
		{As: "M", Do: "PUT /security-groups/${d}", Body: `{"security_group": {"name": "default"}}`, Want: "409"},
		{As: "M", Do: "PUT /security-groups/${d}", Body: `{"security_group": {"description": "x"}}`, Want: "200"},
		{As: "M", Do: "POST /security-groups", Body: `{"security_group": {"name": "g"}}`, Want: "201", Save: "g=security_group.id", Has: "security_group.security_group_rules.# = 2"},
		{As: "M", Do: "PUT /security-groups/${g}", Body: `{"security_group": {"name": "default"}}`, Want: "409"},
		{As: "M", Do: "DELETE /security-groups/${d}", Want: "409"},
		{As: "A", Do: "DELETE /security-groups/${d}", Want: "204"},
	}
}
