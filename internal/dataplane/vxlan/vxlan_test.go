package vxlan_test

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"testing"
	"time"

	"isospin/internal/dataplane/netns"
	"isospin/internal/dataplane/vxlan"
	"isospin/internal/reconcile"
	"isospin/internal/reconcile/reconciletest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func ip(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("ip", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("ip %v: %v: %s", args, err, out)
	}
	return string(out)
}

func TestVXLANsConform(t *testing.T) {
	ns := fmt.Sprintf("x%d-%d", os.Getpid(), time.Now().UnixNano()%1e9)
	if err := netns.Create(ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := netns.Delete(ns); err != nil {
			t.Errorf("cleaning up: %v", err)
		}
	})
	ip(t, "-n", ns, "link", "add", "vxlan-77", "type", "vxlan", "id", "77", "dstport", "4789", "local", "192.0.2.1")
	ip(t, "-n", ns, "addr", "add", "192.0.2.1/24", "dev", "lo")
	ip(t, "-n", ns, "addr", "add", "2001:db8::1/64", "dev", "lo", "nodad")
	strangers := func() string { return ip(t, "-n", ns, "-o", "-d", "link", "show", "vxlan-77") }
	before := strangers()
	one, six := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")
	reconciletest.Run(t, reconciletest.Subject[string, vxlan.Device]{
		New: func(t *testing.T) reconciletest.World[string, vxlan.Device] {
			return reconciletest.World[string, vxlan.Device]{
				Open: func() reconcile.Driver[string, vxlan.Device] { return vxlan.New(ns, "vxlan-test") },
				Meddle: func(name string) {
					switch name {
					case "vxlan-1":
						ip(t, "-n", ns, "link", "del", name)
					case "vxlan-2":
						ip(t, "-n", ns, "link", "set", name, "down")
					default:
						ip(t, "-n", ns, "link", "set", name, "mtu", "1200")
					}
				},
				Stranger: func() {
					if now := strangers(); now != before {
						t.Errorf("the other's device was %s and is %s", before, now)
					}
				},
			}
		},
		Equal: vxlan.Equal,
		Objects: map[string][]vxlan.Device{
			"vxlan-1":        {{VNI: 1, Local: one, Port: 4789, MTU: 1450}, {VNI: 1, Local: six, Port: 4789, MTU: 1430}, {VNI: 1, Local: one, Port: 8472, TTL: 64, TOS: 1, MTU: 1450}},
			"vxlan-2":        {{VNI: 2, Local: one, Port: 4789}, {VNI: 3, Local: one, Port: 4789}},
			"vxlan-16777215": {{VNI: 16777215, Local: one, Port: 4789, MTU: 1400}},
		},
		Bad: map[string]vxlan.Device{
			"vxlan-77": {VNI: 77, Local: one, Port: 4789},
			"vxlan-78": {VNI: 77, Local: one, Port: 4789}, // a stranger's VNI
			"lo":       {VNI: 5, Local: one, Port: 4789},
			"vxlan-5":  {VNI: 5, Local: netip.MustParseAddr("192.0.2.99"), Port: 4789}, // nobody's address
		},
		Sequences: 3,
	})
}
