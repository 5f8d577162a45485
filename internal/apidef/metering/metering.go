package metering

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// Metering is the extension metering; facts from neutron-lib api/definitions/metering.py.
func Metering() apidef.Extension {
	return apidef.Extension{
		Alias: "metering", Name: "Metering",
		Doc:     "Counts the traffic of routers.",
		Updated: time.Date(2013, 6, 12, 10, 0, 0, 0, time.UTC),
		Resources: []apidef.Resource{
			meteringLabelRules(),
			meteringLabels(),
		},
	}
}

func meteringLabelRules() apidef.Resource {
	return apidef.Resource{
		Name: "metering_label_rule", Collection: "metering_label_rules", Path: "metering-label-rules", Prefix: "/metering",
		Doc: "The traffic that a label counts.",
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID(), Filter: true, Sort: true},
			{Name: "tenant_id", Doc: "The project that owns the object, by its older name; project_id always has the same value.", Type: types.String(255), Post: apidef.Optional, Default: apidef.Unspecified, PolicyKey: true},
			{Name: "direction", Doc: "The direction of the traffic as seen by the port.", Type: types.Values("ingress", "egress"), Post: apidef.Required, Filter: true, Sort: true},
			{Name: "excluded", Doc: "Whether the traffic is left out of the count.", Type: types.Bool(), Post: apidef.Optional, Default: false, Filter: true, Sort: true},
			{Name: "metering_label_id", Doc: "The label that counts the traffic.", Type: types.UUID(), Post: apidef.Required, Filter: true, Sort: true, PolicyKey: true},
			{Name: "remote_ip_prefix", Doc: "The addresses at the other end.", Type: types.IPOrCIDROrNull(), Post: apidef.Required, Filter: true, Sort: true, PolicyKey: true},
		},
	}
}

func meteringLabels() apidef.Resource {
	return apidef.Resource{
		Name: "metering_label", Collection: "metering_labels", Path: "metering-labels", Prefix: "/metering",
		Doc: "A counter of traffic.",
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID(), Filter: true, Sort: true},
			{Name: "name", Doc: "A name for people; it need not be unique.", Type: types.Name(255), Post: apidef.Optional, Default: "", Filter: true, Sort: true},
			{Name: "tenant_id", Doc: "The project that owns the object, by its older name; project_id always has the same value.", Type: types.String(255), Post: apidef.Optional, Default: apidef.Unspecified, Filter: true, Sort: true, PolicyKey: true},
			{Name: "description", Doc: "A text for people.", Type: types.String(1024), Post: apidef.Optional, Default: "", Filter: true, Sort: true},
			{Name: "shared", Doc: "Whether the object is open to the project of the caller besides its own.", Type: types.Bool(), Post: apidef.Optional, Default: false, Filter: true, Sort: true},
		},
	}
}
