// Package route makes routes in namespaces real. The agent's features fill its driver's target. It makes no
// device and no address, and chooses no routes by itself.
//
// A restarted agent knows its routes by their protocol number, Protocol, in the namespaces that the driver
// was made with. Routes of other protocols are never removed; a route of the same destination, table and
// metric takes their place, as `ip route replace` has it.
package route

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"slices"
	"strings"

	"isospin/internal/dataplane/netns"
	"isospin/internal/reconcile"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Protocol marks our routes; rt_protos(5) has the list of numbers that others use.
const Protocol = 105

// metricIPv6 is what the kernel gives an IPv6 route that was added with metric 0.
const metricIPv6 = 1024

// Key is what the kernel tells routes apart by. The prefix is masked; the default route is of length 0.
type Key struct {
	NS     string // "" is the host's
	Table  int    // 0 is main
	Dst    netip.Prefix
	Metric int // 0 leaves it to the kernel
}

// String tells the key in logs.
func (k Key) String() string {
	return fmt.Sprintf("%s/%d %s metric %d", k.NS, k.Table, k.Dst, k.Metric)
}

// Kind is what a route does.
type Kind uint8

// Kinds of routes.
const (
	Unicast Kind = iota
	Blackhole
	Unreachable
	Prohibit
)

// Route is how a route shall be.
type Route struct {
	Kind   Kind
	Via    netip.Addr // the gateway; the zero Addr for what is on the link
	Link   string     // the device; of a Unicast one only
	Src    netip.Addr // preferred source; the zero Addr leaves it to the kernel
	OnLink bool       // the gateway is reachable though no route says so
	MTU    int        // in bytes; 0 is the device's
}

// Equal says whether a route is as wanted.
func Equal(want, have Route) bool { return want == have }

// Driver is the driver of routes.
type Driver struct{ own netns.Own }

// NewDriver makes the driver of the routes in the namespaces that own holds for; the host's only if own("") holds.
func NewDriver(own netns.Own) *Driver { return &Driver{own: own} }

// List implements reconcile.Driver.
func (d *Driver) List(ctx context.Context) (map[Key]Route, error) {
	names, err := netns.List(d.own)
	if err != nil {
		return nil, err
	}
	if d.own("") {
		names = append(names, "")
	}
	out := map[Key]Route{}
	for _, ns := range names {
		err := within(ctx, ns, func(h *netlink.Handle) error { return read(h, ns, out) })
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // one that is gone meanwhile has none
			return nil, fmt.Errorf("routes of namespace %q: %w", ns, err)
		}
	}
	return out, nil
}

func read(h *netlink.Handle, ns string, out map[Key]Route) error {
	links, err := netns.Dump(h.LinkList)
	if err != nil {
		return err
	}
	names := make(map[int]string, len(links))
	for _, l := range links {
		names[l.Attrs().Index] = l.Attrs().Name
	}
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		filter := &netlink.Route{Protocol: Protocol}
		routes, err := netns.Dump(func() ([]netlink.Route, error) {
			return h.RouteListFiltered(family, filter, netlink.RT_FILTER_PROTOCOL|netlink.RT_FILTER_TABLE)
		})
		if err != nil {
			return err
		}
		for _, r := range routes {
			if k, v, ok := view(ns, family, names, r); ok {
				out[k] = v
			}
		}
	}
	return nil
}

// view reads one of the kernel's routes. A route of several next hops is never ours in whole, so it shows as
// one that differs from all that can be wanted.
func view(ns string, family int, names map[int]string, r netlink.Route) (Key, Route, bool) {
	k := Key{NS: ns, Table: r.Table, Metric: r.Priority}
	if k.Table == unix.RT_TABLE_MAIN {
		k.Table = 0
	}
	if family == netlink.FAMILY_V6 && k.Metric == metricIPv6 {
		k.Metric = 0
	}
	if r.Dst == nil {
		k.Dst = netip.PrefixFrom(zero(family), 0)
	} else {
		a, ok := netip.AddrFromSlice(r.Dst.IP)
		if !ok {
			return k, Route{}, false
		}
		bits, _ := r.Dst.Mask.Size()
		if family == netlink.FAMILY_V4 {
			a = a.Unmap()
		}
		k.Dst = netip.PrefixFrom(a, bits)
	}
	v := Route{Kind: kindOf(r.Type), Via: addrOf(r.Gw), Src: addrOf(r.Src), MTU: r.MTU, OnLink: r.Flags&int(netlink.FLAG_ONLINK) != 0}
	if v.Kind == Unicast { // IPv6 shows others on lo
		v.Link = names[r.LinkIndex]
	}
	return k, v, true
}

// Put implements reconcile.Driver.
func (d *Driver) Put(ctx context.Context, batch map[Key]Route) error {
	return d.each(ctx, batch, false, func(h *netlink.Handle, k Key) error {
		r, err := kernelRoute(h, k, batch[k])
		if err != nil {
			return err
		}
		return h.RouteReplace(r)
	})
}

// Drop implements reconcile.Driver.
func (d *Driver) Drop(ctx context.Context, batch map[Key]Route) error {
	return d.each(ctx, batch, true, func(h *netlink.Handle, k Key) error {
		if !valid(k.Dst) {
			return nil // such a route cannot be there
		}
		r := bare(k)
		r.Scope = netlink.SCOPE_NOWHERE // of any scope
		return h.RouteDel(r)
	})
}

// each runs do for every key, a namespace at a time. goneOK is for drops: no namespace or route is fine then.
func (d *Driver) each(ctx context.Context, batch map[Key]Route, goneOK bool, do func(*netlink.Handle, Key) error) error {
	byNS := map[string][]Key{}
	for k := range batch {
		byNS[k.NS] = append(byNS[k.NS], k)
	}
	bad := reconcile.Errors[Key]{}
	for ns, keys := range byNS {
		// Long prefixes first, so that what leads to a gateway is there before the routes through it.
		slices.SortFunc(keys, func(a, b Key) int {
			if n := b.Dst.Bits() - a.Dst.Bits(); n != 0 {
				return n
			}
			return strings.Compare(a.String(), b.String())
		})
		err := errors.New("not a namespace of ours")
		if d.own(ns) {
			err = within(ctx, ns, func(h *netlink.Handle) error {
				for _, k := range keys {
					if err := do(h, k); err != nil && !(goneOK && gone(err)) {
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

// bare is a route by what identifies it.
func bare(k Key) *netlink.Route {
	r := &netlink.Route{
		Protocol: Protocol,
		Table:    k.Table,
		Priority: k.Metric,
		Dst: &net.IPNet{
			IP:   k.Dst.Addr().AsSlice(),
			Mask: net.CIDRMask(k.Dst.Bits(), k.Dst.Addr().BitLen()),
		},
	}
	if r.Table == 0 {
		r.Table = unix.RT_TABLE_MAIN
	}
	if k.Metric == 0 && k.Dst.Addr().Is6() {
		r.Priority = metricIPv6
	}
	return r
}

func kernelRoute(h *netlink.Handle, k Key, v Route) (*netlink.Route, error) {
	if !valid(k.Dst) {
		return nil, fmt.Errorf("%s is no destination", k.Dst)
	}
	r := bare(k)
	r.Type = kernelType(v.Kind)
	r.MTU = v.MTU
	if v.Via.IsValid() {
		r.Gw = v.Via.AsSlice()
	}
	if v.Src.IsValid() {
		r.Src = v.Src.AsSlice()
	}
	if v.OnLink {
		r.Flags = int(netlink.FLAG_ONLINK)
	}
	if v.Kind != Unicast {
		return r, nil
	}
	l, err := h.LinkByName(v.Link)
	if err != nil {
		return nil, fmt.Errorf("device %q: %w", v.Link, err)
	}
	r.LinkIndex = l.Attrs().Index
	if !v.Via.IsValid() && k.Dst.Addr().Is4() {
		r.Scope = netlink.SCOPE_LINK
	}
	return r, nil
}

// valid says whether p is a destination: a prefix without host bits.
func valid(p netip.Prefix) bool { return p.IsValid() && p == p.Masked() }

func kernelType(k Kind) int {
	switch k {
	case Blackhole:
		return unix.RTN_BLACKHOLE
	case Unreachable:
		return unix.RTN_UNREACHABLE
	case Prohibit:
		return unix.RTN_PROHIBIT
	default:
		return unix.RTN_UNICAST
	}
}

func kindOf(t int) Kind {
	switch t {
	case unix.RTN_BLACKHOLE:
		return Blackhole
	case unix.RTN_UNREACHABLE:
		return Unreachable
	case unix.RTN_PROHIBIT:
		return Prohibit
	default:
		return Unicast
	}
}

func addrOf(ip net.IP) netip.Addr {
	if a, ok := netip.AddrFromSlice(ip); ok {
		return a.Unmap()
	}
	return netip.Addr{}
}

func zero(family int) netip.Addr {
	if family == netlink.FAMILY_V4 {
		return netip.IPv4Unspecified()
	}
	return netip.IPv6Unspecified()
}

func gone(err error) bool {
	return errors.Is(err, unix.ESRCH) || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENODEV)
}

var _ reconcile.Driver[Key, Route] = (*Driver)(nil)
