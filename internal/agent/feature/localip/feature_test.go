package localip

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"isospin/internal/agent"
	"isospin/internal/agent/feature/brint"
	"isospin/internal/agent/feature/featuretest"
	"isospin/internal/change"
	"isospin/internal/dataplane/openflow"
	"isospin/internal/wire"
)

var update = flag.Bool("update", false, "write the golden files anew")

type zones map[string]uint16

func (z zones) Of(name string) (uint16, error) {
	if n, ok := z[name]; ok {
		return n, nil
	}
	return 0, errors.New("all are in use")
}

const network = "00000001-0000-0000-0000-000000000000"

// host is a host with the feature.
type host struct {
	*featuretest.Host
	t       featuretest.Failer
	zones   zones
	flows   featuretest.Target[openflow.Key, openflow.Flow]
	feature *Feature
}

func newHost(t featuretest.Failer) *host {
	h := &host{Host: featuretest.New(t), t: t, zones: zones{"local-ip/" + network: 7}}
	h.start()
	return h
}

func (h *host) start() {
	h.Restart()
	h.flows = featuretest.Target[openflow.Key, openflow.Flow]{}
	h.feature = New(h.flows, h.Watch, h.zones)
	h.feature.Sync(h.Docs, nil, true)
}

func (h *host) sync() agent.Result {
	return h.feature.Sync(h.Docs, h.Dirty(h.feature.Kinds()), false)
}

func (h *host) port(n int, up bool) {
	h.Put(wire.KindPort, fmt.Sprint("p", n), &wire.Port{Id: fmt.Sprint("p", n), NetworkId: network, MacAddress: fmt.Sprintf("fa:16:3e:00:00:%02x", n), AdminStateUp: up,
		FixedIps: []*wire.FixedIP{{IpAddress: fmt.Sprint("192.0.2.", n)}}})
}

func (h *host) local(n int, address string, passthrough bool) {
	id := fmt.Sprint(address, "_p", n)
	h.Put(wire.KindLocalIP, id, &wire.LocalIP{Id: id, PortId: fmt.Sprint("p", n), Address: address, FixedIp: fmt.Sprint("192.0.2.", n), Passthrough: passthrough})
}

func (h *host) golden() string {
	h.t.Helper()
	flows, err := featuretest.Flows(h.flows)
	if err != nil {
		h.t.Errorf("%v", err)
	}
	return brint.Pipeline().Golden(flows)
}

func TestGolden(t *testing.T) {
	for name, build := range map[string]func(*host){
		"translated":  func(h *host) { h.port(1, true); h.Plug("tap1", "p1", 1); h.local(1, "192.0.2.100", false) },
		"passed":      func(h *host) { h.port(1, true); h.Plug("tap1", "p1", 1); h.local(1, "192.0.2.100", true) },
		"not plugged": func(h *host) { h.port(1, true); h.local(1, "192.0.2.100", false) },
		"down":        func(h *host) { h.port(1, false); h.Plug("tap1", "p1", 1); h.local(1, "192.0.2.100", false) },
		"two ports": func(h *host) {
			for n := range 2 {
				h.port(n+1, true)
				h.Plug(fmt.Sprint("tap", n+1), fmt.Sprint("p", n+1), n+1)
				h.local(n+1, "192.0.2.100", n == 0)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			build(h)
			if r := h.sync(); anyFault(r) != nil {
				t.Errorf("%v", r.Faults)
			}
			path := filepath.Join("testdata", name+".txt")
			if *update {
				if err := os.WriteFile(path, []byte(h.golden()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), h.golden()); d != "" {
				t.Error(d)
			}
		})
	}
}

func anyFault(r agent.Result) error {
	for _, err := range r.Faults {
		if err != nil {
			return err
		}
	}
	return nil
}

// TestFaults: what cannot be served is told of the association, and the others are served.
func TestFaults(t *testing.T) {
	for name, build := range map[string]func(*host){
		"no zone":    func(h *host) { delete(h.zones, "local-ip/"+network) },
		"no address": func(h *host) { h.local(1, "nowhere", false) },
		"IPv6":       func(h *host) { h.local(1, "2001:db8::1", true) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			h.port(1, true)
			h.Plug("tap1", "p1", 1)
			h.local(1, "192.0.2.100", false)
			h.local(1, "192.0.2.101", true)
			build(h)
			if anyFault(h.sync()) == nil {
				t.Error("no fault was told")
			}
			if len(h.flows.Merged()) < 2 {
				t.Errorf("what can be served is not: %s", h.golden())
			}
		})
	}
}

// TestUnconcerned: a port that stands for nothing has nothing refilled.
func TestUnconcerned(t *testing.T) {
	h := newHost(t)
	h.port(1, true)
	h.Plug("tap1", "p1", 1)
	h.local(1, "192.0.2.100", false)
	h.sync()
	if r := h.feature.Sync(h.Docs, []change.Key{{Kind: wire.KindPort, ID: "p2"}}, false); len(r.Faults) != 0 {
		t.Errorf("all were looked at: %v", r.Faults)
	}
}

// TestSequences draws what happens, with restarts between, and compares with a start from nothing.
func TestSequences(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		h := newHost(r)
		for range rapid.IntRange(1, 10).Draw(r, "bursts") {
			for range rapid.IntRange(1, 4).Draw(r, "events") {
				n := rapid.IntRange(1, 3).Draw(r, "n")
				address := rapid.SampledFrom([]string{"192.0.2.100", "192.0.2.101", "none"}).Draw(r, "address")
				switch rapid.IntRange(0, 5).Draw(r, "event") {
				case 0:
					h.port(n, rapid.IntRange(0, 3).Draw(r, "up") > 0)
				case 1:
					h.Drop(wire.KindPort, fmt.Sprint("p", n))
				case 2:
					h.Plug(fmt.Sprint("tap", n), fmt.Sprint("p", n), n*rapid.IntRange(0, 2).Draw(r, "number"))
				case 3:
					h.Unplug(fmt.Sprint("tap", n))
				case 4:
					h.local(n, address, rapid.Bool().Draw(r, "passthrough"))
				case 5:
					h.Drop(wire.KindLocalIP, fmt.Sprint(address, "_p", n))
				}
			}
			if rapid.IntRange(0, 4).Draw(r, "restart") == 0 {
				h.start()
			} else {
				h.sync()
			}
		}
		now := h.golden()
		h.start()
		if d := cmp.Diff(h.golden(), now); d != "" {
			r.Fatalf("not what a start from nothing gives: %s", d)
		}
	})
}
