package portext

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// PortNUMAAffinityPolicySocket is the extension port-numa-affinity-policy-socket; facts from neutron-lib api/definitions/port_numa_affinity_policy_socket.py.
func PortNUMAAffinityPolicySocket() apidef.Extension {
	return apidef.Extension{
		Alias: "port-numa-affinity-policy-socket", Name: "NUMA affinity by socket",
		Doc:      "Adds the socket to the policies of NUMA affinity.",
		Updated:  time.Date(2024, 2, 9, 10, 0, 0, 0, time.UTC),
		Requires: []string{"port-numa-affinity-policy"},
		Overrides: map[string][]apidef.Attribute{
			"ports": {
				{Name: "numa_affinity_policy", Doc: "How near the guest must be to the device.", Type: types.ValuesOrNull("required", "preferred", "legacy", "socket"), Post: apidef.Optional, Put: apidef.Optional},
			},
		},
	}
}
