// Package conntrack forgets the connections of addresses that left a host. The kernel would judge what comes back by what it saw last: a guest that moved away
// and returns has its open connections taken for invalid. Features fill its driver's target with the addresses that are here; the host's agent runs
// it as a stage. It makes no connection and touches none in zones that nobody named.
package conntrack

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"sync"

	"isospin/internal/dataplane/netns"
	"isospin/internal/reconcile"

	"github.com/vishvananda/netlink"
)

// Key is an address that is here, in a zone.
type Key struct {
	Zone uint16
	Addr netip.Addr
}

// String tells the key in logs.
func (k Key) String() string { return fmt.Sprintf("%s in zone %d", k.Addr, k.Zone) }

// Here is all that there is to an address that is here.
type Here struct{}

// Equal says that there is one kind of here.
func Equal(_, _ Here) bool { return true }

// Driver is the driver of addresses. What is there is what it was told since it was made: the kernel holds connections, not addresses, and which of a
// connection's two ends was here nobody can tell from it. An agent that was away while a port left does not know of it.
type Driver struct {
	ns string

	mu   sync.Mutex
	here map[Key]Here
}

// New makes the driver for a namespace ("" is the host's).
func New(ns string) *Driver { return &Driver{ns: ns, here: map[Key]Here{}} }

// List implements reconcile.Driver.
func (d *Driver) List(context.Context) (map[Key]Here, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.here), nil
}

// Put implements reconcile.Driver. It asks the kernel for nothing.
func (d *Driver) Put(_ context.Context, batch map[Key]Here) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.Copy(d.here, batch)
	return nil
}

// Drop implements reconcile.Driver: the connections of all the addresses end, each family in one walk over the kernel's table.
func (d *Driver) Drop(ctx context.Context, batch map[Key]Here) error {
	err := netns.Do(ctx, d.ns, func(context.Context) error {
		for _, f := range []struct {
			family netlink.InetFamily
			v6     bool
		}{{netlink.FAMILY_V4, false}, {netlink.FAMILY_V6, true}} {
			gone := leaving{}
			for k := range batch {
				if k.Addr.Is6() == f.v6 {
					gone[k] = true
				}
			}
			if len(gone) == 0 {
				continue
			}
			if _, err := netlink.ConntrackDeleteFilters(netlink.ConntrackTable, f.family, gone); err != nil {
				return fmt.Errorf("ending connections: %w", err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for k := range batch {
		delete(d.here, k)
	}
	return nil
}

// leaving are addresses that leave.
type leaving map[Key]bool

// MatchConntrackFlow implements netlink.CustomConntrackFilter: either end of the connection, as it began, is one of them.
func (l leaving) MatchConntrackFlow(f *netlink.ConntrackFlow) bool {
	for _, end := range []net.IP{f.Forward.SrcIP, f.Forward.DstIP} {
		if a, ok := netip.AddrFromSlice(end); ok && l[Key{Zone: f.Zone, Addr: a.Unmap()}] {
			return true
		}
	}
	return false
}

var _ reconcile.Driver[Key, Here] = (*Driver)(nil)
