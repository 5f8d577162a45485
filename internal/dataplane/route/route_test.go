package route_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"isospin/internal/dataplane/netns"
	"isospin/internal/dataplane/route"
	"isospin/internal/reconcile"
	"isospin/internal/reconcile/reconciletest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// spaces makes namespaces of the test's own, each with devices d0 and d1 and addresses, and returns their common prefix.
func spaces(t *testing.T, names ...string) string {
	t.Helper()
	p := fmt.Sprintf("r%d-%d-", os.Getpid(), time.Now().UnixNano()%1e6)
	t.Cleanup(func() {
		names, err := netns.List(netns.Prefixes(p))
		for _, n := range names {
			err = errors.Join(err, netns.Delete(n))
		}
		if err != nil {
			t.Errorf("cleaning up: %v", err)
		}
	})
	for _, n := range names {
		if err := netns.Create(p + n); err != nil {
			t.Fatal(err)
		}
		for _, args := range []string{"link add d0 type veth peer name d1", "link set d0 up", "link set d1 up",
			"addr add 192.0.2.1/24 dev d0", "addr add 2001:db8::1/64 dev d0 nodad", "addr add 203.0.113.1/24 dev d1"} {
			ip(t, append([]string{"-n", p + n}, strings.Fields(args)...)...)
		}
	}
	return p
}

func ip(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("ip", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("ip %v: %v: %s", args, err, out)
	}
	return string(out)
}

func key(ns, dst string, table, metric int) route.Key {
	return route.Key{NS: ns, Dst: netip.MustParsePrefix(dst), Table: table, Metric: metric}
}

func via(gw, link string) route.Route {
	return route.Route{Via: netip.MustParseAddr(gw), Link: link}
}

func TestRoutesConform(t *testing.T) {
	p := spaces(t, "qr-1", "qr-2", "other")
	one, two, other := p+"qr-1", p+"qr-2", p+"other"
	ip(t, "-n", one, "route", "add", "198.51.100.0/24", "via", "192.0.2.9") // the operator's
	ip(t, "-n", other, "route", "add", "198.51.100.0/24", "via", "192.0.2.9", "proto", "105")
	strangers := func() string {
		return ip(t, "-n", other, "route") + ip(t, "-n", one, "route", "show", "198.51.100.0/24") + ip(t, "-n", one, "route", "show", "proto", "kernel")
	}
	before := strangers()
	tuned := via("192.0.2.3", "d0")
	tuned.Src, tuned.MTU = netip.MustParseAddr("192.0.2.1"), 1400
	onlink := via("10.9.9.9", "d1")
	onlink.OnLink = true
	reconciletest.Run(t, reconciletest.Subject[route.Key, route.Route]{
		New: func(t *testing.T) reconciletest.World[route.Key, route.Route] {
			return reconciletest.World[route.Key, route.Route]{
				Open: func() reconcile.Driver[route.Key, route.Route] { return route.NewDriver(netns.Prefixes(p + "qr-")) },
				Meddle: func(k route.Key) {
					family := "-4"
					if k.Dst.Addr().Is6() {
						family = "-6"
					}
					ip(t, family, "-n", k.NS, "route", "flush", "proto", "105", "table", "all")
				},
				Stranger: func() {
					if now := strangers(); now != before {
						t.Errorf("others' routes were %s and are %s", before, now)
					}
				},
			}
		},
		Equal: route.Equal,
		Objects: map[route.Key][]route.Route{
			key(one, "0.0.0.0/0", 0, 0):                                 {via("192.0.2.2", "d0"), tuned, onlink},
			key(one, "0.0.0.0/0", 0, 50):                                {via("203.0.113.2", "d1")},
			key(one, "0.0.0.0/0", 16, 0):                                {via("203.0.113.2", "d1")},
			key(one, "198.18.0.0/15", 0, 0):                             {{Link: "d1"}, {Kind: route.Unreachable}, {Kind: route.Blackhole}},
			key(one, "198.51.100.128/25", 0, 0):                         {via("192.0.2.2", "d0")},
			key(two, "::/0", 0, 0):                                      {via("2001:db8::2", "d0"), via("2001:db8::3", "d0")},
			key(two, "2001:db8:1::/48", 0, 0):                           {{Link: "d1"}, via("fe80::9", "d0")},
			key(two, "2001:db8:2::/48", 7, 10):                          {{Kind: route.Unreachable}},
			key(two, "2001:db8:3::77/128", 0, 0):                        {via("2001:db8::2", "d0")},
			key(two, "192.0.2.77/32", 0, 0):                             {{Link: "d1", Src: netip.MustParseAddr("203.0.113.1")}},
			{NS: two, Dst: netip.MustParsePrefix("::/0"), Metric: 2000}: {via("2001:db8::4", "d0")},
		},
		Bad: map[route.Key]route.Route{
			key(p+"qr-gone", "10.0.0.0/8", 0, 0): via("192.0.2.2", "d0"),
			key(one, "10.0.0.0/8", 0, 0):         via("172.16.0.1", "d0"),
			key(one, "10.1.0.0/16", 0, 0):        via("192.0.2.2", "gone"),
			key(one, "10.2.0.1/16", 0, 0):        via("192.0.2.2", "d0"),
			key(other, "10.3.0.0/16", 0, 0):      via("192.0.2.2", "d0"),
		},
		Sequences: 3,
	})
}

// TestAFlappingDeviceGetsItsRoutesBack drives the driver as the agent's loop does: the kernel drops the
// routes of a device that goes down, and the monitor tells.
func TestAFlappingDeviceGetsItsRoutesBack(t *testing.T) {
	p := spaces(t, "qr-1")
	ns := p + "qr-1"
	r := reconcile.New("routes", route.NewDriver(netns.Prefixes(p)), route.Equal,
		reconcile.WithReadBack(0), reconcile.WithBackoff(time.Millisecond, 10*time.Millisecond))
	r.SetInSync(true)
	r.Replace(reconcile.Owner{Feature: "test"}, map[route.Key]route.Route{
		key(ns, "0.0.0.0/0", 0, 0): via("192.0.2.2", "d0"), key(ns, "::/0", 0, 0): via("2001:db8::2", "d0"),
	})
	news := make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		err := netns.Monitor(ctx, netns.Prefixes(p), func(k netns.Kind) {
			if k&(netns.Routes|netns.Links|netns.Addresses|netns.Namespaces) != 0 {
				r.Invalidate("the kernel tells of a change")
				select {
				case news <- struct{}{}:
				default:
				}
			}
		})
		if err != nil {
			t.Errorf("monitor: %v", err)
		}
	})
	defer wg.Wait()
	defer cancel()
	settled := func(puts uint64) {
		t.Helper()
		deadline := time.NewTimer(5 * time.Second)
		defer deadline.Stop()
		for r.Stats().Puts < puts || len(r.Unsettled()) > 0 {
			err := r.Grow(t.Context()) // fails while the device is down
			after, pending := r.Retry()
			if !pending {
				after = time.Hour
			}
			again := time.NewTimer(after)
			select {
			case <-news:
			case <-again.C:
			case <-deadline.C:
				t.Fatalf("not settled: %v, %+v", err, r.Stats())
			}
			again.Stop()
		}
	}
	settled(2)
	ip(t, "-n", ns, "link", "set", "d0", "down")
	start := time.Now()
	ip(t, "-n", ns, "link", "set", "d0", "up")
	ip(t, "-n", ns, "addr", "add", "2001:db8::1/64", "dev", "d0", "nodad") // the kernel takes IPv6 addresses too
	settled(4)
	t.Logf("both are back %v after the device", time.Since(start))
	if s := r.Stats(); s.Drift < 2 {
		t.Errorf("stats: %+v", s)
	}
}
