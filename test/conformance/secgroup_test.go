package conformance

import (
	"testing"

	"isospin/test/rig"
)

// TestDefaultGroup: behaviour.md, section 12.
func TestDefaultGroup(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		c.Run(t, rig.Vars{}, []rig.Step{
			{As: "M", Do: "GET /security-groups", Want: "200", Save: "sg=security_groups.0.id", Has: "security_groups.# = 1\nsecurity_groups.0.name = \"default\"\nsecurity_groups.0.description = \"Default security group\"\nsecurity_groups.0.security_group_rules.# = 4\nsecurity_groups.0.stateful = true\nsecurity_groups.0.project_id = \"" + rig.ProjectM + "\""},
			{As: "M", Do: "GET /security-group-rules?direction=ingress", Want: "200", Has: "security_group_rules.# = 2\nsecurity_group_rules.0.remote_group_id = \"${sg}\"\nsecurity_group_rules.0.belongs_to_default_sg = true"},
			{As: "M", Do: "GET /security-group-rules?belongs_to_default_sg=yes", Want: "200", Has: "security_group_rules.# = 4"},
			{As: "M", Do: "GET /security-group-rules?belongs_to_default_sg=perhaps", Want: "400"},
			{As: "M", Do: "POST /security-groups", Body: `{"security_group": {"name": "Default"}}`, Want: "409 SecurityGroupDefaultAlreadyExists"},
			{As: "M", Do: "PUT /security-groups/${sg}", Body: `{"security_group": {"name": "x"}}`, Want: "409 SecurityGroupCannotUpdateDefault"},
			{As: "M", Do: "PUT /security-groups/${sg}", Body: `{"security_group": {"name": "default"}}`, Want: "409"},
			{As: "M", Do: "PUT /security-groups/${sg}", Body: `{"security_group": {"description": "mine"}}`, Want: "200", Has: "security_group.description = \"mine\"\nsecurity_group.name = \"default\""},
			{As: "M", Do: "DELETE /security-groups/${sg}", Want: "409 SecurityGroupCannotRemoveDefault"},
			{As: "A", Do: "DELETE /security-groups/${sg}", Want: "204"},
			{As: "A", Do: "GET /security-groups?project_id=" + rig.ProjectM, Want: "200"},
			{As: "M", Do: "GET /security-groups", Want: "200", Has: "security_groups.# = 1"},
			{As: "M", Do: "POST /security-groups", Body: `{"security_group": {"name": "g"}}`, Want: "201", Save: "g=security_group.id", Has: "security_group.security_group_rules.# = 2\nsecurity_group.stateful = true\nsecurity_group.shared = false"},
			{As: "M", Do: "PUT /security-groups/${g}", Body: `{"security_group": {"name": "DEFAULT"}}`, Want: "409 SecurityGroupDefaultAlreadyExists"},
			{As: "M", Do: "POST /security-groups", Body: `{"security_group": {"name": "s", "stateful": false}}`, Want: "201", Has: "security_group.stateful = false"},
			{As: "M", Do: "POST /security-groups", Body: `{"security_group": {}}`, Want: "201", Has: "security_group.name = \"\""},
		})
	})
}

// TestRules: section 12.
func TestRules(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		v := rig.Vars{}
		c.Run(t, v, []rig.Step{
			{As: "M", Do: "POST /security-groups", Body: `{"security_group": {"name": "g"}}`, Want: "201", Save: "g=security_group.id"},
			{As: "M", Do: "POST /security-groups", Body: `{"security_group": {"name": "h"}}`, Want: "201", Save: "h=security_group.id"},
			{As: "O", Do: "POST /security-groups", Body: `{"security_group": {"name": "f"}}`, Want: "201", Save: "f=security_group.id"},
		})
		rule := func(rest string) string {
			return `{"security_group_rule": {"security_group_id": "${g}", "direction": "ingress"` + rest + `}}`
		}
		post := func(rest, want, has string) rig.Step {
			return rig.Step{As: "M", Do: "POST /security-group-rules", Body: rule(rest), Want: want, Has: has}
		}
		r := "security_group_rule."
		c.Run(t, v, []rig.Step{
			post(`, "protocol": "tcp", "port_range_min": 22, "port_range_max": "22"`, "201", r+"protocol = \"tcp\"\n"+r+"port_range_min = 22\n"+r+"ethertype = \"IPv4\"\n"+r+"remote_ip_prefix = null\n"+r+"remote_group_id = null\n"+r+"normalized_cidr = null\n"+r+"belongs_to_default_sg = false"),
			post(`, "protocol": "6", "port_range_min": 22, "port_range_max": 22`, "409 SecurityGroupRuleExists", ""),
			post(`, "protocol": "TCP", "port_range_min": 23, "port_range_max": 24`, "201", r+"protocol = \"tcp\""),
			post(`, "protocol": "any", "ethertype": "ipv6"`, "201", r+"protocol = null\n"+r+"ethertype = \"IPv6\""),
			post(`, "protocol": 17`, "201", r+"protocol = \"17\""),
			post(`, "protocol": "udp"`, "409 SecurityGroupRuleExists", ""),
			post(`, "remote_ip_prefix": "10.0.0.5/24"`, "201", r+"remote_ip_prefix = \"10.0.0.5/24\"\n"+r+"normalized_cidr = \"10.0.0.0/24\""),
			post(`, "remote_ip_prefix": "10.0.0.0/24"`, "201", ""),
			post(`, "remote_ip_prefix": "10.0.0.5"`, "201", r+"remote_ip_prefix = \"10.0.0.5/32\""),
			post(`, "remote_ip_prefix": "10.0.0.5/32"`, "409 SecurityGroupRuleExists", ""),
			post(`, "remote_ip_prefix": "2001:db8::/64"`, "400 SecurityGroupRuleParameterConflict", ""),
			post(`, "remote_ip_prefix": "nope"`, "400", ""),
			post(`, "remote_group_id": "${h}"`, "201", r+"remote_group_id = \"${h}\""),
			post(`, "remote_group_id": "`+nobody+`"`, "404 SecurityGroupNotFound", ""),
			post(`, "remote_group_id": "${h}", "remote_ip_prefix": "10.0.0.0/8"`, "400 SecurityGroupMultipleRemoteEntites", ""),
			post(`, "port_range_min": 1, "port_range_max": 2`, "400 SecurityGroupProtocolRequiredWithPorts", ""),
			post(`, "protocol": "tcp", "port_range_min": 5, "port_range_max": 2`, "400 SecurityGroupInvalidPortRange", ""),
			post(`, "protocol": "tcp", "port_range_min": 5`, "400 SecurityGroupInvalidPortRange", ""),
			post(`, "protocol": "tcp", "port_range_min": 0, "port_range_max": 2`, "400 SecurityGroupInvalidPortValue", ""),
			post(`, "protocol": "tcp", "port_range_min": 1, "port_range_max": 65536`, "400 SecurityGroupInvalidPortValue", ""),
			post(`, "protocol": "gre", "port_range_min": 1, "port_range_max": 2`, "400 SecurityGroupInvalidProtocolForPort", ""),
			post(`, "protocol": "icmp", "port_range_min": 8, "port_range_max": 0`, "201", r+"port_range_min = 8\n"+r+"port_range_max = 0"),
			post(`, "protocol": "icmp", "port_range_min": 256`, "400 SecurityGroupInvalidIcmpValue", ""),
			post(`, "protocol": "icmp", "port_range_max": 1`, "400 SecurityGroupMissingIcmpType", ""),
			post(`, "protocol": "icmp", "ethertype": "IPv6"`, "201", r+"protocol = \"ipv6-icmp\""),
			post(`, "protocol": "icmpv6", "ethertype": "IPv6"`, "409 SecurityGroupRuleExists", ""),
			post(`, "protocol": "58", "ethertype": "IPv6"`, "409 SecurityGroupRuleExists", ""),
			post(`, "protocol": "ipv6-icmp"`, "400 SecurityGroupEthertypeConflictWithProtocol", ""),
			post(`, "protocol": "nope"`, "400 SecurityGroupRuleInvalidProtocol", ""),
			post(`, "protocol": 256`, "400 SecurityGroupRuleInvalidProtocol", ""),
			post(`, "ethertype": "IPv5"`, "400", ""),
			{As: "M", Do: "POST /security-group-rules", Body: `{"security_group_rule": {"security_group_id": "${g}", "direction": "up"}}`, Want: "400"},
			{As: "M", Do: "POST /security-group-rules", Body: `{"security_group_rule": {"security_group_id": "${g}"}}`, Want: "400"},
			{As: "M", Do: "POST /security-group-rules", Body: `{"security_group_rule": {"security_group_id": "${f}", "direction": "ingress"}}`, Want: "404 SecurityGroupNotFound"},
			{As: "M", Do: "POST /security-group-rules", Body: `{"security_group_rule": {"security_group_id": "` + nobody + `", "direction": "ingress"}}`, Want: "404 SecurityGroupNotFound"},
			{As: "R", Do: "POST /security-group-rules", Body: rule(``), Want: "403 PolicyNotAuthorized"},
			{As: "M", Do: "GET /security-group-rules?security_group_id=${g}&remote_group_id=${h}", Want: "200", Save: "rule=security_group_rules.0.id", Has: "security_group_rules.# = 1"},
			{As: "M", Do: "GET /security-group-rules?security_group_id=${g}&port_range_min=22", Want: "200", Has: "security_group_rules.# = 1"},
			{As: "M", Do: "PUT /security-group-rules/${rule}", Body: `{"security_group_rule": {"description": "x"}}`, Want: "400"},
			{As: "M", Do: "DELETE /security-groups/${h}", Want: "204"},
			{As: "M", Do: "GET /security-group-rules/${rule}", Want: "404 SecurityGroupRuleNotFound"},
			{As: "O", Do: "GET /security-groups/${g}", Want: "404"},
			{As: "M", Do: "DELETE /security-groups/${g}", Want: "204"},
			{As: "M", Do: "GET /security-group-rules?security_group_id=${g}", Want: "200", Has: "security_group_rules.# = 0"},
		})
	})
}
