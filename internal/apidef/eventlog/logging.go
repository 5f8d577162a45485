package eventlog

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// Logging is the extension logging; facts from neutron-lib api/definitions/logging.py.
func Logging() apidef.Extension {
	return apidef.Extension{
		Alias: "logging", Name: "Logging",
		Doc:      "Logs what security groups and firewalls do.",
		Updated:  time.Date(2017, 1, 1, 10, 0, 0, 0, time.UTC),
		Optional: []string{"fwaas_v2", "security-group"},
		Resources: []apidef.Resource{
			loggableResources(),
			logs(),
		},
	}
}

func loggableResources() apidef.Resource {
	return apidef.Resource{
		Name: "loggable_resource", Collection: "loggable_resources", Path: "loggable-resources", Prefix: "/log",
		Doc:    "A type of resource whose events can be logged.",
		NoBulk: true, NoShow: true, NoCreate: true, NoUpdate: true, NoDelete: true,
		Attributes: []apidef.Attribute{
			{Name: "type", Doc: "A type of resource whose events can be logged.", Type: types.ReadOnly(apidef.Schema{"type": "string"})},
		},
	}
}

func logs() apidef.Resource {
	return apidef.Resource{
		Name: "log", Collection: "logs", Path: "logs", Prefix: "/log",
		Doc:      "An order to log events.",
		Standard: true,
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID(), Filter: true, Sort: true},
			{Name: "name", Doc: "A name for people; it need not be unique.", Type: types.Name(255), Post: apidef.Optional, Put: apidef.Optional, Default: "", Filter: true, Sort: true},
			{Name: "project_id", Doc: "The project that owns the object.", Type: types.String(255), Post: apidef.Optional, Default: apidef.Unspecified, Filter: true, Sort: true, PolicyKey: true},
			{Name: "enabled", Doc: "Whether the object is in force.", Type: types.Bool(), Post: apidef.Optional, Put: apidef.Optional, Default: true, Filter: true, Sort: true},
			{Name: "event", Doc: "Which events are logged.", Type: types.Values("ACCEPT", "DROP", "ALL"), Post: apidef.Optional, Default: "ALL", Filter: true},
			{Name: "resource_id", Doc: "The object whose events are logged; null: all.", Type: types.UUIDOrNull(), Post: apidef.Optional, Filter: true, Sort: true},
			{Name: "resource_type", Doc: "The type of the object whose events are logged.", Type: types.String(255), Post: apidef.Required, Filter: true, Sort: true, PolicyKey: true},
			{Name: "target_id", Doc: "The port at which events are logged; null: all.", Type: types.UUIDOrNull(), Post: apidef.Optional, Filter: true, Sort: true},
		},
	}
}
