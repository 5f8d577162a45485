package vpnaas

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// VPNaaS is the extension vpnaas; facts from neutron-lib api/definitions/vpn.py.
func VPNaaS() apidef.Extension {
	return apidef.Extension{
		Alias: "vpnaas", Name: "VPN",
		Doc:      "IPsec connections of routers.",
		Updated:  time.Date(2013, 5, 29, 10, 0, 0, 0, time.UTC),
		Requires: []string{"router"},
		Resources: []apidef.Resource{
			ikepolicies(),
			ipsecSiteConnections(),
			ipsecpolicies(),
			vpnservices(),
		},
	}
}

func ikepolicies() apidef.Resource {
	return apidef.Resource{
		Name: "ikepolicy", Collection: "ikepolicies", Path: "ikepolicies", Prefix: "/vpn",
		Doc:   "The settings of IKE.",
		Quota: true, NoBulk: true,
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID(), Sort: true},
			{Name: "name", Doc: "A name for people; it need not be unique.", Type: types.Name(255), Post: apidef.Optional, Put: apidef.Optional, Default: "", Sort: true},
			{Name: "tenant_id", Doc: "The project that owns the object, by its older name; project_id always has the same value.", Type: types.String(255), Post: apidef.Optional, Default: apidef.Unspecified, Sort: true, PolicyKey: true},
			{Name: "auth_algorithm", Doc: "The algorithm of authentication.", Type: types.Values("sha1", "sha256", "sha384", "sha512", "aes-xcbc", "aes-cmac"), Post: apidef.Optional, Put: apidef.Optional, Default: "sha1"},
			{Name: "description", Doc: "A text for people.", Type: types.String(255), Post: apidef.Optional, Put: apidef.Optional, Default: ""},
			{Name: "encryption_algorithm", Doc: "The algorithm of encryption.", Type: types.Values("3des", "aes-128", "aes-192", "aes-256", "aes-128-ccm-8", "aes-192-ccm-8", "aes-256-ccm-8", "aes-128-ccm-12", "aes-192-ccm-12", "aes-256-ccm-12", "aes-128-ccm-16", "aes-192-ccm-16", "aes-256-ccm-16", "aes-128-gcm-8", "aes-192-gcm-8", "aes-256-gcm-8", "aes-128-gcm-12", "aes-192-gcm-12", "aes-256-gcm-12", "aes-128-gcm-16", "aes-192-gcm-16", "aes-256-gcm-16"), Post: apidef.Optional, Put: apidef.Optional, Default: "aes-128"},
			{Name: "ike_version", Doc: "The version of IKE.", Type: types.Values("v1", "v2"), Post: apidef.Optional, Put: apidef.Optional, Default: "v1"},
			{Name: "lifetime", Doc: "How long keys live.", Type: types.NullIsEmptyDict(types.ObjectOrEmpty(types.Key{Name: "units", Type: types.Values("seconds")}, types.Key{Name: "value", Type: types.AtLeast(60)})), Post: apidef.Optional, Put: apidef.Optional, Default: map[string]any{}},
			{Name: "pfs", Doc: "The group of perfect forward secrecy.", Type: types.Values("group2", "group5", "group14", "group15", "group16", "group17", "group18", "group19", "group20", "group21", "group22", "group23", "group24", "group25", "group26", "group27", "group28", "group29", "group30", "group31"), Post: apidef.Optional, Put: apidef.Optional, Default: "group5"},
			{Name: "phase1_negotiation_mode", Doc: "How the first phase is negotiated.", Type: types.Values("main", "aggressive"), Post: apidef.Optional, Put: apidef.Optional, Default: "main"},
		},
	}
}

func ipsecSiteConnections() apidef.Resource {
	return apidef.Resource{
		Name: "ipsec_site_connection", Collection: "ipsec_site_connections", Path: "ipsec-site-connections", Prefix: "/vpn",
		Doc:   "A connection to a peer.",
		Quota: true, NoBulk: true,
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID(), Sort: true},
			{Name: "name", Doc: "A name for people; it need not be unique.", Type: types.Name(255), Post: apidef.Optional, Put: apidef.Optional, Default: "", Sort: true},
			{Name: "tenant_id", Doc: "The project that owns the object, by its older name; project_id always has the same value.", Type: types.String(255), Post: apidef.Optional, Default: apidef.Unspecified, Sort: true, PolicyKey: true},
			{Name: "admin_state_up", Doc: "Whether the administrator wants the object to work.", Type: types.Bool(), Post: apidef.Optional, Put: apidef.Optional, Default: true},
			{Name: "auth_mode", Doc: "How the peers prove who they are.", Type: types.Values("psk")},
			{Name: "description", Doc: "A text for people.", Type: types.String(255), Post: apidef.Optional, Put: apidef.Optional, Default: ""},
			{Name: "dpd", Doc: "How a dead peer is found, and what is done then.", Type: types.NullIsEmptyDict(types.ObjectOrEmpty(types.Key{Name: "action", Type: types.Values("clear", "disabled", "hold", "restart", "restart-by-peer")}, types.Key{Name: "interval", Type: types.NonNegative()}, types.Key{Name: "timeout", Type: types.NonNegative()})), Post: apidef.Optional, Put: apidef.Optional, Default: map[string]any{}},
			{Name: "ikepolicy_id", Doc: "The IKE policy of the connection.", Type: types.UUID(), Post: apidef.Required},
			{Name: "initiator", Doc: "Which side may begin.", Type: types.Values("bi-directional", "response-only"), Post: apidef.Optional, Put: apidef.Optional, Default: "bi-directional"},
			{Name: "ipsecpolicy_id", Doc: "The IPsec policy of the connection.", Type: types.UUID(), Post: apidef.Required},
			{Name: "local_ep_group_id", Doc: "The endpoints on this side.", Type: types.UUIDOrNull(), Post: apidef.Optional, Put: apidef.Optional},
			{Name: "local_id", Doc: "The identity of this side.", Type: types.String(0), Post: apidef.Optional, Put: apidef.Optional, Default: ""},
			{Name: "mtu", Doc: "The largest packet of the connection.", Type: types.NonNegative(), Post: apidef.Optional, Put: apidef.Optional, Default: 1500},
			{Name: "peer_address", Doc: "The address of the peer.", Type: types.String(0), Post: apidef.Required, Put: apidef.Optional},
			{Name: "peer_cidrs", Doc: "The ranges behind the peer.", Type: types.ListIfScalar(types.CIDRListOrNull()), Post: apidef.Optional, Put: apidef.Optional},
			{Name: "peer_ep_group_id", Doc: "The endpoints on the side of the peer.", Type: types.UUIDOrNull(), Post: apidef.Optional, Put: apidef.Optional},
			{Name: "peer_id", Doc: "The identity of the peer.", Type: types.String(0), Post: apidef.Required, Put: apidef.Optional},
			{Name: "psk", Doc: "The secret that both sides share.", Type: types.String(0), Post: apidef.Required, Put: apidef.Optional},
			{Name: "route_mode", Doc: "How routes to the peer come about.", Type: types.ReadOnly(apidef.Schema{"type": "string"})},
			{Name: "status", Doc: "What the object does at present.", Type: types.ReadOnly(apidef.Schema{"type": "string"})},
			{Name: "vpnservice_id", Doc: "The VPN service of the connection.", Type: types.UUID(), Post: apidef.Required},
		},
	}
}

func ipsecpolicies() apidef.Resource {
	return apidef.Resource{
		Name: "ipsecpolicy", Collection: "ipsecpolicies", Path: "ipsecpolicies", Prefix: "/vpn",
		Doc:   "The settings of IPsec.",
		Quota: true, NoBulk: true,
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID(), Sort: true},
			{Name: "name", Doc: "A name for people; it need not be unique.", Type: types.Name(255), Post: apidef.Optional, Put: apidef.Optional, Default: "", Sort: true},
			{Name: "tenant_id", Doc: "The project that owns the object, by its older name; project_id always has the same value.", Type: types.String(255), Post: apidef.Optional, Default: apidef.Unspecified, Sort: true, PolicyKey: true},
			{Name: "auth_algorithm", Doc: "The algorithm of authentication.", Type: types.Values("sha1", "sha256", "sha384", "sha512", "aes-xcbc", "aes-cmac"), Post: apidef.Optional, Put: apidef.Optional, Default: "sha1"},
			{Name: "description", Doc: "A text for people.", Type: types.String(255), Post: apidef.Optional, Put: apidef.Optional, Default: ""},
			{Name: "encapsulation_mode", Doc: "Whether packets are carried whole or in part.", Type: types.Values("transport", "tunnel"), Post: apidef.Optional, Put: apidef.Optional, Default: "tunnel"},
			{Name: "encryption_algorithm", Doc: "The algorithm of encryption.", Type: types.Values("3des", "aes-128", "aes-192", "aes-256", "aes-128-ccm-8", "aes-192-ccm-8", "aes-256-ccm-8", "aes-128-ccm-12", "aes-192-ccm-12", "aes-256-ccm-12", "aes-128-ccm-16", "aes-192-ccm-16", "aes-256-ccm-16", "aes-128-gcm-8", "aes-192-gcm-8", "aes-256-gcm-8", "aes-128-gcm-12", "aes-192-gcm-12", "aes-256-gcm-12", "aes-128-gcm-16", "aes-192-gcm-16", "aes-256-gcm-16"), Post: apidef.Optional, Put: apidef.Optional, Default: "aes-128"},
			{Name: "lifetime", Doc: "How long keys live.", Type: types.NullIsEmptyDict(types.ObjectOrEmpty(types.Key{Name: "units", Type: types.Values("seconds")}, types.Key{Name: "value", Type: types.AtLeast(60)})), Post: apidef.Optional, Put: apidef.Optional, Default: map[string]any{}},
			{Name: "pfs", Doc: "The group of perfect forward secrecy.", Type: types.Values("group2", "group5", "group14", "group15", "group16", "group17", "group18", "group19", "group20", "group21", "group22", "group23", "group24", "group25", "group26", "group27", "group28", "group29", "group30", "group31"), Post: apidef.Optional, Put: apidef.Optional, Default: "group5"},
			{Name: "transform_protocol", Doc: "The protocol of IPsec.", Type: types.Values("ah", "ah-esp", "esp"), Post: apidef.Optional, Put: apidef.Optional, Default: "esp"},
		},
	}
}

func vpnservices() apidef.Resource {
	return apidef.Resource{
		Name: "vpnservice", Collection: "vpnservices", Path: "vpnservices", Prefix: "/vpn",
		Doc:   "A VPN on a router.",
		Quota: true, NoBulk: true,
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID(), Sort: true},
			{Name: "name", Doc: "A name for people; it need not be unique.", Type: types.Name(255), Post: apidef.Optional, Put: apidef.Optional, Default: "", Sort: true},
			{Name: "tenant_id", Doc: "The project that owns the object, by its older name; project_id always has the same value.", Type: types.String(255), Post: apidef.Optional, Default: apidef.Unspecified, Sort: true, PolicyKey: true},
			{Name: "admin_state_up", Doc: "Whether the administrator wants the object to work.", Type: types.Bool(), Post: apidef.Optional, Put: apidef.Optional, Default: true},
			{Name: "description", Doc: "A text for people.", Type: types.String(255), Post: apidef.Optional, Put: apidef.Optional, Default: ""},
			{Name: "external_v4_ip", Doc: "The IPv4 address of the service.", Type: types.ReadOnly(apidef.Schema{"type": []any{"string", "null"}})},
			{Name: "external_v6_ip", Doc: "The IPv6 address of the service.", Type: types.ReadOnly(apidef.Schema{"type": []any{"string", "null"}})},
			{Name: "router_id", Doc: "The router that the service works on.", Type: types.UUID(), Post: apidef.Required, Sort: true},
			{Name: "status", Doc: "What the object does at present.", Type: types.ReadOnly(apidef.Schema{"type": "string"})},
			{Name: "subnet_id", Doc: "The subnet that is joined, where there are no endpoint groups.", Type: types.UUIDOrNull(), Post: apidef.Optional},
		},
	}
}
