package openflow

import (
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"time"

	"isospin/internal/dataplane/vswitch/ovstest"
)

// host is a namespace whose eth0 is port 10 of the bridge.
type host struct{ ns string }

func plug(t *testing.T, o *ovstest.OVS, br string) host {
	t.Helper()
	h := host{o.NetNS + "-h"}
	ip(t, "netns", "add", h.ns)
	t.Cleanup(func() { ip(t, "netns", "delete", h.ns) })
	ip(t, "link", "add", "veth-h", "netns", o.NetNS, "type", "veth", "peer", "name", "eth0", "netns", h.ns)
	ip(t, "-n", o.NetNS, "link", "set", "veth-h", "up")
	ip(t, "-n", h.ns, "link", "set", "eth0", "up")
	o.Vsctl("add-port", br, "veth-h", "--", "set", "interface", "veth-h", "ofport_request=10")
	return h
}

func ip(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("ip", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestSwitchResponds has a real kernel ask for addresses that only flows know.
func TestSwitchResponds(t *testing.T) {
	o, br := bridge(t)
	h := plug(t, o, br)
	v4, v6, dup := netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("2001:db8::7"), netip.MustParseAddr("2001:db8::8")
	m := mac("fa:16:3e:00:00:07")
	const advert, back = 9, 8
	d := NewFlows(NewOfctl(o.RunDir, br), TagOf("respond"))
	at := func(priority uint16, match Match, as []Action) Flow {
		return Flow{Table: 0, Priority: priority, Match: match.With(InPort.Is(10)), Actions: as}
	}
	err := d.Put(t.Context(), d.Tag().Want(
		at(10, ARPRequest(v4), ARPReply(m, v4, back)),
		at(10, NDSolicit(v6), NDReply(m, v6, NDOverride, advert)),
		at(11, NDProbe(dup), NDProbeReply(m, dup, NDOverride, advert)),
		NDAdvert(advert, back),
		Flow{Table: back, Actions: Do(InPort.Set(PortNone), Output(10))}))
	if err != nil {
		t.Fatal(err)
	}
	ip(t, "-n", h.ns, "addr", "add", "192.0.2.1/24", "dev", "eth0")
	ip(t, "-n", h.ns, "addr", "add", "2001:db8::1/64", "dev", "eth0", "nodad")
	for _, target := range []string{"192.0.2.7", "2001:db8::7"} {
		// Nobody answers the ping itself; what counts is the neighbour entry.
		_ = exec.Command("ip", "netns", "exec", h.ns, "ping", "-c1", "-W1", target).Run()
		if got := ip(t, "-n", h.ns, "neigh", "show", "to", target); !strings.Contains(got, m.String()) {
			t.Errorf("the neighbour entry of %s is %q", target, got)
		}
	}
	events := exec.Command("ip", "-n", h.ns, "-o", "monitor", "address")
	out, err := events.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := events.Start(); err != nil {
		t.Fatal(err)
	}
	found := make(chan bool, 1)
	go func() {
		buf, all := make([]byte, 4096), ""
		for {
			n, err := out.Read(buf)
			all += string(buf[:n])
			if strings.Contains(all, "dadfailed") || err != nil {
				found <- err == nil
				return
			}
		}
	}()
	ip(t, "-n", h.ns, "addr", "add", dup.String()+"/64", "dev", "eth0")
	select {
	case ok := <-found:
		if !ok {
			t.Error("the watch of addresses ended")
		}
	case <-time.After(5 * time.Second):
		t.Errorf("the kernel did not find its address taken: %s", ip(t, "-n", h.ns, "-6", "addr"))
	}
	_ = events.Process.Kill()
	_ = events.Wait()
}
