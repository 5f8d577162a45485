package subport

import (
	"errors"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// vlanDevice is the kernel's.
type vlanDevice struct {
	in    *netlink.Handle
	index int
}

// makeVLAN makes it in the network namespace of the calling thread; nil where the kernel has no VLAN devices.
func makeVLAN(p Plan) (*vlanDevice, error) {
	h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return nil, err
	}
	v, err := addVLAN(h, p)
	if v == nil {
		h.Close()
	}
	return v, err
}

func addVLAN(h *netlink.Handle, p Plan) (*vlanDevice, error) {
	parent, err := h.LinkByName(p.Parent)
	if err != nil {
		return nil, err
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.ParentIndex, attrs.HardwareAddr, attrs.MTU = p.Name, parent.Attrs().Index, p.MAC, p.MTU
	err = h.LinkAdd(&netlink.Vlan{LinkAttrs: attrs, VlanId: int(p.VLAN), VlanProtocol: netlink.VLAN_PROTOCOL_8021Q})
	if errors.Is(err, unix.EOPNOTSUPP) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	made, err := h.LinkByName(p.Name)
	if err != nil {
		return nil, err
	}
	return &vlanDevice{h, made.Attrs().Index}, h.LinkSetUp(made)
}

// remove is done also when somebody removed it, or moved it to another namespace that is gone.
func (d *vlanDevice) remove() error {
	defer d.in.Close()
	l, err := d.in.LinkByIndex(d.index)
	if errors.As(err, new(netlink.LinkNotFoundError)) {
		return nil
	}
	if err != nil {
		return err
	}
	return d.in.LinkDel(l)
}
