package ml2

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"isospin/internal/change"
	"isospin/internal/model"
	"isospin/internal/store"
	"isospin/internal/wire"
)

// The tasks that the plugin owes.
const (
	taskBind       = "ml2.bind"
	taskPostcommit = "ml2.postcommit"
)

type bindTask struct {
	Port    string `json:"port"`
	Network string `json:"network"`
	Wiring  int64  `json:"wiring"`
}

type postcommitTask struct {
	Port    string   `json:"port"`
	Drivers []string `json:"drivers"`
}

// bind brings a port's binding in line with its host. old is nil for a create. It runs inside the request's transaction;
// what only a remote driver can bind is left unbound and owed as a task.
func (p *Plugin) bind(ctx context.Context, tx store.WriteTx, old, port *model.Port, n *model.Network) error {
	if old != nil && old.HostID == port.HostID && (port.HostID == "" || bound(old) && old.VNICType == port.VNICType) {
		return nil
	}
	if old == nil && port.HostID == "" {
		return nil
	}
	if old != nil && old.HostID != "" && old.HostID != port.HostID {
		if err := p.unbind(ctx, tx, old.ID, old.HostID); err != nil {
			return err
		}
	}
	if i := indexOfHost(port, port.HostID); i >= 0 { // it waited for this
		port.Bindings = slices.Delete(port.Bindings, i, i+1)
		if err := p.unbind(ctx, tx, port.ID, port.HostID); err != nil {
			return err
		}
	}
	port.VIFType, port.VIFDetails = model.VIFUnbound, map[string]any{}
	if old != nil {
		port.Status = model.StatusDown
	}
	if port.HostID == "" {
		return nil
	}
	r, err := p.bindRequest(ctx, tx, port, n)
	if err != nil {
		return err
	}
	if old != nil && migrating(old) {
		r.From = old
	}
	o, err := p.Mechanisms.tree(ctx, r, false, func(ctx context.Context, want model.Segment) (model.Segment, error) {
		return p.reserveNext(ctx, tx, n.ID, want)
	})
	switch {
	case errors.Is(err, ErrNoSegment):
		port.VIFType = model.VIFBindingFailed
		return nil
	case err != nil:
		return err
	case o.remote:
		// The task carries the generation that the row will have: create writes 1, an update counts it up.
		wiring := port.Wiring
		if old != nil && Rewired(old, port) {
			wiring++
		}
		return owe(tx, taskBind, bindTask{Port: port.ID, Network: n.ID, Wiring: wiring})
	case !o.bound:
		port.VIFType = model.VIFBindingFailed
		return nil
	}
	return p.settle(ctx, tx, port, o)
}

// migrating tells whether Nova moves the port's guest while it runs (neutron/plugins/ml2/drivers/macvtap/mech_driver/mech_macvtap.py).
func migrating(port *model.Port) bool {
	to, ok := port.Profile["migrating_to"].(string)
	return ok && to != ""
}

func (p *Plugin) bindRequest(ctx context.Context, tx store.Tx, port *model.Port, n *model.Network) (BindRequest, error) {
	host, err := p.Mechanisms.hosts.Host(ctx, tx, port.HostID)
	if err != nil {
		return BindRequest{}, err
	}
	all, err := SegmentsOf(ctx, tx, []string{n.ID})
	if err != nil {
		return BindRequest{}, err
	}
	on, err := ofAddresses(ctx, tx, n, port)
	if err != nil {
		return BindRequest{}, err
	}
	r := BindRequest{Port: *port, Network: *n, Host: host}
	for _, s := range all[n.ID] {
		if !s.Dynamic && (len(on) == 0 || on[s.ID]) {
			r.Segments = append(r.Segments, s)
		}
	}
	return r, nil
}

func (p *Plugin) reserveNext(ctx context.Context, tx store.WriteTx, network string, want model.Segment) (model.Segment, error) {
	// The network must not go while segments are made for it.
	if _, err := p.Networks.GetForShare(ctx, tx, network); err != nil {
		return model.Segment{}, err
	}
	return p.Types.ReserveDynamic(ctx, tx, network, want)
}

// settle writes a binding's levels and puts its result into the port, whose row the caller writes.
func (p *Plugin) settle(ctx context.Context, tx store.WriteTx, port *model.Port, o outcome) error {
	port.VIFType, port.VIFDetails, port.Status = o.vifType, o.details, cmp.Or(o.status, port.Status)
	args := make([]any, 0, 5*len(o.levels))
	for _, l := range o.levels {
		args = append(args, l.PortID, l.Host, l.Level, l.Driver, l.SegmentID)
	}
	_, err := tx.Exec(ctx, store.Q("INSERT INTO binding_levels (port_id, host, level, driver, segment_id) VALUES "+
		strings.Repeat("(?, ?, ?, ?, ?), ", len(o.levels)-1)+"(?, ?, ?, ?, ?)", args...))
	if err != nil {
		return err
	}
	return p.notifyRemotes(tx, port.ID, o.levels)
}

// unbind forgets a port's binding on a host ("": on every host) and releases dynamic segments that it was the last to use.
func (p *Plugin) unbind(ctx context.Context, tx store.WriteTx, port, host string) error {
	all, err := LevelsOf(ctx, tx, []string{port})
	if err != nil {
		return err
	}
	levels := all[port]
	where := store.Eq("port_id", port)
	if host != "" {
		levels = slices.DeleteFunc(levels, func(l model.BindingLevel) bool { return l.Host != host })
		where = store.And(where, store.Eq("host", host))
	}
	if len(levels) == 0 {
		return nil
	}
	if _, err := tx.Exec(ctx, store.Q("DELETE FROM binding_levels WHERE "+where.SQL, where.Args...)); err != nil {
		return err
	}
	var ids []string
	for _, l := range levels {
		if l.Level > 0 {
			ids = append(ids, l.SegmentID)
		}
	}
	if err := p.releaseUnused(ctx, tx, ids); err != nil {
		return err
	}
	return p.notifyRemotes(tx, port, levels)
}

// releaseUnused gives back those dynamic segments that no binding uses any more. Each is locked before its users are
// counted: who wants to use it holds it until the use is committed.
func (p *Plugin) releaseUnused(ctx context.Context, tx store.WriteTx, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	segments, err := segmentsByID(ctx, tx, ids, tx.Dialect().ForUpdate(false))
	if err != nil {
		return err
	}
	for _, s := range segments {
		if !s.Dynamic {
			continue
		}
		users, _, err := store.Int(ctx, tx, store.Q("SELECT COUNT(*) FROM binding_levels WHERE segment_id = ?", s.ID))
		if err != nil {
			return err
		}
		if users == 0 {
			if err := p.Types.Release(ctx, tx, s); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *Plugin) notifyRemotes(tx store.WriteTx, port string, levels []model.BindingLevel) error {
	names := p.Mechanisms.remotes(levels)
	if len(names) == 0 {
		return nil
	}
	return owe(tx, taskPostcommit, postcommitTask{Port: port, Drivers: names})
}

func owe(tx store.WriteTx, name string, payload any) error {
	raw, err := json.Marshal(payload)
	if err != nil {
		return fmt.Errorf("encode task %s: %w", name, err)
	}
	tx.Owe(change.Task{Name: name, Payload: raw})
	return nil
}

// Plugged tries to bind a port whose interface a host reports, when the port names that host and is not bound: the
// third occasion of binding.
func (p *Plugin) Plugged(ctx context.Context, tx store.WriteTx, portID, host string) error {
	port, err := p.Ports.GetForUpdate(ctx, tx, portID)
	if store.IsNotFound(err) {
		return nil // an interface of a port that is gone
	}
	if err != nil {
		return err
	}
	return p.retry(ctx, tx, port, host)
}

// HostReady tries again to bind the ports of a host that could not be bound before: its agent came, or serves more.
func (p *Plugin) HostReady(ctx context.Context, tx store.WriteTx, host string) error {
	all, err := p.Ports.Find(ctx, tx, store.List{Where: store.And(store.Eq("host", host),
		store.Expr("NOT EXISTS (SELECT 1 FROM binding_levels b WHERE b.port_id = ports.id AND b.host = ?)", host)), Lock: true})
	if err != nil {
		return err
	}
	for i := range all {
		if err := p.retry(ctx, tx, all[i], host); err != nil {
			return err
		}
	}
	return nil
}

func (p *Plugin) retry(ctx context.Context, tx store.WriteTx, cur model.Port, host string) error {
	if cur.HostID != host || bound(&cur) {
		return nil
	}
	n, err := p.Networks.GetForShare(ctx, tx, cur.NetworkID)
	if err != nil {
		return err
	}
	port := cur.Clone()
	return (ports{p}).save(ctx, tx, &n, &cur, &port, nil)
}

// rewire counts up the generation of all bound ports of a network whose segments moved.
func (p *Plugin) rewire(ctx context.Context, tx store.WriteTx, network string) error {
	if _, err := tx.Exec(ctx, store.Q("UPDATE ports SET wiring = wiring + 1 WHERE network_id = ? AND host <> ''", network)); err != nil {
		return err
	}
	// Hosts where the port waits hold its document too.
	err := store.Each(ctx, tx, store.Q("SELECT DISTINCT l.port_id, l.host FROM binding_levels l JOIN ports p ON p.id = l.port_id WHERE p.network_id = ? AND l.host <> p.host", network), func(scan func(...any) error) error {
		var id, host string
		err := scan(&id, &host)
		tx.Changed(key(wire.KindPort, id), change.NewSet(wire.FamilyHost, host))
		return err
	})
	if err != nil {
		return err
	}
	return store.Each(ctx, tx, store.Q("SELECT id, host FROM ports WHERE network_id = ? AND host <> ''", network), func(scan func(...any) error) error {
		var id, host string
		if err := scan(&id, &host); err != nil {
			return err
		}
		tx.Changed(key(wire.KindPort, id), change.NewSet(wire.FamilyHost, host))
		tx.Changed(key(wire.KindForward, id), networkSet(network))
		tx.Changed(key(wire.KindReservation, id), change.NewSet(wire.FamilyDHCP, network)) // it carries the generation too
		return nil
	})
}
