package session_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"isospin/internal/agent/simulate"
	"isospin/internal/model"
	"isospin/internal/store"
	"isospin/internal/wire"
	"isospin/test/sessiontest"
)

// cloud is hosts that count what they are sent.
type cloud struct {
	*sessiontest.Server
	t     *testing.T
	c     *sessiontest.Cloud
	hosts []*simulate.Host

	mu     sync.Mutex
	frames map[string][]string // host: the sets of its frames, in order
	round  int
}

func newCloud(t *testing.T, hosts int) *cloud {
	c := sessiontest.New(t)
	x := &cloud{t: t, c: c, Server: c.Start(sessiontest.Options{}), frames: map[string][]string{}}
	for i := range hosts {
		name := fmt.Sprintf("h%d", i+1)
		h := c.Host(c.Enrol(name, x.Address), sessiontest.Facts(i+1), func(o *simulate.Options) {
			o.Frame = func(f *wire.Frame) {
				x.mu.Lock()
				defer x.mu.Unlock()
				x.frames[name] = append(x.frames[name], f.Set)
			}
		})
		c.Wait(h, synced)
		live(t, x.Server, name)
		x.hosts = append(x.hosts, h)
	}
	return x
}

// mark puts a port of a network of its own on every host and takes it away, and waits until all have seen it: whatever was written
// before has been told then.
func (x *cloud) mark() {
	x.t.Helper()
	x.round++
	n := x.Network(model.TypeVXLAN, int64(1000+x.round))
	for i, h := range x.hosts {
		p := x.Port(n, func(p *model.Port) { p.HostID = fmt.Sprintf("h%d", i+1) })
		x.c.Wait(h, func(v simulate.View) bool { return v.Get("net:"+n, wire.KindForward, p.ID, &wire.Forward{}) })
		x.Write(func(ctx context.Context, tx store.WriteTx) error { return x.ML2.DeletePort(ctx, tx, p.ID) })
		x.c.Wait(h, func(v simulate.View) bool { _, holds := v.Sets()["net:"+n]; return !holds })
	}
}

// costs tells how many documents each host is sent by what do does, "h1 h2 ..." in their order. What mark itself costs is left out.
func (x *cloud) costs(do func()) string {
	x.t.Helper()
	count := func(f func()) []int {
		before := make([]int, len(x.hosts))
		for i, h := range x.hosts {
			before[i] = h.Counts().Documents
		}
		f()
		for i, h := range x.hosts {
			before[i] = h.Counts().Documents - before[i]
		}
		return before
	}
	x.mark() // what was written before is told
	idle := count(x.mark)
	x.mu.Lock()
	clear(x.frames)
	x.mu.Unlock()
	with := count(func() { do(); x.mark() })
	out := make([]string, len(idle))
	for i := range idle {
		out[i] = fmt.Sprint(with[i] - idle[i])
	}
	return strings.Join(out, " ")
}

// carries waits until the hosts named, and no others, hold a network's set.
func (x *cloud) carries(network string, hosts ...string) {
	x.t.Helper()
	for _, h := range x.hosts {
		want := slices.Contains(hosts, h.Name())
		x.c.Wait(h, func(v simulate.View) bool { _, holds := v.Sets()["net:"+network]; return holds == want })
	}
}

// TestForwardingReachesWhoCarriesTheNetwork is l2population: where a port is learns who carries its network, in one document, and nobody else
// hears a word; with its last port a network leaves a host.
func TestForwardingReachesWhoCarriesTheNetwork(t *testing.T) {
	x := newCloud(t, 4)
	n, other := x.Network(model.TypeVXLAN, 11), x.Network(model.TypeVXLAN, 12)
	x.Subnet(n, "10.1.0.0/24", false)
	x.Port(other, func(p *model.Port) { p.HostID = "h4" }) // which carries something, but not this
	x.carries(other, "h4")
	on := func(host string) func(*model.Port) { return func(p *model.Port) { p.HostID = host } }
	ports := map[string]model.Port{}
	add := func(name, host string) func() { return func() { ports[name] = x.Port(n, on(host)) } }
	drop := func(name string) func() {
		return func() {
			x.Write(func(ctx context.Context, tx store.WriteTx) error { return x.ML2.DeletePort(ctx, tx, ports[name].ID) })
		}
	}
	// The set of a network is itself, its subnet and where its ports are; a port's own document comes with it.
	for _, step := range []struct {
		what, want string
		do         func()
		hold       []string
	}{
		{"the first port of a host", "4 0 0 0", add("a", "h1"), []string{"h1"}},
		{"the first of another", "1 5 0 0", add("b", "h2"), []string{"h1", "h2"}},
		{"one more there", "1 2 0 0", add("c", "h2"), []string{"h1", "h2"}},
		{"bound to nothing", "0 0 0 0", add("d", ""), []string{"h1", "h2"}},
		{"one gone", "1 2 0 0", drop("c"), []string{"h1", "h2"}},
		{"the last of a host", "1 1 0 0", drop("b"), []string{"h1"}}, // there the set goes whole, which is no document
		{"the last of all", "1 0 0 0", drop("a"), nil},
	} {
		if got := x.costs(step.do); got != step.want {
			t.Errorf("%s: the hosts were sent %s documents, want %s", step.what, got, step.want)
		}
		x.carries(n, step.hold...)
	}
	if x.mu.Lock(); slices.Contains(x.frames["h3"], "net:"+n) || slices.Contains(x.frames["h4"], "net:"+n) {
		t.Error("a host that does not carry the network was sent a frame of it")
	}
	x.mu.Unlock()
}

// TestAMoveIsOneDocument: a host that waits gets the port's document and its network, those who send to the port hear nothing before it moves,
// and one document when it does. The two hosts hear where it is before they hear of the port itself.
func TestAMoveIsOneDocument(t *testing.T) {
	x := newCloud(t, 4)
	n := x.Network(model.TypeVXLAN, 11)
	p := x.Port(n, func(p *model.Port) { p.HostID = "h2" })
	x.Port(n, func(p *model.Port) { p.HostID = "h1" })
	x.carries(n, "h1", "h2")
	write := func(fn func(ctx context.Context, tx store.WriteTx) error) func() { return func() { x.Write(fn) } }
	add := write(func(ctx context.Context, tx store.WriteTx) error {
		_, err := x.ML2.AddBinding(ctx, tx, p.ID, model.PortBinding{Host: "h3", VNICType: model.VNICNormal, Profile: map[string]any{}})
		return err
	})
	activate := write(func(ctx context.Context, tx store.WriteTx) error {
		_, err := x.ML2.ActivateBinding(ctx, tx, p.ID, "h3")
		return err
	})
	remove := func(host string) func() {
		return write(func(ctx context.Context, tx store.WriteTx) error { return x.ML2.DropBinding(ctx, tx, p.ID, host) })
	}
	if got := x.costs(add); got != "0 1 4 0" {
		t.Errorf("a binding that waits: %s", got)
	}
	var doc wire.Port
	x.c.Wait(x.hosts[2], func(v simulate.View) bool { return v.Get("host:h3", wire.KindPort, p.ID, &doc) })
	if segment, waits := doc.WaitsAt("h3"); !waits || segment == "" || doc.Host != "h2" {
		t.Errorf("the document of who waits: %v", &doc)
	}
	if got := x.costs(remove("h3")); got != "0 1 1 0" {
		t.Errorf("given up: %s", got)
	}
	x.carries(n, "h1", "h2")
	x.costs(add)
	if got := x.costs(activate); got != "1 1 2 0" { // at h2 the last port goes, and with it the network
		t.Errorf("activated: %s", got)
	}
	x.carries(n, "h1", "h3")
	x.c.Wait(x.hosts[2], func(v simulate.View) bool {
		return v.Get("host:h3", wire.KindPort, p.ID, &doc) && doc.Wiring == p.Wiring+1
	})
	if _, waits := doc.WaitsAt("h3"); waits || doc.Host != "h3" || doc.SegmentAt("h3") == "" {
		t.Errorf("the document of who has it: %v", &doc)
	}
	x.mu.Lock()
	if f := x.frames["h3"]; slices.Index(f, "net:"+n) < 0 || slices.Index(f, "net:"+n) > slices.Index(f, "host:h3") {
		t.Errorf("frames to h3: %v", f)
	}
	x.mu.Unlock()
	if got := x.costs(remove("h2")); got != "0 0 0 0" {
		t.Errorf("the old binding's end: %s", got)
	}
}
