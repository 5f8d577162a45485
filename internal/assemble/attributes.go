package assemble

import (
	"slices"

	"isospin/internal/apidef"
	"isospin/internal/apidef/catalogue"
	"isospin/internal/config"
	"isospin/internal/service/dns"
	"isospin/internal/service/ml2"
	"isospin/internal/service/portattr"
	"isospin/internal/service/pvlan"
)

// attributes adds to the guards those who keep attributes of networks and ports. They come last: what they judge is settled.
func (k *Core) attributes(c *config.Server, g ml2.Guards) ml2.Guards {
	private := pvlan.New(k.Ports, k.ML2)
	names := dns.New(c.Host.DNSDomain)
	g.Networks = append(g.Networks, pvlan.Networks{Plugin: private})
	g.NetworksWritten = append(g.NetworksWritten, pvlan.Networks{Plugin: private})
	g.Ports = append(g.Ports, portattr.Ports{}, pvlan.Ports{Plugin: private}, names)
	g.PortPages = append(g.PortPages, names)
	return g
}

// registry is the API of a server with this configuration.
func registry(c *config.Server) (*apidef.Registry, error) {
	on := aliases(c)
	return apidef.Build(catalogue.Tree(catalogue.Limits{AddressPairs: c.Limits.AddressPairs}), func(alias string) bool { return slices.Contains(on, alias) })
}

// aliases are the extensions that a server with this configuration answers for.
func aliases(c *config.Server) []string {
	off := map[string]bool{"vlan-transparent": !c.Plugins.VLANTransp, "qinq": !c.Plugins.VLANQinQ}
	return slices.DeleteFunc(catalogue.Served(), func(alias string) bool { return off[alias] })
}
