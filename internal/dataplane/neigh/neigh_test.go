package neigh_test

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"sync"
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

// TestFollow: what somebody fixed or took away is told, and what was learned is not.
func TestFollow(t *testing.T) {
	ns := fmt.Sprintf("nf%d-%d", os.Getpid(), time.Now().UnixNano()%1e9)
	if err := netns.Create(ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := netns.Delete(ns); err != nil {
			t.Errorf("cleaning up: %v", err)
		}
	})
	ip(t, "-n", ns, "link", "add", "br0", "type", "bridge")
	ip(t, "-n", ns, "link", "add", "vxlan-1", "type", "vxlan", "id", "1", "dstport", "4789", "local", "10.0.0.1", "nolearning")
	ip(t, "-n", ns, "link", "set", "vxlan-1", "master", "br0", "up")
	ip(t, "-n", ns, "link", "set", "br0", "up")
	seen := make(chan neigh.Change, 100)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := neigh.Follow(ctx, ns, func(c neigh.Change) { seen <- c }); err != nil {
			t.Errorf("follow: %v", err)
		}
	})
	defer wg.Wait()
	defer cancel()
	var last neigh.Change
	await := func(what string, want neigh.Change) {
		t.Helper()
		late := time.After(5 * time.Second)
		for {
			select {
			case got := <-seen:
				if got == last && got != want {
					continue // some kernels tell of a removed copy of floods twice
				}
				if last = want; got != want {
					t.Errorf("%s: told %b, want %b", what, got, want)
				}
				return
			case <-late:
				t.Fatalf("%s: not told", what)
			}
		}
	}
	await("the start", neigh.Everything)
	for _, s := range []struct {
		want neigh.Change // 0: nothing is told
		args []string
	}{
		{neigh.Neighbours, []string{"ip", "-n", ns, "neigh", "add", "192.0.2.1", "lladdr", "fa:16:3e:00:00:01", "dev", "br0", "nud", "permanent"}},
		{0, []string{"ip", "-n", ns, "neigh", "add", "192.0.2.2", "lladdr", "fa:16:3e:00:00:01", "dev", "br0", "nud", "stale"}},
		{neigh.Forwarding, []string{"bridge", "-n", ns, "fdb", "append", "00:00:00:00:00:00", "dev", "vxlan-1", "dst", "10.0.0.2"}},
		{0, []string{"bridge", "-n", ns, "fdb", "add", "fa:16:3e:00:00:03", "dev", "vxlan-1", "master", "dynamic"}},
		{neigh.Forwarding, []string{"bridge", "-n", ns, "fdb", "add", "fa:16:3e:00:00:01", "dev", "vxlan-1", "master", "static", "sticky"}},
		{neigh.Forwarding, []string{"bridge", "-n", ns, "fdb", "del", "fa:16:3e:00:00:01", "dev", "vxlan-1", "master"}},
		{neigh.Forwarding, []string{"bridge", "-n", ns, "fdb", "del", "00:00:00:00:00:00", "dev", "vxlan-1", "dst", "10.0.0.2"}},
		{neigh.Neighbours, []string{"ip", "-n", ns, "neigh", "del", "192.0.2.1", "dev", "br0"}},
	} {
		if out, err := exec.Command(s.args[0], s.args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", s.args, err, out)
		}
		if s.want != 0 {
			await(fmt.Sprint(s.args), s.want)
		}
	}
}
