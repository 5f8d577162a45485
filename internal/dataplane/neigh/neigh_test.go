package neigh_test

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"testing"
	"time"

	"isospin/internal/dataplane/bridge"
	"isospin/internal/dataplane/neigh"
	"isospin/internal/dataplane/netns"
	"isospin/internal/reconcile"
	"isospin/internal/reconcile/reconciletest"

	"go.uber.org/goleak"
)

const tag = "neigh-test"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func ip(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("ip", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("ip %v: %v: %s", args, err, out)
	}
	return string(out)
}

func TestNeighboursConform(t *testing.T) {
	ns := fmt.Sprintf("n%d-%d", os.Getpid(), time.Now().UnixNano()%1e9)
	if err := netns.Create(ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := netns.Delete(ns); err != nil {
			t.Errorf("cleaning up: %v", err)
		}
	})
	if err := bridge.New(ns, tag).Put(t.Context(), map[string]bridge.Bridge{"brq-1": {}, "brq-2": {}}); err != nil {
		t.Fatal(err)
	}
	// A bridge of ours has IPv6 off, and then the kernel takes no neighbours of that.
	ip(t, "netns", "exec", ns, "sysctl", "-qw", "net.ipv6.conf.brq-2.disable_ipv6=0")
	ip(t, "-n", ns, "link", "add", "theirs", "type", "bridge")
	ip(t, "-n", ns, "neigh", "add", "192.0.2.1", "lladdr", "fa:16:3e:00:00:01", "dev", "theirs", "nud", "permanent")
	ip(t, "-n", ns, "neigh", "add", "192.0.2.99", "lladdr", "fa:16:3e:00:00:01", "dev", "brq-1", "nud", "stale")
	strangers := func() string { return ip(t, "-n", ns, "neigh", "show", "dev", "theirs") }
	before := strangers()
	key := func(device, addr string) neigh.Key { return neigh.Key{Device: device, IP: netip.MustParseAddr(addr)} }
	a, b := neigh.Neighbour{MAC: "fa:16:3e:00:00:0a"}, neigh.Neighbour{MAC: "fa:16:3e:00:00:0b"}
	reconciletest.Run(t, reconciletest.Subject[neigh.Key, neigh.Neighbour]{
		New: func(t *testing.T) reconciletest.World[neigh.Key, neigh.Neighbour] {
			return reconciletest.World[neigh.Key, neigh.Neighbour]{
				Open: func() reconcile.Driver[neigh.Key, neigh.Neighbour] { return neigh.New(ns, tag) },
				Meddle: func(k neigh.Key) {
					if k.IP.Is4() {
						ip(t, "-n", ns, "neigh", "del", k.IP.String(), "dev", k.Device)
					} else {
						ip(t, "-n", ns, "neigh", "replace", k.IP.String(), "dev", k.Device, "lladdr", "fa:16:3e:00:00:99", "nud", "permanent")
					}
				},
				Stranger: func() {
					if now := strangers(); now != before {
						t.Errorf("others' neighbours were %s and are %s", before, now)
					}
				},
			}
		},
		Equal: neigh.Equal,
		Objects: map[neigh.Key][]neigh.Neighbour{
			key("brq-1", "192.0.2.1"): {a, b}, key("brq-2", "2001:db8::1"): {a, b}, key("brq-2", "192.0.2.1"): {b}, key("brq-2", "fe80::1"): {a},
		},
		Bad: map[neigh.Key]neigh.Neighbour{
			key("theirs", "192.0.2.5"): a, key("gone", "192.0.2.5"): a, key("brq-1", "192.0.2.5"): {MAC: "none"}, key("brq-1", "2001:db8::5"): a,
		},
		Sequences: 3,
	})
}
