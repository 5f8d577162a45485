package trunk

import (
	"context"
	"net"
	"testing"

	"isospin/internal/clock"
	"isospin/internal/ident"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/service"
	"isospin/internal/service/ipam"
	"isospin/internal/service/ml2"
	"isospin/internal/service/ml2/mechdriver/agentbased"
	"isospin/internal/service/ml2/typedriver/claim"
	"isospin/internal/service/ml2/typedriver/tunnel"
	"isospin/internal/store"
	"isospin/internal/store/engine"
	"isospin/internal/store/open"
)

// hosts have an agent that carries VXLAN: of Open vSwitch, of a Linux bridge on those called lb.
type hosts struct{}

func (hosts) Host(_ context.Context, _ store.Tx, name string) (model.Host, error) {
	kind := model.AgentOVS
	if name == "lb" {
		kind = model.AgentLinuxBridge
	}
	return model.Host{Name: name, Agents: []model.Agent{{AgentType: kind, Host: name,
		Configurations: map[string]any{"tunneling_ip": "192.0.2.1", "tunnel_types": []any{"vxlan"}}}}}, nil
}

func (h hosts) Known(ctx context.Context, tx store.Tx, name string) (model.Host, error) {
	return h.Host(ctx, tx, name)
}

type world struct {
	t       *testing.T
	st      *engine.Engine
	core    *ml2.Plugin
	trunks  *Plugin
	network string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	st, err := open.Open(t.Context(), "sqlite://", open.Options{Upgrade: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	ids := ident.Random{}
	types, err := ml2.NewTypeManager([]ml2.TypeDriver{tunnel.Driver{Config: tunnel.Config{Type: model.TypeVXLAN, MaxID: tunnel.MaxVNI,
		Ranges: []claim.Range{{Min: 1, Max: 10}}, Overhead: tunnel.OverheadVXLAN, IPHeader: 20, MTUAll: 1500, IDs: ids}}}, []string{"vxlan"}, "", ids, clock.System{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, st: st}
	w.core = ml2.New(ml2.Config{Networks: ml2.NewNetworks(), Subnets: ml2.NewSubnets(), Ports: ml2.NewPorts(), Types: types,
		Mechanisms: ml2.NewMechanismManager([]ml2.MechanismDriver{agentbased.OpenVSwitch(), agentbased.LinuxBridge()}, hosts{}),
		IPAM:       ipam.New(ids), Clock: clock.System{}, IDs: ids, BaseMAC: net.HardwareAddr{0xfa, 0x16, 0x3e, 0, 0, 0}})
	w.trunks = New(Config{Trunks: NewTrunks(), Ports: w.core.Ports, Networks: w.core.Networks, Binder: w.core, Clock: clock.System{}, IDs: ids})
	w.core.Guard(ml2.Guards{Ports: []service.Guard[model.Port]{Ports{w.trunks}}, PortsWritten: []service.Follower[model.Port]{Ports{w.trunks}}})
	n := model.Network{Standard: model.Standard{ID: ids.UUID()}, L2Adjacency: true, MTU: 1450}
	w.network = n.ID
	w.write(func(tx store.WriteTx) error {
		if err := types.Prepare(t.Context(), tx); err != nil {
			return err
		}
		if _, err := types.ReserveAll(t.Context(), tx, n.ID, "", false, nil); err != nil {
			return err
		}
		return w.core.Networks.Insert(t.Context(), tx, &n)
	})
	return w
}

func (w *world) write(f func(tx store.WriteTx) error) {
	w.t.Helper()
	if err := w.st.Write(w.t.Context(), f); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) port(host string) (p model.Port) {
	w.t.Helper()
	w.write(func(tx store.WriteTx) (err error) {
		p, err = w.core.CreatePort(w.t.Context(), tx, model.Port{NetworkID: w.network, HostID: host})
		return err
	})
	return p
}

func (w *world) trunk(parent string, subs ...model.SubPort) (t model.Trunk) {
	w.t.Helper()
	w.write(func(tx store.WriteTx) (err error) {
		t, err = trunks{w.trunks}.Create(w.t.Context(), tx, rest.Input[model.Trunk]{Value: model.Trunk{PortID: parent, AdminStateUp: true, SubPorts: subs}})
		return err
	})
	return t
}

func (w *world) move(port, host string) {
	w.t.Helper()
	w.write(func(tx store.WriteTx) error {
		_, err := w.core.AdjustPort(w.t.Context(), tx, port, func(p *model.Port) { p.HostID = host })
		return err
	})
}

// say writes a port's status as the one door of statuses does, and tells the follower.
func (w *world) say(port, status string) {
	w.t.Helper()
	w.write(func(tx store.WriteTx) error {
		old, err := w.core.Ports.GetForUpdate(w.t.Context(), tx, port)
		if err != nil {
			return err
		}
		now := old.Clone()
		now.Status = status
		if err := w.core.Ports.Update(w.t.Context(), tx, &now, -1); err != nil {
			return err
		}
		return Ports{w.trunks}.Follow(w.t.Context(), tx, service.Write[model.Port]{Op: service.Update, Old: &old, New: &now})
	})
}

func (w *world) status(trunk string) (status string) {
	w.t.Helper()
	err := w.st.Read(w.t.Context(), func(tx store.Tx) error {
		t, err := w.trunks.Trunks.Get(w.t.Context(), tx, trunk)
		status = t.Status
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return status
}

// TestATrunkIsWhatItsPortsAre: its status follows the port that carries it and those inside.
func TestATrunkIsWhatItsPortsAre(t *testing.T) {
	w := newWorld(t)
	parent, one, two := w.port(""), w.port(""), w.port("")
	trunk := w.trunk(parent.ID, model.SubPort{PortID: one.ID, SegmentationType: "vlan", SegmentationID: 1}, model.SubPort{PortID: two.ID, SegmentationType: "vlan", SegmentationID: 2})
	want := func(status, why string) {
		t.Helper()
		if got := w.status(trunk.ID); got != status {
			t.Errorf("%s: the trunk is %s, want %s", why, got, status)
		}
	}
	want(model.StatusDown, "it is on no host")
	w.move(parent.ID, "h1")
	want(model.StatusDown, "its port is not wired")
	w.say(parent.ID, model.StatusActive)
	want(model.StatusBuild, "nothing inside is wired")
	w.say(one.ID, model.StatusActive)
	want(model.StatusBuild, "one inside is not wired")
	w.say(two.ID, model.StatusActive)
	want(model.StatusActive, "all are wired")
	w.say(two.ID, model.StatusDown)
	want(model.StatusBuild, "one inside is wired no more")
	w.say(two.ID, model.StatusActive)
	w.move(two.ID, "")
	want(model.StatusDegraded, "one inside is elsewhere")
	w.move(parent.ID, "h2")
	want(model.StatusDown, "it moved")
	w.say(parent.ID, model.StatusActive)
	w.move(parent.ID, "")
	want(model.StatusDown, "it is on no host")
}

// TestLinuxBridgesCarryTrunksAnyTime: a port on a Linux bridge begins and ceases to carry a trunk while it is there.
func TestLinuxBridgesCarryTrunksAnyTime(t *testing.T) {
	w := newWorld(t)
	parent, sub := w.port("lb"), w.port("")
	w.say(parent.ID, model.StatusActive)
	trunk := w.trunk(parent.ID, model.SubPort{PortID: sub.ID, SegmentationType: "vlan", SegmentationID: 1})
	if trunk.Status != model.StatusBuild {
		t.Errorf("the trunk is %s", trunk.Status)
	}
	read := func() (p model.Port) {
		t.Helper()
		err := w.st.Read(t.Context(), func(tx store.Tx) (err error) {
			p, err = w.core.Ports.Get(t.Context(), tx, sub.ID)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if p := read(); p.HostID != "lb" || p.VIFType != model.VIFBridge || p.DeviceOwner != model.OwnerSubport || p.TrunkID != trunk.ID {
		t.Errorf("the subport is %+v", p)
	}
	w.write(func(tx store.WriteTx) error { return trunks{w.trunks}.Delete(t.Context(), tx, trunk) })
	if p := read(); p.HostID != "" || p.VIFType != model.VIFUnbound || p.DeviceOwner != "" || p.TrunkID != "" {
		t.Errorf("the subport without its trunk is %+v", p)
	}
}

// TestPortsOutsideTrunksCostNothing: guard and follower make no statement for them.
func TestPortsOutsideTrunksCostNothing(t *testing.T) {
	w := newWorld(t)
	p := w.port("h1")
	before := w.st.Stats().Statements
	for _, op := range []service.Op{service.Create, service.Update, service.Delete} {
		x := service.Write[model.Port]{Op: op, Old: &p, New: &p}
		if err := (Ports{w.trunks}).Guard(t.Context(), nil, x); err != nil {
			t.Error(err)
		}
		if err := (Ports{w.trunks}).Follow(t.Context(), nil, x); err != nil {
			t.Error(err)
		}
	}
	if n := w.st.Stats().Statements - before; n != 0 {
		t.Errorf("%d statements", n)
	}
}

// TestSubportsAreAwaited: the hosts that wait for the port that carries a trunk wait for those inside too, whenever they come, until the
// trunk has moved there or will not.
func TestSubportsAreAwaited(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	sub := func(vlan int64) model.SubPort {
		return model.SubPort{PortID: w.port("").ID, SegmentationType: "vlan", SegmentationID: vlan}
	}
	at := func(id, host, waits string) {
		t.Helper()
		var p model.Port
		if err := w.st.Read(ctx, func(tx store.Tx) (err error) { p, err = w.core.Ports.Get(ctx, tx, id); return err }); err != nil {
			t.Fatal(err)
		}
		have := ""
		for _, b := range p.Bindings {
			have += b.Host + " " + b.VIFType
		}
		if p.HostID != host || have != waits {
			t.Errorf("the port is on %q and waits on %q, want %q and %q", p.HostID, have, host, waits)
		}
	}
	parent, a, b := w.port(""), sub(5), sub(6)
	tr := w.trunk(parent.ID, a)
	w.write(func(tx store.WriteTx) error {
		_, err := w.core.AdjustPort(ctx, tx, parent.ID, func(p *model.Port) { p.HostID, p.DeviceOwner = "h1", "compute:nova" })
		return err
	})
	add := func(host string) {
		t.Helper()
		w.write(func(tx store.WriteTx) error {
			_, err := w.core.AddBinding(ctx, tx, parent.ID, model.PortBinding{Host: host, VNICType: model.VNICNormal, Profile: map[string]any{}})
			return err
		})
	}
	add("h2")
	at(a.PortID, "h1", "h2 ovs")
	w.write(func(tx store.WriteTx) error { // one that comes meanwhile
		now, err := w.trunks.Trunks.GetForUpdate(ctx, tx, tr.ID)
		if err != nil {
			return err
		}
		return trunks{w.trunks}.add(ctx, tx, &now, []model.SubPort{b})
	})
	at(b.PortID, "h1", "h2 ovs")
	w.write(func(tx store.WriteTx) error { return w.core.DropBinding(ctx, tx, parent.ID, "h2") })
	at(a.PortID, "h1", "")
	at(b.PortID, "h1", "")
	add("h2")
	w.write(func(tx store.WriteTx) error { _, err := w.core.ActivateBinding(ctx, tx, parent.ID, "h2"); return err })
	at(a.PortID, "h2", "")
	at(b.PortID, "h2", "")
	add("lb")
	at(a.PortID, "h2", "lb bridge")
	w.write(func(tx store.WriteTx) error { // one that goes waits no more
		now, err := w.trunks.Trunks.GetForUpdate(ctx, tx, tr.ID)
		if err != nil {
			return err
		}
		return trunks{w.trunks}.remove(ctx, tx, &now, []model.SubPort{{PortID: a.PortID}})
	})
	at(a.PortID, "", "")
	at(b.PortID, "h2", "lb bridge")
}
