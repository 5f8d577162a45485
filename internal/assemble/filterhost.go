package assemble

import (
	"fmt"
	"strconv"
	"strings"

	"isospin/internal/agent"
	"isospin/internal/agent/feature/sgovs"
	"isospin/internal/agent/feature/zone"
	"isospin/internal/config"
	"isospin/internal/wire"
)

// firstZone and lastZone are the conntrack zones of networks. Zone 0 is everybody's who names none; the last are left to what else translates
// addresses on the host.
const (
	firstZone = 1
	lastZone  = 61439
)

func openZones(c *config.Agent) (*zone.Book, error) {
	return zone.Open(c.State.Dir, firstZone, lastZone)
}

// reclaim has the zones of networks that this host holds no more given to others when there are no free ones.
func reclaim(b *zone.Book, docs agent.View) {
	b.Reclaim(func(name string) bool {
		_, held := docs.Get(wire.KindNetwork, strings.TrimPrefix(name, "local-ip/"))
		return held
	})
}

// filterConfig reads the operator's choices.
func filterConfig(c *config.Agent) (sgovs.Config, error) {
	o := sgovs.Config{Off: !c.SecurityGroup.Enabled || c.SecurityGroup.FirewallDriver == "noop"}
	for _, text := range c.SecurityGroup.PermittedEthertypes {
		n, err := strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 16)
		if err != nil || n < 0x600 {
			return o, fmt.Errorf("[securitygroup] permitted_ethertypes: %q is no ethertype in hexadecimal", text)
		}
		o.Ethertypes = append(o.Ethertypes, uint16(n))
	}
	return o, nil
}
