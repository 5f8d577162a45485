package quota

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// Quotas is the extension quotas; facts from neutron's extensions/quotasv2.py.
func Quotas() apidef.Extension {
	return apidef.Extension{
		Alias: "quotas", Name: "Quotas",
		Doc:       "Bounds on what projects may have.",
		Updated:   time.Date(2012, 7, 29, 10, 0, 0, 0, time.UTC),
		Resources: []apidef.Resource{quotas()},
	}
}

func quotas() apidef.Resource {
	return apidef.Resource{
		Name: "quota", Collection: "quotas", Path: "quotas",
		Doc:    "How many objects of each kind a project may have; the id in the URL is that of the project.",
		NoBulk: true, NoCreate: true,
		Actions: []apidef.Action{
			{Name: "default", Method: "GET", Doc: "Shows the bounds of a project for which none are set."},
		},
		Attributes: []apidef.Attribute{
			{Name: "project_id", Doc: "The project.", Type: types.String(255), PolicyKey: true},
		},
		PerQuota: &apidef.Attribute{Doc: "How many the project may have; -1: no bound.", Type: types.Range(-1, 2147483647), Put: apidef.Optional},
	}
}
