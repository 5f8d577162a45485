// Package cable lays a lab's wiring: bridges, veth pairs between namespaces, addresses, routes, checksum
// offload. The lab calls it with network namespaces by path. It forks nothing and keeps no state.
package cable

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// Here is the path of the network namespace of the machine itself.
const Here = "/proc/1/ns/net"

// Place is an open network namespace: a netlink socket inside it and its descriptor. Close it.
type Place struct {
	ns netns.NsHandle
	nl *netlink.Handle
}

// Open opens the namespace pinned at path; "" is this process' own.
func Open(path string) (*Place, error) {
	var ns netns.NsHandle
	var err error
	if path == "" {
		ns, err = netns.GetFromPath("/proc/self/ns/net")
	} else {
		ns, err = netns.GetFromPath(path)
	}
	if err != nil {
		return nil, fmt.Errorf("open namespace %s: %w", path, err)
	}
	nl, err := netlink.NewHandleAt(ns, unix.NETLINK_ROUTE)
	if err != nil {
		_ = ns.Close()
		return nil, fmt.Errorf("netlink in %s: %w", path, err)
	}
	return &Place{ns: ns, nl: nl}, nil
}

// Close frees the socket and the descriptor.
func (p *Place) Close() {
	p.nl.Close()
	_ = p.ns.Close()
}

// End is one end of a veth pair.
type End struct {
	In     *Place
	Name   string
	MAC    net.HardwareAddr // nil: the kernel's choice
	Bridge string           // joins this bridge of its namespace; "": none
}

// Pair lays a veth pair, both ends up, with checksum offload off: Open vSwitch's userspace datapath reads
// frames through packet sockets and passes on what it reads, so a checksum left to hardware that is not
// there would reach the other side unfinished. mtu 0: the kernel's default.
func Pair(a, b End, mtu int) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.HardwareAddr, attrs.MTU = a.Name, a.MAC, mtu
	attrs.Namespace = netlink.NsFd(a.In.ns)
	v := netlink.NewVeth(attrs)
	v.PeerName, v.PeerHardwareAddr, v.PeerNamespace, v.PeerMTU = b.Name, b.MAC, netlink.NsFd(b.In.ns), uint32(mtu)
	if err := a.In.nl.LinkAdd(v); err != nil {
		return fmt.Errorf("veth %s to %s: %w", a.Name, b.Name, err)
	}
	for _, e := range []End{a, b} {
		if err := e.ready(); err != nil {
			return errors.Join(err, a.In.Remove(a.Name))
		}
	}
	return nil
}

func (e End) ready() error {
	if err := e.In.OffloadOff(e.Name); err != nil {
		return err
	}
	if e.Bridge != "" {
		if err := e.In.Join(e.Name, e.Bridge); err != nil {
			return err
		}
	}
	return e.In.Up(e.Name)
}

// Bridge makes a bridge, up, that forwards every frame, tagged or not, at once: no spanning tree, and no
// multicast snooping, which would hold back neighbour discovery. An existing one is kept.
func (p *Place) Bridge(name string) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name = name
	snooping := false
	err := p.nl.LinkAdd(&netlink.Bridge{LinkAttrs: attrs, MulticastSnooping: &snooping})
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("bridge %s: %w", name, err)
	}
	return p.Up(name)
}

// Join puts a device into a bridge.
func (p *Place) Join(name, bridge string) error {
	l, err := p.link(name)
	if err != nil {
		return err
	}
	b, err := p.link(bridge)
	if err != nil {
		return err
	}
	if err := p.nl.LinkSetMasterByIndex(l, b.Attrs().Index); err != nil {
		return fmt.Errorf("%s into bridge %s: %w", name, bridge, err)
	}
	return nil
}

// Leave takes a device out of its bridge.
func (p *Place) Leave(name string) error {
	return p.each(name, "leave its bridge", p.nl.LinkSetNoMaster)
}

// Up brings a device up.
func (p *Place) Up(name string) error { return p.each(name, "up", p.nl.LinkSetUp) }

// Down takes a device down; its peer loses the carrier.
func (p *Place) Down(name string) error { return p.each(name, "down", p.nl.LinkSetDown) }

// MTU sets the size of the largest packet.
func (p *Place) MTU(name string, mtu int) error {
	return p.each(name, "mtu", func(l netlink.Link) error { return p.nl.LinkSetMTU(l, mtu) })
}

// Remove deletes a device; a missing one is not an error.
func (p *Place) Remove(name string) error {
	l, err := p.nl.LinkByName(name)
	if err == nil {
		err = p.nl.LinkDel(l)
	}
	if err == nil || missing(err) {
		return nil
	}
	return fmt.Errorf("remove %s: %w", name, err)
}

// Has tells whether a device is there.
func (p *Place) Has(name string) bool {
	_, err := p.nl.LinkByName(name)
	return err == nil
}

// Send moves a device, with its name, into another namespace and brings it up there. Its peer keeps
// addresses and routes.
func (p *Place) Send(name string, to *Place) error {
	err := p.each(name, "move", func(l netlink.Link) error { return p.nl.LinkSetNsFd(l, int(to.ns)) })
	if err != nil {
		return err
	}
	return to.Up(name)
}

// Address adds addresses to a device; those that it has are kept. No duplicate address detection: a lab
// gives each address once, and a second of waiting each would be its longest step.
func (p *Place) Address(name string, prefixes ...netip.Prefix) error {
	return p.each(name, "address", func(l netlink.Link) error {
		for _, prefix := range prefixes {
			a := &netlink.Addr{IPNet: ipnet(prefix)}
			if prefix.Addr().Is6() {
				a.Flags = unix.IFA_F_NODAD
			}
			if err := p.nl.AddrReplace(l, a); err != nil {
				return err
			}
		}
		return nil
	})
}

// Addresses lists the addresses of a device that can be used: those on which detection of duplicates is
// still going on are left out.
func (p *Place) Addresses(name string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	err := p.each(name, "addresses", func(l netlink.Link) error {
		all, err := p.nl.AddrList(l, netlink.FAMILY_ALL)
		for _, a := range all {
			addr, ok := netip.AddrFromSlice(a.IP)
			if ok && a.Flags&unix.IFA_F_TENTATIVE == 0 {
				ones, _ := a.Mask.Size()
				out = append(out, netip.PrefixFrom(addr.Unmap(), ones))
			}
		}
		return err
	})
	return out, err
}

// Route adds a route through a device; an invalid via is a route on the link itself. A gateway outside
// the device's own networks is reached on the link, as DHCP clients do for /32 addresses.
func (p *Place) Route(name string, to netip.Prefix, via netip.Addr) error {
	return p.each(name, "route", func(l netlink.Link) error {
		r := &netlink.Route{LinkIndex: l.Attrs().Index, Dst: ipnet(to)}
		if via.IsValid() {
			r.Gw, r.Flags = via.AsSlice(), unix.RTNH_F_ONLINK
		} else {
			r.Scope = netlink.SCOPE_LINK
		}
		return p.nl.RouteReplace(r)
	})
}

func (p *Place) link(name string) (netlink.Link, error) {
	l, err := p.nl.LinkByName(name)
	if err != nil {
		return nil, fmt.Errorf("device %s: %w", name, err)
	}
	return l, nil
}

func (p *Place) each(name, what string, f func(netlink.Link) error) error {
	l, err := p.link(name)
	if err != nil {
		return err
	}
	if err := f(l); err != nil {
		return fmt.Errorf("%s of %s: %w", what, name, err)
	}
	return nil
}

func ipnet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

func missing(err error) bool {
	var none netlink.LinkNotFoundError
	return errors.As(err, &none) || errors.Is(err, unix.ENODEV)
}
