// Package addr makes addresses on devices in namespaces real. The agent's features fill its driver's target.
// It makes no device and no route but the one that the kernel adds for an address's prefix.
//
// A restarted agent knows its addresses by where they are: all in the namespaces that the driver was made
// with are ours, except those that the kernel gives by itself (loopback, link-local from the MAC) and those
// that the driver's maker leaves to others, such as the virtual addresses that keepalived moves.
package addr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"

	"isospin/internal/dataplane/netns"
	"isospin/internal/reconcile"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Key is an address on a device in a namespace ("" is the host's). Prefix keeps the address's host bits.
type Key struct {
	NS, Link string
	Prefix   netip.Prefix
}

// String tells the key in logs.
func (k Key) String() string { return k.NS + "/" + k.Link + " " + k.Prefix.String() }

// Addr is how an address shall be.
type Addr struct {
	NoDAD         bool // no duplicate address detection: usable at once; IPv6 only
	NoPrefixRoute bool // the kernel adds no route for the prefix
}

// Equal says whether an address is as wanted.
func Equal(want, have Addr) bool { return want == have }

// Foreign says which addresses in our namespaces are others' business.
type Foreign func(k Key) bool

// Driver is the driver of addresses.
type Driver struct {
	own     netns.Own
	foreign Foreign
}

// NewDriver makes the driver of the addresses in the namespaces that own holds for; the host's are ours only
// if own("") holds. foreign may be nil.
func NewDriver(own netns.Own, foreign Foreign) *Driver {
	if foreign == nil {
		foreign = func(Key) bool { return false }
	}
	return &Driver{own: own, foreign: foreign}
}

// List implements reconcile.Driver.
func (d *Driver) List(ctx context.Context) (map[Key]Addr, error) {
	names, err := netns.List(d.own)
	if err != nil {
		return nil, err
	}
	if d.own("") {
		names = append(names, "")
	}
	out := map[Key]Addr{}
	for _, ns := range names {
		err := within(ctx, ns, func(h *netlink.Handle) error { return d.read(h, ns, out) })
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // one that is gone meanwhile has none
			return nil, fmt.Errorf("addresses of namespace %q: %w", ns, err)
		}
	}
	return out, nil
}

func (d *Driver) read(h *netlink.Handle, ns string, out map[Key]Addr) error {
	links, err := netns.Dump(h.LinkList)
	if err != nil {
		return err
	}
	byIndex := make(map[int]*netlink.LinkAttrs, len(links))
	for _, l := range links {
		byIndex[l.Attrs().Index] = l.Attrs()
	}
	addrs, err := netns.Dump(func() ([]netlink.Addr, error) { return h.AddrList(nil, netlink.FAMILY_ALL) })
	if err != nil {
		return err
	}
	for _, a := range addrs {
		on := byIndex[a.LinkIndex]
		prefix, ok := prefixOf(a.IPNet)
		if on == nil || !ok || byKernel(on, prefix) {
			continue
		}
		k := Key{NS: ns, Link: on.Name, Prefix: prefix}
		if d.foreign(k) {
			continue
		}
		out[k] = Addr{
			NoDAD:         a.Flags&unix.IFA_F_NODAD != 0,
			NoPrefixRoute: a.Flags&unix.IFA_F_NOPREFIXROUTE != 0,
		}
	}
	return nil
}

// Put implements reconcile.Driver.
func (d *Driver) Put(ctx context.Context, batch map[Key]Addr) error {
	return d.each(ctx, batch, func(h *netlink.Handle, l netlink.Link, k Key) error {
		a, want := kernelAddr(k), batch[k]
		if want.NoDAD && k.Prefix.Addr().Is6() {
			a.Flags |= unix.IFA_F_NODAD
		}
		if want.NoPrefixRoute {
			a.Flags |= unix.IFA_F_NOPREFIXROUTE
		}
		promote(k)
		err := h.AddrAdd(l, a)
		if errors.Is(err, unix.EEXIST) { // it is there with other flags, or as wanted
			if err := h.AddrDel(l, kernelAddr(k)); err != nil && !gone(err) {
				return err
			}
			err = h.AddrAdd(l, a)
		}
		return err
	}, false)
}

// Drop implements reconcile.Driver.
func (d *Driver) Drop(ctx context.Context, batch map[Key]Addr) error {
	return d.each(ctx, batch, func(h *netlink.Handle, l netlink.Link, k Key) error {
		promote(k)
		if err := h.AddrDel(l, kernelAddr(k)); err != nil && !gone(err) {
			return err
		}
		return nil
	}, true)
}

// each runs do for every key, a namespace at a time. goneOK is for drops: no namespace or device is fine then.
func (d *Driver) each(ctx context.Context, batch map[Key]Addr, do func(*netlink.Handle, netlink.Link, Key) error, goneOK bool) error {
	byNS := map[string][]Key{}
	for k := range batch {
		byNS[k.NS] = append(byNS[k.NS], k)
	}
	bad := reconcile.Errors[Key]{}
	for ns, keys := range byNS {
		slices.SortFunc(keys, func(a, b Key) int { return strings.Compare(a.String(), b.String()) })
		err := errors.New("not a namespace of ours")
		if d.own(ns) {
			err = within(ctx, ns, func(h *netlink.Handle) error {
				for _, k := range keys {
					l, err := h.LinkByName(k.Link)
					if err == nil {
						err = do(h, l, k)
					}
					if err != nil && !(goneOK && gone(err)) {
						bad[k] = err
					}
				}
				return nil
			})
		}
		if err == nil || goneOK && (errors.Is(err, fs.ErrNotExist) || !d.own(ns)) {
			continue
		}
		for _, k := range keys {
			bad[k] = err
		}
	}
	return bad.Err()
}

// within runs f inside the namespace with a handle of it.
func within(ctx context.Context, ns string, f func(h *netlink.Handle) error) error {
	return netns.Do(ctx, ns, func(context.Context) error {
		h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
		if err != nil {
			return err
		}
		defer h.Close()
		return f(h)
	})
}

// promote keeps the other IPv4 addresses of a prefix when the first of them goes: by default the kernel
// removes them with it. Best effort: a device that is not there is told by the address itself.
func promote(k Key) {
	if k.Prefix.Addr().Is4() {
		_ = os.WriteFile("/proc/sys/net/ipv4/conf/"+k.Link+"/promote_secondaries", []byte("1"), 0)
	}
}

// byKernel says whether the kernel gave the address by itself.
func byKernel(on *netlink.LinkAttrs, p netip.Prefix) bool {
	a := p.Addr()
	if on.RawFlags&unix.IFF_LOOPBACK != 0 && (a == netip.AddrFrom4([4]byte{127, 0, 0, 1}) || a == netip.IPv6Loopback()) {
		return true
	}
	return p.Bits() == 64 && a == linkLocal(on.HardwareAddr)
}

// linkLocal is the address that the kernel makes from a MAC (RFC 4291, appendix A); the zero Addr for none.
func linkLocal(mac net.HardwareAddr) netip.Addr {
	if len(mac) != 6 {
		return netip.Addr{}
	}
	return netip.AddrFrom16([16]byte{0: 0xfe, 1: 0x80, 8: mac[0] ^ 2, 9: mac[1], 10: mac[2],
		11: 0xff, 12: 0xfe, 13: mac[3], 14: mac[4], 15: mac[5]})
}

func kernelAddr(k Key) *netlink.Addr {
	return &netlink.Addr{IPNet: &net.IPNet{
		IP:   k.Prefix.Addr().AsSlice(),
		Mask: net.CIDRMask(k.Prefix.Bits(), k.Prefix.Addr().BitLen()),
	}}
}

func prefixOf(n *net.IPNet) (netip.Prefix, bool) {
	if n == nil {
		return netip.Prefix{}, false
	}
	a, ok := netip.AddrFromSlice(n.IP)
	bits, _ := n.Mask.Size()
	return netip.PrefixFrom(a.Unmap(), bits), ok
}

func gone(err error) bool {
	var not netlink.LinkNotFoundError
	return errors.As(err, &not) || errors.Is(err, unix.ENODEV) || errors.Is(err, unix.EADDRNOTAVAIL)
}

var _ reconcile.Driver[Key, Addr] = (*Driver)(nil)
