package ovsdb_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"isospin/internal/dataplane/vswitch/ovstest"
	"isospin/internal/ovsdb"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// connect runs a client until the test ends.
func connect(t *testing.T, o *ovstest.OVS) *ovsdb.Client {
	t.Helper()
	return connectTo(t, o.DB)
}

func connectTo(t *testing.T, endpoint string) *ovsdb.Client {
	t.Helper()
	c, err := ovsdb.New(endpoint, ovsdb.WithBackoff(time.Millisecond, 20*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := c.Run(ctx); err != nil {
			t.Errorf("run: %v", err)
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
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

func until(t *testing.T, c *ovsdb.Client, what string, done func(*ovsdb.Snapshot) bool) {
	t.Helper()
	if err := c.Until(patient(t), what, done); err != nil {
		t.Fatal(err)
	}
}

func TestTheMonitorSeesWhatOthersDo(t *testing.T) {
	o := ovstest.Start(t)
	c := connect(t, o)
	o.Vsctl("add-br", "br-int", "--", "set", "Bridge", "br-int", "datapath_type=netdev", "fail_mode=secure",
		"protocols=OpenFlow13,OpenFlow14", "other_config:mac-table-size=50000", "--",
		"add-port", "br-int", "vx", "tag=7", "--", "set", "Interface", "vx", "type=vxlan", "options:remote_ip=flow",
		"external_ids:iface-id=p1", "ofport_request=17", "mtu_request=1400")
	until(t, c, "the ofport", func(s *ovsdb.Snapshot) bool {
		i, ok := s.Interface("vx")
		return ok && i.OFPort == 17
	})
	s := c.Snapshot()
	b, _ := s.Bridge("br-int")
	if b.DatapathType != "netdev" || b.FailMode != "secure" || len(b.Protocols) != 2 || b.STP ||
		b.OtherConfig["mac-table-size"] != "50000" {
		t.Errorf("bridge: %+v", b)
	}
	var names []string
	s.On(b, func(p ovsdb.Port, i ovsdb.Interface) {
		names = append(names, fmt.Sprint(p.Name, " ", p.Tag, " ", i.Type, " ", i.ExternalIDs["iface-id"]))
	})
	if len(names) != 2 { // the bridge's own port and the tunnel
		t.Errorf("on the bridge: %q", names)
	}
	// The events and the cache behind a barrier lead to the same; ovs-vswitchd may still be writing, hence Until.
	var last string
	until(t, c, "both views to agree", func(s *ovsdb.Snapshot) bool {
		read, err := c.Read(patient(t))
		if err != nil {
			t.Fatal(err)
		}
		last = cmp.Diff(s, read, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(ovsdb.Snapshot{}))
		return last == ""
	})
	o.Vsctl("del-port", "vx", "--", "set", "Bridge", "br-int", "fail_mode=[]")
	until(t, c, "the port to go", func(s *ovsdb.Snapshot) bool {
		_, port := s.Port("vx")
		_, iface := s.Interface("vx")
		b, _ := s.Bridge("br-int")
		return !port && !iface && b.FailMode == ""
	})
}

func TestReadMissesNothingThatWasCommitted(t *testing.T) {
	o := ovstest.Start(t)
	c := connect(t, o)
	o.Vsctl("--no-wait", "add-br", "br0")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { // a busy stranger
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				o.Vsctl("--no-wait", "--may-exist", "add-port", "br0", "busy", "--", "set", "port", "busy", fmt.Sprint("tag=", i%4000))
				o.Vsctl("--no-wait", "del-port", "br0", "busy")
			}
		}
	})
	for i := range 30 {
		name := fmt.Sprint("p", i)
		o.Vsctl("--no-wait", "add-port", "br0", name)
		s, err := c.Read(patient(t))
		if err != nil {
			t.Fatal(err)
		}
		if p, ok := s.Port(name); !ok || len(p.Interfaces) != 1 {
			t.Errorf("%s is missing", name)
		}
	}
	close(stop)
	wg.Wait()
}

func TestTransactionsAreAllOrNothing(t *testing.T) {
	o := ovstest.Start(t)
	c := connect(t, o)
	root := c.Snapshot().Root.UUID
	add := func(name string, tag any) []ovsdb.Op {
		return []ovsdb.Op{
			ovsdb.Insert(ovsdb.TableInterface, "i"+ovsdb.UUID(name), ovsdb.Row{"name": name, "type": "internal"}),
			ovsdb.Insert(ovsdb.TablePort, "p"+ovsdb.UUID(name), ovsdb.Row{"name": name, "interfaces": ovsdb.UUID("i" + name), "tag": tag}),
			ovsdb.Insert(ovsdb.TableBridge, "b"+ovsdb.UUID(name), ovsdb.Row{"name": name, "ports": []ovsdb.UUID{ovsdb.UUID("p" + name)},
				"datapath_type": "netdev", "external_ids": map[string]string{"k": "v", "l": "w"}}),
			ovsdb.Add(ovsdb.TableRoot, root, "bridges", []ovsdb.UUID{ovsdb.UUID("b" + name)}),
		}
	}
	got, err := c.Transact(patient(t), add("one", 5)...)
	if err != nil || len(got) != 4 || got[3].Count != 1 || len(got[2].UUID) != 36 {
		t.Fatalf("results %+v, %v", got, err)
	}
	if err := c.Settle(patient(t)); err != nil {
		t.Fatal(err)
	}
	if i, _ := c.Snapshot().Interface("one"); i.OFPort != 65534 || i.MACInUse == "" {
		t.Errorf("after Settle the interface is not set up: %+v", i)
	}
	var refused *ovsdb.OpError
	if _, err := c.Transact(patient(t), append(add("two", []int{}), add("three", 5000)...)...); !errors.As(err, &refused) {
		t.Errorf("a tag of 5000: %v", err)
	}
	if _, err := c.Transact(patient(t), add("one", []int{})...); !errors.As(err, &refused) || refused.Kind != "constraint violation" {
		t.Errorf("a second bridge of the name: %v", err)
	}
	if _, err := c.Transact(patient(t), ovsdb.Update(ovsdb.TableRoot, root, ovsdb.Row{"bridges": 1.5})); err == nil {
		t.Error("a float went through")
	}
	b, _ := c.Snapshot().Bridge("one")
	if _, err := c.Transact(patient(t),
		ovsdb.Update(ovsdb.TableBridge, b.UUID, ovsdb.Row{"fail_mode": "secure", "protocols": []string{"OpenFlow13", "OpenFlow15"}}),
		ovsdb.Remove(ovsdb.TableBridge, b.UUID, "external_ids", []string{"k"}),
		ovsdb.Add(ovsdb.TableBridge, b.UUID, "external_ids", map[string]string{"m": "x"}),
	); err != nil {
		t.Fatal(err)
	}
	s, err := c.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b, _ = s.Bridge("one")
	if d := cmp.Diff(b.ExternalIDs, map[string]string{"l": "w", "m": "x"}); d != "" || b.FailMode != "secure" || len(s.Bridges) != 1 {
		t.Errorf("bridge %+v of %d: %s", b, len(s.Bridges), d)
	}
	if _, err := c.Transact(patient(t), ovsdb.Remove(ovsdb.TableRoot, root, "bridges", []ovsdb.UUID{b.UUID})); err != nil {
		t.Fatal(err)
	}
	until(t, c, "the bridge to go", func(s *ovsdb.Snapshot) bool { return len(s.Bridges)+len(s.Ports)+len(s.Interfaces) == 0 })
}

func TestItOutlivesTheServer(t *testing.T) {
	o := ovstest.Start(t)
	c := connect(t, o)
	changes, stop := c.Watch()
	defer stop()
	o.StopServer()
	for c.State().Connected {
		<-changes
	}
	if _, err := c.Read(t.Context()); !errors.Is(err, ovsdb.ErrNotConnected) {
		t.Errorf("reading without a server: %v", err)
	}
	if c.Snapshot() == nil {
		t.Error("the last snapshot is forgotten")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if err := c.Ready(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("ready without a server: %v", err)
	}
	o.StartServer()
	o.Vsctl("--no-wait", "add-br", "br0")
	until(t, c, "the bridge", func(s *ovsdb.Snapshot) bool { _, ok := s.Bridge("br0"); return ok })
	if st := c.State(); !st.Connected || st.Connects != 2 || st.Err != nil {
		t.Errorf("state: %+v", st)
	}
	o.RestartServer()
	until(t, c, "the third connection", func(*ovsdb.Snapshot) bool { return c.State().Connected && c.State().Connects == 3 })
	if _, ok := c.Snapshot().Bridge("br0"); !ok {
		t.Error("the bridge is not in the new snapshot")
	}
}

func TestEndpoints(t *testing.T) {
	for endpoint, fine := range map[string]bool{
		"unix:/run/openvswitch/db.sock": true,
		"tcp:127.0.0.1:6640":            true,
		"ssl:127.0.0.1:6640":            false,
		"/run/openvswitch/db.sock":      false,
		"unix:":                         false,
		"":                              false,
	} {
		if _, err := ovsdb.New(endpoint); (err == nil) != fine {
			t.Errorf("%q: %v", endpoint, err)
		}
	}
}

// relay passes TCP connections on to a unix socket, and can cut them.
type relay struct {
	ln net.Listener
	wg sync.WaitGroup
	mu sync.Mutex
	up []net.Conn
}

func newRelay(t *testing.T, o *ovstest.OVS) *relay {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{ln: ln}
	r.wg.Go(func() {
		for {
			in, err := ln.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("unix", strings.TrimPrefix(o.DB, "unix:"))
			if err != nil {
				_ = in.Close()
				continue
			}
			r.mu.Lock()
			r.up = append(r.up, in, out)
			r.mu.Unlock()
			r.wg.Go(func() { _, _ = io.Copy(in, out) })
			r.wg.Go(func() { _, _ = io.Copy(out, in) })
		}
	})
	t.Cleanup(func() { _ = ln.Close(); r.cut(); r.wg.Wait() })
	return r
}

func (r *relay) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.up {
		_ = c.Close()
	}
	r.up = nil
}

func TestTCPConnectionsCutAgainAndAgain(t *testing.T) {
	o := ovstest.Start(t)
	r := newRelay(t, o)
	c := connectTo(t, "tcp:"+r.ln.Addr().String())
	for i := 1; i < 10; i++ {
		until(t, c, "a connection", func(*ovsdb.Snapshot) bool { return c.State().Connected && c.State().Connects >= i })
		if _, err := c.Read(patient(t)); err != nil {
			t.Fatal(err)
		}
		r.cut()
	}
	o.Vsctl("--no-wait", "add-br", "br0")
	until(t, c, "the bridge", func(s *ovsdb.Snapshot) bool { _, ok := s.Bridge("br0"); return ok })
}

func BenchmarkSnapshotOf1000Ports(b *testing.B) {
	o := ovstest.Start(b)
	o.StopVswitchd()
	args := []string{"--no-wait", "add-br", "br0"}
	for i := range 1000 {
		args = append(args, "--", "add-port", "br0", fmt.Sprint("p", i))
	}
	o.Vsctl(args...)
	c, err := ovsdb.New(o.DB)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = c.Run(ctx) })
	defer wg.Wait()
	defer cancel()
	if err := c.Ready(ctx); err != nil {
		b.Fatal(err)
	}
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			if _, err := c.Read(ctx); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("change and snapshot", func(b *testing.B) {
		id := c.Snapshot().Root.UUID
		for i := 0; b.Loop(); i++ {
			if _, err := c.Transact(ctx, ovsdb.Update(ovsdb.TableRoot, id, ovsdb.Row{"next_cfg": i})); err != nil {
				b.Fatal(err)
			}
			if err := c.Until(ctx, "it", func(s *ovsdb.Snapshot) bool { return s.Root.NextCfg == i }); err != nil {
				b.Fatal(err)
			}
		}
	})
}
