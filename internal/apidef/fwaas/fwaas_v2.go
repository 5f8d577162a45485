package fwaas

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// FWaaSV2 is the extension fwaas_v2; facts from neutron-lib api/definitions/firewall_v2.py.
func FWaaSV2() apidef.Extension {
	return apidef.Extension{
		Alias: "fwaas_v2", Name: "Firewalls",
		Doc:     "Guards ports by ordered rules.",
		Updated: time.Date(2016, 10, 6, 10, 0, 0, 0, time.UTC),
		Resources: []apidef.Resource{
			firewallGroups(),
			firewallPolicies(),
			firewallRules(),
		},
	}
}

func firewallGroups() apidef.Resource {
	return apidef.Resource{
		Name: "firewall_group", Collection: "firewall_groups", Path: "firewall_groups", Prefix: "/fwaas",
		Doc:      "A firewall: a policy for either direction and the ports that it guards.",
		Standard: true, Taggable: true, Quota: true, NoBulk: true,
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID()},
			{Name: "name", Doc: "A name for people; it need not be unique.", Type: types.Name(255), Post: apidef.Optional, Put: apidef.Optional, Default: ""},
			{Name: "tenant_id", Doc: "The project that owns the object, by its older name; project_id always has the same value.", Type: types.String(36), Post: apidef.Optional, Default: apidef.Unspecified, PolicyKey: true},
			{Name: "admin_state_up", Doc: "Whether the administrator wants the object to work.", Type: types.Bool(), Post: apidef.Optional, Put: apidef.Optional, Default: true},
			{Name: "description", Doc: "A text for people.", Type: types.String(255), Post: apidef.Optional, Put: apidef.Optional, Default: "", Filter: true},
			{Name: "egress_firewall_policy_id", Doc: "The policy for traffic that leaves.", Type: types.UUIDOrNull(), Post: apidef.Optional, Put: apidef.Optional},
			{Name: "ingress_firewall_policy_id", Doc: "The policy for traffic that enters.", Type: types.UUIDOrNull(), Post: apidef.Optional, Put: apidef.Optional},
			{Name: "ports", Doc: "The ports that the firewall guards.", Type: types.NullIsEmptyList(types.UUIDList()), Post: apidef.Optional, Put: apidef.Optional},
			{Name: "shared", Doc: "Whether the object is open to the project of the caller besides its own.", Type: types.Bool(), Post: apidef.Optional, Put: apidef.Optional, Default: false, PolicyKey: true, Guarded: true},
			{Name: "status", Doc: "What the object does at present.", Type: types.ReadOnly(apidef.Schema{"type": "string"})},
		},
	}
}

func firewallPolicies() apidef.Resource {
	return apidef.Resource{
		Name: "firewall_policy", Collection: "firewall_policies", Path: "firewall_policies", Prefix: "/fwaas",
		Doc:      "A list of firewall rules.",
		Standard: true, Taggable: true, Quota: true, NoBulk: true,
		Actions: []apidef.Action{
			{Name: "insert_rule", Method: "PUT", Doc: "Puts a rule into the policy.", Input: types.Object(types.Key{Name: "firewall_rule_id", Type: types.UUID(), Required: true}, types.Key{Name: "insert_after", Type: types.String(36)}, types.Key{Name: "insert_before", Type: types.String(36)})},
			{Name: "remove_rule", Method: "PUT", Doc: "Takes a rule out of the policy.", Input: types.Object(types.Key{Name: "firewall_rule_id", Type: types.UUID(), Required: true})},
		},
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID()},
			{Name: "name", Doc: "A name for people; it need not be unique.", Type: types.Name(255), Post: apidef.Optional, Put: apidef.Optional, Default: ""},
			{Name: "tenant_id", Doc: "The project that owns the object, by its older name; project_id always has the same value.", Type: types.String(36), Post: apidef.Optional, Default: apidef.Unspecified, PolicyKey: true},
			{Name: "audited", Doc: "Whether somebody looked the policy through since its last change.", Type: types.Bool(), Post: apidef.Optional, Put: apidef.Optional, Default: false},
			{Name: "description", Doc: "A text for people.", Type: types.String(255), Post: apidef.Optional, Put: apidef.Optional, Default: "", Filter: true},
			{Name: "firewall_rules", Doc: "The rules of the policy, in order.", Type: types.NullIsEmptyList(types.UUIDList()), Post: apidef.Optional, Put: apidef.Optional},
			{Name: "shared", Doc: "Whether the object is open to the project of the caller besides its own.", Type: types.Bool(), Post: apidef.Optional, Put: apidef.Optional, Default: false, PolicyKey: true, Guarded: true},
		},
	}
}

func firewallRules() apidef.Resource {
	return apidef.Resource{
		Name: "firewall_rule", Collection: "firewall_rules", Path: "firewall_rules", Prefix: "/fwaas",
		Doc:      "One kind of traffic and what happens to it.",
		Standard: true, Taggable: true, Quota: true, NoBulk: true,
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID()},
			{Name: "name", Doc: "A name for people; it need not be unique.", Type: types.Name(255), Post: apidef.Optional, Put: apidef.Optional, Default: ""},
			{Name: "tenant_id", Doc: "The project that owns the object, by its older name; project_id always has the same value.", Type: types.String(36), Post: apidef.Optional, Default: apidef.Unspecified, PolicyKey: true},
			{Name: "action", Doc: "What happens to the traffic: allow, deny or reject.", Type: types.FoldedValues("allow", "deny", "reject"), Post: apidef.Optional, Put: apidef.Optional, Default: "deny"},
			{Name: "description", Doc: "A text for people.", Type: types.String(255), Post: apidef.Optional, Put: apidef.Optional, Default: "", Filter: true},
			{Name: "destination_ip_address", Doc: "The address or range that the traffic goes to.", Type: types.IPOrCIDROrNull(), Post: apidef.Optional, Put: apidef.Optional},
			{Name: "destination_port", Doc: "The port or range of ports that the traffic goes to.", Type: types.PortRange(0, 65535), Post: apidef.Optional, Put: apidef.Optional},
			{Name: "enabled", Doc: "Whether the object is in force.", Type: types.Bool(), Post: apidef.Optional, Put: apidef.Optional, Default: true},
			{Name: "firewall_policy_id", Doc: "The policies that hold the rule.", Type: types.UUIDOrNull()},
			{Name: "ip_version", Doc: "The version of IP, 4 or 6.", Type: types.IntValues(4, 6), Post: apidef.Optional, Put: apidef.Optional, Default: 4},
			{Name: "position", Doc: "The place of the rule in its policy.", Type: types.ReadOnly(apidef.Schema{"type": []any{"integer", "null"}})},
			{Name: "protocol", Doc: "The protocol of the traffic; null: every one.", Type: types.Protocol("dccp", "icmp", "ipv6-icmp", "sctp", "tcp", "udp"), Post: apidef.Optional, Put: apidef.Optional},
			{Name: "shared", Doc: "Whether the object is open to the project of the caller besides its own.", Type: types.Bool(), Post: apidef.Optional, Put: apidef.Optional, Default: false, PolicyKey: true, Guarded: true},
			{Name: "source_ip_address", Doc: "The address or range that the traffic comes from.", Type: types.IPOrCIDROrNull(), Post: apidef.Optional, Put: apidef.Optional},
			{Name: "source_port", Doc: "The port or range of ports that the traffic comes from.", Type: types.PortRange(0, 65535), Post: apidef.Optional, Put: apidef.Optional},
		},
	}
}
