package secgroup

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// SecurityGroupsDefaultRules is the extension security-groups-default-rules; facts from neutron-lib api/definitions/security_groups_default_rules.py.
func SecurityGroupsDefaultRules() apidef.Extension {
	return apidef.Extension{
		Alias: "security-groups-default-rules", Name: "Default rules",
		Doc:     "Sets the rules that new security groups begin with.",
		Updated: time.Date(2022, 12, 19, 10, 0, 0, 0, time.UTC),
		Resources: []apidef.Resource{
			defaultSecurityGroupRules(),
		},
	}
}

func defaultSecurityGroupRules() apidef.Resource {
	return apidef.Resource{
		Name: "default_security_group_rule", Collection: "default_security_group_rules", Path: "default-security-group-rules",
		Doc:      "A rule that new security groups begin with.",
		Standard: true, NoBulk: true, NoUpdate: true,
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID(), Filter: true, Sort: true},
			{Name: "tenant_id", Doc: "The project that owns the object, by its older name; project_id always has the same value.", Type: types.String(255), Post: apidef.Optional, Default: apidef.Unspecified, Hidden: true, PolicyKey: true},
			{Name: "description", Doc: "A text for people.", Type: types.String(255), Post: apidef.Optional, Put: apidef.Optional, Default: "", Filter: true},
			{Name: "direction", Doc: "The direction of the traffic as seen by the port.", Type: types.Values("ingress", "egress"), Post: apidef.Required, Filter: true, Sort: true},
			{Name: "ethertype", Doc: "The version of IP that the rule is for.", Type: types.Ethertype(), Post: apidef.Optional, Default: "IPv4", Filter: true, Sort: true},
			{Name: "port_range_max", Doc: "The last port, or the code of ICMP.", Type: types.PortValue(), Post: apidef.Optional, Filter: true, Sort: true},
			{Name: "port_range_min", Doc: "The first port, or the type of ICMP.", Type: types.PortValue(), Post: apidef.Optional, Filter: true, Sort: true},
			{Name: "protocol", Doc: "The protocol of the traffic; null: every one.", Type: types.SecurityGroupProtocol(), Post: apidef.Optional, Filter: true, Sort: true},
			{Name: "remote_address_group_id", Doc: "The address group at the other end.", Type: types.StringOrNull(36), Post: apidef.Optional, Filter: true, Sort: true},
			{Name: "remote_group_id", Doc: "The group whose members are at the other end.", Type: types.StringOrNull(36), Post: apidef.Optional, Filter: true, Sort: true},
			{Name: "remote_ip_prefix", Doc: "The addresses at the other end.", Type: types.RemoteIPPrefix(), Post: apidef.Optional, Filter: true, Sort: true},
			{Name: "used_in_default_sg", Doc: "Whether the default group of new projects gets the rule.", Type: types.Bool(), Post: apidef.Required, Filter: true},
			{Name: "used_in_non_default_sg", Doc: "Whether other new groups get the rule.", Type: types.Bool(), Post: apidef.Required, Filter: true},
		},
	}
}
