package conformance

import (
	"strings"
	"testing"

	"isospin/isospintest"
	"isospin/test/rig"
)

// TestNothingHalfWritten: every refused request leaves every table as it was.
func TestNothingHalfWritten(t *testing.T) {
	options := map[string]string{"database/connection": "sqlite:///" + t.TempDir() + "/isospin.db", "ml2_type_vlan/network_vlan_ranges": "physnet1:1:1"}
	s := isospintest.Start(t, isospintest.Options{Config: options})
	st := rig.Look(t, options)
	c, v := rig.Caller{TB: t, URL: s.URL}.Who("A"), rig.Vars{}
	c.Run(t, v, world())
	c.Run(t, v, []rig.Step{
		{As: "M", Do: "POST /security-groups", Body: `{"security_group": {"name": "g"}}`, Want: "201", Save: "g=security_group.id"},
		{As: "M", Do: "POST /security-group-rules", Body: `{"security_group_rule": {"security_group_id": "${g}", "direction": "ingress", "protocol": "tcp"}}`, Want: "201", Save: "rule=security_group_rule.id"},
		{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "fixed_ips": [{"ip_address": "10.0.0.5"}], "mac_address": "fa:16:3e:00:00:05", "security_groups": ["${g}"]}}`, Want: "201", Save: "port=port.id"},
		{As: "A", Do: "POST /networks", Body: `{"network": {"provider:network_type": "vlan"}}`, Want: "201", Save: "vlan=network.id"},
		{As: "A", Do: "POST /networks", Body: `{"network": {"shared": true}}`, Want: "201", Save: "open=network.id"},
		// Whoever lists has a default group made: that is no half of anything.
		{As: "A", Do: "GET /security-groups", Want: "200"}, {As: "O", Do: "GET /security-groups", Want: "200"}, {As: "R", Do: "GET /security-groups", Want: "200"},
	})
	for _, step := range refusals() {
		before := rig.Dump(t, st)
		c.Run(t, v, []rig.Step{step})
		after := rig.Dump(t, st)
		for table := range after {
			if before[table] != after[table] {
				t.Errorf("%s %s %s changed %s:\n%s\nwas\n%s", step.As, step.Do, step.Body, table, lines(after[table], before[table]), lines(before[table], after[table]))
			}
		}
	}
	rig.Exact(t, st)
}

// lines are those of a that b lacks.
func lines(a, b string) string {
	var out []string
	for l := range strings.Lines(a) {
		if !strings.Contains(b, strings.TrimSpace(l)) {
			out = append(out, l)
		}
	}
	return strings.Join(out, "")
}

// refusals are what the reference refuses, each with its status and type.
func refusals() []rig.Step {
	many := strings.Repeat(`{"network_id": "${net}"},`, 5)
	return []rig.Step{
		// Malformed JSON, a missing body, a wrong member name, wrong types.
		{As: "M", Do: "POST /ports", Body: `{"port": {`, Want: "400 HTTPBadRequest"},
		{As: "M", Do: "POST /security-groups", Body: `{"security_group": }`, Want: "400 MalformedRequestBody"},
		{As: "M", Do: "POST /ports", Want: "400 HTTPBadRequest"},
		{As: "M", Do: "PUT /ports/${port}", Want: "400 HTTPBadRequest"},
		{As: "M", Do: "POST /ports", Body: `{"prot": {"network_id": "${net}"}}`, Want: "400 HTTPBadRequest"},
		{As: "M", Do: "POST /ports", Body: `null`, Want: "400 HTTPBadRequest"},
		{As: "M", Do: "POST /ports", Body: `"port"`, Want: "400 HTTPBadRequest"},
		{As: "M", Do: "POST /ports", Body: `{"port": null}`, Want: "400 HTTPBadRequest"},
		{As: "M", Do: "POST /ports", Body: `{"port": "x"}`, Want: "400 HTTPBadRequest"},
		{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": ["${net}"]}}`, Want: "400"},
		{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "admin_state_up": {}}}`, Want: "400"},
		{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "name": ["x"]}}`, Want: "400"},
		{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "nope": 1}}`, Want: "400 HTTPBadRequest"},
		{As: "M", Do: "PUT /ports/${port}", Body: `{"port": {"name": "new", "nope": 1}}`, Want: "400 HTTPBadRequest"},
		{As: "M", Do: "PUT /ports/${port}", Body: `{"port": {"name": "new", "network_id": "${net}"}}`, Want: "400 HTTPBadRequest"},
		// Huge numbers.
		{As: "M", Do: "POST /networks", Body: `{"network": {"mtu": 99999999999999999999999999}}`, Want: "400"},
		{As: "M", Do: "POST /networks", Body: `{"network": {"mtu": 1e400}}`, Want: "400"},
		{As: "A", Do: "POST /networks", Body: `{"network": {"provider:network_type": "vlan", "provider:physical_network": "physnet1", "provider:segmentation_id": 1e30}}`, Want: "400"},
		{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net}", "ip_version": 1e400, "cidr": "10.7.0.0/24"}}`, Want: "400"},
		{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net}", "ip_version": 4, "prefixlen": 2147483648}}`, Want: "400"},
		// Bad CIDRs, overlaps, pools.
		{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net}", "ip_version": 4, "cidr": "10.0.0.0/33"}}`, Want: "400"},
		{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net}", "ip_version": 4, "cidr": "10.0.0.0/16"}}`, Want: "400 InvalidInput"},
		{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net}", "ip_version": 4, "cidr": "10.7.0.0/24", "gateway_ip": "nope"}}`, Want: "400"},
		{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net}", "ip_version": 4, "cidr": "10.7.0.0/24", "gateway_ip": "10.7.0.255"}}`, Want: "400 InvalidInput"},
		{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net}", "ip_version": 4, "cidr": "10.7.0.0/24", "allocation_pools": [{"start": "10.7.0.200", "end": "10.7.1.2"}]}}`, Want: "400 OutOfBoundsAllocationPool"},
		{As: "M", Do: "POST /subnets", Body: `{"subnets": [{"network_id": "${net}", "ip_version": 4, "cidr": "10.7.0.0/24"}, {"network_id": "${net}", "ip_version": 4, "cidr": "10.7.0.0/25"}]}`, Want: "400 InvalidInput"},
		{As: "M", Do: "PUT /subnets/${sub}", Body: `{"subnet": {"name": "x", "allocation_pools": [{"start": "10.0.0.1", "end": "10.0.0.9"}]}}`, Want: "409 GatewayConflictWithAllocationPools"},
		{As: "M", Do: "DELETE /subnets/${sub}", Want: "409 SubnetInUse"},
		{As: "M", Do: "DELETE /networks/${net}", Want: "409 NetworkInUse"},
		// Addresses and MACs out of range or taken; the port's other address is given back.
		{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "fixed_ips": [{"subnet_id": "${sub}"}, {"ip_address": "10.0.0.5"}]}}`, Want: "409 IpAddressAlreadyAllocated"},
		{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "fixed_ips": [{"subnet_id": "${sub}"}, {"ip_address": "172.16.0.1"}]}}`, Want: "400 InvalidIpForNetwork"},
		{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "mac_address": "fa:16:3e:00:00:05"}}`, Want: "409 MacAddressInUse"},
		{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "mac_address": "fa:16:3e:00:00:zz"}}`, Want: "400"},
		{As: "M", Do: "POST /ports", Body: `{"ports": [` + many + `{"network_id": "${net}", "mac_address": "fa:16:3e:00:00:05"}]}`, Want: "409 MacAddressInUse"},
		{As: "M", Do: "POST /ports", Body: `{"ports": [` + many + `{"network_id": "` + nobody + `"}]}`, Want: "404 NetworkNotFound"},
		{As: "M", Do: "POST /ports", Body: `{"ports": [` + many + `{"network_id": "${net}", "binding:host_id": "x"}]}`, Want: "403 PolicyNotAuthorized"},
		{As: "M", Do: "PUT /ports/${port}", Body: `{"port": {"name": "x", "fixed_ips": [{"subnet_id": "${far}"}]}}`, Want: "400"},
		{As: "M", Do: "PUT /ports/${port}", Body: `{"port": {"fixed_ips": [{"subnet_id": "${sub2}"}, {"ip_address": "10.0.0.0"}]}}`, Want: "400 InvalidIpForNetwork"},
		// Unknown ids.
		{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "security_groups": ["` + nobody + `"]}}`, Want: "404 SecurityGroupNotFound"},
		{As: "M", Do: "PUT /ports/${port}", Body: `{"port": {"security_groups": ["` + nobody + `"]}}`, Want: "404 SecurityGroupNotFound"},
		{As: "M", Do: "PUT /ports/" + nobody, Body: `{"port": {"name": "x"}}`, Want: "404 PortNotFound"},
		{As: "M", Do: "DELETE /ports/" + nobody, Want: "404 PortNotFound"},
		{As: "M", Do: "DELETE /ports/%00", Want: "404 PortNotFound"},
		{As: "M", Do: "POST /security-group-rules", Body: `{"security_group_rule": {"security_group_id": "${g}", "direction": "ingress", "remote_group_id": "` + nobody + `"}}`, Want: "404 SecurityGroupNotFound"},
		{As: "M", Do: "POST /security-group-rules", Body: `{"security_group_rule": {"security_group_id": "${g}", "direction": "ingress", "protocol": "tcp"}}`, Want: "409 SecurityGroupRuleExists"},
		{As: "M", Do: "POST /security-group-rules", Body: `{"security_group_rules": [{"security_group_id": "${g}", "direction": "ingress", "protocol": "udp"}, {"security_group_id": "${g}", "direction": "ingress", "protocol": "tcp"}]}`, Want: "409 SecurityGroupRuleExists"},
		{As: "M", Do: "DELETE /security-groups/${g}", Want: "409 SecurityGroupInUse"},
		{As: "M", Do: "PUT /security-group-rules/${rule}", Body: `{"security_group_rule": {"description": "x"}}`, Want: "400"},
		// Pools that are empty: what was reserved before is given back.
		{As: "A", Do: "POST /networks", Body: `{"network": {"provider:network_type": "vlan"}}`, Want: "503 NoNetworkAvailable"},
		{As: "A", Do: "POST /networks", Body: `{"network": {"segments": [{"provider:network_type": "vxlan"}, {"provider:network_type": "vlan"}]}}`, Want: "503 NoNetworkAvailable"},
		{As: "A", Do: "POST /networks", Body: `{"network": {"mtu": 9000}}`, Want: "400 InvalidInput"},
		{As: "A", Do: "PUT /networks/${vlan}", Body: `{"network": {"provider:segmentation_id": 4095}}`, Want: "400 InvalidInput"},
		// Rights, wrong methods.
		{As: "M", Do: "PUT /networks/${open}", Body: `{"network": {"name": "x"}}`, Want: "403 PolicyNotAuthorized"},
		{As: "O", Do: "DELETE /networks/${net}", Want: "404 NetworkNotFound"},
		{As: "R", Do: "DELETE /ports/${port}", Want: "403 PolicyNotAuthorized"},
		{As: "M", Do: "PATCH /ports/${port}", Body: `{"port": {"name": "x"}}`, Want: "405"},
		{As: "M", Do: "POST /ports/${port}", Body: `{"port": {"name": "x"}}`, Want: "405"},
		{As: "M", Do: "DELETE /ports", Want: "404 PortNotFound"},
		{As: "M", Do: "DELETE /ports/${port}", Body: `{}`, Want: "400"},
		{As: "M", Do: "DELETE /ports/${port}", Header: "If-Match: revision_number=99", Want: "412 RevisionNumberConstraintFailed"},
	}
}
