package l3

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// L3NDPProxy is the extension l3-ndp-proxy; facts from neutron-lib api/definitions/l3_ndp_proxy.py.
func L3NDPProxy() apidef.Extension {
	return apidef.Extension{
		Alias: "l3-ndp-proxy", Name: "NDP proxies",
		Doc:      "Addresses that routers answer for.",
		Updated:  time.Date(2021, 6, 29, 10, 0, 0, 0, time.UTC),
		Requires: []string{"router"},
		Resources: []apidef.Resource{
			ndpProxies(),
		},
	}
}

func ndpProxies() apidef.Resource {
	return apidef.Resource{
		Name: "ndp_proxy", Collection: "ndp_proxies", Path: "ndp-proxies",
		Doc:      "An IPv6 address that a router answers for.",
		Standard: true, NoBulk: true,
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID(), Sort: true},
			{Name: "name", Doc: "A name for people; it need not be unique.", Type: types.Name(255), Post: apidef.Optional, Put: apidef.Optional, Default: "", Filter: true, Sort: true},
			{Name: "project_id", Doc: "The project that owns the object.", Type: types.String(255), Post: apidef.Optional, Default: apidef.Unspecified, Sort: true, PolicyKey: true},
			{Name: "description", Doc: "A text for people.", Type: types.String(255), Post: apidef.Optional, Put: apidef.Optional, Default: "", Filter: true},
			{Name: "ip_address", Doc: "The IPv6 address that the router answers for.", Type: types.IPAddressOrNull(), Post: apidef.Optional, Sort: true},
			{Name: "port_id", Doc: "The port that holds the address.", Type: types.UUID(), Post: apidef.Required, Sort: true},
			{Name: "router_id", Doc: "The router that answers.", Type: types.UUID(), Post: apidef.Required, Sort: true},
		},
	}
}
