// Package vxlan makes VXLAN devices real. They learn nothing and ask no multicast group: where a MAC address is, package fdb
// tells them. The agent's features fill its driver's target. It puts none into a bridge and touches no device that it did not make.
package vxlan

import (
	"net/netip"

	"isospin/internal/dataplane/device"

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

// New makes the driver of the VXLAN devices in a namespace ("" is the host's), keyed by name; tag marks what is ours.
func New(ns, tag string) *device.Devices[Device] {
	return device.New(ns, tag, device.Kind[Device]{
		Type: "vxlan",
		Read: read,
		Make: func(attrs netlink.LinkAttrs, want Device, _ func(string) (netlink.Link, error)) (netlink.Link, error) {
			// Checksums of zero are taken from peers on IPv6 too: Open vSwitch sends such.
			return &netlink.Vxlan{LinkAttrs: attrs, VxlanId: want.VNI, SrcAddr: want.Local.AsSlice(), Port: want.Port, TTL: want.TTL, TOS: want.TOS,
				UDP6ZeroCSumRx: want.Local.Is6()}, nil
		},
		Anew:    anew,
		Correct: func(h *netlink.Handle, l netlink.Link, want Device) error { return device.MTU(h, l, want.MTU) },
	})
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
