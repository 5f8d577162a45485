// Package vxlan makes VXLAN devices real. They learn nothing and ask no multicast group: where a MAC address is, package fdb
// tells them. The agent's features fill its driver's target. It puts none into a bridge and touches no device that it did not make.
package vxlan

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"isospin/internal/dataplane/device"
	"isospin/internal/dataplane/netns"
	"isospin/internal/reconcile"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Device is how a VXLAN device shall be. It is up.
type Device struct {
	VNI   int
	Local netip.Addr // where the host's end is
	Port  int        // UDP port of both ends
	TTL   int        // 0 is the kernel's
	TOS   int        // 1 takes the inner packet's
	MTU   int        // in bytes; 0 leaves it to the kernel
	// Fault is for views only: why the device does not work.
	Fault string
}

// Equal says whether a device is as wanted.
func Equal(want, have Device) bool {
	return have.Fault == "" && !anew(want, have) && (want.MTU == 0 || want.MTU == have.MTU)
}

func anew(want, have Device) bool {
	want.MTU, want.Fault, have.MTU = 0, "", 0
	if have.Fault == "down" {
		have.Fault = ""
	}
	return want != have
}

// Driver is the driver of VXLAN devices, keyed by name.
type Driver struct {
	*device.Devices[Device]
	ns string
}

// New makes the driver for a namespace ("" is the host's); tag marks what is ours.
func New(ns, tag string) Driver {
	return Driver{ns: ns, Devices: device.New(ns, tag, device.Kind[Device]{
		Type: "vxlan",
		Read: read,
		Make: func(attrs netlink.LinkAttrs, want Device, _ func(string) (netlink.Link, error)) (netlink.Link, error) {
			// Checksums of zero are taken from peers on IPv6 too: Open vSwitch sends such.
			return &netlink.Vxlan{LinkAttrs: attrs, VxlanId: want.VNI, SrcAddr: want.Local.AsSlice(), Port: want.Port, TTL: want.TTL, TOS: want.TOS,
				UDP6ZeroCSumRx: want.Local.Is6()}, nil
		},
		Anew:    anew,
		Correct: func(h *netlink.Handle, l netlink.Link, want Device) error { return device.MTU(h, l, want.MTU) },
	})}
}

// ErrNoAddress is a device whose end of the tunnels is an address that nothing in the namespace has: the kernel would drop all that it sends.
var ErrNoAddress = errors.New("no device has the address of the host's end of tunnels")

// List implements reconcile.Driver.
func (d Driver) List(ctx context.Context) (map[string]Device, error) {
	out, err := d.Devices.List(ctx)
	if err != nil || len(out) == 0 {
		return out, err
	}
	here, err := d.addresses(ctx)
	for name, v := range out {
		if v.Fault == "" && !here[v.Local] {
			v.Fault = "its address is gone"
			out[name] = v
		}
	}
	return out, err
}

// Put implements reconcile.Driver. A device without its address is made, and fails.
func (d Driver) Put(ctx context.Context, batch map[string]Device) error {
	err := d.Devices.Put(ctx, batch)
	bad := reconcile.Errors[string]{}
	if err != nil && !errors.As(err, &bad) || len(batch) == 0 {
		return err
	}
	here, err := d.addresses(ctx)
	if err != nil {
		return err
	}
	for name, want := range batch {
		if bad[name] == nil && !here[want.Local] {
			bad[name] = fmt.Errorf("%w: %s", ErrNoAddress, want.Local)
		}
	}
	return bad.Err()
}

// addresses are those of the namespace.
func (d Driver) addresses(ctx context.Context) (map[netip.Addr]bool, error) {
	out := map[netip.Addr]bool{}
	err := device.Within(ctx, d.ns, func(h *netlink.Handle) error {
		all, err := netns.Dump(func() ([]netlink.Addr, error) { return h.AddrList(nil, netlink.FAMILY_ALL) })
		for _, a := range all {
			if ip, ok := netip.AddrFromSlice(a.IP); ok {
				out[ip.Unmap()] = true
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("addresses: %w", err)
	}
	return out, nil
}

func read(l netlink.Link, _ []byte, _ func(int) string) Device {
	d := Device{MTU: l.Attrs().MTU}
	if l.Attrs().RawFlags&unix.IFF_UP == 0 {
		d.Fault = "down"
	}
	v, ok := l.(*netlink.Vxlan)
	if !ok {
		return d
	}
	d.VNI, d.Port, d.TTL, d.TOS = v.VxlanId, v.Port, v.TTL, v.TOS
	if local, ok := netip.AddrFromSlice(v.SrcAddr); ok {
		d.Local = local
	}
	switch {
	case v.Learning:
		d.Fault = "it learns"
	case v.Group != nil && !v.Group.IsUnspecified():
		d.Fault = "it asks a group"
	}
	return d
}

var _ reconcile.Driver[string, Device] = Driver{}
