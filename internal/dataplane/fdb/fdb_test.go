package fdb_test

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"isospin/internal/dataplane/bridge"
	"isospin/internal/dataplane/fdb"
	"isospin/internal/dataplane/netns"
	"isospin/internal/dataplane/vxlan"
	"isospin/internal/reconcile"
	"isospin/internal/reconcile/reconciletest"

	"go.uber.org/goleak"
)

const tag = "fdb-test"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// space makes a namespace of the test's own with the devices vxlan-1 and vxlan-2, ours, in bridges, and theirs, vxlan-9.
func space(t testing.TB) string {
	t.Helper()
	ns := fmt.Sprintf("f%d-%d", os.Getpid(), time.Now().UnixNano()%1e9)
	if err := netns.Create(ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := netns.Delete(ns); err != nil {
			t.Errorf("cleaning up: %v", err)
		}
	})
	local := netip.MustParseAddr("10.0.0.1")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ip(t, "-n", ns, "addr", "add", "10.0.0.1/24", "dev", "lo")
	must(bridge.New(ns, tag).Put(t.Context(), map[string]bridge.Bridge{"brq-1": {NoTags: true}, "brq-2": {}}))
	must(vxlan.New(ns, tag).Put(t.Context(), map[string]vxlan.Device{
		"vxlan-1": {VNI: 1, Local: local, Port: 4789}, "vxlan-2": {VNI: 2, Local: local, Port: 4789}, "vxlan-3": {VNI: 3, Local: local, Port: 4789}}))
	own := func(string, string) bool { return true }
	must(bridge.NewMembers(ns, own).Put(t.Context(), map[string]bridge.Member{"vxlan-1": {Bridge: "brq-1"}, "vxlan-2": {Bridge: "brq-2"}}))
	ip(t, "-n", ns, "link", "add", "vxlan-9", "type", "vxlan", "id", "9", "dstport", "4789", "local", "10.0.0.1", "nolearning")
	run(t, "bridge", "-n", ns, "fdb", "add", "fa:16:3e:00:00:01", "dev", "vxlan-9", "dst", "10.0.0.2")
	return ns
}

func ip(t testing.TB, args ...string) string { return run(t, append([]string{"ip"}, args...)...) }

func run(t testing.TB, args ...string) string {
	t.Helper()
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v: %s", args, err, out)
	}
	return string(out)
}

func to(s string) fdb.Entry { return fdb.Entry{To: netip.MustParseAddr(s)} }

func flood(device, s string) fdb.Key { return fdb.Key{Device: device, To: netip.MustParseAddr(s)} }

func TestEntriesConform(t *testing.T) {
	ns := space(t)
	strangers := func() string { return run(t, "bridge", "-n", ns, "fdb", "show", "dev", "vxlan-9") }
	before := strangers()
	mac := func(device string, n int) fdb.Key {
		return fdb.Key{Device: device, MAC: fmt.Sprintf("fa:16:3e:00:00:%02x", n)}
	}
	reconciletest.Run(t, reconciletest.Subject[fdb.Key, fdb.Entry]{
		New: func(t *testing.T) reconciletest.World[fdb.Key, fdb.Entry] {
			return reconciletest.World[fdb.Key, fdb.Entry]{
				Open: func() reconcile.Driver[fdb.Key, fdb.Entry] { return fdb.New(ns, tag) },
				Meddle: func(k fdb.Key) {
					switch {
					case k.MAC == "":
						run(t, "bridge", "-n", ns, "fdb", "del", "00:00:00:00:00:00", "dev", k.Device, "dst", k.To.String())
					case k.MAC == mac("vxlan-1", 1).MAC && k.Device == "vxlan-1":
						run(t, "bridge", "-n", ns, "fdb", "replace", k.MAC, "dev", k.Device, "dst", "10.9.9.9", "self")
					case k.Device == "vxlan-1":
						run(t, "bridge", "-n", ns, "fdb", "del", k.MAC, "dev", k.Device, "master")
					default:
						run(t, "bridge", "-n", ns, "fdb", "del", k.MAC, "dev", k.Device, "self")
					}
				},
				Stranger: func() {
					if now := strangers(); now != before {
						t.Errorf("others' entries were %s and are %s", before, now)
					}
				},
			}
		},
		Equal: fdb.Equal,
		Objects: map[fdb.Key][]fdb.Entry{
			mac("vxlan-1", 1):            {to("10.0.0.2"), to("10.0.0.3")},
			mac("vxlan-1", 2):            {to("10.0.0.2")},
			mac("vxlan-2", 1):            {to("10.0.0.3"), to("10.0.0.4")},
			flood("vxlan-1", "10.0.0.2"): {to("10.0.0.2")},
			flood("vxlan-1", "10.0.0.3"): {to("10.0.0.3")},
			flood("vxlan-2", "10.0.0.2"): {to("10.0.0.2")},
		},
		Bad: map[fdb.Key]fdb.Entry{
			mac("vxlan-8", 1):                        to("10.0.0.2"),
			mac("vxlan-9", 5):                        to("10.0.0.2"), // a stranger's device
			mac("vxlan-3", 1):                        to("10.0.0.2"), // in no bridge
			{Device: "vxlan-1", MAC: "no address"}:   to("10.0.0.2"),
			flood("vxlan-1", "10.0.0.9"):             to("10.0.0.8"),
			{Device: "vxlan-2", MAC: mac("", 7).MAC}: to("2001:db8::1"), // the device speaks IPv4
		},
		Sequences: 3,
	})
}

// TestAGuestCannotMoveWhatIsElsewhere: a frame with another host's MAC address, from a guest here, leaves the bridge as it was; and a port
// that moves to another host never has no entry meanwhile.
func TestAGuestCannotMoveWhatIsElsewhere(t *testing.T) {
	ns := space(t)
	d := fdb.New(ns, tag)
	k := fdb.Key{Device: "vxlan-1", MAC: "fa:16:3e:00:00:07"}
	if err := d.Put(t.Context(), map[fdb.Key]fdb.Entry{k: to("10.0.0.2")}); err != nil {
		t.Fatal(err)
	}
	ip(t, "-n", ns, "link", "add", "tap1", "type", "veth", "peer", "name", "guest", "address", k.MAC)
	ip(t, "-n", ns, "link", "set", "tap1", "master", "brq-1", "up")
	ip(t, "-n", ns, "link", "set", "guest", "up")
	ip(t, "-n", ns, "addr", "add", "192.0.2.1/24", "dev", "guest")
	_ = exec.Command("ip", "netns", "exec", ns, "ping", "-c", "1", "-W", "0.1", "192.0.2.2").Run() // nobody answers
	if rx := ip(t, "-n", ns, "-s", "link", "show", "tap1"); strings.Contains(rx, " 0          0        0") && !strings.Contains(rx, "RX") {
		t.Fatalf("nothing was sent: %s", rx)
	}
	if have, err := d.List(t.Context()); err != nil || !fdb.Equal(to("10.0.0.2"), have[k]) {
		t.Errorf("after the guest spoke: %v, %v", have, err)
	}
	if err := d.Put(t.Context(), map[fdb.Key]fdb.Entry{k: to("10.0.0.3")}); err != nil {
		t.Fatal(err)
	}
	if out := run(t, "bridge", "-n", ns, "fdb", "show", "dev", "vxlan-1"); !strings.Contains(out, k.MAC+" dst 10.0.0.3") || strings.Contains(out, "10.0.0.2") {
		t.Errorf("after the move: %s", out)
	}
}

func BenchmarkPutOf5000(b *testing.B) {
	ns := space(b)
	d := fdb.New(ns, tag)
	batch := map[fdb.Key]fdb.Entry{}
	for i := range 5000 {
		batch[fdb.Key{Device: "vxlan-1", MAC: fmt.Sprintf("fa:16:3e:01:%02x:%02x", i/256, i%256)}] = to("10.0.0.2")
	}
	for b.Loop() {
		if err := d.Put(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
	start := time.Now()
	if have, err := d.List(b.Context()); err != nil || len(have) != 5000 {
		b.Fatalf("%d entries, %v", len(have), err)
	}
	b.Logf("read back in %s", time.Since(start))
}
