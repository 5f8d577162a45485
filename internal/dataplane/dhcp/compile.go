package dhcp

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// hwaddr is an Ethernet address that can be a map's key.
type hwaddr [6]byte

func (h hwaddr) String() string { return net.HardwareAddr(h[:]).String() }

// field is one option ready for the wire. A forced one goes out even if the client did not ask for it.
type field struct {
	code   uint8
	forced bool
	when   condition
	data   []byte
}

// served is a Network prepared for answering; it is replaced whole and never changed.
type served struct {
	mtu     int
	domain  string
	fqdn    []byte // the domain's labels, for option 81
	subnets []servedSubnet
}

type servedSubnet struct {
	cidr                      netip.Prefix
	broadcast                 netip.Addr
	server                    netip.Addr
	lease, renewal, rebinding uint32
	router                    []byte // empty: none
	routes                    []byte // option 121 without the default route
	fields                    []field
}

// compile prepares n; an error says what of it cannot be told to clients.
func compile(n Network) (*served, error) {
	s := &served{mtu: n.MTU, domain: strings.TrimSuffix(n.Domain, ".")}
	if n.MTU < 0 || n.MTU > 65535 {
		return nil, fmt.Errorf("mtu %d: out of range", n.MTU)
	}
	var err error
	if s.domain != "" {
		if s.fqdn, err = encodeName(s.domain); err != nil {
			return nil, fmt.Errorf("domain: %w", err)
		}
	}
	var search []byte
	if len(n.Search) > 0 {
		if search, err = encodeNames(n.Search); err != nil {
			return nil, fmt.Errorf("search list: %w", err)
		}
	}
	for _, sub := range n.Subnets {
		c, err := compileSubnet(n, sub)
		if err != nil {
			return nil, fmt.Errorf("subnet %s: %w", sub.CIDR, err)
		}
		if s.domain != "" {
			c.fields = append(c.fields, field{code: optDomain, data: []byte(s.domain)})
		}
		if search != nil {
			c.fields = append(c.fields, field{code: optSearch, data: search})
		}
		s.subnets = append(s.subnets, c)
	}
	return s, nil
}

func compileSubnet(n Network, sub Subnet) (servedSubnet, error) {
	c := servedSubnet{cidr: sub.CIDR.Masked(), server: sub.Server}
	if !sub.CIDR.IsValid() || !sub.CIDR.Addr().Is4() {
		return c, fmt.Errorf("not an IPv4 prefix")
	}
	if !sub.Server.Is4() || !c.cidr.Contains(sub.Server) {
		return c, fmt.Errorf("server address %s is not on it", sub.Server)
	}
	mask := binary.BigEndian.Uint32(maskOf(c.cidr.Bits()))
	base := c.cidr.Addr().As4()
	last := binary.BigEndian.AppendUint32(nil, binary.BigEndian.Uint32(base[:])|^mask)
	c.broadcast, _ = netip.AddrFromSlice(last)
	c.setTimes(sub)
	c.fields = append(c.fields,
		field{code: optNetmask, forced: true, data: maskOf(c.cidr.Bits())},
		field{code: optBroadcast, forced: true, data: last})
	gateway, err := c.setRoutes(sub)
	if err != nil {
		return c, err
	}
	if gateway.Is4() {
		c.router = gateway.AsSlice()
	}
	dns, err := dnsServers(n, sub)
	if err != nil {
		return c, err
	}
	if len(dns) > 0 {
		c.fields = append(c.fields, field{code: optDNS, data: dns})
	}
	if n.MTU > 0 {
		c.fields = append(c.fields, field{code: optMTU, forced: true, data: binary.BigEndian.AppendUint16(nil, uint16(n.MTU))})
	}
	return c, nil
}

// setTimes fills lease, T1 and T2. A lease that never ends has no T1 and T2 unless they are asked for.
func (c *servedSubnet) setTimes(sub Subnet) {
	lease := sub.Lease
	if lease == 0 {
		lease = DefaultLease
	}
	c.lease = seconds(lease)
	if lease > 0 {
		c.renewal, c.rebinding = c.lease/2, uint32(uint64(c.lease)*7/8)
	}
	if sub.Renewal > 0 {
		c.renewal = seconds(sub.Renewal)
	}
	if sub.Rebinding > 0 {
		c.rebinding = seconds(sub.Rebinding)
	}
}

// setRoutes fills option 121 but for its default route, in Neutron's order: connected subnets, host routes, metadata
// (_generate_opts_per_subnet in neutron/agent/linux/dhcp.py). It returns the gateway, perhaps from a host route.
func (c *servedSubnet) setRoutes(sub Subnet) (netip.Addr, error) {
	gateway := sub.Gateway
	for _, p := range sub.Connected {
		if p.Addr().Is4() && p.Masked() != c.cidr {
			c.routes = appendRoute(c.routes, p, netip.IPv4Unspecified())
		}
	}
	for _, r := range sub.Routes {
		if !r.Destination.IsValid() || !r.Destination.Addr().Is4() || !r.NextHop.Is4() {
			return gateway, fmt.Errorf("host route %s via %s: not IPv4", r.Destination, r.NextHop)
		}
		if r.Destination.Bits() == 0 {
			if !gateway.IsValid() {
				gateway = r.NextHop
			}
			continue
		}
		c.routes = appendRoute(c.routes, r.Destination, r.NextHop)
	}
	if sub.Metadata.Is4() {
		c.routes = appendRoute(c.routes, netip.PrefixFrom(metadataAddress(), 32), sub.Metadata)
	}
	return gateway, nil
}

func metadataAddress() netip.Addr { return netip.AddrFrom4([4]byte{169, 254, 169, 254}) }

func dnsServers(n Network, sub Subnet) ([]byte, error) {
	var out []byte
	for _, a := range sub.DNS {
		if !a.Is4() {
			return nil, fmt.Errorf("dns server %s: not IPv4", a)
		}
		out = append(out, a.AsSlice()...)
	}
	if len(sub.DNS) == 1 && sub.DNS[0] == netip.IPv4Unspecified() {
		return nil, nil
	}
	if len(sub.DNS) == 0 && n.Resolver {
		return sub.Server.AsSlice(), nil
	}
	return out, nil
}

// subnetOf finds the served subnet of an address, or nil.
func (s *served) subnetOf(a netip.Addr) *servedSubnet {
	for i := range s.subnets {
		if s.subnets[i].cidr.Contains(a) {
			return &s.subnets[i]
		}
	}
	return nil
}

// isServer says whether a is one of the DHCP port's own addresses here.
func (s *served) isServer(a netip.Addr) bool {
	for i := range s.subnets {
		if s.subnets[i].server == a {
			return true
		}
	}
	return false
}

// addressed says whether a packet to a is meant for a DHCP server of this network.
func (s *served) addressed(a netip.Addr) bool {
	if a == broadcastAddress() {
		return true
	}
	for i := range s.subnets {
		if s.subnets[i].server == a || s.subnets[i].broadcast == a {
			return true
		}
	}
	return false
}

func broadcastAddress() netip.Addr { return netip.AddrFrom4([4]byte{255, 255, 255, 255}) }

// grant is a Reservation prepared for answering; it is replaced whole and never changed.
type grant struct {
	port     string
	mac      hwaddr
	clientID string // empty: known by its MAC address alone
	ips      []netip.Addr
	hostname string
	fields   []field // those with a condition come first, so that they win
	siaddr   []field
}

// compileGrant prepares r. With an error the grant is good for everything but the options that the error names; a nil
// grant cannot be served at all.
func compileGrant(port string, r Reservation) (*grant, error) {
	if len(r.MAC) != 6 {
		return nil, fmt.Errorf("hardware address %q: want 6 bytes", r.MAC)
	}
	g := &grant{port: port, mac: hwaddr(r.MAC), hostname: r.Hostname}
	for _, ip := range r.IPs {
		if ip.Is4() {
			g.ips = append(g.ips, ip)
		}
	}
	var bad []string
	if len(g.hostname) > 255 {
		bad, g.hostname = append(bad, "host name: longer than 255 bytes"), ""
	}
	for _, o := range r.Options {
		p, err := parseOption(o)
		switch {
		case err != nil:
			bad = append(bad, err.Error())
		case p.code == codeClientIDMatch:
			g.clientID = string(p.data)
		case p.siaddr && len(p.data) != 4 && len(p.data) != 0:
			bad = append(bad, fmt.Sprintf("option %q: want one address", o.Name))
		case p.siaddr:
			g.siaddr = append(g.siaddr, field{when: p.when, data: p.data})
		case p.when != never:
			g.fields = append(g.fields, field{code: uint8(p.code), when: p.when, data: p.data})
		}
	}
	conditionalFirst := func(a, b field) int { return boolInt(a.when == always) - boolInt(b.when == always) }
	slices.SortStableFunc(g.fields, conditionalFirst)
	slices.SortStableFunc(g.siaddr, conditionalFirst)
	if bad != nil {
		return g, fmt.Errorf("%s", strings.Join(bad, "; "))
	}
	return g, nil
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// choose picks the address for a client: wanted if it is one of its own, else the first on a served subnet; only
// addresses on the relay's subnet count when there is a relay. It returns false when the port has none here.
func (s *served) choose(g *grant, wanted, relay netip.Addr) (netip.Addr, *servedSubnet, bool) {
	var first netip.Addr
	var firstOn *servedSubnet
	for _, ip := range g.ips {
		on := s.subnetOf(ip)
		if on == nil || relay.IsValid() && !on.cidr.Contains(relay) {
			continue
		}
		if ip == wanted {
			return ip, on, true
		}
		if firstOn == nil {
			first, firstOn = ip, on
		}
	}
	return first, firstOn, firstOn != nil
}
