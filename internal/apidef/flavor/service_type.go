package flavor

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// ServiceType is the extension service-type; facts from neutron-lib api/definitions/servicetype.py.
func ServiceType() apidef.Extension {
	return apidef.Extension{
		Alias: "service-type", Name: "Service providers",
		Doc:     "Lists the providers of services.",
		Updated: time.Date(2013, 1, 20, 0, 0, 0, 0, time.UTC),
		Resources: []apidef.Resource{
			serviceProviders(),
		},
	}
}

func serviceProviders() apidef.Resource {
	return apidef.Resource{
		Name: "service_provider", Collection: "service_providers", Path: "service-providers",
		Doc:    "A provider of a service.",
		NoBulk: true, NoShow: true, NoCreate: true, NoUpdate: true, NoDelete: true,
		Attributes: []apidef.Attribute{
			{Name: "name", Doc: "A name for people; it need not be unique.", Type: types.ReadOnly(apidef.Schema{"type": "string"})},
			{Name: "default", Doc: "Whether it is the provider used unless told otherwise.", Type: types.ReadOnly(apidef.Schema{"type": "boolean"})},
			{Name: "service_type", Doc: "The type of service that it provides.", Type: types.ReadOnly(apidef.Schema{"type": "string"})},
		},
	}
}
