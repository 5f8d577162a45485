// Package vlan makes VLAN devices real: a device on another whose frames it tags. The agent's features fill its driver's
// target. It puts none into a bridge and touches no device that it did not make.
package vlan

import (
	"isospin/internal/dataplane/device"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Device is how a VLAN device shall be. It is up.
type Device struct {
	Parent string // the device that it stands on
	ID     int    // 1 to 4094
	MTU    int    // in bytes; 0 leaves it to the kernel: the parent's
	// Fault is for views only: why the device does not work.
	Fault string
}

// Equal says whether a device is as wanted.
func Equal(want, have Device) bool {
	return have.Fault == "" && want.Parent == have.Parent && want.ID == have.ID && (want.MTU == 0 || want.MTU == have.MTU)
}

// New makes the driver of the VLAN devices in a namespace ("" is the host's), keyed by name; tag marks what is ours.
func New(ns, tag string) *device.Devices[Device] {
	return device.New(ns, tag, device.Kind[Device]{
		Type: "vlan",
		Read: func(l netlink.Link, _ []byte, name func(int) string) Device {
			d := Device{Parent: name(l.Attrs().ParentIndex), MTU: l.Attrs().MTU}
			if v, ok := l.(*netlink.Vlan); ok {
				d.ID = v.VlanId
			}
			if l.Attrs().RawFlags&unix.IFF_UP == 0 {
				d.Fault = "down"
			}
			return d
		},
		Make: func(attrs netlink.LinkAttrs, want Device, find func(string) (netlink.Link, error)) (netlink.Link, error) {
			on, err := find(want.Parent)
			if err != nil {
				return nil, err
			}
			attrs.ParentIndex = on.Attrs().Index
			return &netlink.Vlan{LinkAttrs: attrs, VlanId: want.ID, VlanProtocol: netlink.VLAN_PROTOCOL_8021Q}, nil
		},
		Anew:    func(want, have Device) bool { return want.Parent != have.Parent || want.ID != have.ID },
		Correct: func(h *netlink.Handle, l netlink.Link, want Device) error { return device.MTU(h, l, want.MTU) },
	})
}
