package l3

import (
	"time"

	"isospin/internal/apidef"
)

// RouterAdminStateDownBeforeUpdate is the extension router-admin-state-down-before-update; facts from neutron-lib api/definitions/router_admin_state_down_before_update.py.
func RouterAdminStateDownBeforeUpdate() apidef.Extension {
	return apidef.Extension{
		Alias: "router-admin-state-down-before-update", Name: "Change of routers that are down",
		Doc:      "Changes the kind of a router when it is down.",
		Updated:  time.Date(2019, 7, 2, 15, 56, 0, 0, time.UTC),
		Requires: []string{"dvr"},
	}
}
