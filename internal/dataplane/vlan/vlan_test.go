//go:build vm

package vlan_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"isospin/internal/dataplane/netns"
	"isospin/internal/dataplane/vlan"
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

func TestVLANsConform(t *testing.T) {
	ns := fmt.Sprintf("v%d-%d", os.Getpid(), time.Now().UnixNano()%1e9)
	if err := netns.Create(ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := netns.Delete(ns); err != nil {
			t.Errorf("cleaning up: %v", err)
		}
	})
	for _, p := range []string{"eth0", "eth1"} {
		ip(t, "-n", ns, "link", "add", p, "type", "veth", "peer", "name", "x"+p)
		ip(t, "-n", ns, "link", "set", p, "up")
	}
	ip(t, "-n", ns, "link", "add", "br-ext", "type", "bridge")
	ip(t, "-n", ns, "link", "set", "br-ext", "up")
	ip(t, "-n", ns, "link", "add", "link", "eth0", "eth0.77", "type", "vlan", "id", "77")
	strangers := func() string { return ip(t, "-n", ns, "-o", "-d", "link", "show", "eth0.77") }
	before := strangers()
	reconciletest.Run(t, reconciletest.Subject[string, vlan.Device]{
		New: func(t *testing.T) reconciletest.World[string, vlan.Device] {
			return reconciletest.World[string, vlan.Device]{
				Open: func() reconcile.Driver[string, vlan.Device] { return vlan.New(ns, "vlan-test") },
				Meddle: func(name string) {
					switch name {
					case "eth0.5":
						ip(t, "-n", ns, "link", "del", name)
					case "eth0.6":
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
		Equal: vlan.Equal,
		Objects: map[string][]vlan.Device{
			"eth0.5":    {{Parent: "eth0", ID: 5, MTU: 1450}, {Parent: "eth1", ID: 5, MTU: 1400}, {Parent: "eth1", ID: 9, MTU: 1400}},
			"eth0.6":    {{Parent: "eth0", ID: 6}},
			"br-ext.11": {{Parent: "br-ext", ID: 11, MTU: 1500}},
		},
		Bad: map[string]vlan.Device{
			"eth0.77":  {Parent: "eth0", ID: 77},
			"eth0.78":  {Parent: "eth0", ID: 77},
			"gone.5":   {Parent: "gone", ID: 5},
			"eth0.100": {Parent: "eth0", ID: 4095},
			"eth0.101": {Parent: "eth0", ID: 101, MTU: 9000}, // more than its parent's
		},
		Sequences: 3,
	})
}
