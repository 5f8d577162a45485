package ml2_test

import (
	"context"
	"log/slog"
	"net"
	"slices"
	"testing"
	"time"

	"isospin/internal/clock"
	"isospin/internal/ident"
	"isospin/internal/model"
	"isospin/internal/service/ipam"
	"isospin/internal/service/ml2"
	"isospin/internal/service/ml2/mechdriver/agentbased"
	"isospin/internal/service/ml2/typedriver/claim"
	"isospin/internal/service/ml2/typedriver/flat"
	"isospin/internal/service/ml2/typedriver/local"
	"isospin/internal/service/ml2/typedriver/tunnel"
	"isospin/internal/service/ml2/typedriver/vlan"
	"isospin/internal/service/tasks"
	"isospin/internal/store"
	"isospin/internal/store/engine"
	"isospin/internal/store/freerange"
	"isospin/internal/store/open"
)

// patience is how long a test waits for a state.
const patience = 20 * time.Second

// hosts has an Open vSwitch agent on h1 and h2 that reaches physnet1 and VXLAN, and one on rack1 that reaches physnet1 alone.
type hosts struct{}

func (hosts) Host(_ context.Context, _ store.Tx, name string) (model.Host, error) {
	h := model.Host{Name: name}
	conf := map[string]any{"bridge_mappings": map[string]any{"physnet1": "br-phys"}}
	switch name {
	case "h1", "h2":
		conf["tunneling_ip"], conf["tunnel_types"] = "192.0.2.1", []any{"vxlan"}
	case "rack1", "rack2":
	default:
		return h, nil
	}
	h.Agents = []model.Agent{{AgentType: model.AgentOVS, Host: name, Configurations: conf}}
	return h, nil
}

func (h hosts) Known(ctx context.Context, tx store.Tx, name string) (model.Host, error) {
	return h.Host(ctx, tx, name)
}

// world is the plugin on a database in memory.
type world struct {
	t      *testing.T
	st     *engine.Engine
	types  *ml2.TypeManager
	plugin *ml2.Plugin
	remote *ml2.RemoteBinder
}

func typeDrivers() []ml2.TypeDriver {
	ids := ident.Random{}
	return []ml2.TypeDriver{
		local.Driver{}, flat.Driver{Config: flat.Config{Networks: []string{"*"}, MTUAll: 1500}},
		vlan.Driver{Config: vlan.Config{Ranges: map[string][]claim.Range{"physnet1": {{Min: 100, Max: 103}}, "bare": {}}, MTUs: map[string]int64{"physnet1": 1490}, MTUAll: 1500, IDs: ids}},
		tunnel.Driver{Config: tunnel.Config{Type: model.TypeVXLAN, MaxID: tunnel.MaxVNI, Ranges: []claim.Range{{Min: 1, Max: 10}}, Overhead: tunnel.OverheadVXLAN, IPHeader: 20, MTUAll: 1500, IDs: ids}},
		tunnel.Driver{Config: tunnel.Config{Type: model.TypeGRE, MaxID: tunnel.MaxGREKey, Overhead: tunnel.OverheadGRE, IPHeader: 40, PathMTU: 9000, MTUAll: 1500, IDs: ids}},
	}
}

func newWorld(t *testing.T, projectTypes []string, extra ...ml2.MechanismDriver) *world {
	t.Helper()
	st, err := open.Open(t.Context(), "sqlite://", open.Options{Upgrade: true})
	if err != nil {
		t.Fatal(err)
	}
	types, err := ml2.NewTypeManager(typeDrivers(), projectTypes, "", ident.Random{}, clock.System{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, st: st, types: types}
	w.plugin = ml2.New(ml2.Config{Networks: ml2.NewNetworks(), Subnets: ml2.NewSubnets(), Ports: ml2.NewPorts(), Types: types,
		Mechanisms: ml2.NewMechanismManager(append(extra, agentbased.OpenVSwitch(), agentbased.LinuxBridge()), hosts{}),
		IPAM:       ipam.New(ident.Random{}), Clock: clock.System{}, IDs: ident.Random{}, BaseMAC: net.HardwareAddr{0xfa, 0x16, 0x3e, 0, 0, 0}})
	w.remote = ml2.NewRemoteBinder(w.plugin, st)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- tasks.New(st, slog.New(slog.DiscardHandler), 4, w.remote.Handlers()...).Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	w.write(func(tx store.WriteTx) error { return types.Prepare(t.Context(), tx) })
	return w
}

func (w *world) write(f func(tx store.WriteTx) error) {
	w.t.Helper()
	if err := w.st.Write(w.t.Context(), f); err != nil {
		w.t.Fatal(err)
	}
}

// network makes a network on the segments wanted.
func (w *world) network(wants ...model.Segment) model.Network {
	w.t.Helper()
	n := model.Network{Standard: model.Standard{ID: ident.Random{}.UUID(), Revision: 1}, AdminStateUp: true}
	w.write(func(tx store.WriteTx) error {
		if _, err := w.types.ReserveAll(w.t.Context(), tx, n.ID, "", false, slices.Clone(wants)); err != nil {
			return err
		}
		return w.plugin.Networks.Insert(w.t.Context(), tx, &n)
	})
	return n
}

func (w *world) port(network, host string) model.Port {
	w.t.Helper()
	var p model.Port
	w.write(func(tx store.WriteTx) (err error) {
		p, err = w.plugin.CreatePort(w.t.Context(), tx, model.Port{NetworkID: network, HostID: host, VNICType: model.VNICNormal})
		return err
	})
	return p
}

func (w *world) adjust(id string, change func(*model.Port)) {
	w.t.Helper()
	w.write(func(tx store.WriteTx) error {
		_, err := w.plugin.AdjustPort(w.t.Context(), tx, id, change)
		return err
	})
}

func (w *world) drop(id string) {
	w.t.Helper()
	w.write(func(tx store.WriteTx) error { return w.plugin.DeletePort(w.t.Context(), tx, id) })
}

// state is what the database says of a port and its binding.
func (w *world) state(id string) (p model.Port, levels []model.BindingLevel) {
	w.t.Helper()
	err := w.st.Read(w.t.Context(), func(tx store.Tx) (err error) {
		if p, err = w.plugin.Ports.Get(w.t.Context(), tx, id); err != nil {
			return err
		}
		all, err := ml2.LevelsOf(w.t.Context(), tx, []string{id})
		levels = all[id]
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return p, levels
}

func (w *world) segments(network string) (out []model.Segment) {
	w.t.Helper()
	err := w.st.Read(w.t.Context(), func(tx store.Tx) error {
		all, err := ml2.SegmentsOf(w.t.Context(), tx, []string{network})
		out = all[network]
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// free counts the free ids of a pool, such as "segment:vlan:physnet1".
func (w *world) free(pool string) (n uint64) {
	w.t.Helper()
	err := w.st.Read(w.t.Context(), func(tx store.Tx) error {
		all, err := freerange.Free(w.t.Context(), tx, pool)
		n = all[pool].Uint64()
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// until waits for a state.
func (w *world) until(what string, holds func() bool) {
	w.t.Helper()
	deadline := time.After(patience)
	for !holds() {
		select {
		case <-deadline:
			w.t.Fatalf("%s: not within %s", what, patience)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// tasks counts what is owed.
func (w *world) tasks() (n int64) {
	w.t.Helper()
	err := w.st.Read(w.t.Context(), func(tx store.Tx) (err error) {
		n, _, err = store.Int(w.t.Context(), tx, store.Q("SELECT COUNT(*) FROM tasks"))
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}
