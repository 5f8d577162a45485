package conformance

import (
	"testing"

	"isospin/test/rig"
)

// world makes a network with two subnets and a second network, all of M.
func world() []rig.Step {
	return []rig.Step{
		{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net=network.id"},
		{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net}", "ip_version": 4, "cidr": "10.0.0.0/24"}}`, Want: "201", Save: "sub=subnet.id"},
		{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net}", "ip_version": 4, "cidr": "10.0.1.0/24"}}`, Want: "201", Save: "sub2=subnet.id"},
		{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "other=network.id"},
		{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${other}", "ip_version": 4, "cidr": "10.9.0.0/24"}}`, Want: "201", Save: "far=subnet.id"},
		{As: "M", Do: "GET /security-groups?name=default", Want: "200", Save: "sg=security_groups.0.id"},
	}
}

const nobody = "5b9c5d1e-0d83-4d0c-a1ff-7d8b4a8f7d00"

// TestPortDefaults: what a port is when nothing is said.
func TestPortDefaults(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		v := rig.Vars{}
		c.Run(t, v, world())
		c.Run(t, v, []rig.Step{
			{As: "A", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "project_id": "` + rig.ProjectM + `"}}`, Want: "201",
				Has: "port.name = \"\"\nport.admin_state_up = true\nport.status = \"DOWN\"\nport.device_id = \"\"\nport.device_owner = \"\"\nport.fixed_ips.# = 1\nport.security_groups = [\"${sg}\"]\nport.allowed_address_pairs = []\nport.extra_dhcp_opts = []\nport.port_security_enabled = true\nport.binding:host_id = \"\"\nport.binding:vnic_type = \"normal\"\nport.binding:profile = {}\nport.binding:vif_type = \"unbound\"\nport.binding:vif_details = {}\nport.description = \"\"\nport.revision_number = 1"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}"}}`, Want: "201", Save: "port=port.id",
				Has: "port.binding:host_id absent\nport.binding:profile absent\nport.binding:vif_type absent\nport.binding:vif_details absent\nport.binding:vnic_type = \"normal\""},
			{As: "M", Do: "POST /ports", Body: `{"port": {}}`, Want: "400 HTTPBadRequest"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "nope"}}`, Want: "400"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": null}}`, Want: "400"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "` + nobody + `"}}`, Want: "404 NetworkNotFound"},
			{As: "A", Do: "POST /ports", Body: `{"port": {"network_id": "` + nobody + `"}}`, Want: "404 NetworkNotFound"},
			{As: "M", Do: "PUT /ports/${port}", Body: `{"port": {"network_id": "${net}"}}`, Want: "400 HTTPBadRequest"},
			{As: "M", Do: "PUT /ports/${port}", Body: `{"port": {"status": "ACTIVE"}}`, Want: "400 HTTPBadRequest"},
			{As: "M", Do: "PUT /ports/${port}", Body: `{"port": {"name": "n", "description": "d", "admin_state_up": false, "device_id": "x", "device_owner": "compute:nova"}}`, Want: "200",
				Has: "port.name = \"n\"\nport.description = \"d\"\nport.admin_state_up = false\nport.device_id = \"x\"\nport.device_owner = \"compute:nova\"\nport.revision_number = 2"},
			{As: "M", Do: "PUT /ports/${port}", Body: `{"port": {"name": "n"}}`, Want: "200", Has: "port.revision_number = 2"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "name": "` + long(255) + `"}}`, Want: "201"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "name": "` + long(256) + `"}}`, Want: "400"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "device_id": "` + long(256) + `"}}`, Want: "400"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "name": 5}}`, Want: "400"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "name": "\ud800"}}`, Want: "400"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "name": "😀"}}`, Want: "201", Has: "port.name = \"😀\""},
		})
	})
}

func long(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = 'x'
	}
	return string(b)
}

// TestAddresses: behaviour.md, section 10.
func TestAddresses(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		v := rig.Vars{}
		c.Run(t, v, world())
		port := func(rest string) string { return `{"port": {"network_id": "${net}", ` + rest + `}}` }
		c.Run(t, v, []rig.Step{
			{As: "M", Do: "POST /ports", Body: port(`"fixed_ips": []`), Want: "201", Has: "port.fixed_ips = []"},
			{As: "M", Do: "POST /ports", Body: port(`"fixed_ips": null`), Want: "400"},
			{As: "M", Do: "POST /ports", Body: port(`"fixed_ips": {}`), Want: "400"},
			{As: "M", Do: "POST /ports", Body: port(`"fixed_ips": [{}]`), Want: "400"},
			{As: "M", Do: "POST /ports", Body: port(`"fixed_ips": [{"ip_address": "10.0.0.5"}]`), Want: "201", Save: "port=port.id", Has: "port.fixed_ips = [{\"subnet_id\": \"${sub}\", \"ip_address\": \"10.0.0.5\"}]"},
			{As: "M", Do: "POST /ports", Body: port(`"fixed_ips": [{"ip_address": "10.0.0.5"}]`), Want: "409 IpAddressAlreadyAllocated"},
			{As: "M", Do: "POST /ports", Body: port(`"fixed_ips": [{"ip_address": "10.0.0.6"}, {"ip_address": "10.0.0.5"}]`), Want: "409 IpAddressAlreadyAllocated"},
			{As: "M", Do: "POST /ports", Body: port(`"fixed_ips": [{"ip_address": "10.0.0.6"}, {"ip_address": "10.0.0.6"}]`), Want: "400"},
			{As: "M", Do: "POST /ports", Body: port(`"fixed_ips": [{"subnet_id": "${sub}", "ip_address": "10.0.1.6"}]`), Want: "400 InvalidIpForSubnet"},
			{As: "M", Do: "POST /ports", Body: port(`"fixed_ips": [{"ip_address": "10.0.0.0"}]`), Want: "400 InvalidIpForNetwork"},
			{As: "M", Do: "POST /ports", Body: port(`"fixed_ips": [{"ip_address": "10.0.0.255"}]`), Want: "400 InvalidIpForNetwork"},
			{As: "M", Do: "POST /ports", Body: port(`"fixed_ips": [{"ip_address": "192.0.2.1"}]`), Want: "400 InvalidIpForNetwork"},
			{As: "M", Do: "POST /ports", Body: port(`"fixed_ips": [{"ip_address": "10.0.0.256"}]`), Want: "400"},
			{As: "M", Do: "POST /ports", Body: port(`"fixed_ips": [{"ip_address": "10.0.0.1"}]`), Want: "201"},
			{As: "M", Do: "POST /ports", Body: port(`"fixed_ips": [{"subnet_id": "${far}"}]`), Want: "400"},
			{As: "M", Do: "POST /ports", Body: port(`"fixed_ips": [{"subnet_id": "` + nobody + `"}]`), Want: "404 SubnetNotFound"},
			{As: "M", Do: "POST /ports", Body: port(`"fixed_ips": [{"subnet_id": "nope"}]`), Want: "400"},
			{As: "M", Do: "POST /ports", Body: port(`"fixed_ips": [{"subnet_id": "${sub}"}, {"subnet_id": "${sub}"}, {"subnet_id": "${sub2}"}]`), Want: "201", Has: "port.fixed_ips.# = 3"},
			{As: "M", Do: "PUT /ports/${port}", Body: `{"port": {"fixed_ips": [{"subnet_id": "${sub2}"}]}}`, Want: "200", Has: "port.fixed_ips.# = 1\nport.fixed_ips.0.subnet_id = \"${sub2}\""},
			{As: "M", Do: "POST /ports", Body: port(`"fixed_ips": [{"ip_address": "10.0.0.5"}]`), Want: "201"},
			{As: "M", Do: "PUT /ports/${port}", Body: `{"port": {"fixed_ips": [{"ip_address": "10.0.0.5"}]}}`, Want: "409 IpAddressAlreadyAllocated"},
			{As: "M", Do: "PUT /ports/${port}", Body: `{"port": {"fixed_ips": []}}`, Want: "200", Has: "port.fixed_ips = []"},
			{As: "M", Do: "PUT /ports/${port}", Body: `{"port": {"fixed_ips": [{"subnet_id": "${far}"}]}}`, Want: "400"},
			// Filters on addresses.
			{As: "M", Do: "GET /ports?fixed_ips=ip_address=10.0.0.5", Want: "200", Has: "ports.# = 1"},
			{As: "M", Do: "GET /ports?fixed_ips=ip_address%3D10.0.0.5&fixed_ips=subnet_id%3D${sub}", Want: "200", Has: "ports.# = 1"},
			{As: "M", Do: "GET /ports?fixed_ips=ip_address=10.0.0.5&fixed_ips=subnet_id=${sub2}", Want: "200", Has: "ports.# = 0"},
			{As: "M", Do: "GET /ports?fixed_ips=ip_address_substr=0.0.5", Want: "200", Has: "ports.# = 1"},
			{As: "M", Do: "GET /ports?fixed_ips=nope", Want: "400"},
			{As: "M", Do: "GET /ports?fixed_ips=nope=x", Want: "400"},
			{As: "M", Do: "GET /ports?security_groups=${sg}", Want: "200", Has: "ports.# = 5"},
		})
	})
}

// TestMACs: section 10 and upstream-faults.md.
func TestMACs(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		v := rig.Vars{}
		c.Run(t, v, world())
		port := func(rest string) string { return `{"port": {"network_id": "${net}", ` + rest + `}}` }
		c.Run(t, v, []rig.Step{
			{As: "M", Do: "POST /ports", Body: port(`"mac_address": "02-00-00-00-AA-02"`), Want: "201", Save: "port=port.id", Has: "port.mac_address = \"02:00:00:00:aa:02\""},
			{As: "M", Do: "POST /ports", Body: port(`"mac_address": "02:00:00:00:aa:02"`), Want: "409 MacAddressInUse"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${other}", "mac_address": "02:00:00:00:aa:02"}}`, Want: "201"},
			{As: "M", Do: "POST /ports", Body: port(`"mac_address": "01:00:5e:00:00:01"`), Want: "400"},
			{As: "M", Do: "POST /ports", Body: port(`"mac_address": "0200000000aa"`), Want: "400"},
			{As: "M", Do: "POST /ports", Body: port(`"mac_address": "02:00:00:00:aa"`), Want: "400"},
			{As: "M", Do: "POST /ports", Body: port(`"mac_address": "zz:00:00:00:aa:00"`), Want: "400"},
			{As: "M", Do: "POST /ports", Body: port(`"mac_address": ""`), Want: "400"},
			{As: "M", Do: "GET /ports?mac_address=02:00:00:00:aa:02&network_id=${net}", Want: "200", Has: "ports.# = 1\nports.0.id = \"${port}\""},
			{As: "M", Do: "PUT /ports/${port}", Body: `{"port": {"mac_address": "02:00:00:00:aa:03"}}`, Want: "403 PolicyNotAuthorized"},
			{As: "A", Do: "PUT /ports/${port}", Body: `{"port": {"mac_address": "02:00:00:00:aa:03"}}`, Want: "200", Has: "port.mac_address = \"02:00:00:00:aa:03\""},
			{As: "A", Do: "PUT /ports/${port}", Body: `{"port": {"mac_address": null}}`, Want: "200"},
			{As: "A", Do: "PUT /ports/${port}", Body: `{"port": {"mac_address": "02:00:00:00:aa:02", "binding:host_id": "nowhere"}}`, Want: "200", Has: "port.binding:vif_type = \"binding_failed\"\nport.binding:host_id = \"nowhere\""},
			{As: "A", Do: "PUT /ports/${port}", Body: `{"port": {"binding:host_id": ""}}`, Want: "200", Has: "port.binding:vif_type = \"unbound\"\nport.binding:host_id = \"\""},
			{As: "A", Do: "PUT /ports/${port}", Body: `{"port": {"binding:host_id": null}}`, Want: "200", Has: "port.binding:vif_type = \"unbound\"\nport.binding:host_id = \"\""},
		})
	})
}

// TestPortSecurity: port security, groups, pairs, options.
func TestPortSecurity(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		v := rig.Vars{}
		c.Run(t, v, world())
		port := func(rest string) string { return `{"port": {"network_id": "${net}", ` + rest + `}}` }
		pairs := `{"ip_address": "10.0.0.1"}, {"ip_address": "10.0.0.2"}, {"ip_address": "10.0.0.3"}, {"ip_address": "10.0.0.4"}, {"ip_address": "10.0.0.5"}, {"ip_address": "10.0.0.6"}, {"ip_address": "10.0.0.7"}, {"ip_address": "10.0.0.8"}, {"ip_address": "10.0.0.9"}, {"ip_address": "10.0.0.10"}`
		c.Run(t, v, []rig.Step{
			{As: "M", Do: "POST /security-groups", Body: `{"security_group": {"name": "g"}}`, Want: "201", Save: "g=security_group.id"},
			{As: "O", Do: "POST /security-groups", Body: `{"security_group": {"name": "g"}}`, Want: "201", Save: "foreign=security_group.id"},
			{As: "M", Do: "POST /ports", Body: port(`"security_groups": ["${g}", "${sg}"]`), Want: "201", Save: "port=port.id", Has: "port.security_groups.# = 2"},
			{As: "M", Do: "POST /ports", Body: port(`"security_groups": []`), Want: "201", Has: "port.security_groups = []"},
			{As: "M", Do: "POST /ports", Body: port(`"security_groups": ["` + nobody + `"]`), Want: "404 SecurityGroupNotFound"},
			{As: "M", Do: "POST /ports", Body: port(`"security_groups": ["${foreign}"]`), Want: "404 SecurityGroupNotFound"},
			{As: "M", Do: "POST /ports", Body: port(`"security_groups": ["nope"]`), Want: "400"},
			{As: "M", Do: "DELETE /security-groups/${g}", Want: "409 SecurityGroupInUse"},
			{As: "M", Do: "PUT /ports/${port}", Body: `{"port": {"port_security_enabled": false}}`, Want: "409 PortSecurityPortHasSecurityGroup"},
			{As: "M", Do: "PUT /ports/${port}", Body: `{"port": {"port_security_enabled": false, "security_groups": []}}`, Want: "200", Has: "port.security_groups = []\nport.port_security_enabled = false"},
			{As: "M", Do: "PUT /ports/${port}", Body: `{"port": {"security_groups": ["${g}"]}}`, Want: "400 PortSecurityAndIPRequiredForSecurityGroups"},
			{As: "M", Do: "PUT /ports/${port}", Body: `{"port": {"allowed_address_pairs": [{"ip_address": "10.0.0.9"}]}}`, Want: "409 AddressPairAndPortSecurityRequired"},
			{As: "M", Do: "DELETE /security-groups/${g}", Want: "204"},
			{As: "M", Do: "POST /ports", Body: port(`"port_security_enabled": false`), Want: "201", Has: "port.security_groups = []\nport.port_security_enabled = false"},
			{As: "M", Do: "POST /ports", Body: port(`"port_security_enabled": false, "security_groups": ["${sg}"]`), Want: "400 PortSecurityAndIPRequiredForSecurityGroups"},
			{As: "M", Do: "POST /ports", Body: port(`"device_owner": "network:x"`), Want: "201", Has: "port.security_groups = []\nport.port_security_enabled = false"},
			{As: "M", Do: "POST /ports", Body: port(`"mac_address": "fa:16:3e:00:00:77", "allowed_address_pairs": [` + pairs + `]`), Want: "201", Save: "paired=port.id", Has: "port.allowed_address_pairs.# = 10\nport.allowed_address_pairs.0.mac_address = \"fa:16:3e:00:00:77\""},
			{As: "M", Do: "POST /ports", Body: port(`"allowed_address_pairs": [` + pairs + `, {"ip_address": "10.0.0.11"}]`), Want: "400"},
			{As: "M", Do: "POST /ports", Body: port(`"allowed_address_pairs": [{"ip_address": "10.0.0.1"}, {"ip_address": "10.0.0.1"}]`), Want: "400"},
			{As: "M", Do: "PUT /ports/${paired}", Body: `{"port": {"allowed_address_pairs": []}}`, Want: "200", Has: "port.allowed_address_pairs = []"},
			{As: "M", Do: "POST /networks", Body: `{"network": {"port_security_enabled": false}}`, Want: "201", Save: "loose=network.id"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${loose}"}}`, Want: "201", Has: "port.port_security_enabled = false\nport.security_groups = []"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${loose}", "port_security_enabled": true}}`, Want: "201", Has: "port.security_groups = [\"${sg}\"]"},
			{As: "M", Do: "POST /ports", Body: port(`"extra_dhcp_opts": [{"opt_name": "mtu", "opt_value": "1400"}, {"opt_name": "router", "opt_value": null}]`), Want: "201", Save: "opts=port.id", Has: "port.extra_dhcp_opts = [{\"opt_name\": \"mtu\", \"opt_value\": \"1400\", \"ip_version\": 4}]"},
			{As: "M", Do: "PUT /ports/${opts}", Body: `{"port": {"extra_dhcp_opts": [{"opt_name": "mtu", "opt_value": "1300"}, {"opt_name": "a", "opt_value": "b", "ip_version": 6}]}}`, Want: "200", Has: "port.extra_dhcp_opts.# = 2"},
			{As: "M", Do: "PUT /ports/${opts}", Body: `{"port": {"extra_dhcp_opts": [{"opt_name": "mtu", "opt_value": null}]}}`, Want: "200", Has: "port.extra_dhcp_opts = [{\"opt_name\": \"a\", \"opt_value\": \"b\", \"ip_version\": 6}]"},
		})
	})
}

// TestPolicy: section 5.
func TestPolicy(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		v := rig.Vars{}
		c.Run(t, v, world())
		port := func(rest string) string { return `{"port": {"network_id": "${net}", ` + rest + `}}` }
		c.Run(t, v, []rig.Step{
			{As: "R", Do: "POST /ports", Body: port(`"name": ""`), Want: "403 PolicyNotAuthorized"},
			{As: "O", Do: "POST /ports", Body: port(`"name": ""`), Want: "404 NetworkNotFound"},
			{As: "M", Do: "POST /ports", Body: port(`"binding:host_id": "h1"`), Want: "403 PolicyNotAuthorized"},
			{As: "M", Do: "POST /ports", Body: port(`"binding:profile": {"a": 1}`), Want: "403 PolicyNotAuthorized"},
			{As: "M", Do: "POST /ports", Body: port(`"binding:vnic_type": "normal"`), Want: "201", Save: "port=port.id"},
			{As: "M", Do: "POST /ports", Body: port(`"binding:vnic_type": "nope"`), Want: "400"},
			{As: "S", Do: "POST /ports", Body: port(`"binding:profile": {"a": 1}, "project_id": "` + rig.ProjectM + `"`), Want: "201", Has: "port.binding:profile = {\"a\": 1}"},
			{As: "R", Do: "PUT /ports/${port}", Body: `{"port": {"name": "x"}}`, Want: "403 PolicyNotAuthorized"},
			{As: "R", Do: "DELETE /ports/${port}", Want: "403 PolicyNotAuthorized"},
			{As: "O", Do: "PUT /ports/${port}", Body: `{"port": {"name": "x"}}`, Want: "404 PortNotFound"},
			{As: "O", Do: "DELETE /ports/${port}", Want: "404 PortNotFound"},
			{As: "O", Do: "GET /ports/${port}", Want: "404"},
			{As: "O", Do: "GET /subnets/${sub}", Want: "404"},
			{As: "O", Do: "PUT /subnets/${sub}", Body: `{"subnet": {"name": "x"}}`, Want: "404 SubnetNotFound"},
			{As: "O", Do: "DELETE /subnets/${sub}", Want: "404 SubnetNotFound"},
			{As: "O", Do: "GET /ports?fields=id", Want: "200", Has: "ports.# = 0"},
			{As: "O", Do: "GET /ports?project_id=" + rig.ProjectM, Want: "200", Has: "ports.# = 0"},
			{As: "O", Do: "GET /security-groups/${sg}", Want: "404"},
			{As: "O", Do: "DELETE /security-groups/${sg}", Want: "404 SecurityGroupNotFound"},
			{As: "M", Do: "PUT /ports/${port}", Body: `{"port": {"binding:host_id": "h1"}}`, Want: "403 PolicyNotAuthorized"},
			{As: "M", Do: "PUT /ports/${port}", Body: `{"port": {"device_owner": "network:router_interface", "device_id": "x"}}`, Want: "200"},
			{As: "M", Do: "DELETE /ports/${port}", Want: "409 ServicePortInUse"},
			// A filter on what the caller may not see finds nothing at all, whatever the value.
			{As: "A", Do: "POST /networks", Body: `{"network": {"shared": true, "provider:network_type": "vlan", "provider:physical_network": "physnet1", "provider:segmentation_id": 77}}`, Want: "201"},
			{As: "M", Do: "GET /networks?provider:segmentation_id=77", Want: "200", Has: "networks.# = 0"},
			{As: "M", Do: "GET /networks?provider:segmentation_id=78", Want: "200", Has: "networks.# = 0"},
			{As: "M", Do: "GET /networks?provider:physical_network=physnet1", Want: "200", Has: "networks.# = 0"},
			{As: "M", Do: "GET /ports?binding:host_id=", Want: "200", Has: "ports.# = 0"},
			{As: "A", Do: "GET /networks?provider:segmentation_id=77", Want: "200", Has: "networks.# = 1"},
			{As: "M", Do: "GET /networks?sort_key=provider:segmentation_id&sort_dir=asc", Want: "400"},
		})
	})
}
