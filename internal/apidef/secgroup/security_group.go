package secgroup

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// SecurityGroup is the extension security-group; facts from neutron extensions/securitygroup.py.
func SecurityGroup() apidef.Extension {
	return apidef.Extension{
		Alias: "security-group", Name: "Security groups",
		Doc:      "Filters the traffic of ports by groups of rules.",
		Updated:  time.Date(2012, 10, 5, 10, 0, 0, 0, time.UTC),
		Requires: []string{"standard-attr-description"},
		Resources: []apidef.Resource{
			securityGroupRules(),
			securityGroups(),
		},
		Extends: map[string][]apidef.Attribute{
			"ports": {
				{Name: "security_groups", Doc: "The security groups whose rules let traffic through.", Type: types.NullIsEmptyList(types.UUIDList()), Post: apidef.Optional, Put: apidef.Optional, Default: apidef.Unspecified, Filter: true},
			},
		},
	}
}

func securityGroupRules() apidef.Resource {
	return apidef.Resource{
		Name: "security_group_rule", Collection: "security_group_rules", Path: "security-group-rules",
		Doc:      "One kind of traffic that a security group lets through.",
		Standard: true, Quota: true, NoUpdate: true,
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID(), Filter: true, Sort: true},
			{Name: "tenant_id", Doc: "The project that owns the object, by its older name; project_id always has the same value.", Type: types.String(255), Post: apidef.Optional, Default: apidef.Unspecified, Filter: true, Sort: true, PolicyKey: true},
			{Name: "security_group_id", Doc: "The group that the rule belongs to.", Type: types.String(36), Post: apidef.Required, Filter: true, Sort: true, PolicyKey: true},
			{Name: "ethertype", Doc: "The version of IP that the rule is for.", Type: types.Ethertype(), Post: apidef.Optional, Default: "IPv4", Filter: true, Sort: true},
			{Name: "direction", Doc: "The direction of the traffic as seen by the port.", Type: types.Values("ingress", "egress"), Post: apidef.Required, Filter: true, Sort: true},
			{Name: "protocol", Doc: "The protocol of the traffic; null: every one.", Type: types.SecurityGroupProtocol(), Post: apidef.Optional, Filter: true, Sort: true},
			{Name: "port_range_min", Doc: "The first port, or the type of ICMP.", Type: types.PortValue(), Post: apidef.Optional, Filter: true, Sort: true},
			{Name: "port_range_max", Doc: "The last port, or the code of ICMP.", Type: types.PortValue(), Post: apidef.Optional, Filter: true, Sort: true},
			{Name: "remote_ip_prefix", Doc: "The addresses at the other end.", Type: types.RemoteIPPrefix(), Post: apidef.Optional, Filter: true, Sort: true},
			{Name: "remote_group_id", Doc: "The group whose members are at the other end.", Type: types.StringOrNull(36), Post: apidef.Optional, Filter: true, Sort: true},
		},
	}
}

func securityGroups() apidef.Resource {
	return apidef.Resource{
		Name: "security_group", Collection: "security_groups", Path: "security-groups",
		Doc:      "A set of rules that says which traffic a port lets through.",
		Standard: true, Taggable: true, Quota: true,
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID(), Filter: true, Sort: true},
			{Name: "name", Doc: "A name for people; \"default\" is kept for the group that every project has.", Type: types.NameNotDefault(255), Post: apidef.Optional, Put: apidef.Optional, Default: "", Filter: true, Sort: true},
			{Name: "tenant_id", Doc: "The project that owns the object, by its older name; project_id always has the same value.", Type: types.String(255), Post: apidef.Optional, Default: apidef.Unspecified, Filter: true, Sort: true, PolicyKey: true},
			{Name: "security_group_rules", Doc: "The rules of the group.", Type: types.ReadOnly(apidef.Schema{"type": "array", "items": apidef.Schema{"type": "object"}}), Computed: true},
		},
	}
}
