package bridge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"isospin/internal/dataplane/device"
	"isospin/internal/dataplane/netns"
	"isospin/internal/reconcile"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Member is a device in a bridge.
type Member struct {
	Bridge string
	// Index tells a device from one that was removed and made again under its name; 0: whichever there is.
	Index int
	// Isolated keeps frames from going to other isolated devices of the bridge.
	Isolated bool
	// Suppress has the bridge answer, from its neighbours, what would be asked through the device.
	Suppress bool
	// Uplink says that the device is the host's own and not made for the bridge: it is left as it is, and not taken at
	// all if that would cut the host off, or if it is in a stranger's bridge. Wanted only.
	Uplink bool
	MTU    int  // in bytes; 0 leaves it alone
	Down   bool // the device is down, else up; an uplink is left alone
}

// EqualMember says whether a device is as wanted.
func EqualMember(want, have Member) bool {
	have.Uplink = want.Uplink
	if want.Index == 0 {
		have.Index = 0
	}
	if want.MTU == 0 {
		have.MTU = 0
	}
	if want.Uplink {
		have.Down = want.Down
	}
	return want == have
}

// Members is the driver of what is in bridges, keyed by the device's name.
type Members struct {
	ns  string
	own Own
}

// Own says whether a device's being in a bridge is our affair.
type Own func(device, bridge string) bool

// NewMembers makes the driver for a namespace; "" is the host's.
func NewMembers(ns string, own Own) *Members { return &Members{ns: ns, own: own} }

var (
	// ErrAddresses is a device that carries the host's own traffic.
	ErrAddresses = errors.New("the device has addresses of the host, which a bridge would cut off: put it and them into a bridge of yours, and map that")
	// ErrTaken is a device in a bridge that is not ours.
	ErrTaken = errors.New("the device is in another bridge: map that")
)

// List implements reconcile.Driver.
func (d *Members) List(ctx context.Context) (map[string]Member, error) {
	out := map[string]Member{}
	err := device.Within(ctx, d.ns, func(h *netlink.Handle) error {
		raw, err := netns.Dump(dumpMembers)
		if err != nil {
			return fmt.Errorf("devices in bridges: %w", err)
		}
		names := map[int]string{}
		for _, m := range raw {
			l, err := netlink.LinkDeserialize(&unix.NlMsghdr{Type: unix.RTM_NEWLINK}, m)
			if err != nil {
				return fmt.Errorf("devices in bridges: %w", err)
			}
			a := l.Attrs()
			if a.MasterIndex == 0 || a.Protinfo == nil {
				continue
			}
			in, known := names[a.MasterIndex]
			if !known {
				if master, err := h.LinkByIndex(a.MasterIndex); err == nil {
					in = master.Attrs().Name
				}
				names[a.MasterIndex] = in
			}
			if d.own(a.Name, in) {
				out[a.Name] = member(a, in)
			}
		}
		return nil
	})
	return out, err
}

// dumpMembers asks for all devices that are in bridges of the calling thread's namespace.
func dumpMembers() ([][]byte, error) {
	req := nl.NewNetlinkRequest(unix.RTM_GETLINK, unix.NLM_F_DUMP)
	req.AddData(nl.NewIfInfomsg(unix.AF_BRIDGE))
	return req.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWLINK)
}

func member(a *netlink.LinkAttrs, in string) Member {
	return Member{Bridge: in, Index: a.Index, MTU: a.MTU, Down: a.RawFlags&unix.IFF_UP == 0, Isolated: a.Protinfo.Isolated, Suppress: a.Protinfo.NeighSuppress}
}

// Put implements reconcile.Driver.
func (d *Members) Put(ctx context.Context, batch map[string]Member) error {
	return d.each(ctx, batch, d.put)
}

// Drop implements reconcile.Driver. A device that is in another bridge by now stays there.
func (d *Members) Drop(ctx context.Context, batch map[string]Member) error {
	err := d.each(ctx, batch, func(h *netlink.Handle, name string, last Member) error {
		l, err := device.Find(h, name)
		if errors.Is(err, device.ErrNoDevice) || err == nil && l.Attrs().MasterIndex == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		in, err := h.LinkByIndex(l.Attrs().MasterIndex)
		if err == nil && in.Attrs().Name == last.Bridge {
			err = h.LinkSetNoMaster(l)
		}
		if errors.Is(err, unix.ENODEV) || errors.As(err, new(netlink.LinkNotFoundError)) {
			return nil
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil // and no namespace either
	}
	return err
}

func (d *Members) each(ctx context.Context, batch map[string]Member, do func(*netlink.Handle, string, Member) error) error {
	if len(batch) == 0 {
		return nil
	}
	bad := reconcile.Errors[string]{}
	err := device.Within(ctx, d.ns, func(h *netlink.Handle) error {
		for _, name := range slices.Sorted(maps.Keys(batch)) {
			err := ctx.Err()
			if err == nil {
				err = do(h, name, batch[name])
			}
			if err != nil {
				bad[name] = err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return bad.Err()
}

func (d *Members) put(h *netlink.Handle, name string, want Member) error {
	if !d.own(name, want.Bridge) {
		return errors.New("not ours to put there")
	}
	l, err := device.Find(h, name)
	if err != nil {
		return err
	}
	in, err := device.Find(h, want.Bridge)
	if err != nil {
		return err
	}
	if in.Type() != "bridge" {
		return fmt.Errorf("%s is no bridge", want.Bridge)
	}
	if !want.Uplink { // before it can carry anything
		if err := device.MTU(h, l, want.MTU); err != nil {
			return err
		}
	}
	joined := l.Attrs().MasterIndex == in.Attrs().Index
	if !joined {
		if err := d.join(h, l, in, want); err != nil {
			return err
		}
	}
	// A device that has just joined has all of this off; of another nobody knows without asking for all of them.
	if want.Isolated || joined {
		if err := h.LinkSetIsolated(l, want.Isolated); err != nil {
			return fmt.Errorf("isolation: %w", err)
		}
	}
	if want.Suppress || joined {
		if err := h.LinkSetBrNeighSuppress(l, want.Suppress); err != nil {
			return fmt.Errorf("answering in its stead: %w", err)
		}
	}
	up := l.Attrs().RawFlags&unix.IFF_UP != 0
	switch {
	case want.Uplink || up != want.Down:
		return nil
	case want.Down:
		return h.LinkSetDown(l)
	}
	return h.LinkSetUp(l)
}

// join puts a device into a bridge, out of the one where it was.
func (d *Members) join(h *netlink.Handle, l, in netlink.Link, want Member) error {
	a := l.Attrs()
	if want.Uplink {
		if a.MasterIndex != 0 {
			where, err := h.LinkByIndex(a.MasterIndex)
			if err != nil {
				return err
			}
			if !d.own(a.Name, where.Attrs().Name) {
				return fmt.Errorf("%w (%s)", ErrTaken, where.Attrs().Name)
			}
		}
		addrs, err := netns.Dump(func() ([]netlink.Addr, error) { return h.AddrList(l, netlink.FAMILY_ALL) })
		if err != nil {
			return fmt.Errorf("its addresses: %w", err)
		}
		if slices.ContainsFunc(addrs, func(a netlink.Addr) bool { return !a.IP.IsLinkLocalUnicast() }) {
			return ErrAddresses
		}
	}
	if err := h.LinkSetMasterByIndex(l, in.Attrs().Index); err != nil {
		return fmt.Errorf("into bridge %s: %w", want.Bridge, err)
	}
	return nil
}

var _ reconcile.Driver[string, Member] = (*Members)(nil)
