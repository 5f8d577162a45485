package link

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"

	"isospin/internal/dataplane/device"
	"isospin/internal/dataplane/netns"
	"isospin/internal/reconcile"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Put implements reconcile.Driver. A pair whose names are right is corrected in place; any other is made anew.
func (d *Veths) Put(ctx context.Context, batch map[Key]Veth) error {
	return each(ctx, batch, d.put)
}

// Drop implements reconcile.Driver.
func (d *Veths) Drop(ctx context.Context, batch map[Key]Veth) error {
	return each(ctx, batch, d.drop)
}

func each(ctx context.Context, batch map[Key]Veth, do func(context.Context, Key, Veth) error) error {
	bad := reconcile.Errors[Key]{}
	for _, k := range sortedKeys(batch) {
		err := ctx.Err()
		if err == nil {
			err = do(ctx, k, batch[k])
		}
		if err != nil {
			bad[k] = err
		}
	}
	return bad.Err()
}

func (d *Veths) put(ctx context.Context, k Key, want Veth) error {
	for _, name := range []string{k.Name, want.Peer} {
		if name == "" || len(name) >= unix.IFNAMSIZ {
			return fmt.Errorf("%q is no name of a device", name)
		}
	}
	if len(alias(k)) > 255 {
		return errors.New("the name of the namespace is too long")
	}
	there, err := d.clear(ctx, k, want)
	if err != nil {
		return err
	}
	if !there {
		if err := d.create(ctx, k, want); err != nil {
			return err
		}
	}
	// The end outside first: with its alias the pair is known after a crash.
	err = device.Within(ctx, want.PeerNS, func(h *netlink.Handle) error {
		return d.correct(h, want.Peer, alias(k), "", want)
	})
	if err != nil {
		return fmt.Errorf("the end outside: %w", err)
	}
	err = device.Within(ctx, k.NS, func(h *netlink.Handle) error {
		return d.correct(h, k.Name, "", want.MAC, want)
	})
	if err != nil {
		return fmt.Errorf("the end inside: %w", err)
	}
	return nil
}

// clear says whether the pair is there, whole, and removes what is ours and in its way.
func (d *Veths) clear(ctx context.Context, k Key, want Veth) (there bool, err error) {
	outer, err := d.look(ctx, want.PeerNS, want.Peer)
	if err != nil {
		return false, err
	}
	inner, err := d.look(ctx, k.NS, k.Name)
	if err != nil {
		return false, err
	}
	// An end inside that has not got its group yet is known by the end outside.
	whole := outer != nil && inner != nil && outer.Group == d.group &&
		inner.ParentIndex == outer.Index && outer.ParentIndex == inner.Index
	if whole {
		return true, nil
	}
	for _, end := range []struct {
		ns    string
		attrs *netlink.LinkAttrs
	}{{want.PeerNS, outer}, {k.NS, inner}} {
		if end.attrs == nil {
			continue
		}
		if end.attrs.Group != d.group {
			return false, ErrForeign
		}
		if err := d.remove(ctx, end.ns, end.attrs.Name); err != nil {
			return false, err
		}
	}
	return false, nil
}

// create makes the pair, both ends where they belong from the start. The kernel sets the group in the same step.
func (d *Veths) create(ctx context.Context, k Key, want Veth) error {
	f, err := netns.Open(k.NS)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.Group, attrs.MTU = want.Peer, d.group, want.MTU
	veth := &netlink.Veth{LinkAttrs: attrs, PeerName: k.Name, PeerNamespace: netlink.NsFd(int(f.Fd()))}
	if want.MAC != "" {
		if veth.PeerHardwareAddr, err = net.ParseMAC(want.MAC); err != nil {
			return err
		}
	}
	err = device.Within(ctx, want.PeerNS, func(h *netlink.Handle) error { return h.LinkAdd(veth) })
	if err != nil {
		return fmt.Errorf("adding the pair: %w", err)
	}
	return nil
}

// correct sets what differs at one end.
func (d *Veths) correct(h *netlink.Handle, name, alias, mac string, want Veth) error {
	l, err := h.LinkByName(name)
	if err != nil {
		return err
	}
	a := l.Attrs()
	if alias != "" && a.Alias != alias {
		if err := h.LinkSetAlias(l, alias); err != nil {
			return fmt.Errorf("alias: %w", err)
		}
	}
	if a.Group != d.group {
		if err := h.LinkSetGroup(l, int(d.group)); err != nil {
			return fmt.Errorf("group: %w", err)
		}
	}
	if want.MTU != 0 && a.MTU != want.MTU {
		if err := h.LinkSetMTU(l, want.MTU); err != nil {
			return fmt.Errorf("mtu: %w", err)
		}
	}
	if mac != "" && a.HardwareAddr.String() != mac {
		hw, err := net.ParseMAC(mac)
		if err != nil {
			return err
		}
		if err := h.LinkSetHardwareAddr(l, hw); err != nil {
			return fmt.Errorf("mac: %w", err)
		}
	}
	if want.NoOffload {
		if err := noOffload(name); err != nil {
			return err
		}
	}
	if a.RawFlags&unix.IFF_UP == 0 {
		if err := h.LinkSetUp(l); err != nil {
			return fmt.Errorf("up: %w", err)
		}
	}
	return nil
}

func (d *Veths) drop(ctx context.Context, k Key, last Veth) error {
	outer, err := d.look(ctx, last.PeerNS, last.Peer)
	if err != nil {
		return err
	}
	if outer != nil && outer.Group == d.group {
		if named, known := parseAlias(outer.Alias); !known || named == k {
			return d.remove(ctx, last.PeerNS, last.Peer)
		}
	}
	inner, err := d.look(ctx, k.NS, k.Name)
	if err != nil || inner == nil || inner.Group != d.group {
		return err
	}
	return d.remove(ctx, k.NS, k.Name)
}

// look is a device's attributes; nil when there is none, or no such namespace.
func (d *Veths) look(ctx context.Context, ns, name string) (*netlink.LinkAttrs, error) {
	var attrs *netlink.LinkAttrs
	err := device.Within(ctx, ns, func(h *netlink.Handle) error {
		l, err := h.LinkByName(name)
		if device.Missing(err) {
			return nil
		}
		if err == nil {
			attrs = l.Attrs()
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return attrs, err
}

// remove deletes a device, and with it the other end.
func (d *Veths) remove(ctx context.Context, ns, name string) error {
	err := device.Within(ctx, ns, func(h *netlink.Handle) error {
		l, err := h.LinkByName(name)
		if err == nil {
			err = h.LinkDel(l)
		}
		if device.Missing(err) {
			return nil
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
