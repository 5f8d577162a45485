// Package bridge makes Linux bridges real, says which devices are in them, and follows which devices a host has. The agent's
// features fill its drivers' targets. It makes no device but bridges, and gives no addresses.
//
// Bridges are known by their link group (package device). One that Nova made before the agent came is taken over:
// their names are agreed upon. What is in a bridge is known by a predicate over names.
package bridge

import (
	"fmt"

	"isospin/internal/dataplane/device"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Bridge is how a bridge shall be. It is up, speaks no spanning tree, forwards at once and does not snoop multicast, which would
// hold back neighbour discovery.
type Bridge struct {
	MTU int // in bytes; 0 leaves it to the kernel: the least of its devices'
	// NoTags drops frames that come with a VLAN tag. A kernel without VLANs cannot, and is not asked to.
	NoTags bool
	// CannotFilter is for views only: the kernel cannot tell tags.
	CannotFilter bool
	// Fault is for views only: why the bridge does not work.
	Fault string
}

// Equal says whether a bridge is as wanted.
func Equal(want, have Bridge) bool {
	return have.Fault == "" && (want.MTU == 0 || want.MTU == have.MTU) && (want.NoTags == have.NoTags || have.CannotFilter)
}

// New makes the driver of the bridges in a namespace ("" is the host's), keyed by name; tag marks what is ours.
func New(ns, tag string) *device.Devices[Bridge] {
	return device.New(ns, tag, device.Kind[Bridge]{
		Type:   "bridge",
		Adopts: true,
		Read:   read,
		Make: func(attrs netlink.LinkAttrs, _ Bridge, _ func(string) (netlink.Link, error)) (netlink.Link, error) {
			snooping := false
			return &netlink.Bridge{LinkAttrs: attrs, MulticastSnooping: &snooping}, nil
		},
		Anew: func(Bridge, Bridge) bool { return false },
		Correct: func(h *netlink.Handle, l netlink.Link, want Bridge) error {
			if err := correct(l, want); err != nil {
				return err
			}
			return device.MTU(h, l, want.MTU)
		},
	})
}

func read(l netlink.Link, raw []byte, _ func(int) string) Bridge {
	b := Bridge{MTU: l.Attrs().MTU}
	if l.Attrs().RawFlags&unix.IFF_UP == 0 {
		b.Fault = "down"
	}
	if v, ok := l.(*netlink.Bridge); ok {
		b.CannotFilter = v.VlanDefaultPVID == nil
		b.NoTags = v.VlanFiltering != nil && *v.VlanFiltering
		if v.MulticastSnooping != nil && *v.MulticastSnooping {
			b.Fault = "it snoops multicast"
		}
	}
	if stp, delay := protocol(raw); stp {
		b.Fault = "it speaks a spanning tree"
	} else if delay != 0 {
		b.Fault = "it delays forwarding"
	}
	return b
}

// protocol reads what the library does not: the spanning tree and the delay.
func protocol(raw []byte) (stp bool, delay uint32) {
	if len(raw) < unix.SizeofIfInfomsg {
		return false, 0
	}
	attrs, err := nl.ParseRouteAttr(raw[unix.SizeofIfInfomsg:])
	if err != nil {
		return false, 0
	}
	for _, a := range attrs {
		if a.Attr.Type&^unix.NLA_F_NESTED != unix.IFLA_LINKINFO {
			continue
		}
		infos, err := nl.ParseRouteAttr(a.Value)
		if err != nil {
			return false, 0
		}
		for _, i := range infos {
			if i.Attr.Type&^unix.NLA_F_NESTED != nl.IFLA_INFO_DATA {
				continue
			}
			data, err := nl.ParseRouteAttr(i.Value)
			if err != nil {
				return false, 0
			}
			for _, d := range data {
				switch d.Attr.Type {
				case nl.IFLA_BR_STP_STATE:
					stp = nl.NativeEndian().Uint32(d.Value) != 0
				case nl.IFLA_BR_FORWARD_DELAY:
					delay = nl.NativeEndian().Uint32(d.Value)
				}
			}
		}
	}
	return stp, delay
}

// correct sets all that a bridge shall be, in the calling thread's namespace. The library cannot set half of it.
func correct(l netlink.Link, want Bridge) error {
	set := func(what string, attr int, value []byte) error {
		req := nl.NewNetlinkRequest(unix.RTM_NEWLINK, unix.NLM_F_ACK)
		msg := nl.NewIfInfomsg(unix.AF_UNSPEC)
		msg.Index = int32(l.Attrs().Index)
		req.AddData(msg)
		info := nl.NewRtAttr(unix.IFLA_LINKINFO, nil)
		info.AddRtAttr(nl.IFLA_INFO_KIND, nl.NonZeroTerminated("bridge"))
		info.AddRtAttr(nl.IFLA_INFO_DATA, nil).AddRtAttr(attr, value)
		req.AddData(info)
		if _, err := req.Execute(unix.NETLINK_ROUTE, 0); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		return nil
	}
	// One by one: a delay of nothing is refused while the spanning tree is on.
	for _, s := range []struct {
		what  string
		attr  int
		value []byte
	}{
		{"spanning tree", nl.IFLA_BR_STP_STATE, nl.Uint32Attr(0)},
		{"forward delay", nl.IFLA_BR_FORWARD_DELAY, nl.Uint32Attr(0)},
		{"multicast snooping", nl.IFLA_BR_MCAST_SNOOPING, nl.Uint8Attr(0)},
	} {
		if err := set(s.what, s.attr, s.value); err != nil {
			return err
		}
	}
	have := read(l, nil, nil)
	if have.CannotFilter || have.NoTags == want.NoTags {
		return nil
	}
	filter := uint8(0)
	if want.NoTags {
		filter = 1
	}
	return set("VLAN filtering", nl.IFLA_BR_VLAN_FILTERING, nl.Uint8Attr(filter))
}
