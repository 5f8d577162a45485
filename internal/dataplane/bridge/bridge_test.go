package bridge_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"isospin/internal/dataplane/bridge"
	"isospin/internal/dataplane/netns"
	"isospin/internal/reconcile"
	"isospin/internal/reconcile/reconciletest"

	"go.uber.org/goleak"
)

const tag = "bridge-test"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// space makes a namespace of the test's own.
func space(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("b%d-%d", os.Getpid(), time.Now().UnixNano()%1e9)
	if err := netns.Create(name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := netns.Delete(name); err != nil {
			t.Errorf("cleaning up: %v", err)
		}
	})
	return name
}

func ip(t testing.TB, args ...string) string {
	t.Helper()
	out, err := exec.Command("ip", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("ip %v: %v: %s", args, err, out)
	}
	return string(out)
}

func TestBridgesConform(t *testing.T) {
	ns := space(t)
	ip(t, "-n", ns, "link", "add", "theirs", "type", "bridge", "forward_delay", "200")
	ip(t, "-n", ns, "link", "set", "theirs", "group", "7")
	ip(t, "-n", ns, "link", "add", "brq-veth", "type", "veth", "peer", "name", "other")
	strangers := func() string { return ip(t, "-n", ns, "-o", "-d", "link", "show", "theirs") }
	before := strangers()
	reconciletest.Run(t, reconciletest.Subject[string, bridge.Bridge]{
		New: func(t *testing.T) reconciletest.World[string, bridge.Bridge] {
			return reconciletest.World[string, bridge.Bridge]{
				Open: func() reconcile.Driver[string, bridge.Bridge] { return bridge.New(ns, tag) },
				Meddle: func(name string) {
					switch name {
					case "brq-1":
						ip(t, "-n", ns, "link", "del", name)
					case "brq-2":
						ip(t, "-n", ns, "link", "set", name, "type", "bridge", "stp_state", "1")
					case "brq-3":
						ip(t, "-n", ns, "link", "set", name, "type", "bridge", "mcast_snooping", "1", "forward_delay", "900")
					default:
						ip(t, "-n", ns, "link", "set", name, "down")
					}
				},
				Stranger: func() {
					if now := strangers(); now != before {
						t.Errorf("the other's bridge was %s and is %s", before, now)
					}
				},
			}
		},
		Equal: bridge.Equal,
		Objects: map[string][]bridge.Bridge{
			"brq-1": {{MTU: 1450}, {MTU: 1400, NoTags: true}, {MTU: 9000}}, "brq-2": {{}, {NoTags: true}}, "brq-3": {{MTU: 1500, NoTags: true}}, "brq-4": {{}},
		},
		Bad: map[string]bridge.Bridge{
			"theirs": {}, "brq-veth": {}, "": {}, "much-too-long-for-a-device": {},
		},
		Sequences: 3,
	})
}

// TestNovasBridgeIsTakenOver: Nova may make a network's bridge, and put a guest into it, before the agent comes.
func TestNovasBridgeIsTakenOver(t *testing.T) {
	ns := space(t)
	ip(t, "-n", ns, "link", "add", "brq-1", "type", "bridge")
	ip(t, "-n", ns, "link", "add", "tap1", "type", "veth", "peer", "name", "guest")
	ip(t, "-n", ns, "link", "set", "tap1", "master", "brq-1")
	d := bridge.New(ns, tag)
	if have, err := d.List(t.Context()); err != nil || len(have) != 0 {
		t.Fatalf("before: %v, %v", have, err)
	}
	want := bridge.Bridge{MTU: 1450}
	if err := d.Put(t.Context(), map[string]bridge.Bridge{"brq-1": want}); err != nil {
		t.Fatal(err)
	}
	have, err := d.List(t.Context())
	if err != nil || !bridge.Equal(want, have["brq-1"]) {
		t.Errorf("after: %v, %v", have, err)
	}
	if out := ip(t, "-n", ns, "link", "show", "master", "brq-1"); !strings.Contains(out, "tap1") {
		t.Errorf("the guest's device is out of it: %s", out)
	}
	out, err := exec.Command("ip", "netns", "exec", ns, "cat", "/proc/sys/net/ipv6/conf/brq-1/disable_ipv6").CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "1" {
		t.Errorf("the host's own IPv6 is on: %s, %v", out, err)
	}
}

func own(device, in string) bool {
	return strings.HasPrefix(in, "brq-") && !strings.HasPrefix(device, "debug")
}

// veths makes devices in a namespace, each with another end there.
func veths(t testing.TB, ns string, names ...string) {
	t.Helper()
	for _, n := range names {
		ip(t, "-n", ns, "link", "add", n, "type", "veth", "peer", "name", "x"+n)
	}
}

func TestMembersConform(t *testing.T) {
	ns := space(t)
	for _, b := range []string{"brq-1", "brq-2", "theirs"} {
		ip(t, "-n", ns, "link", "add", b, "type", "bridge")
	}
	veths(t, ns, "tap1", "tap2", "tap3", "eth1", "eth2", "eth3", "debug", "guest")
	ip(t, "-n", ns, "link", "set", "debug", "master", "brq-1")
	ip(t, "-n", ns, "link", "set", "guest", "master", "theirs")
	ip(t, "-n", ns, "link", "set", "eth3", "master", "theirs")
	ip(t, "-n", ns, "addr", "add", "192.0.2.1/24", "dev", "eth2")
	strangers := func() string {
		return ip(t, "-n", ns, "-o", "link", "show", "debug") + ip(t, "-n", ns, "-o", "link", "show", "guest") + ip(t, "-n", ns, "-o", "link", "show", "eth3")
	}
	before := strangers()
	reconciletest.Run(t, reconciletest.Subject[string, bridge.Member]{
		New: func(t *testing.T) reconciletest.World[string, bridge.Member] {
			return reconciletest.World[string, bridge.Member]{
				Open: func() reconcile.Driver[string, bridge.Member] { return bridge.NewMembers(ns, own) },
				Meddle: func(name string) {
					switch name {
					case "tap1":
						ip(t, "-n", ns, "link", "set", name, "nomaster")
					case "tap2":
						ip(t, "-n", ns, "link", "set", name, "mtu", "600")
					case "tap3":
						ip(t, "-n", ns, "link", "set", name, "type", "bridge_slave", "isolated", "on")
					default:
						ip(t, "-n", ns, "link", "set", name, "type", "bridge_slave", "neigh_suppress", "on", "isolated", "off")
					}
				},
				Stranger: func() {
					if now := strangers(); now != before {
						t.Errorf("others' devices were %s and are %s", before, now)
					}
				},
			}
		},
		Equal: bridge.EqualMember,
		Objects: map[string][]bridge.Member{
			"tap1": {{Bridge: "brq-1", MTU: 1450}, {Bridge: "brq-2", MTU: 1400}, {Bridge: "brq-2", MTU: 1400, Down: true}},
			"tap2": {{Bridge: "brq-1", MTU: 1450, Isolated: true, Suppress: true}, {Bridge: "brq-1", MTU: 1450}},
			"tap3": {{Bridge: "brq-2", Down: true}, {Bridge: "brq-2"}},
			"eth1": {{Bridge: "brq-1", Uplink: true, Isolated: true}, {Bridge: "brq-2", Uplink: true, Isolated: true}},
		},
		Bad: map[string]bridge.Member{
			"gone": {Bridge: "brq-1"}, "xtap1": {Bridge: "brq-gone"}, "xtap2": {Bridge: "theirs"}, "debug": {Bridge: "brq-2"},
			"eth2": {Bridge: "brq-1", Uplink: true}, "eth3": {Bridge: "brq-1", Uplink: true},
		},
		Sequences: 3,
	})
}

// TestUplinksAreRefusedWithReasons: what would cut the host off, or break a stranger's bridge, is not done, and said.
func TestUplinksAreRefusedWithReasons(t *testing.T) {
	ns := space(t)
	ip(t, "-n", ns, "link", "add", "brq-1", "type", "bridge")
	ip(t, "-n", ns, "link", "add", "theirs", "type", "bridge")
	veths(t, ns, "eth1", "eth2", "eth3")
	ip(t, "-n", ns, "addr", "add", "192.0.2.1/24", "dev", "eth1")
	ip(t, "-n", ns, "link", "set", "eth2", "master", "theirs")
	d := bridge.NewMembers(ns, own)
	for name, want := range map[string]error{"eth1": bridge.ErrAddresses, "eth2": bridge.ErrTaken, "eth3": nil} {
		err := d.Put(t.Context(), map[string]bridge.Member{name: {Bridge: "brq-1", Uplink: true, Isolated: true}})
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	if have, err := d.List(t.Context()); err != nil || len(have) != 1 || !have["eth3"].Isolated {
		t.Errorf("in bridges: %v, %v", have, err)
	}
}

// TestFollow: what comes, goes, is renamed, or is made again under its name is told; what joins a bridge is not.
func TestFollow(t *testing.T) {
	ns := space(t)
	veths(t, ns, "tap1")
	d := bridge.Follow(ns)
	if _, seen := d.Snapshot(); seen {
		t.Error("seen before it ran")
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := d.Run(ctx); err != nil {
			t.Errorf("run: %v", err)
		}
	})
	defer wg.Wait()
	defer cancel()
	await := func(what string, ok func(now map[string]int) bool) map[string]int {
		t.Helper()
		limit := time.NewTimer(5 * time.Second)
		defer limit.Stop()
		for {
			now, seen := d.Snapshot()
			if seen && ok(now) {
				return now
			}
			select {
			case <-d.Changed():
			case <-limit.C:
				t.Fatalf("%s was not seen: %v", what, now)
			}
		}
	}
	has := func(names ...string) func(map[string]int) bool {
		return func(now map[string]int) bool {
			return !slices.ContainsFunc(names, func(n string) bool { return now[n] == 0 })
		}
	}
	first := await("what was there", has("lo", "tap1", "xtap1"))["tap1"]
	veths(t, ns, "tap2")
	await("a new device", has("tap2", "xtap2"))
	ip(t, "-n", ns, "link", "set", "tap2", "name", "tap3")
	await("another name", func(now map[string]int) bool { return now["tap3"] != 0 && now["tap2"] == 0 })
	ip(t, "-n", ns, "link", "del", "tap1")
	veths(t, ns, "tap1")
	await("a device made again", func(now map[string]int) bool { return now["tap1"] != 0 && now["tap1"] != first })
	ip(t, "-n", ns, "link", "add", "brq-1", "type", "bridge")
	ip(t, "-n", ns, "link", "set", "tap3", "master", "brq-1")
	ip(t, "-n", ns, "link", "set", "tap3", "nomaster")
	ip(t, "-n", ns, "link", "del", "brq-1")
	veths(t, ns, "last")
	if now := await("the last one", has("last")); now["tap3"] == 0 || now["brq-1"] != 0 {
		t.Errorf("in the end: %v", now)
	}
	ip(t, "-n", ns, "link", "del", "last")
	await("the end of it", func(now map[string]int) bool { return now["last"] == 0 && now["xlast"] == 0 })
}
