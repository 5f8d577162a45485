// Package neigh gives bridges neighbours: with which MAC an address of their network is, so that they can answer in the stead
// of who is far away. The agent's features fill its driver's target.
//
// A restarted agent knows its neighbours by where they are: all permanent ones, on bridges of its link group.
package neigh

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"slices"
	"strings"

	"isospin/internal/dataplane/device"
	"isospin/internal/dataplane/netns"
	"isospin/internal/reconcile"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Key is an address as seen from a bridge.
type Key struct {
	Device string
	IP     netip.Addr
}

// String tells the key in logs.
func (k Key) String() string { return k.Device + " " + k.IP.String() }

// Neighbour is who has it.
type Neighbour struct{ MAC string } // as net.HardwareAddr writes it

// Equal says whether a neighbour is as wanted.
func Equal(want, have Neighbour) bool { return want == have }

// Driver is the driver of neighbours.
type Driver struct {
	ns    string
	group uint32
}

// New makes the driver for a namespace ("" is the host's). tag is that of the bridges.
func New(ns, tag string) *Driver { return &Driver{ns: ns, group: device.Group(tag)} }

// List implements reconcile.Driver.
func (d *Driver) List(ctx context.Context) (map[Key]Neighbour, error) {
	out := map[Key]Neighbour{}
	err := device.Within(ctx, d.ns, func(h *netlink.Handle) error {
		links, err := netns.Dump(h.LinkList)
		if err != nil {
			return fmt.Errorf("links: %w", err)
		}
		ours := map[int]string{}
		for _, l := range links {
			if d.ours(l) {
				ours[l.Attrs().Index] = l.Attrs().Name
			}
		}
		for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
			all, err := netns.Dump(func() ([]netlink.Neigh, error) { return h.NeighList(0, family) })
			if err != nil {
				return fmt.Errorf("neighbours: %w", err)
			}
			for _, n := range all {
				name, mine := ours[n.LinkIndex]
				ip, ok := netip.AddrFromSlice(n.IP)
				if mine && ok && n.State&netlink.NUD_PERMANENT != 0 {
					out[Key{Device: name, IP: ip.Unmap()}] = Neighbour{MAC: n.HardwareAddr.String()}
				}
			}
		}
		return nil
	})
	return out, err
}

func (d *Driver) ours(l netlink.Link) bool {
	return l.Type() == "bridge" && l.Attrs().Group == d.group
}

// Put implements reconcile.Driver.
func (d *Driver) Put(ctx context.Context, batch map[Key]Neighbour) error {
	return d.each(ctx, batch, func(h *netlink.Handle, l netlink.Link, k Key) error {
		mac, err := net.ParseMAC(batch[k].MAC)
		if err != nil {
			return err
		}
		return h.NeighSet(&netlink.Neigh{LinkIndex: l.Attrs().Index, State: netlink.NUD_PERMANENT, IP: k.IP.AsSlice(), HardwareAddr: mac})
	}, false)
}

// Drop implements reconcile.Driver.
func (d *Driver) Drop(ctx context.Context, batch map[Key]Neighbour) error {
	return d.each(ctx, batch, func(h *netlink.Handle, l netlink.Link, k Key) error {
		err := h.NeighDel(&netlink.Neigh{LinkIndex: l.Attrs().Index, IP: k.IP.AsSlice()})
		if errors.Is(err, unix.ENOENT) {
			return nil
		}
		return err
	}, true)
}

func (d *Driver) each(ctx context.Context, batch map[Key]Neighbour, do func(*netlink.Handle, netlink.Link, Key) error, goneOK bool) error {
	if len(batch) == 0 {
		return nil
	}
	byDevice := map[string][]Key{}
	for k := range batch {
		byDevice[k.Device] = append(byDevice[k.Device], k)
	}
	bad := reconcile.Errors[Key]{}
	err := device.Within(ctx, d.ns, func(h *netlink.Handle) error {
		for name, keys := range byDevice {
			slices.SortFunc(keys, func(a, b Key) int { return strings.Compare(a.String(), b.String()) })
			l, err := device.Find(h, name)
			if err == nil && !d.ours(l) {
				err = device.ErrForeign
			}
			if err != nil && goneOK && (errors.Is(err, device.ErrNoDevice) || errors.Is(err, device.ErrForeign)) {
				continue
			}
			for _, k := range keys {
				if err != nil {
					bad[k] = err
				} else if err := do(h, l, k); err != nil {
					bad[k] = err
				}
			}
		}
		return nil
	})
	switch {
	case goneOK && errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	return bad.Err()
}

var _ reconcile.Driver[Key, Neighbour] = (*Driver)(nil)
