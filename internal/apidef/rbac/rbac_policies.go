package rbac

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// RBACPolicies is the extension rbac-policies; facts from neutron extensions/rbac.py.
func RBACPolicies() apidef.Extension {
	return apidef.Extension{
		Alias: "rbac-policies", Name: "Sharing",
		Doc:     "Shares objects with single projects or with all.",
		Updated: time.Date(2015, 6, 17, 12, 15, 12, 0, time.UTC),
		Resources: []apidef.Resource{
			rbacPolicies(),
		},
	}
}

func rbacPolicies() apidef.Resource {
	return apidef.Resource{
		Name: "rbac_policy", Collection: "rbac_policies", Path: "rbac-policies",
		Doc:   "A right of one project, or of all, on an object of another.",
		Quota: true, NoBulk: true,
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID(), Filter: true},
			{Name: "tenant_id", Doc: "The project that owns the object, by its older name; project_id always has the same value.", Type: types.String(255), Post: apidef.Optional, Default: apidef.Unspecified, Filter: true, PolicyKey: true},
			{Name: "action", Doc: "What is permitted: access_as_shared or access_as_external.", Type: types.String(255), Post: apidef.Required, Filter: true, Guarded: true},
			{Name: "object_id", Doc: "The object that is shared.", Type: types.UUID(), Post: apidef.Required, Filter: true, Guarded: true},
			{Name: "object_type", Doc: "The type of the object that is shared.", Type: types.RBACObject("network", "qos_policy", "security_group", "address_scope", "subnetpool", "address_group"), Post: apidef.Optional, Filter: true, Guarded: true},
			{Name: "target_tenant", Doc: "The project that the object is shared with; *: all.", Type: types.TargetProject(), Post: apidef.Required, Put: apidef.Optional, Filter: true, Guarded: true},
		},
	}
}
