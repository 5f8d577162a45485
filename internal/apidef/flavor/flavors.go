package flavor

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// Flavors is the extension flavors; facts from neutron-lib api/definitions/flavors.py.
func Flavors() apidef.Extension {
	return apidef.Extension{
		Alias: "flavors", Name: "Flavours",
		Doc:     "Kinds of service that users can choose.",
		Updated: time.Date(2015, 9, 17, 10, 0, 0, 0, time.UTC),
		Resources: []apidef.Resource{
			flavors(),
			flavorsServiceProfiles(),
			nextProviders(),
			serviceProfiles(),
		},
	}
}

func flavors() apidef.Resource {
	return apidef.Resource{
		Name: "flavor", Collection: "flavors", Path: "flavors",
		Doc:    "A kind of service that users can choose.",
		NoBulk: true,
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID(), Filter: true, Sort: true},
			{Name: "name", Doc: "A name for people; it need not be unique.", Type: types.Name(255), Post: apidef.Optional, Put: apidef.Optional, Default: "", Filter: true, Sort: true},
			{Name: "description", Doc: "A text for people.", Type: types.StringOrNull(1024), Post: apidef.Optional, Put: apidef.Optional, Default: "", Filter: true, Sort: true},
			{Name: "enabled", Doc: "Whether the object is in force.", Type: types.BoolOrNull(), Post: apidef.Optional, Put: apidef.Optional, Default: true, Filter: true, Sort: true},
			{Name: "service_profiles", Doc: "The profiles that the flavour offers.", Type: types.UUIDList(), Post: apidef.Optional, Put: apidef.Optional, Default: []any{}},
			{Name: "service_type", Doc: "The type of service that the flavour is for.", Type: types.ServicePlugin("L3_ROUTER_NAT", "VPN", "FIREWALL_V2", "QOS", "METERING"), Post: apidef.Required, Filter: true, Sort: true},
		},
	}
}

func flavorsServiceProfiles() apidef.Resource {
	return apidef.Resource{
		Key: "flavors/service_profiles", Name: "service_profile", Collection: "service_profiles", Path: "service_profiles", Parent: "flavors",
		Doc:      "A profile of the flavour.",
		NoUpdate: true,
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID(), Post: apidef.Required},
		},
	}
}

func nextProviders() apidef.Resource {
	return apidef.Resource{
		Name: "next_provider", Collection: "next_providers", Path: "next_providers", Parent: "flavors",
		Doc:    "The provider that would serve the next object of the flavour.",
		NoBulk: true, NoShow: true, NoCreate: true, NoUpdate: true, NoDelete: true,
		Attributes: []apidef.Attribute{
			{Name: "driver", Doc: "The driver of the profile.", Type: types.ReadOnly(apidef.Schema{"type": "string"})},
			{Name: "metainfo", Doc: "What the driver is told.", Type: types.Any()},
			{Name: "provider", Doc: "The provider that would serve next.", Type: types.ReadOnly(apidef.Schema{"type": "string"})},
		},
	}
}

func serviceProfiles() apidef.Resource {
	return apidef.Resource{
		Name: "service_profile", Collection: "service_profiles", Path: "service_profiles",
		Doc:    "A driver with its settings.",
		NoBulk: true,
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID(), Filter: true, Sort: true},
			{Name: "description", Doc: "A text for people.", Type: types.StringOrNull(1024), Post: apidef.Optional, Put: apidef.Optional, Default: "", Filter: true, Sort: true},
			{Name: "driver", Doc: "The driver of the profile.", Type: types.String(1024), Post: apidef.Optional, Put: apidef.Optional, Default: "", Filter: true, Sort: true},
			{Name: "enabled", Doc: "Whether the object is in force.", Type: types.BoolOrNull(), Post: apidef.Optional, Put: apidef.Optional, Default: true, Filter: true, Sort: true},
			{Name: "metainfo", Doc: "What the driver is told.", Type: types.Any(), Post: apidef.Optional, Put: apidef.Optional, Default: "", Sort: true},
		},
	}
}
