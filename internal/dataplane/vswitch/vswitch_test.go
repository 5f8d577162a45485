package vswitch_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"isospin/internal/dataplane/vswitch"
	"isospin/internal/dataplane/vswitch/ovstest"
	"isospin/internal/ovsdb"
	"isospin/internal/reconcile"
	"isospin/internal/reconcile/reconciletest"

	"go.uber.org/goleak"
)

const owner = "agent-1"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// run runs f until the test ends, and waits for it.
func run(t *testing.T, f func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := f(ctx); err != nil {
			t.Errorf("run: %v", err)
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
}

func connect(t *testing.T, o *ovstest.OVS) *ovsdb.Client {
	t.Helper()
	c, err := ovsdb.New(o.DB, ovsdb.WithBackoff(time.Millisecond, 20*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	run(t, c.Run)
	if err := c.Ready(patient(t)); err != nil {
		t.Fatal(err)
	}
	return c
}

func patient(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestBridgesConform(t *testing.T) {
	o := ovstest.Start(t)
	c := connect(t, o)
	o.Vsctl("add-br", "br-ex", "--", "set", "Bridge", "br-ex", "datapath_type=netdev", "external_ids:k=v")
	o.Vsctl("add-br", "br-other", "--", "set", "Bridge", "br-other", "datapath_type=netdev", "external_ids:isospin-owner=agent-2")
	strangers := func() string {
		return o.Vsctl("--columns=name,datapath_type,fail_mode,protocols,external_ids", "list", "Bridge", "br-other") +
			o.Vsctl("get", "Bridge", "br-ex", "external_ids:k")
	}
	before := strangers()
	integration := vswitch.Integration("netdev")
	tuned := integration
	tuned.OtherConfig = map[string]string{"mac-table-size": "50000"}
	tuned.Protocols = []string{"OpenFlow13"}
	reconciletest.Run(t, reconciletest.Subject[string, vswitch.Bridge]{
		New: func(t *testing.T) reconciletest.World[string, vswitch.Bridge] {
			return reconciletest.World[string, vswitch.Bridge]{
				Open: func() reconcile.Driver[string, vswitch.Bridge] { return vswitch.NewBridges(c, owner) },
				Meddle: func(k string) {
					if k == "br-ex" {
						o.Vsctl("--no-wait", "set-fail-mode", k, "standalone")
						return
					}
					o.Vsctl("--no-wait", "set", "Bridge", k, "stp_enable=true", "protocols=[]")
				},
				Stranger: func() {
					if now := strangers(); now != before {
						t.Errorf("others' bridges were %s and are %s", before, now)
					}
				},
			}
		},
		Equal: vswitch.EqualBridge,
		Objects: map[string][]vswitch.Bridge{
			"br-int": {integration, tuned},
			"br-tun": {integration},
			"br-ex":  {{FailMode: "secure", Existing: true}, {Protocols: []string{"OpenFlow13"}, FailMode: "secure", Existing: true}},
		},
		Bad:       map[string]vswitch.Bridge{"br-gone": {Existing: true}},
		Sequences: 4,
	})
	if got := o.Vsctl("get", "Bridge", "br-ex", "external_ids"); got != "{k=v}" {
		t.Errorf("the operator's bridge still bears %s", got)
	}
}

func TestFakesConform(t *testing.T) {
	t.Run("Bridges", func(t *testing.T) {
		reconciletest.Run(t, reconciletest.Subject[string, vswitch.Bridge]{
			New: func(*testing.T) reconciletest.World[string, vswitch.Bridge] {
				m := vswitch.NewFakeBridges("br-ex")
				return reconciletest.World[string, vswitch.Bridge]{Open: func() reconcile.Driver[string, vswitch.Bridge] { return m }}
			},
			Equal:   vswitch.EqualBridge,
			Objects: map[string][]vswitch.Bridge{"br-int": {vswitch.Integration("netdev"), vswitch.Integration("system")}, "br-ex": {{Existing: true}}},
			Bad:     map[string]vswitch.Bridge{"br-gone": {Existing: true}},
		})
	})
	t.Run("Ports", func(t *testing.T) {
		reconciletest.Run(t, reconciletest.Subject[string, vswitch.Port]{
			New: func(*testing.T) reconciletest.World[string, vswitch.Port] {
				m := vswitch.NewFakePorts(func(bridge string) bool { return bridge == "br-int" })
				return reconciletest.World[string, vswitch.Port]{Open: func() reconcile.Driver[string, vswitch.Port] { return m }}
			},
			Equal: vswitch.EqualPort,
			Objects: map[string][]vswitch.Port{"a": {vswitch.Patch("br-int", "b"), vswitch.Patch("br-int", "c")},
				"d": {vswitch.System("br-int", nil)}},
			Bad: map[string]vswitch.Port{"e": vswitch.System("br-gone", nil)},
		})
	})
}

func TestPortsConform(t *testing.T) {
	o := ovstest.Start(t)
	c := connect(t, o)
	for _, br := range []string{"br-int", "br-tun"} {
		o.Vsctl("add-br", br, "--", "set", "Bridge", br, "datapath_type=netdev", "fail_mode=secure")
	}
	ns(t, o, "link", "add", "veth0", "type", "veth", "peer", "name", "veth1")
	o.Vsctl("add-port", "br-int", "nova", "--", "set", "Interface", "nova", "type=internal", "external_ids:iface-id=p9")
	strangers := func() string {
		return o.Vsctl("--columns=name,tag,external_ids", "list", "Port", "nova") + o.Vsctl("--columns=type,external_ids", "list", "Interface", "nova")
	}
	before := strangers()
	vx := vswitch.Tunnel{Kind: "vxlan", Local: netip.MustParseAddr("192.0.2.1"), DontFragment: true}
	moved := vx
	moved.Local, moved.Checksum, moved.UDPPort = netip.MustParseAddr("2001:db8::1"), true, 4790
	one := vswitch.Tunnel{Kind: "gre", Remote: netip.MustParseAddr("192.0.2.2"), TOS: "inherit"}
	tagged := vswitch.Internal("br-int", "fa:16:3e:00:00:02", 1450, map[string]string{"iface-id": "p1", "attached-mac": "fa:16:3e:00:00:02"})
	tagged.Tag, tagged.OFPort = 5, 100
	trunk := vswitch.System("br-int", map[string]string{"iface-id": "p2"})
	trunk.Trunks = []int{7, 3}
	reconciletest.Run(t, reconciletest.Subject[string, vswitch.Port]{
		New: func(t *testing.T) reconciletest.World[string, vswitch.Port] {
			return reconciletest.World[string, vswitch.Port]{
				Open: func() reconcile.Driver[string, vswitch.Port] { return vswitch.NewPorts(c, owner) },
				Meddle: func(k string) {
					if k == "veth0" {
						o.Vsctl("--no-wait", "del-port", k)
						return
					}
					o.Vsctl("--no-wait", "set", "Interface", k, "external_ids:iface-id=meddled", "--", "set", "Port", k, "tag=9")
				},
				Stranger: func() {
					if now := strangers(); now != before {
						t.Errorf("others' ports were %s and are %s", before, now)
					}
				},
			}
		},
		// A patch without its other end cannot be opened, which is another test's matter.
		Equal: func(want, have vswitch.Port) bool { have.Fault = ""; return vswitch.EqualPort(want, have) },
		Objects: map[string][]vswitch.Port{
			"patch-tun": {vswitch.Patch("br-int", "patch-int"), vswitch.Patch("br-tun", "patch-int")},
			"patch-int": {vswitch.Patch("br-tun", "patch-tun")},
			"vx":        {vx.Port("br-tun"), moved.Port("br-tun")},
			"gre-1":     {one.Port("br-tun"), vswitch.Tunnel{Kind: "geneve"}.Port("br-tun")},
			"tap1":      {tagged, vswitch.Internal("br-int", "fa:16:3e:00:00:03", 1400, nil)},
			"veth0":     {vswitch.System("br-int", nil), trunk},
		},
		Bad: map[string]vswitch.Port{
			"lost":   vswitch.System("br-gone", nil),
			"nova":   vswitch.System("br-int", nil),
			"br-int": vswitch.System("br-int", nil),
			"tag":    {Bridge: "br-int", Type: "internal", Tag: 5000},
		},
		Sequences: 4,
	})
}

func ns(t *testing.T, o *ovstest.OVS, args ...string) {
	t.Helper()
	if out, err := exec.Command("ip", append([]string{"-n", o.NetNS}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("ip %v: %v: %s", args, err, out)
	}
}

func TestRefusalsSayWhy(t *testing.T) {
	o := ovstest.Start(t)
	c := connect(t, o)
	o.Vsctl("add-br", "br0", "--", "set", "Bridge", "br0", "datapath_type=netdev")
	o.Vsctl("--no-wait", "add-port", "br0", "taken")
	err := vswitch.NewPorts(c, owner).Put(patient(t), map[string]vswitch.Port{
		"taken": vswitch.System("br0", nil), "lost": vswitch.System("br-gone", nil), "fine": vswitch.Internal("br0", "", 0, nil),
	})
	var each reconcile.Errors[string]
	if !errors.As(err, &each) || len(each) != 2 || !errors.Is(each["taken"], vswitch.ErrForeign) || !errors.Is(each["lost"], vswitch.ErrNoBridge) {
		t.Errorf("error: %v", err)
	}
	o.StopServer()
	if _, err := vswitch.NewPorts(c, owner).List(t.Context()); err == nil {
		t.Error("a list without a server")
	}
}

// TestAPortThatCannotBeOpened: the database has it, but it does not work; that is told until it does.
func TestAPortThatCannotBeOpened(t *testing.T) {
	o := ovstest.Start(t)
	c := connect(t, o)
	o.Vsctl("add-br", "br0", "--", "set", "Bridge", "br0", "datapath_type=netdev")
	d := vswitch.NewPorts(c, owner)
	tunnel := vswitch.Tunnel{Kind: "vxlan"}.Port("br0")
	// Another's tunnel has the same ends and keys already.
	o.Vsctl("add-port", "br0", "theirs", "--", "set", "Interface", "theirs", "type=vxlan", "options:key=flow", "options:remote_ip=flow")
	want := map[string]vswitch.Port{"vx": tunnel}
	if err := d.Put(patient(t), want); err != nil {
		t.Fatal(err)
	}
	list := func(what string, done func(fault string) bool) {
		t.Helper()
		for ctx := patient(t); ; {
			if err := d.Put(ctx, want); err != nil && !errors.Is(err, vswitch.ErrFault) {
				t.Fatal(err)
			}
			have, err := d.List(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if fault := have["vx"].Fault; done(fault) {
				if vswitch.EqualPort(tunnel, have["vx"]) != (fault == "") {
					t.Errorf("equal with fault %q", fault)
				}
				return
			}
			if ctx.Err() != nil {
				t.Fatalf("never %s: %+v", what, have["vx"])
			}
		}
	}
	list("told", func(fault string) bool { return strings.Contains(fault, "File exists") })
	if err := d.Put(patient(t), want); !errors.Is(err, vswitch.ErrFault) || !strings.Contains(err.Error(), "File exists") {
		t.Errorf("error: %v", err)
	}
	o.Vsctl("--no-wait", "del-port", "theirs")
	list("mended", func(fault string) bool { return fault == "" })
	if err := d.Put(patient(t), want); err != nil {
		t.Error(err)
	}
}

// TestMeddlingIsNoticed drives the driver as the agent's loop does: changes by others come by the monitor.
func TestMeddlingIsNoticed(t *testing.T) {
	o := ovstest.Start(t)
	c := connect(t, o)
	o.Vsctl("add-br", "br0", "--", "set", "Bridge", "br0", "datapath_type=netdev")
	d := vswitch.NewPorts(c, owner)
	r := reconcile.New("ports", d, vswitch.EqualPort, reconcile.WithReadBack(0))
	r.SetInSync(true)
	news := make(chan struct{}, 1)
	run(t, func(ctx context.Context) error {
		return d.Watch(ctx, func(reason string) {
			r.Invalidate(reason)
			select {
			case news <- struct{}{}:
			default:
			}
		})
	})
	want := map[string]vswitch.Port{}
	for i := range 50 {
		want[fmt.Sprint("p", i)] = vswitch.Internal("br0", "", 0, map[string]string{"iface-id": "here"})
	}
	r.Replace(reconcile.Owner{Feature: "test"}, want)
	round := func() {
		t.Helper()
		if err := errors.Join(r.Grow(patient(t)), r.Shrink(patient(t))); err != nil {
			t.Fatal(err)
		}
	}
	round()
	if s := r.Stats(); s.Puts != 50 || s.Drops != 0 {
		t.Fatalf("stats: %+v", s)
	}
	for _, meddle := range [][]string{
		{"--no-wait", "del-port", "p7"},
		{"--no-wait", "set", "Interface", "p8", "external_ids:iface-id=elsewhere"},
		{"--no-wait", "add-port", "br0", "stray", "--", "set", "Port", "stray", "external_ids:isospin-owner=" + owner},
	} {
		before := r.Stats().Drift
		o.Vsctl(meddle...)
		start := time.Now()
		for r.Stats().Drift == before {
			select {
			case <-news:
				round()
			case <-patient(t).Done():
				t.Fatalf("%v was not noticed", meddle)
			}
		}
		t.Logf("noticed and mended %v after the tool's end", time.Since(start))
	}
	if s := r.Stats(); s.Drift != 3 || s.Puts != 52 || s.Drops != 1 {
		t.Errorf("stats: %+v", s)
	}
	// The same wishes after a restart: nothing is written.
	r = reconcile.New("ports", vswitch.NewPorts(c, owner), vswitch.EqualPort)
	r.SetInSync(true)
	r.Replace(reconcile.Owner{Feature: "test"}, want)
	round()
	if s := r.Stats(); s.Puts+s.Drops != 0 || s.Actual != 50 {
		t.Errorf("after a restart: %+v", s)
	}
}

func TestInterfacesAreFollowed(t *testing.T) {
	o := ovstest.Start(t)
	c := connect(t, o)
	w := vswitch.NewInterfaces(c, "br-int")
	run(t, w.Run)
	if err := vswitch.NewBridges(c, owner).Put(patient(t), map[string]vswitch.Bridge{"br-int": vswitch.Integration("netdev")}); err != nil {
		t.Fatal(err)
	}
	o.Vsctl("add-port", "br-int", "plain", "--", "set", "Interface", "plain", "type=internal")
	add := func(name, id string) {
		o.Vsctl("add-port", "br-int", name, "--", "set", "Interface", name, "type=internal", "external_ids:iface-id="+id,
			"external_ids:attached-mac=fa:16:3e:00:00:01", "external_ids:vm-uuid=vm1")
	}
	seen := func(what string, done func(map[string]vswitch.Interface, bool) bool) {
		t.Helper()
		ctx := patient(t)
		for {
			if done(w.Snapshot()) {
				return
			}
			select {
			case <-w.Changed():
			case <-ctx.Done():
				now, connected := w.Snapshot()
				t.Fatalf("never seen: %s; now %+v, connected %v", what, now, connected)
			}
		}
	}
	add("tap1", "port-1")
	start := time.Now()
	seen("tap1 ready", func(m map[string]vswitch.Interface, ok bool) bool { return ok && m["tap1"].Ready() })
	t.Logf("ready %v after the tool's end", time.Since(start))
	ns(t, o, "link", "set", "tap1", "up")
	seen("tap1 up", func(m map[string]vswitch.Interface, _ bool) bool { return m["tap1"].LinkUp && m["tap1"].AdminUp })
	m, _ := w.Snapshot()
	i := m["tap1"]
	if len(m) != 1 || i.IfaceID != "port-1" || i.AttachedMAC != "fa:16:3e:00:00:01" || i.VMUUID != "vm1" || i.Owner != "" || i.Error != "" {
		t.Errorf("interfaces: %+v", m)
	}
	o.Vsctl("--no-wait", "add-port", "br-int", "tap0", "--", "set", "Interface", "tap0", "external_ids:iface-id=port-1")
	seen("tap0's error", func(m map[string]vswitch.Interface, _ bool) bool {
		return m["tap0"].OFPort == -1 && strings.Contains(m["tap0"].Error, "No such device")
	})
	m, _ = w.Snapshot()
	if got := vswitch.ByIfaceID(m)["port-1"].Name; got != "tap1" {
		t.Errorf("of two interfaces the one chosen is %s", got)
	}
	o.StopServer()
	seen("the loss", func(m map[string]vswitch.Interface, connected bool) bool { return !connected && len(m) == 2 })
	o.StartServer()
	o.Vsctl("del-port", "tap0")
	seen("tap0 gone", func(m map[string]vswitch.Interface, connected bool) bool { return connected && len(m) == 1 })
	o.RestartVswitchd()
	seen("tap1 after the restart", func(m map[string]vswitch.Interface, _ bool) bool { return m["tap1"].Ready() })
}

func TestOneAmong300PortsIsSeenFast(t *testing.T) {
	o := ovstest.Start(t)
	c := connect(t, o)
	args := []string{"add-br", "br-int", "--", "set", "Bridge", "br-int", "datapath_type=netdev"}
	for i := range 300 {
		name := fmt.Sprint("p", i)
		args = append(args, "--", "add-port", "br-int", name, "--", "set", "Interface", name, "type=patch",
			"options:peer=x"+name, "external_ids:iface-id="+name)
	}
	o.Vsctl(args...)
	w := vswitch.NewInterfaces(c, "br-int")
	run(t, w.Run)
	// The moment of the assignment is when the database's own monitor tells it; what is measured is our part.
	var assigned, seen time.Time
	changes, stop := c.Watch()
	defer stop()
	o.Vsctl("--no-wait", "add-port", "br-int", "new", "--", "set", "Interface", "new", "type=patch", "options:peer=xnew", "external_ids:iface-id=new")
	ctx := patient(t)
	for assigned.IsZero() || seen.IsZero() {
		select {
		case <-changes:
			if i, _ := c.Snapshot().Interface("new"); i.OFPort > 0 && assigned.IsZero() {
				assigned = time.Now()
			}
		case <-w.Changed():
			if m, _ := w.Snapshot(); m["new"].Ready() {
				seen = time.Now()
			}
		case <-ctx.Done():
			t.Fatal("never seen")
		}
	}
	if d := seen.Sub(assigned); d > 50*time.Millisecond {
		t.Errorf("seen %v after the assignment", d)
	} else {
		t.Logf("seen %v after the assignment", d)
	}
}
