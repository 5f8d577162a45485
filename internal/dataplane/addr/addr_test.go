package addr_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"isospin/internal/dataplane/addr"
	"isospin/internal/dataplane/netns"
	"isospin/internal/reconcile"
	"isospin/internal/reconcile/reconciletest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// spaces makes namespaces of the test's own, each with devices d0 and d1, and returns their common prefix.
func spaces(t *testing.T, names ...string) string {
	t.Helper()
	p := fmt.Sprintf("a%d-%d-", os.Getpid(), time.Now().UnixNano()%1e6)
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
		ip(t, "-n", p+n, "link", "add", "d0", "type", "veth", "peer", "name", "d1")
		ip(t, "-n", p+n, "link", "set", "d0", "up")
		ip(t, "-n", p+n, "link", "set", "d1", "up")
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

func key(ns, link, prefix string) addr.Key {
	return addr.Key{NS: ns, Link: link, Prefix: netip.MustParsePrefix(prefix)}
}

func TestAddressesConform(t *testing.T) {
	p := spaces(t, "qr-1", "qr-2", "other")
	one, two, other := p+"qr-1", p+"qr-2", p+"other"
	ip(t, "-n", other, "addr", "add", "192.0.2.77/24", "dev", "d0")
	ip(t, "-n", one, "addr", "add", "169.254.0.9/24", "dev", "d1") // as keepalived would
	strangers := func() string {
		return ip(t, "-n", other, "-o", "-4", "addr") + ip(t, "-n", one, "-o", "addr", "show", "to", "169.254.0.9")
	}
	before := strangers()
	foreign := func(k addr.Key) bool { return k.Prefix.Addr() == netip.MustParseAddr("169.254.0.9") }
	plain, both := []addr.Addr{{}}, []addr.Addr{{NoDAD: true}, {}, {NoDAD: true, NoPrefixRoute: true}}
	reconciletest.Run(t, reconciletest.Subject[addr.Key, addr.Addr]{
		New: func(t *testing.T) reconciletest.World[addr.Key, addr.Addr] {
			return reconciletest.World[addr.Key, addr.Addr]{
				Open:   func() reconcile.Driver[addr.Key, addr.Addr] { return addr.NewDriver(netns.Prefixes(p+"qr-"), foreign) },
				Meddle: func(k addr.Key) { ip(t, "-n", k.NS, "addr", "del", k.Prefix.String(), "dev", k.Link) },
				Stranger: func() {
					if now := strangers(); now != before {
						t.Errorf("others' addresses were %s and are %s", before, now)
					}
				},
			}
		},
		Equal: addr.Equal,
		Objects: map[addr.Key][]addr.Addr{
			key(one, "d0", "192.0.2.1/24"): {{}, {NoPrefixRoute: true}},
			// One prefix more than once: the kernel would take these with the first.
			key(one, "d0", "192.0.2.2/24"):      plain,
			key(one, "d0", "192.0.2.3/24"):      plain,
			key(one, "d1", "203.0.113.5/32"):    plain,
			key(one, "d1", "2001:db8::1/64"):    both,
			key(one, "d1", "fe80::a9fe:1/64"):   both,
			key(two, "d0", "192.0.2.1/24"):      plain,
			key(two, "lo", "2001:db8:1::1/128"): {{NoDAD: true}},
		},
		Bad: map[addr.Key]addr.Addr{
			key(p+"qr-gone", "d0", "192.0.2.1/24"): {},
			key(one, "gone", "192.0.2.9/24"):       {},
			key(other, "d0", "192.0.2.9/24"):       {},
			key(one, "d1", "ff02::1/64"):           {},
		},
		Sequences: 3,
	})
}

func TestWhatTheKernelGivesIsNotOurs(t *testing.T) {
	p := spaces(t, "qr-1")
	if out := ip(t, "-n", p+"qr-1", "-o", "addr"); !strings.Contains(out, "fe80::") || !strings.Contains(out, "127.0.0.1") {
		t.Fatalf("the kernel gave nothing: %s", out)
	}
	have, err := addr.NewDriver(netns.Prefixes(p), nil).List(t.Context())
	if err != nil || len(have) != 0 {
		t.Errorf("list: %v, %v", have, err)
	}
}
