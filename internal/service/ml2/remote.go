package ml2

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"isospin/internal/model"
	"isospin/internal/service"
	"isospin/internal/store"
)

// RemoteBinder does the work that remote drivers are owed after a commit; assemble hands it to the task runner.
type RemoteBinder struct {
	plugin *Plugin
	store  store.Store
}

// NewRemoteBinder makes the handlers' common part.
func NewRemoteBinder(p *Plugin, s store.Store) *RemoteBinder {
	return &RemoteBinder{plugin: p, store: s}
}

// Handlers are the task handlers of the plugin.
func (b *RemoteBinder) Handlers() []service.TaskHandler {
	return []service.TaskHandler{binder{b}, postcommitter{b}}
}

type binder struct{ *RemoteBinder }

// Name is the task's name.
func (binder) Name() string { return taskBind }

// Handle binds a port outside any transaction and saves the answer only if the port is still at the generation that it was asked for.
func (b binder) Handle(ctx context.Context, payload json.RawMessage) error {
	var t bindTask
	if err := json.Unmarshal(payload, &t); err != nil {
		return fmt.Errorf("decode task: %w", err)
	}
	p := b.plugin
	var r BindRequest
	var current bool
	err := b.store.Read(ctx, func(tx store.Tx) error {
		current = false
		port, err := p.Ports.Get(ctx, tx, t.Port)
		if store.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if port.Wiring != t.Wiring || bound(&port) || port.HostID == "" {
			return nil // somebody changed it, and owed another task if need be
		}
		n, err := p.Networks.Get(ctx, tx, port.NetworkID)
		if err != nil {
			return err
		}
		current = true
		r, err = p.bindRequest(ctx, tx, &port, &n)
		return err
	})
	if err != nil {
		return err
	}
	if !current {
		// A server that was killed between reserving and saving left segments that nobody uses.
		return b.store.Write(ctx, func(tx store.WriteTx) error { return p.sweepDynamic(ctx, tx, t.Network) })
	}
	var reserved []string
	o, err := p.Mechanisms.tree(ctx, r, true, func(ctx context.Context, want model.Segment) (s model.Segment, err error) {
		err = b.store.Write(ctx, func(tx store.WriteTx) error {
			s, err = p.reserveNext(ctx, tx, r.Network.ID, want)
			return err
		})
		if err == nil {
			reserved = append(reserved, s.ID)
		}
		return s, err
	})
	if errors.Is(err, ErrNoSegment) || store.IsNotFound(err) { // the pool is empty, or the network gone
		o, err = outcome{}, nil
	}
	if err != nil {
		return errors.Join(err, b.release(ctx, reserved))
	}
	return b.save(ctx, t, o, reserved)
}

// save writes the answer by compare-and-set and releases the segments that it does not use.
func (b binder) save(ctx context.Context, t bindTask, o outcome, reserved []string) error {
	p := b.plugin
	return b.store.Write(ctx, func(tx store.WriteTx) error {
		cur, err := p.Ports.GetForUpdate(ctx, tx, t.Port)
		if err != nil && !store.IsNotFound(err) {
			return err
		}
		if err != nil || cur.Wiring != t.Wiring || bound(&cur) {
			return p.releaseUnused(ctx, tx, reserved)
		}
		port := cur.Clone()
		port.VIFType = model.VIFBindingFailed
		used := map[string]bool{}
		if o.bound {
			if used, err = p.hold(ctx, tx, o); err != nil {
				return err
			}
			if err := p.settle(ctx, tx, &port, o); err != nil {
				return err
			}
		}
		port.Wiring++
		p.bump(&port.Standard)
		if err := p.Ports.Update(ctx, tx, &port, cur.Revision); err != nil {
			return err
		}
		Dirty(tx, &cur, &port)
		return p.releaseUnused(ctx, tx, slices.DeleteFunc(slices.Clone(reserved), func(id string) bool { return used[id] }))
	})
}

// errSegmentGone says that a segment went between its reservation and its use; the task is tried again.
var errSegmentGone = errors.New("ml2: a segment of the binding is gone")

// hold keeps the segments of a binding until the commit and tells which they are.
func (p *Plugin) hold(ctx context.Context, tx store.WriteTx, o outcome) (map[string]bool, error) {
	used := map[string]bool{}
	var ids []string
	for _, l := range o.levels {
		used[l.SegmentID] = true
		ids = append(ids, l.SegmentID)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	held, err := segmentsByID(ctx, tx, ids, tx.Dialect().ForShare())
	if err == nil && len(held) < len(ids) {
		err = errSegmentGone
	}
	return used, err
}

// sweepDynamic gives back a network's dynamic segments that nobody uses.
func (p *Plugin) sweepDynamic(ctx context.Context, tx store.WriteTx, network string) error {
	var ids []string
	err := store.Each(ctx, tx, store.Q("SELECT id FROM segments WHERE network_id = ? AND is_dynamic <> 0 AND id NOT IN (SELECT segment_id FROM binding_levels)", network),
		func(scan func(...any) error) error {
			var id string
			err := scan(&id)
			ids = append(ids, id)
			return err
		})
	if err != nil {
		return err
	}
	return p.releaseUnused(ctx, tx, ids)
}

func (b binder) release(ctx context.Context, reserved []string) error {
	if len(reserved) == 0 {
		return nil
	}
	return b.store.Write(ctx, func(tx store.WriteTx) error { return b.plugin.releaseUnused(ctx, tx, reserved) })
}

type postcommitter struct{ *RemoteBinder }

// Name is the task's name.
func (postcommitter) Name() string { return taskPostcommit }

// Handle tells the remote drivers of a port's binding as it is now.
func (b postcommitter) Handle(ctx context.Context, payload json.RawMessage) error {
	var t postcommitTask
	if err := json.Unmarshal(payload, &t); err != nil {
		return fmt.Errorf("decode task: %w", err)
	}
	port := model.Port{Standard: model.Standard{ID: t.Port}}
	var levels []model.BindingLevel
	err := b.store.Read(ctx, func(tx store.Tx) error {
		got, err := b.plugin.Ports.Get(ctx, tx, t.Port)
		if store.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		port = got
		all, err := LevelsOf(ctx, tx, []string{t.Port})
		levels = all[t.Port]
		return err
	})
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range t.Drivers {
		if d, ok := b.plugin.Mechanisms.driver(name).(Remote); ok {
			if err := d.Postcommit(ctx, port, levels); err != nil {
				errs = append(errs, fmt.Errorf("driver %s: %w", name, err))
			}
		}
	}
	return errors.Join(errs...)
}
