package conformance

import (
	"testing"

	"isospin/test/rig"
)

// TestAddressGroups: behaviour.md, sections 12 and 15.
func TestAddressGroups(t *testing.T) {
	rule := func(rest string) string {
		return `{"security_group_rule": {"security_group_id": "${sg}", "direction": "ingress", ` + rest + `}}`
	}
	quick(t).Run(t, rig.Vars{}, []rig.Step{
		{As: "M", Do: "POST /address-groups", Body: `{"address_group": {"name": "a", "addresses": ["10.0.0.7/24", "10.0.0.0/24", "2001:DB8::1/128"]}}`, Want: "201", Save: "ag=address_group.id",
			Has: "address_group.addresses = [\"10.0.0.0/24\", \"2001:db8::1/128\"]\naddress_group.description = \"\"\naddress_group.revision_number = 0\naddress_group.shared absent\naddress_group.tenant_id absent"},
		{As: "M", Do: "POST /address-groups", Body: `{"address_group": {}}`, Want: "201", Save: "empty=address_group.id", Has: "address_group.addresses = []\naddress_group.name = \"\""},
		{As: "M", Do: "POST /address-groups", Body: `{"address_group": {"addresses": ["10.0.0.7"]}}`, Want: "400"},
		{As: "M", Do: "POST /address-groups", Body: `{"address_groups": [{"name": "x"}, {"name": "y"}]}`, Want: "201", Has: "address_groups.# = 2"},
		{As: "M", Do: "PUT /address-groups/${ag}", Body: `{"address_group": {"addresses": ["10.0.0.0/24"]}}`, Want: "400"},
		{As: "M", Do: "PUT /address-groups/${ag}", Body: `{"address_group": {"name": "b"}}`, Want: "200", Has: "address_group.name = \"b\"\naddress_group.revision_number = 1"},
		{As: "M", Do: "PUT /address-groups/${ag}/add_addresses", Body: `{"addresses": ["10.0.0.0/24", "10.0.1.0/24"]}`, Want: "200", Has: "address_group.addresses.# = 3\naddress_group.revision_number = 2"},
		{As: "M", Do: "PUT /address-groups/${ag}/add_addresses", Body: `{"addresses": ["10.0.0.0/24"]}`, Want: "200", Has: "address_group.revision_number = 2"},
		{As: "M", Do: "PUT /address-groups/${ag}/add_addresses", Body: ``, Want: "400"},
		{As: "M", Do: "PUT /address-groups/${ag}/add_addresses", Body: `{}`, Want: "400"},
		{As: "M", Do: "PUT /address-groups/${ag}/remove_addresses", Body: `{"addresses": ["10.0.1.0/24", "10.0.9.0/24"]}`, Want: "404 AddressesNotFound"},
		{As: "M", Do: "PUT /address-groups/${ag}/remove_addresses", Body: `{"addresses": ["10.0.1.0/24"]}`, Want: "200", Has: "address_group.addresses.# = 2"},
		{As: "R", Do: "PUT /address-groups/${ag}/remove_addresses", Body: `{"addresses": ["10.0.0.0/24"]}`, Want: "403 PolicyNotAuthorized"},
		{As: "O", Do: "PUT /address-groups/${ag}/remove_addresses", Body: `{"addresses": ["10.0.0.0/24"]}`, Want: "404 AddressGroupNotFound"},
		{As: "O", Do: "GET /address-groups/${ag}", Want: "404 AddressGroupNotFound"},
		{As: "M", Do: "POST /security-groups", Body: `{"security_group": {"name": "g"}}`, Want: "201", Save: "sg=security_group.id"},
		{As: "M", Do: "POST /security-group-rules", Body: rule(`"remote_address_group_id": "${ag}"`), Want: "201", Save: "rule=security_group_rule.id", Has: "security_group_rule.remote_address_group_id = \"${ag}\""},
		{As: "M", Do: "POST /security-group-rules", Body: rule(`"remote_address_group_id": "${ag}"`), Want: "409 SecurityGroupRuleExists"},
		{As: "M", Do: "POST /security-group-rules", Body: rule(`"remote_address_group_id": "${ag}", "remote_ip_prefix": "10.0.0.0/8"`), Want: "400 SecurityGroupMultipleRemoteEntites"},
		{As: "M", Do: "POST /security-group-rules", Body: rule(`"remote_address_group_id": "5b9c5d1e-0d83-4d0c-a1ff-7d8b4a8f7d00"`), Want: "404 AddressGroupNotFound"},
		{As: "M", Do: "GET /security-group-rules?remote_address_group_id=${ag}", Want: "200", Has: "security_group_rules.# = 1"},
		{As: "O", Do: "POST /security-groups", Body: `{"security_group": {"name": "g"}}`, Want: "201", Save: "sg=security_group.id"},
		{As: "O", Do: "POST /security-group-rules", Body: rule(`"remote_address_group_id": "${ag}"`), Want: "404 AddressGroupNotFound"},
		{As: "M", Do: "POST /rbac-policies", Body: `{"rbac_policy": {"object_type": "address_group", "object_id": "${ag}", "action": "access_as_shared", "target_tenant": "` + rig.ProjectO + `"}}`, Want: "201", Save: "rbac=rbac_policy.id"},
		{As: "O", Do: "GET /address-groups/${ag}", Want: "200"},
		{As: "O", Do: "PUT /address-groups/${ag}/add_addresses", Body: `{"addresses": ["10.0.5.0/24"]}`, Want: "403 PolicyNotAuthorized"},
		{As: "O", Do: "POST /security-group-rules", Body: rule(`"remote_address_group_id": "${ag}"`), Want: "201", Save: "theirs=security_group_rule.id"},
		{As: "M", Do: "DELETE /rbac-policies/${rbac}", Want: "409 RbacPolicyInUse"},
		{As: "O", Do: "DELETE /security-group-rules/${theirs}", Want: "204"},
		{As: "M", Do: "DELETE /rbac-policies/${rbac}", Want: "204"},
		{As: "O", Do: "GET /address-groups/${ag}", Want: "404 AddressGroupNotFound"},
		{As: "M", Do: "DELETE /address-groups/${ag}", Want: "409 AddressGroupInUse"},
		{As: "M", Do: "DELETE /security-group-rules/${rule}", Want: "204"},
		{As: "M", Do: "DELETE /address-groups/${ag}", Want: "204"},
		{As: "M", Do: "DELETE /address-groups/${empty}", Want: "204"},
	})
}

// TestDefaultRules: the templates of groups, behaviour.md, section 12.
func TestDefaultRules(t *testing.T) {
	tmpl := func(rest string) string {
		return `{"default_security_group_rule": {"direction": "ingress", ` + rest + `}}`
	}
	quick(t).Run(t, rig.Vars{}, []rig.Step{
		{As: "M", Do: "GET /default-security-group-rules", Want: "200", Has: "default_security_group_rules.# = 4"},
		{As: "M", Do: "GET /default-security-group-rules?used_in_non_default_sg=true", Want: "200", Has: "default_security_group_rules.# = 2"},
		{As: "M", Do: "GET /default-security-group-rules?remote_group_id=PARENT&ethertype=IPv6", Want: "200", Save: "parent=default_security_group_rules.0.id",
			Has: "default_security_group_rules.# = 1\ndefault_security_group_rules.0.used_in_default_sg = true\ndefault_security_group_rules.0.created_at absent\ndefault_security_group_rules.0.revision_number absent"},
		{As: "M", Do: "POST /default-security-group-rules", Body: tmpl(`"used_in_default_sg": true, "used_in_non_default_sg": true`), Want: "403 PolicyNotAuthorized"},
		{As: "A", Do: "POST /default-security-group-rules", Body: tmpl(`"used_in_default_sg": true`), Want: "400"},
		{As: "A", Do: "POST /default-security-group-rules", Body: tmpl(`"used_in_default_sg": false, "used_in_non_default_sg": true, "protocol": "tcp", "port_range_min": 22, "port_range_max": 22`), Want: "201", Save: "ssh=default_security_group_rule.id",
			Has: "default_security_group_rule.protocol = \"tcp\"\ndefault_security_group_rule.ethertype = \"IPv4\"\ndefault_security_group_rule.remote_group_id = null"},
		{As: "A", Do: "POST /default-security-group-rules", Body: tmpl(`"used_in_default_sg": false, "used_in_non_default_sg": true, "protocol": "6", "port_range_min": 22, "port_range_max": 22`), Want: "409 DefaultSecurityGroupRuleExists"},
		{As: "A", Do: "POST /default-security-group-rules", Body: tmpl(`"used_in_default_sg": false, "used_in_non_default_sg": true, "port_range_min": 22, "port_range_max": 22`), Want: "400 SecurityGroupProtocolRequiredWithPorts"},
		{As: "A", Do: "POST /default-security-group-rules", Body: tmpl(`"used_in_default_sg": false, "used_in_non_default_sg": true, "remote_group_id": "5b9c5d1e-0d83-4d0c-a1ff-7d8b4a8f7d00"`), Want: "404 SecurityGroupNotFound"},
		{As: "A", Do: "PUT /default-security-group-rules/${ssh}", Body: `{"default_security_group_rule": {"description": "x"}}`, Want: "400"},
		{As: "M", Do: "POST /security-groups", Body: `{"security_group": {"name": "g"}}`, Want: "201", Has: "security_group.security_group_rules.# = 3"},
		{As: "M", Do: "GET /security-groups?name=default", Want: "200", Has: "security_groups.0.security_group_rules.# = 4"},
		{As: "A", Do: "DELETE /default-security-group-rules/${parent}", Want: "204"},
		{As: "M", Do: "DELETE /default-security-group-rules/${ssh}", Want: "403 PolicyNotAuthorized"},
		{As: "A", Do: "DELETE /default-security-group-rules/${ssh}", Want: "204"},
		{As: "A", Do: "DELETE /default-security-group-rules/${ssh}", Want: "404 DefaultSecurityGroupRuleNotFound"},
		{As: "O", Do: "GET /security-groups", Want: "200", Has: "security_groups.0.security_group_rules.# = 3"},
		{As: "O", Do: "POST /security-groups", Body: `{"security_group": {"name": "g"}}`, Want: "201", Has: "security_group.security_group_rules.# = 2"},
	})
}
