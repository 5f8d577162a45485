package dhcp

import (
	"flag"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"isospin/internal/agent"
	"isospin/internal/agent/mirror"
	"isospin/internal/change"
	"isospin/internal/dataplane/addr"
	"isospin/internal/dataplane/dhcp"
	"isospin/internal/dataplane/link"
	"isospin/internal/dataplane/vswitch"
	"isospin/internal/reconcile"
	"isospin/internal/wire"
)

var update = flag.Bool("update", false, "write the golden files anew")

// target is a reconcile.Target that only remembers.
type target[K comparable, V any] map[reconcile.Owner]map[K]V

func (t target[K, V]) Replace(o reconcile.Owner, want map[K]V) {
	delete(t, o)
	if len(want) > 0 {
		t[o] = maps.Clone(want)
	}
}

func (t target[K, V]) lines(kind string) (out []string) {
	for o, want := range t {
		for k, v := range want {
			out = append(out, fmt.Sprintf("%s %v for %s: %+v", kind, k, o.Doc, v))
		}
	}
	return out
}

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// world is a host: its documents, its feature and what that wants.
type world struct {
	t       failer
	docs    *mirror.Mirror
	held    map[change.Key]*wire.Document
	hash    uint64
	dirty   []change.Key
	feature *Feature
	golden  func() string
}

func newWorld(t failer) *world {
	w := &world{t: t, docs: mirror.Memory(), held: map[change.Key]*wire.Document{}}
	if _, _, err := w.docs.Apply(&wire.Frame{Set: "all", Begin: true, Complete: true}); err != nil {
		t.Fatalf("%v", err)
	}
	w.start()
	return w
}

func (w *world) start() {
	ns, links, addrs := target[string, struct{}]{}, target[link.Key, link.Veth]{}, target[addr.Key, addr.Addr]{}
	ports, nets, res := target[string, vswitch.Port]{}, target[string, dhcp.Network]{}, target[dhcp.ReservationKey, dhcp.Reservation]{}
	w.feature = New(Config{Host: "h1", Bridge: "br-int", Userspace: true, DNS: []netip.Addr{netip.MustParseAddr("192.0.2.53")}},
		Targets{Namespaces: ns, Links: links, Addresses: addrs, Ports: ports, Networks: nets, Reservations: res})
	w.golden = func() string {
		lines := slices.Concat(ns.lines("namespace"), links.lines("link"), addrs.lines("address"), ports.lines("port"), nets.lines("network"), res.lines("reservation"))
		slices.Sort(lines)
		return strings.Join(lines, "\n") + "\n"
	}
	w.dirty = nil
	w.feature.Sync(w.docs, nil, true)
}

func (w *world) put(kind, id string, m proto.Message) {
	w.t.Helper()
	d, err := wire.Encode(kind, id, m)
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	w.drop(kind, id)
	w.held[change.Key{Kind: kind, ID: id}] = d
	w.hash += d.Hash()
	w.frame(&wire.Frame{Put: []*wire.Document{d}})
}

func (w *world) drop(kind, id string) {
	w.t.Helper()
	k := change.Key{Kind: kind, ID: id}
	if d := w.held[k]; d != nil {
		delete(w.held, k)
		w.hash -= d.Hash()
		w.frame(&wire.Frame{Drop: []*wire.Key{{Kind: kind, Id: id}}})
	}
}

func (w *world) frame(f *wire.Frame) {
	w.t.Helper()
	f.Set, f.Hash = "all", w.hash
	dirty, _, err := w.docs.Apply(f)
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	w.dirty = append(w.dirty, dirty...)
}

func (w *world) sync() agent.Result {
	defer func() { w.dirty = nil }()
	return w.feature.Sync(w.docs, w.dirty, false)
}

const dhcpPort = "dddddddd-1111-0000-0000-000000000000"

// network is a network with an IPv4 and an IPv6 subnet, served here, and a reservation; n tells networks apart.
func (w *world) network(n string, up bool) {
	w.put(wire.KindNetwork, n, &wire.Network{Id: n, AdminStateUp: up, Mtu: 1450})
}

func (w *world) subnet(n, id, cidr string, gateway string) {
	w.put(wire.KindSubnet, id, &wire.Subnet{Id: id, NetworkId: n, Cidr: cidr, GatewayIp: gateway, EnableDhcp: true,
		HostRoutes: []*wire.HostRoute{{Destination: "198.51.100.0/24", Nexthop: gateway}}})
}

func (w *world) serve(n string) {
	w.put(wire.KindDHCP, n, &wire.DHCPNetwork{NetworkId: n, Ports: map[string]string{"h1": n + dhcpPort, "h2": "other"}, DnsDomain: "example.org.", LeaseDuration: 600})
}

func (w *world) server(n, mac string) {
	w.put(wire.KindPort, n+dhcpPort, &wire.Port{Id: n + dhcpPort, NetworkId: n, MacAddress: mac, AdminStateUp: true,
		FixedIps: []*wire.FixedIP{{SubnetId: n + "4", IpAddress: "192.0.2.2"}, {SubnetId: n + "6", IpAddress: "2001:db8::2"}}})
}

func (w *world) reserve(n, port, mac string) {
	w.put(wire.KindReservation, port, &wire.Reservation{PortId: port, NetworkId: n, MacAddress: mac, Wiring: 3, Hostname: "host-192-0-2-9",
		FixedIps: []*wire.FixedIP{{SubnetId: n + "4", IpAddress: "192.0.2.9"}, {SubnetId: n + "6", IpAddress: "2001:db8::9"}},
		Options:  []*wire.DHCPOption{{Name: "bootfile-name", Value: "x"}, {Name: "sntp-servers", Value: "2001:db8::1", IpVersion: 6}}})
}

func (w *world) all(n string) {
	w.network(n, true)
	w.subnet(n, n+"4", "192.0.2.0/24", "192.0.2.1")
	w.subnet(n, n+"6", "2001:db8::/64", "2001:db8::1")
	w.serve(n)
	w.server(n, "fa:16:3e:00:00:02")
	w.reserve(n, "p", "fa:16:3e:00:00:09")
}

func TestGolden(t *testing.T) {
	cases := map[string]func(w *world){
		"served":         func(w *world) { w.all("n") },
		"not-scheduled":  func(w *world) { w.all("n"); w.drop(wire.KindDHCP, "n") },
		"network-down":   func(w *world) { w.all("n"); w.network("n", false) },
		"no-server-port": func(w *world) { w.all("n"); w.drop(wire.KindPort, "n"+dhcpPort) },
		"subnet-gone":    func(w *world) { w.all("n"); w.drop(wire.KindSubnet, "n4") },
		"bad-subnet":     func(w *world) { w.all("n"); w.subnet("n", "n6", "nonsense", "") },
		"more-subnets":   func(w *world) { w.all("n"); w.subnet("n", "other", "203.0.113.0/24", "") },
	}
	for name, build := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			build(w)
			w.sync()
			path := filepath.Join("testdata", name+".txt")
			if *update {
				if err := errorsOf(os.MkdirAll("testdata", 0o755), os.WriteFile(path, []byte(w.golden()), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(w.golden(), "\n")); d != "" {
				t.Errorf("%s differs (-update writes it anew): %s", path, d)
			}
		})
	}
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestReports(t *testing.T) {
	cases := []struct {
		name   string
		build  func(w *world)
		ok     bool
		state  wire.State
		detail string
		fault  string
	}{
		{name: "served", build: func(w *world) { w.reserve("n", "p", "fa:16:3e:00:00:0b") }, ok: true, state: wire.State_DONE},
		{name: "not scheduled here", build: func(w *world) { w.drop(wire.KindDHCP, "n") }},
		{name: "no reservation", build: func(w *world) { w.drop(wire.KindReservation, "p") }},
		{name: "network down", build: func(w *world) { w.network("n", false) }, ok: true, state: wire.State_PENDING, detail: "administratively down"},
		{name: "network on its way", build: func(w *world) { w.drop(wire.KindNetwork, "n") }, ok: true, state: wire.State_PENDING, detail: "has not come"},
		{name: "server's port on its way", build: func(w *world) { w.drop(wire.KindPort, "n"+dhcpPort) }, ok: true, state: wire.State_PENDING, detail: dhcpPort},
		{name: "bad server port", build: func(w *world) { w.server("n", "none") }, ok: true, state: wire.State_DONE, fault: "MAC"},
		{name: "bad reservation", build: func(w *world) { w.reserve("n", "p", "none") }, ok: true, state: wire.State_DONE, fault: "MAC"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.all("n")
			w.sync()
			c.build(w)
			res := w.sync()
			r, ok := w.feature.Report(w.docs, "p")
			if ok != c.ok || r.State != c.state || !strings.Contains(r.Detail, c.detail) {
				t.Errorf("%v, %v", r, ok)
			}
			if !slices.Contains(res.Ports, "p") {
				t.Errorf("the port was not named: %v", res.Ports)
			}
			var fault error
			for _, k := range append(r.Documents, change.Key{Kind: wire.KindPort, ID: "p"}) {
				fault = errorsOf(fault, res.Faults[k])
			}
			if (fault != nil) != (c.fault != "") || fault != nil && !strings.Contains(fault.Error(), c.fault) {
				t.Errorf("fault %v", fault)
			}
			// A fault goes when its document is looked at again.
			w.all("n")
			for k, err := range w.sync().Faults {
				if err != nil {
					t.Errorf("%v still: %v", k, err)
				}
			}
		})
	}
}

// TestSequences compares, after drawn events and starts, with a feature that only sees the end.
func TestSequences(t *testing.T) {
	networks := []string{"n", "m"}
	events := []func(w *world, n string){
		func(w *world, n string) { w.all(n) },
		func(w *world, n string) { w.network(n, true) },
		func(w *world, n string) { w.network(n, false) },
		func(w *world, n string) { w.drop(wire.KindNetwork, n) },
		func(w *world, n string) { w.subnet(n, n+"4", "192.0.2.0/24", "192.0.2.1") },
		func(w *world, n string) { w.subnet(n, n+"4", "192.0.2.0/25", "") },
		func(w *world, n string) { w.subnet(n, n+"x", "203.0.113.0/24", "") },
		func(w *world, n string) { w.drop(wire.KindSubnet, n+"x") },
		func(w *world, n string) { w.drop(wire.KindSubnet, n+"4") },
		func(w *world, n string) { w.serve(n) },
		func(w *world, n string) { w.drop(wire.KindDHCP, n) },
		func(w *world, n string) { w.server(n, "fa:16:3e:00:00:03") },
		func(w *world, n string) { w.server(n, "none") },
		func(w *world, n string) { w.drop(wire.KindPort, n+dhcpPort) },
		func(w *world, n string) { w.reserve(n, n+"p", "fa:16:3e:00:00:0a") },
		func(w *world, n string) { w.drop(wire.KindReservation, n+"p") },
	}
	rapid.Check(t, func(r *rapid.T) {
		w := newWorld(r)
		said := map[string]string{}
		for range rapid.IntRange(1, 12).Draw(r, "bursts") {
			for range rapid.IntRange(1, 4).Draw(r, "events") {
				rapid.SampledFrom(events).Draw(r, "event")(w, rapid.SampledFrom(networks).Draw(r, "network"))
			}
			var named []string
			restart := rapid.IntRange(0, 6).Draw(r, "restart") == 0
			if restart {
				w.start()
			} else {
				named = w.sync().Ports
			}
			for _, id := range []string{"p", "np", "mp"} {
				report, ok := w.feature.Report(w.docs, id)
				now := fmt.Sprint(report, ok)
				if !restart && said[id] != now && !slices.Contains(named, id) && said[id] != "" {
					r.Fatalf("the report of %s changed unnamed: %s, now %s", id, said[id], now)
				}
				said[id] = now
			}
		}
		before := w.golden()
		w.start()
		if d := cmp.Diff(w.golden(), before); d != "" {
			r.Fatalf("differs from a start: %s", d)
		}
	})
}
