// Package fdb tells VXLAN devices, and the bridges that they are in, where MAC addresses are: without learning, by what the
// server knows. The agent's features fill its driver's target.
//
// A restarted agent knows its entries by where they are: all those that nobody learned, on VXLAN devices of its link group.
package fdb

import (
	"bytes"
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

// Key is what is sent through a device: frames for a MAC address or, without one, copies of what goes to everybody, for one
// other host.
type Key struct {
	Device string
	MAC    string     // as net.HardwareAddr writes it; "": a copy of each flood
	To     netip.Addr // of a flood's copy only
}

// String tells the key in logs.
func (k Key) String() string {
	if k.MAC == "" {
		return k.Device + " to all, to " + k.To.String()
	}
	return k.Device + " to " + k.MAC
}

// Entry is where it goes. The bridge sends frames for a MAC address to the device, whatever it sees elsewhere.
type Entry struct {
	To netip.Addr // the other host's end
	// Fault is for views only: which half is missing.
	Fault string
}

// Equal says whether an entry is as wanted.
func Equal(want, have Entry) bool { return have.Fault == "" && want.To == have.To }

// Driver is the driver of entries.
type Driver struct {
	ns    string
	group uint32
}

// New makes the driver for a namespace ("" is the host's). tag is that of the VXLAN devices.
func New(ns, tag string) *Driver { return &Driver{ns: ns, group: device.Group(tag)} }

const (
	faultNoBridge = "the bridge does not know"
	faultNoDevice = "the device does not know"
)

// List implements reconcile.Driver.
func (d *Driver) List(ctx context.Context) (map[Key]Entry, error) {
	out := map[Key]Entry{}
	err := device.Within(ctx, d.ns, func(h *netlink.Handle) error {
		links, err := netns.Dump(h.LinkList)
		if err != nil {
			return fmt.Errorf("links: %w", err)
		}
		ours := map[int]string{}
		for _, l := range links {
			if l.Type() == "vxlan" && l.Attrs().Group == d.group {
				ours[l.Attrs().Index] = l.Attrs().Name
			}
		}
		all, err := netns.Dump(func() ([]netlink.Neigh, error) { return h.NeighList(0, unix.AF_BRIDGE) })
		if err != nil {
			return fmt.Errorf("forwarding entries: %w", err)
		}
		inBridge, inDevice := map[Key]bool{}, map[Key]netip.Addr{}
		for _, n := range all {
			name, mine := ours[n.LinkIndex]
			if !mine || len(n.HardwareAddr) != 6 {
				continue
			}
			k := Key{Device: name, MAC: n.HardwareAddr.String()}
			to, addressed := netip.AddrFromSlice(n.IP)
			switch {
			case n.Flags&netlink.NTF_SELF != 0 && addressed && isZero(n.HardwareAddr):
				to = to.Unmap()
				out[Key{Device: name, To: to}] = Entry{To: to}
			case n.Flags&netlink.NTF_SELF != 0 && addressed:
				inDevice[k] = to.Unmap()
			case n.Flags&netlink.NTF_SELF == 0 && n.State&unix.NUD_NOARP != 0: // fixed, and not the device's own address
				// In a bridge that tells VLANs apart there is one for each.
				inBridge[k] = n.Flags&sticky != 0
			}
		}
		for k, to := range inDevice {
			e := Entry{To: to}
			if !inBridge[k] {
				e.Fault = faultNoBridge
			}
			out[k] = e
		}
		for k := range inBridge {
			if _, both := inDevice[k]; !both {
				out[k] = Entry{Fault: faultNoDevice}
			}
		}
		return nil
	})
	return out, err
}

// sticky is NTF_STICKY: a frame that comes from elsewhere does not move the entry.
const sticky = 0x40

func isZero(mac net.HardwareAddr) bool { return bytes.Equal(mac, make([]byte, 6)) }

// Put implements reconcile.Driver. What is sent to a MAC address changes in one step.
func (d *Driver) Put(ctx context.Context, batch map[Key]Entry) error {
	return d.each(ctx, batch, func(h *netlink.Handle, l netlink.Link, k Key, e Entry) error {
		mac := make(net.HardwareAddr, 6)
		n := netlink.Neigh{LinkIndex: l.Attrs().Index, Family: unix.AF_BRIDGE, State: netlink.NUD_PERMANENT, Flags: netlink.NTF_SELF, IP: e.To.AsSlice(), HardwareAddr: mac}
		if k.MAC == "" {
			if e.To != k.To {
				return errors.New("a flood's copy that goes elsewhere than its key says")
			}
			if err := h.NeighAppend(&n); err != nil && !errors.Is(err, unix.EEXIST) {
				return err
			}
			return nil
		}
		var err error
		if n.HardwareAddr, err = net.ParseMAC(k.MAC); err != nil {
			return err
		}
		if err := h.NeighSet(&n); err != nil {
			return err
		}
		err = h.NeighSet(&netlink.Neigh{LinkIndex: l.Attrs().Index, Family: unix.AF_BRIDGE, State: netlink.NUD_NOARP, Flags: netlink.NTF_MASTER | sticky, HardwareAddr: n.HardwareAddr})
		if err != nil {
			return fmt.Errorf("in the bridge: %w", err)
		}
		return nil
	}, false)
}

// Drop implements reconcile.Driver.
func (d *Driver) Drop(ctx context.Context, batch map[Key]Entry) error {
	return d.each(ctx, batch, func(h *netlink.Handle, l netlink.Link, k Key, e Entry) error {
		n := netlink.Neigh{LinkIndex: l.Attrs().Index, Family: unix.AF_BRIDGE, Flags: netlink.NTF_SELF, IP: k.To.AsSlice(), HardwareAddr: make(net.HardwareAddr, 6)}
		if k.MAC == "" {
			return gone(h.NeighDel(&n))
		}
		mac, err := net.ParseMAC(k.MAC)
		if err != nil {
			return nil // nobody put it
		}
		n.HardwareAddr, n.IP = mac, e.To.AsSlice()
		if e.To.IsValid() {
			if err := gone(h.NeighDel(&n)); err != nil {
				return err
			}
		}
		if l.Attrs().MasterIndex == 0 {
			return nil
		}
		return gone(h.NeighDel(&netlink.Neigh{LinkIndex: l.Attrs().Index, Family: unix.AF_BRIDGE, Flags: netlink.NTF_MASTER, HardwareAddr: mac}))
	}, true)
}

func (d *Driver) each(ctx context.Context, batch map[Key]Entry, do func(*netlink.Handle, netlink.Link, Key, Entry) error, goneOK bool) error {
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
			if err == nil && (l.Type() != "vxlan" || l.Attrs().Group != d.group) {
				err = device.ErrForeign
			}
			if err != nil && goneOK && (errors.Is(err, device.ErrNoDevice) || errors.Is(err, device.ErrForeign)) {
				continue
			}
			for _, k := range keys {
				if err != nil {
					bad[k] = err
				} else if err := do(h, l, k, batch[k]); err != nil {
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

// gone makes nothing of what is not there.
func gone(err error) error {
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENODEV) {
		return nil
	}
	return err
}

var _ reconcile.Driver[Key, Entry] = (*Driver)(nil)
