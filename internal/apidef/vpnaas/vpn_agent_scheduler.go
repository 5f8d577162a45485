package vpnaas

import (
	"time"

	"isospin/internal/apidef"
)

// VPNAgentScheduler is the extension vpn-agent-scheduler; facts from neutron-lib api/definitions/vpn_agent_scheduler.py.
func VPNAgentScheduler() apidef.Extension {
	return apidef.Extension{
		Alias: "vpn-agent-scheduler", Name: "Placing of VPN",
		Doc:     "Places VPN services on agents.",
		Updated: time.Date(2016, 8, 15, 10, 0, 0, 0, time.UTC),
	}
}
