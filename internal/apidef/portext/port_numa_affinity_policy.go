package portext

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// PortNUMAAffinityPolicy is the extension port-numa-affinity-policy; facts from neutron-lib api/definitions/port_numa_affinity_policy.py.
func PortNUMAAffinityPolicy() apidef.Extension {
	return apidef.Extension{
		Alias: "port-numa-affinity-policy", Name: "NUMA affinity",
		Doc:     "Says how near the guest of a port must be to its device.",
		Updated: time.Date(2020, 7, 8, 10, 0, 0, 0, time.UTC),
		Extends: map[string][]apidef.Attribute{
			"ports": {
				{Name: "numa_affinity_policy", Doc: "How near the guest must be to the device.", Type: types.ValuesOrNull("required", "preferred", "legacy"), Post: apidef.Optional, Put: apidef.Optional},
			},
		},
	}
}
