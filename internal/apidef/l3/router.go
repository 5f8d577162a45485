package l3

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// Router is the extension router; facts from neutron-lib api/definitions/l3.py.
func Router() apidef.Extension {
	return apidef.Extension{
		Alias: "router", Name: "Routers",
		Doc:      "Routers and floating addresses.",
		Updated:  time.Date(2012, 7, 20, 10, 0, 0, 0, time.UTC),
		Optional: []string{"quotas"},
		Resources: []apidef.Resource{
			floatingips(),
			routers(),
		},
		Extends: map[string][]apidef.Attribute{
			"quotas": {
				{Name: "router_route", Doc: "How many further routes one router may have; -1: no bound.", Type: types.Range(-1, 2147483647), Put: apidef.Optional},
			},
		},
	}
}

func floatingips() apidef.Resource {
	return apidef.Resource{
		Name: "floatingip", Collection: "floatingips", Path: "floatingips",
		Doc:      "An address outside that leads to a port inside.",
		Standard: true, Taggable: true, Quota: true, NoBulk: true,
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID(), Filter: true, Sort: true},
			{Name: "tenant_id", Doc: "The project that owns the object, by its older name; project_id always has the same value.", Type: types.String(255), Post: apidef.Optional, Default: apidef.Unspecified, Filter: true, Sort: true, PolicyKey: true},
			{Name: "floating_network_id", Doc: "The external network that the address is of.", Type: types.UUID(), Post: apidef.Required, Filter: true, Sort: true},
			{Name: "floating_ip_address", Doc: "The address as seen from outside.", Type: types.IPAddressOrNull(), Post: apidef.Optional, Filter: true, Sort: true, Guarded: true},
			{Name: "fixed_ip_address", Doc: "The address of the port that the floating one stands for.", Type: types.IPAddressOrNull(), Post: apidef.Optional, Put: apidef.Optional, Filter: true, Sort: true},
			{Name: "router_id", Doc: "The router that translates.", Type: types.UUIDOrNull(), Filter: true, Sort: true},
			{Name: "port_id", Doc: "The port that the address leads to; null: none.", Type: types.UUIDOrNull(), Post: apidef.Optional, Put: apidef.Optional, Filter: true, PolicyKey: true},
			{Name: "subnet_id", Doc: "The subnet that the address is taken from.", Type: types.UUIDOrNull(), Post: apidef.Optional, Hidden: true},
			{Name: "status", Doc: "ACTIVE when a host translates it, else DOWN.", Type: types.ReadOnly(apidef.Schema{"type": "string"}), Filter: true, Sort: true},
		},
	}
}

func routers() apidef.Resource {
	return apidef.Resource{
		Name: "router", Collection: "routers", Path: "routers",
		Doc:      "A router between subnets, with or without a way out.",
		Standard: true, Taggable: true, Quota: true, NoBulk: true,
		Actions: []apidef.Action{
			{Name: "add_router_interface", Method: "PUT", Doc: "Joins a subnet, or the network of a port, to the router.", Input: types.Object(types.Key{Name: "subnet_id", Type: types.UUID()}, types.Key{Name: "port_id", Type: types.UUID()})},
			{Name: "remove_router_interface", Method: "PUT", Doc: "Takes a subnet or a port off the router.", Input: types.Object(types.Key{Name: "subnet_id", Type: types.UUID()}, types.Key{Name: "port_id", Type: types.UUID()})},
		},
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID(), Filter: true, Sort: true},
			{Name: "name", Doc: "A name for people; it need not be unique.", Type: types.Name(255), Post: apidef.Optional, Put: apidef.Optional, Default: "", Filter: true, Sort: true},
			{Name: "tenant_id", Doc: "The project that owns the object, by its older name; project_id always has the same value.", Type: types.String(255), Post: apidef.Optional, Default: apidef.Unspecified, Filter: true, Sort: true, PolicyKey: true},
			{Name: "admin_state_up", Doc: "Whether the administrator wants the object to work.", Type: types.Bool(), Post: apidef.Optional, Put: apidef.Optional, Default: true, Filter: true, Sort: true},
			{Name: "status", Doc: "ACTIVE, ALLOCATING or ERROR.", Type: types.ReadOnly(apidef.Schema{"type": "string"}), Sort: true},
			{Name: "external_gateway_info", Doc: "The way out: network, addresses and whether addresses are hidden; null: none.", Type: types.ObjectOrNothing(types.Key{Name: "network_id", Type: types.UUID(), Required: true}, types.Key{Name: "external_fixed_ips", Type: types.FixedIPs()}), Post: apidef.Optional, Put: apidef.Optional, Guarded: true},
		},
	}
}
