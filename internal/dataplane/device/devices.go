// Package device is the ground of the drivers of devices: marks that say whose a device is, work inside a namespace, and one
// driver for every kind of device that lives in one namespace. The packages of the kinds (bridge, vlan, vxlan) and those of what
// lies on them stand on it. It knows no kind itself.
package device

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"os"
	"slices"

	"isospin/internal/dataplane/netns"
	"isospin/internal/reconcile"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Kind is what Devices has to know of one kind of device: bridges, VLAN devices, VXLAN devices. V is how one shall be.
type Kind[V any] struct {
	Type string // the kernel's word for it
	// Adopts says that a device of the kind and name that bears no mark is taken over: others make it before the agent comes.
	Adopts bool
	// Read says how a device is; raw is the kernel's message, and name finds a device's name by its index.
	Read func(l netlink.Link, raw []byte, name func(index int) string) V
	// Make is the device to add. find looks for another device, which it stands on.
	Make func(attrs netlink.LinkAttrs, want V, find func(name string) (netlink.Link, error)) (netlink.Link, error)
	// Anew says that the kernel cannot turn one into the other.
	Anew func(want, have V) bool
	// Correct sets all that can be set in place.
	Correct func(h *netlink.Handle, l netlink.Link, want V) error
}

// Devices is the driver of one kind of device in one namespace, keyed by name. A restarted agent knows its devices by their link
// group, which the kernel sets at the moment of creation; devices of other groups are never touched. The devices are up, and the host's own IPv6 is off on them: they carry others' frames.
type Devices[V any] struct {
	ns    string
	group uint32
	kind  Kind[V]
}

// New makes the driver; ns "" is the host's namespace. tag marks what is ours and stays the same over restarts.
func New[V any](ns, tag string, k Kind[V]) *Devices[V] {
	return &Devices[V]{ns: ns, group: Group(tag), kind: k}
}

// List implements reconcile.Driver.
func (d *Devices[V]) List(ctx context.Context) (map[string]V, error) {
	out := map[string]V{}
	err := Within(ctx, d.ns, func(*netlink.Handle) error {
		raw, err := netns.Dump(dumpLinks)
		if err != nil {
			return fmt.Errorf("links: %w", err)
		}
		all := make([]netlink.Link, len(raw))
		names := make(map[int]string, len(raw))
		for i, m := range raw {
			if all[i], err = netlink.LinkDeserialize(nil, m); err != nil {
				return fmt.Errorf("links: %w", err)
			}
			names[all[i].Attrs().Index] = all[i].Attrs().Name
		}
		for i, l := range all {
			if a := l.Attrs(); a.Group == d.group && l.Type() == d.kind.Type {
				out[a.Name] = d.kind.Read(l, raw[i], func(index int) string { return names[index] })
			}
		}
		return nil
	})
	return out, err
}

// dumpLinks asks for all devices of the calling thread's namespace.
func dumpLinks() ([][]byte, error) {
	req := nl.NewNetlinkRequest(unix.RTM_GETLINK, unix.NLM_F_DUMP)
	req.AddData(nl.NewIfInfomsg(unix.AF_UNSPEC))
	return req.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWLINK)
}

// Put implements reconcile.Driver. What can be set in place is; else the device is made anew.
func (d *Devices[V]) Put(ctx context.Context, batch map[string]V) error {
	return d.each(ctx, batch, d.put)
}

// Drop implements reconcile.Driver.
func (d *Devices[V]) Drop(ctx context.Context, batch map[string]V) error {
	err := d.each(ctx, batch, func(h *netlink.Handle, name string, _ V) error {
		l, err := Find(h, name)
		if errors.Is(err, ErrNoDevice) || err == nil && (l.Attrs().Group != d.group || l.Type() != d.kind.Type) {
			return nil
		}
		if err == nil {
			err = h.LinkDel(l)
		}
		if Missing(err) {
			return nil
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil // and no namespace either
	}
	return err
}

func (d *Devices[V]) each(ctx context.Context, batch map[string]V, do func(h *netlink.Handle, name string, v V) error) error {
	if len(batch) == 0 {
		return nil
	}
	bad := reconcile.Errors[string]{}
	err := Within(ctx, d.ns, func(h *netlink.Handle) error {
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

func (d *Devices[V]) put(h *netlink.Handle, name string, want V) error {
	if name == "" || len(name) >= unix.IFNAMSIZ {
		return fmt.Errorf("%q is no name of a device", name)
	}
	l, err := Find(h, name)
	switch {
	case errors.Is(err, ErrNoDevice):
	case err != nil:
		return err
	case l.Type() != d.kind.Type:
		return ErrForeign
	case l.Attrs().Group == 0 && d.kind.Adopts:
		if err := h.LinkSetGroup(l, int(d.group)); err != nil {
			return fmt.Errorf("group: %w", err)
		}
	case l.Attrs().Group != d.group:
		return ErrForeign
	case d.kind.Anew(want, d.kind.Read(l, nil, func(index int) string { return nameOf(h, index) })):
		if err := h.LinkDel(l); err != nil && !Missing(err) {
			return fmt.Errorf("removing it to make it anew: %w", err)
		}
		l = nil
	}
	if l == nil {
		if l, err = d.create(h, name, want); err != nil {
			return err
		}
	}
	if err := d.kind.Correct(h, l, want); err != nil {
		return err
	}
	apart(name)
	if l.Attrs().RawFlags&unix.IFF_UP == 0 {
		if err := h.LinkSetUp(l); err != nil {
			return fmt.Errorf("up: %w", err)
		}
	}
	return nil
}

// apart keeps the host's own stack out: what is carried is not for the host, and who sends it may not talk to the host by it. It answers no ARP
// request, takes no packet from addresses that it would not send to by the device, which has none, and no IPv6 at all. Best effort: a kernel without IPv6 has no such file.
func apart(name string) {
	for file, value := range map[string]string{"ipv6/conf/%s/disable_ipv6": "1", "ipv4/conf/%s/arp_ignore": "8", "ipv4/conf/%s/rp_filter": "1"} {
		_ = os.WriteFile("/proc/sys/net/"+fmt.Sprintf(file, name), []byte(value), 0)
	}
}

func (d *Devices[V]) create(h *netlink.Handle, name string, want V) (netlink.Link, error) {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.Group = name, d.group
	l, err := d.kind.Make(attrs, want, func(name string) (netlink.Link, error) { return Find(h, name) })
	if err != nil {
		return nil, err
	}
	if err := h.LinkAdd(l); err != nil {
		return nil, fmt.Errorf("adding it: %w", err)
	}
	return Find(h, name)
}

// ErrForeign is a device that is not ours where one of ours shall be.
var ErrForeign = errors.New("the name belongs to a device that is not ours")

// ErrNoDevice is that the host has no device of the name.
var ErrNoDevice = errors.New("no such device")

// Find looks for a device; the error is ErrNoDevice, with the name, when there is none.
func Find(h *netlink.Handle, name string) (netlink.Link, error) {
	l, err := h.LinkByName(name)
	if Missing(err) {
		return nil, fmt.Errorf("%w: %s", ErrNoDevice, name)
	}
	return l, err
}

func nameOf(h *netlink.Handle, index int) string {
	l, err := h.LinkByIndex(index)
	if err != nil {
		return ""
	}
	return l.Attrs().Name
}

// MTU sets a device's if it is another; 0 leaves it to the kernel.
func MTU(h *netlink.Handle, l netlink.Link, mtu int) error {
	if mtu == 0 || l.Attrs().MTU == mtu {
		return nil
	}
	if err := h.LinkSetMTU(l, mtu); err != nil {
		return fmt.Errorf("mtu %d: %w", mtu, err)
	}
	return nil
}

// Missing tells whether the error is that there is no such device.
func Missing(err error) bool {
	var not netlink.LinkNotFoundError
	return errors.As(err, &not) || errors.Is(err, unix.ENODEV)
}

// Group is the link group that marks what a tag's drivers made.
func Group(tag string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(tag)) // a hash takes everything
	// The upper byte keeps clear of the small numbers that people give to groups.
	return 0x49<<24 | h.Sum32()&0xffffff
}

// Within runs f inside the namespace, on its thread, with a handle of it.
func Within(ctx context.Context, ns string, f func(h *netlink.Handle) error) error {
	return netns.Do(ctx, ns, func(context.Context) error {
		h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
		if err != nil {
			return err
		}
		defer h.Close()
		return f(h)
	})
}

// Listen opens a socket inside the namespace that hears what the kernel tells of the groups (unix.RTNLGRP_LINK, ...). The caller closes it.
func Listen(ctx context.Context, ns string, groups ...int) (f *os.File, err error) {
	err = netns.Do(ctx, ns, func(context.Context) error {
		fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
		if err != nil {
			return err
		}
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 4<<20) // less room only means that more is lost, which is told
		err = unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
		for _, g := range groups {
			if err == nil {
				err = unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_ADD_MEMBERSHIP, g)
			}
		}
		if err != nil {
			_ = unix.Close(fd)
			return err
		}
		f = os.NewFile(uintptr(fd), "rtnetlink")
		return nil
	})
	return f, err
}
