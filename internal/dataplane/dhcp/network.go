package dhcp

import (
	"net"
	"net/netip"
	"slices"
	"time"
)

// DefaultLease is what a subnet without a lease time of its own grants: Neutron's dhcp_lease_duration.
const DefaultLease = 86400 * time.Second

// Infinite as a lease time never ends; any negative duration means the same (dhcp_lease_duration = -1).
const Infinite = time.Duration(-1)

// Network is where one virtual network is served, and what all of its clients are told. Its reservations are
// objects of their own, so that one port more costs one small value.
type Network struct {
	ID string
	// Namespace is a name as package netns knows it, or a path. Interface is the DHCP port's device in it.
	Namespace, Interface string
	// MTU of the network in bytes, told as option 26; 0: not told.
	MTU int
	// Domain is told as option 15, and completes host names in option 81. Empty: neither. A final dot is cut.
	Domain string
	// Search is told as option 119.
	Search []string
	// Resolver says that the DHCP port itself answers DNS: subnets without servers of their own are told its address.
	Resolver bool
	// Subnets are those with DHCP on which this host's DHCP port has an address; the first of a port's addresses that
	// lies on one of them is the one that it is offered.
	Subnets []Subnet
}

// Subnet is one IPv4 subnet that is served.
type Subnet struct {
	CIDR netip.Prefix
	// Server is the DHCP port's own address here: the server identifier.
	Server netip.Addr
	// Gateway is the default router; the zero value: none.
	Gateway netip.Addr
	// DNS servers in order. The single server 0.0.0.0 means: announce none, not even the resolver.
	DNS []netip.Addr
	// Routes are the subnet's host routes. One to 0.0.0.0/0 stands in for a gateway where there is none.
	Routes []Route
	// Connected are the other IPv4 subnets on the same segment, reached without a router.
	Connected []netip.Prefix
	// Metadata is the next hop of 169.254.169.254/32 where clients need a route to it; the zero value: no such route.
	Metadata netip.Addr
	// Lease is the lease time; 0: DefaultLease; negative: it never ends.
	Lease time.Duration
	// Renewal and Rebinding are T1 and T2; 0: a half and seven eighths of the lease.
	Renewal, Rebinding time.Duration
}

// Route is a host route.
type Route struct {
	Destination netip.Prefix
	NextHop     netip.Addr
}

// Equal says whether two networks are served the same way.
func (n Network) Equal(o Network) bool {
	return n.ID == o.ID && n.samePlace(o) && n.MTU == o.MTU && n.Domain == o.Domain && n.Resolver == o.Resolver &&
		slices.Equal(n.Search, o.Search) && slices.EqualFunc(n.Subnets, o.Subnets, Subnet.Equal)
}

// samePlace says whether both are served through the same socket.
func (n Network) samePlace(o Network) bool {
	return n.Namespace == o.Namespace && n.Interface == o.Interface
}

// Equal says whether two subnets are served the same way.
func (s Subnet) Equal(o Subnet) bool {
	return s.CIDR == o.CIDR && s.Server == o.Server && s.Gateway == o.Gateway && s.Metadata == o.Metadata &&
		s.Lease == o.Lease && s.Renewal == o.Renewal && s.Rebinding == o.Rebinding &&
		slices.Equal(s.DNS, o.DNS) && slices.Equal(s.Routes, o.Routes) && slices.Equal(s.Connected, o.Connected)
}

// ReservationKey names what one port is given on one network.
type ReservationKey struct{ Network, Port string }

// Reservation is what one port is given. It is kept while its network is not served, so the order in which
// networks and reservations arrive does not matter.
type Reservation struct {
	MAC net.HardwareAddr
	// IPs are the port's fixed addresses in the port's order; those of subnets that are not served do no harm.
	IPs []netip.Addr
	// Hostname is told as option 12; empty: host-10-0-0-5 for 10.0.0.5, as Neutron names ports without dns_name.
	Hostname string
	// Options are the port's extra_dhcp_opts of IP version 4.
	Options []Option
}

// Option is one extra_dhcp_opt: a name of dnsmasq's ("bootfile-name"), a number ("67"), either behind "option:",
// and before all that perhaps a condition ("tag:ipxe,67", "tag:!ipxe,67"). "client-id" is no answer but a second
// way to know the client. An empty value suppresses the option.
type Option struct{ Name, Value string }

// Equal says whether two reservations give the same.
func (r Reservation) Equal(o Reservation) bool {
	return slices.Equal(r.MAC, o.MAC) && slices.Equal(r.IPs, o.IPs) && r.Hostname == o.Hostname &&
		slices.Equal(r.Options, o.Options)
}

// clone keeps a caller's later changes of its slices out of the server.
func (n Network) clone() Network {
	n.Search = slices.Clone(n.Search)
	n.Subnets = slices.Clone(n.Subnets)
	for i := range n.Subnets {
		s := &n.Subnets[i]
		s.DNS, s.Routes, s.Connected = slices.Clone(s.DNS), slices.Clone(s.Routes), slices.Clone(s.Connected)
	}
	return n
}

func (r Reservation) clone() Reservation {
	r.MAC, r.IPs, r.Options = slices.Clone(r.MAC), slices.Clone(r.IPs), slices.Clone(r.Options)
	return r
}
