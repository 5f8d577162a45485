package l2bridge

import (
	"net"
	"net/netip"

	"isospin/internal/dataplane/bridge"
	"isospin/internal/dataplane/fdb"
	"isospin/internal/dataplane/link"
	"isospin/internal/dataplane/neigh"
	"isospin/internal/dataplane/vlan"
	"isospin/internal/dataplane/vxlan"
	"isospin/internal/wire"
)

// uplink is what carries one segment of a network out of the host: one of its parts is in the network's bridge. Uplinks of a bridge are isolated
// from each other: what came from the fabric never goes back to it, which keeps loops out.
type uplink struct {
	vlans   map[string]vlan.Device
	vxlans  map[string]vxlan.Device
	pairs   map[link.Key]link.Veth
	members map[string]bridge.Member
}

// uplink tells what a segment needs; nothing for one that the host cannot carry, or that stays within it.
func (c Config) uplink(n *wire.Network, s *wire.Segment) uplink {
	in, mtu := BridgeName(n.GetId()), int(n.GetMtu())
	theirs, bridged := c.Bridges[s.GetPhysicalNetwork()]
	device, direct := c.Interfaces[s.GetPhysicalNetwork()]
	switch t := s.GetNetworkType(); {
	case t == "vxlan" && c.tunnels():
		name := vxlanName(s.GetSegmentationId())
		return uplink{
			vxlans:  map[string]vxlan.Device{name: {VNI: int(s.GetSegmentationId()), Local: c.LocalIP, Port: c.Port, TTL: c.TTL, TOS: c.TOS, MTU: mtu}},
			members: map[string]bridge.Member{name: {Bridge: in, Isolated: true, Suppress: c.ARPResponder, MTU: mtu}}}
	case t == "vlan" && (bridged || direct):
		on := device
		if bridged { // the bridge is the trunk: tagged frames leave by its own device
			on = theirs
		}
		name := vlanName(on, s.GetSegmentationId())
		return uplink{
			vlans:   map[string]vlan.Device{name: {Parent: on, ID: int(s.GetSegmentationId()), MTU: mtu}},
			members: map[string]bridge.Member{name: {Bridge: in, Isolated: true, MTU: mtu}}}
	case t == "flat" && bridged:
		inner, outer := patchNames(n.GetId())
		return uplink{
			pairs:   map[link.Key]link.Veth{{Name: inner}: {Peer: outer, MTU: mtu}},
			members: map[string]bridge.Member{inner: {Bridge: in, Isolated: true}, outer: {Bridge: theirs}}}
	case t == "flat" && direct:
		return uplink{members: map[string]bridge.Member{device: {Bridge: in, Isolated: true, Uplink: true}}}
	}
	return uplink{}
}

// anyMTU is what the kernel gives a veth pair at most: a lower one would become that of the operator's bridge.
const anyMTU = 65535

func (c Config) tunnels() bool { return c.VXLAN && c.LocalIP.IsValid() }

// physical tells whether the host carries a segment by a physical network.
func (c Config) physical(s *wire.Segment) bool {
	if s.GetNetworkType() != "vlan" && s.GetNetworkType() != "flat" {
		return false
	}
	_, direct := c.Interfaces[s.GetPhysicalNetwork()]
	_, bridged := c.Bridges[s.GetPhysicalNetwork()]
	return direct || bridged
}

// noTags tells whether tags of guests are kept out of a network. On a flat one they would be other networks' VLANs, whatever was asked for. A
// bridge that tells VLANs apart does not answer ARP in others' stead.
func (c Config) noTags(n *wire.Network) bool {
	answers := false
	for _, s := range n.GetSegments() {
		switch {
		case s.GetNetworkType() == "flat":
			return true
		case s.GetNetworkType() == "vxlan":
			answers = c.ARPResponder && c.tunnels()
		}
	}
	return !answers && !n.GetVlanTransparent()
}

// standsOn tells what has to be there for a segment, or what the operator has to do before anything is.
func (f *Feature) standsOn(network string, s *wire.Segment) (docs []string, lacks string) {
	c := f.cfg
	switch t := s.GetNetworkType(); t {
	case "local":
		return nil, ""
	case "vlan", "flat":
		phys := s.GetPhysicalNetwork()
		if !c.physical(s) {
			return nil, "this host has no device for physical network " + phys +
				": name one in [linux_bridge] physical_interface_mappings, or a bridge in bridge_mappings, and restart the agent"
		}
		name, option := c.Bridges[phys], "bridge_mappings"
		if name == "" {
			name, option = c.Interfaces[phys], "physical_interface_mappings"
		}
		if f.present[name] == 0 {
			return nil, "this host has no device " + name + ", which [linux_bridge] " + option + " names for physical network " + phys
		}
		return []string{segmentOwner(network, s.GetId())}, ""
	case "vxlan":
		if !c.tunnels() {
			return nil, "VXLAN is off on this host: set [vxlan] enable_vxlan and local_ip, and restart the agent"
		}
		return []string{segmentOwner(network, s.GetId())}, ""
	default:
		return nil, "Linux bridges carry no networks of type " + t
	}
}

// way is how a port of another host is reached: by a VXLAN device, or by a physical network, where switches learn.
type way struct {
	device string // "" is a physical network
	to     netip.Addr
}

// wayTo decides it as hosts with Open vSwitch do: by the physical network that the port's host uses if this one is connected to
// it, else by a tunnel of the network if both ends have one.
func (c Config) wayTo(n *wire.Network, p *wire.Forward) (way, bool) {
	var device string
	for _, s := range n.GetSegments() {
		own := s.GetId() == p.GetSegmentId()
		if own && c.physical(s) {
			return way{}, true
		}
		if s.GetNetworkType() == "vxlan" && c.tunnels() && (device == "" || own) {
			device = vxlanName(s.GetSegmentationId())
		}
	}
	to, err := netip.ParseAddr(p.GetTunnelIp())
	if err != nil || device == "" || to == c.LocalIP || to.Is4() != c.LocalIP.Is4() {
		return way{}, false
	}
	return way{device: device, to: to}, true
}

// forward are the entries towards one port of another host, and with the responder who has its addresses.
func (c Config) forward(n *wire.Network, p *wire.Forward) (map[fdb.Key]fdb.Entry, map[neigh.Key]neigh.Neighbour) {
	mac, err := net.ParseMAC(p.GetMacAddress())
	w, ok := c.wayTo(n, p)
	if err != nil || !ok || w.device == "" { // what cannot be read is its own host's to report
		return nil, nil
	}
	entries := map[fdb.Key]fdb.Entry{{Device: w.device, MAC: mac.String()}: {To: w.to}}
	if !c.ARPResponder {
		return entries, nil
	}
	neighbours := map[neigh.Key]neigh.Neighbour{}
	for _, text := range p.GetIpAddresses() {
		if a, err := netip.ParseAddr(text); err == nil && a.Is4() {
			neighbours[neigh.Key{Device: BridgeName(n.GetId()), IP: a}] = neigh.Neighbour{MAC: mac.String()}
		}
	}
	return entries, neighbours
}

// floods are the copies that leave by one VXLAN segment: one for each host that is reached no other way.
func (c Config) floods(n *wire.Network, s *wire.Segment, remotes []*wire.Forward) map[fdb.Key]fdb.Entry {
	if s.GetNetworkType() != "vxlan" {
		return nil
	}
	device := vxlanName(s.GetSegmentationId())
	near := map[netip.Addr]bool{} // reached by a physical network
	for _, p := range remotes {
		if w, ok := c.wayTo(n, p); ok && w.device == "" {
			if a, err := netip.ParseAddr(p.GetTunnelIp()); err == nil {
				near[a] = true
			}
		}
	}
	out := map[fdb.Key]fdb.Entry{}
	// Of several tunnels to a host one carries the floods, always the same.
	first := map[netip.Addr]string{}
	for _, p := range remotes {
		if w, ok := c.wayTo(n, p); ok && w.device != "" && (first[w.to] == "" || w.device < first[w.to]) {
			first[w.to] = w.device
		}
	}
	for to, by := range first {
		if by == device && !near[to] {
			out[fdb.Key{Device: device, To: to}] = fdb.Entry{To: to}
		}
	}
	return out
}
