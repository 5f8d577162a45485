package agent

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"isospin/internal/change"
	"isospin/internal/clock"
	"isospin/internal/reconcile"
	"isospin/internal/wire"
)

// Documents is the mirror as the loop drives it.
type Documents interface {
	View
	// Apply takes one frame; dirty are the documents that it touched. An error ends the session.
	Apply(f *wire.Frame) (dirty []change.Key, unreadable map[change.Key]error, err error)
	SetSynced() error
	// Flush is called when a burst of frames is over.
	Flush() error
}

// Loop is the whole agent: mirror → features → Grow stages 1..n → Shrink stages n..1 → report. One goroutine, Run's, owns
// mirror, features and stages; the link and the monitors hand events to it.
type Loop struct {
	Documents Documents
	Features  []Feature
	// Stages are in dependency order: what others stand on first.
	Stages []reconcile.Stage
	// Report takes statuses and returns when a server has them, or ctx ends.
	Report func(ctx context.Context, ss []*wire.Status) error
	Clock  clock.Clock
	Log    *slog.Logger

	frames  chan frameEvent
	wake    chan struct{}
	changed chan []change.Key
	reports reporter
	// open are ports whose report is not final: looked at again after every pass.
	open map[string]bool
	said map[statusKey]PortState
	// faults are what each feature could not convert when it last looked.
	faults map[string]Faults
}

type frameEvent struct {
	frame  *wire.Frame // nil: synced
	answer chan<- error
}

type statusKey struct{ entity, port string }

// gather is how long the loop waits for more after a first event, so that a burst costs one pass.
const gather = time.Millisecond

// Init makes the loop ready; called once, before Run and before anything is handed to it.
func (l *Loop) Init() {
	l.frames = make(chan frameEvent)
	l.wake = make(chan struct{}, 1)
	l.changed = make(chan []change.Key)
	l.open = map[string]bool{}
	l.said = map[statusKey]PortState{}
	l.faults = map[string]Faults{}
	l.reports = newReporter(l.Report, l.Log)
}

// Frame hands a frame to the loop and returns when the mirror has it. Any goroutine may call it.
func (l *Loop) Frame(ctx context.Context, f *wire.Frame) error {
	return l.hand(ctx, frameEvent{frame: f})
}

// Synced tells the loop that every set is whole.
func (l *Loop) Synced(ctx context.Context) error { return l.hand(ctx, frameEvent{}) }

func (l *Loop) hand(ctx context.Context, e frameEvent) error {
	answer := make(chan error, 1)
	e.answer = answer
	select {
	case l.frames <- e:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Wake asks for a pass: a monitor invalidated a stage. Any goroutine may call it; it never blocks.
func (l *Loop) Wake() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Run works until ctx ends. unreadable are documents of the mirror that could not be read at the start.
func (l *Loop) Run(ctx context.Context, unreadable map[change.Key]error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	observers := 0
	for _, f := range l.Features {
		if o, ok := f.(Observer); ok {
			observers++
			go func() { l.forward(ctx, o.Changed()); done <- struct{}{} }()
		}
	}
	observers++
	go func() { l.reports.run(ctx); done <- struct{}{} }()
	defer func() {
		for range observers {
			<-done
		}
	}()
	l.set(unreadable)
	work := batch{all: true}
	for {
		l.pass(ctx, work)
		if err := l.Documents.Flush(); err != nil {
			l.Log.Warn("mirror cannot be written", slog.Any("err", err))
		}
		var ok bool
		if work, ok = l.next(ctx); !ok {
			return nil
		}
	}
}

// forward carries an observer's keys to the loop.
func (l *Loop) forward(ctx context.Context, from <-chan []change.Key) {
	for {
		select {
		case keys := <-from:
			select {
			case l.changed <- keys:
			case <-ctx.Done():
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// batch is what one pass has to look at.
type batch struct {
	dirty []change.Key
	all   bool
}

// next waits for work, and a moment longer for more of it.
func (l *Loop) next(ctx context.Context) (batch, bool) {
	var b batch
	var more <-chan time.Time
	for {
		var retry <-chan time.Time
		if more == nil {
			if after := l.retry(); after != reconcile.Never {
				retry = l.Clock.After(after)
			}
		}
		select {
		case e := <-l.frames:
			l.take(e, &b)
		case keys := <-l.changed:
			if keys == nil {
				b.all = true // the observer lost count
			}
			b.dirty = append(b.dirty, keys...)
		case <-l.wake:
		case <-retry:
			return b, true
		case <-more:
			return b, true
		case <-ctx.Done():
			return b, false
		}
		if more == nil {
			more = l.Clock.After(gather)
		}
	}
}

// take applies one frame.
func (l *Loop) take(e frameEvent, b *batch) {
	if e.frame == nil {
		if !l.Documents.Synced() {
			b.all = true
		}
		e.answer <- l.Documents.SetSynced()
		return
	}
	dirty, unreadable, err := l.Documents.Apply(e.frame)
	b.dirty = append(b.dirty, dirty...)
	l.set(unreadable)
	e.answer <- err
}

// set reports documents that cannot be read.
func (l *Loop) set(unreadable map[change.Key]error) {
	for k, err := range unreadable {
		l.Log.Warn("document set aside", slog.String("kind", k.Kind), slog.String("id", k.ID), slog.Any("err", err))
		l.reports.add(&wire.Status{Kind: k.Kind, Id: k.ID, Entity: wire.EntityMirror, State: wire.State_FAILED, Detail: err.Error()})
	}
}

// retry is when some stage wants to be called again.
func (l *Loop) retry() time.Duration {
	least := reconcile.Never
	for _, s := range l.Stages {
		if after, _ := s.Retry(); after < least {
			least = after
		}
	}
	return least
}

// pass brings the kernel in line with the documents, as far as it goes now.
func (l *Loop) pass(ctx context.Context, b batch) {
	for _, f := range l.Features {
		mine := b.dirty
		if !b.all {
			kinds := f.Kinds()
			mine = slices.DeleteFunc(slices.Clone(b.dirty), func(k change.Key) bool { return !slices.Contains(kinds, k.Kind) })
			if len(mine) == 0 {
				continue
			}
		}
		l.remember(f.Name(), mine, b.all, f.Sync(l.Documents, mine, b.all))
	}
	synced := l.Documents.Synced()
	for _, s := range l.Stages {
		s.SetInSync(synced)
		if err := s.Grow(ctx); err != nil && !errors.Is(err, context.Canceled) {
			l.Log.Warn("stage cannot grow", slog.String("stage", s.Name()), slog.Any("err", err))
		}
	}
	for _, s := range slices.Backward(l.Stages) {
		if err := s.Shrink(ctx); err != nil && !errors.Is(err, context.Canceled) {
			l.Log.Warn("stage cannot shrink", slog.String("stage", s.Name()), slog.Any("err", err))
		}
	}
	l.speak(b)
}

// remember keeps a feature's faults until it looks at their documents again.
func (l *Loop) remember(feature string, looked []change.Key, all bool, found Faults) {
	kept := l.faults[feature]
	if all || kept == nil {
		kept = Faults{}
		l.faults[feature] = kept
	}
	for _, k := range looked {
		delete(kept, k)
	}
	maps.Copy(kept, found)
}

// speak reports the ports that the pass touched, and those that were not final before.
func (l *Loop) speak(b batch) {
	ports := l.open
	l.open = map[string]bool{}
	for _, k := range b.dirty {
		if k.Kind == wire.KindPort || k.Kind == wire.KindReservation {
			ports[k.ID] = true
		}
		if k.Kind == wire.KindDHCP {
			for id := range l.Documents.In(wire.KindReservation, ByNetwork, k.ID) {
				ports[id] = true
			}
		}
	}
	if b.all {
		for _, kind := range []string{wire.KindPort, wire.KindReservation} {
			for id := range l.Documents.All(kind) {
				ports[id] = true
			}
		}
		for k := range l.said {
			ports[k.port] = true
		}
	}
	waiting := map[reconcile.Owner]error{}
	for _, s := range l.Stages {
		for owner, err := range s.Unsettled() {
			waiting[owner] = err
			ports[owner.Doc] = true
		}
	}
	for id := range ports {
		for _, f := range l.Features {
			if r, ok := f.(Reporter); ok {
				l.speakOf(id, f.Name(), r, waiting)
			}
		}
	}
}

func (l *Loop) speakOf(id, entity string, r Reporter, waiting map[reconcile.Owner]error) {
	k := statusKey{entity, id}
	state, ok := r.Report(l.Documents, id)
	if !ok {
		delete(l.said, k)
		return
	}
	err := waiting[reconcile.Owner{Feature: entity, Doc: id}]
	if err == nil && state.Needs != "" {
		err = waiting[reconcile.Owner{Feature: entity, Doc: state.Needs}]
	}
	if err != nil && state.State == wire.State_DONE {
		l.open[id] = true
		state.State, state.Detail = wire.State_PENDING, err.Error()
		if !errors.Is(err, reconcile.ErrPending) {
			state.State = wire.State_FAILED
		}
	}
	if err := l.faults[entity][change.Key{Kind: wire.KindPort, ID: id}]; err != nil {
		state.State, state.Detail = wire.State_FAILED, err.Error()
	}
	if before, said := l.said[k]; said && before == state {
		return
	}
	l.said[k] = state
	l.reports.add(&wire.Status{Kind: wire.KindPort, Id: id, Generation: state.Generation, Entity: entity, State: state.State, Detail: state.Detail})
}
