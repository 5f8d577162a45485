package config

import (
	"fmt"
	"net/netip"
	"strings"
)

// Routers is what routers are like that do not say.
type Routers struct {
	Distributed bool        `option:"router_distributed" default:"false" help:"Whether routers are distributed that do not say."`
	HA          bool        `option:"l3_ha" default:"false" help:"Whether routers are highly available that do not say."`
	PerRouter   int         `option:"max_l3_agents_per_router" default:"3" min:"0" help:"How many L3 agents a highly available router is given to; 0: all."`
	HANetwork   IPv4Network `option:"l3_ha_net_cidr" default:"169.254.192.0/18" help:"Prefix of the networks over which highly available routers speak."`
	HAType      string      `option:"l3_ha_network_type" default:"" help:"Type of those networks; empty: as project networks."`
	HAPhysical  string      `option:"l3_ha_network_physical_name" default:"" help:"Physical network of those networks."`
	Scheduler   Scheduler   `option:"router_scheduler_driver" default:"neutron.scheduler.l3_agent_scheduler.LeastRoutersScheduler" help:"How the L3 agent of a router is chosen: ChanceScheduler, LeastRoutersScheduler or AZLeastRoutersScheduler, with or without Neutron's path."`
	SNAT        bool        `option:"enable_snat_by_default" default:"true" help:"Whether gateways hide addresses that do not say."`
	BFD         bool        `option:"enable_default_route_bfd" default:"false" help:"Whether the default routes of routers are watched that do not say."`
	ECMP        bool        `option:"enable_default_route_ecmp" default:"false" help:"Whether the default routes of routers share the traffic that do not say."`
}

// IPv4Network is a prefix without host bits.
type IPv4Network string

// UnmarshalText reads a prefix.
func (p *IPv4Network) UnmarshalText(text []byte) error {
	n, err := netip.ParsePrefix(strings.TrimSpace(string(text)))
	if err != nil || n != n.Masked() {
		return fmt.Errorf("it is a prefix without host bits, such as 169.254.192.0/18")
	}
	*p = IPv4Network(n.String())
	return nil
}

// String is the form that UnmarshalText reads.
func (p IPv4Network) String() string { return string(p) }

// Prefix is the prefix itself.
func (p IPv4Network) Prefix() netip.Prefix {
	n, err := netip.ParsePrefix(string(p))
	if err != nil {
		return netip.Prefix{} // UnmarshalText let it pass, so it parses
	}
	return n
}

// Scheduler is a scheduler of routers by the name of its class in Neutron.
type Scheduler string

// UnmarshalText reads a class, with or without its path.
func (s *Scheduler) UnmarshalText(text []byte) error {
	name := strings.TrimSpace(string(text))
	name = name[strings.LastIndexAny(name, ".:")+1:]
	switch name {
	case "ChanceScheduler", "LeastRoutersScheduler", "AZLeastRoutersScheduler":
		*s = Scheduler(name)
		return nil
	}
	return fmt.Errorf("there are ChanceScheduler, LeastRoutersScheduler and AZLeastRoutersScheduler")
}

// String is the form that UnmarshalText reads.
func (s Scheduler) String() string { return string(s) }
