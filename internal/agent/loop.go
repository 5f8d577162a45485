package agent

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"isospin/internal/change"
	"isospin/internal/clock"
	"isospin/internal/reconcile"
	"isospin/internal/wire"
)

// Documents is the mirror as the loop drives it.
type Documents interface {
	View
	// Apply takes one frame; dirty are the documents that it touched, unreadable those of them that cannot be used. An
	// error ends the session, and only that.
	Apply(f *wire.Frame) (dirty []change.Key, unreadable map[change.Key]error, err error)
	// SetSynced is told that every set is whole; dirty are documents of sets that turned out to be held no more.
	SetSynced() (dirty []change.Key)
	// Flush makes what was applied outlive the process; called before it is acted upon.
	Flush() error
}

// Loop is the whole agent: mirror → features → Grow stages 1..n → Shrink stages n..1 → report. One goroutine, Run's, owns
// mirror, features and stages; the link and the monitors hand events to it.
type Loop struct {
	Documents Documents
	// Features in the order in which they speak: one whose reports wait for another's ports comes after it.
	Features []Feature
	// Stages are in dependency order: what others stand on first.
	Stages []reconcile.Stage
	// Report takes statuses and returns when a server has them, or ctx ends.
	Report func(ctx context.Context, ss []*wire.Status) error
	// Troubled is told, in Run's goroutine, what keeps the host from being as it should be, whenever that is another than before.
	// It must not block. nil for nobody.
	Troubled func([]Reason)
	Clock    clock.Clock
	Log      *slog.Logger

	frames  chan frameEvent
	wake    chan struct{}
	changed chan []change.Key
	reports reporter
	speech  speech
	// whole are the features that had a Sync of all after their first look.
	whole map[string]bool
	// unreadable are documents that were reported as such, and why.
	unreadable map[change.Key]error
	// unwritten is why the mirror's file does not follow.
	unwritten error
	review    review
	// trouble is what each stage failed with since it was last well, so that it is logged once.
	trouble map[string]map[string]bool
}

type frameEvent struct {
	frame  *wire.Frame // nil: synced
	answer chan<- error
}

// gather is how long the loop waits for more after a first event, so that a burst costs one pass.
const gather = 500 * time.Microsecond

// Init makes the loop ready; called once, before Run and before anything is handed to it.
func (l *Loop) Init() {
	l.frames = make(chan frameEvent)
	l.wake = make(chan struct{}, 1)
	l.changed = make(chan []change.Key)
	l.whole = map[string]bool{}
	l.unreadable = map[change.Key]error{}
	l.trouble = map[string]map[string]bool{}
	l.reports = newReporter(l.Report, l.Log)
	l.speech = newSpeech(l.reports.add, l.Clock.Now)
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
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for _, f := range l.Features {
		if o, ok := f.(Observer); ok {
			wg.Go(func() { l.forward(ctx, o.Changed()) })
		}
	}
	wg.Go(func() { l.reports.run(ctx) })
	l.aside(unreadable)
	work := batch{all: true}
	for {
		l.pass(ctx, work)
		var ok bool
		if work, ok = l.next(ctx); !ok {
			return nil
		}
		// Before the kernel follows the documents: a killed agent must know at its next start what it made.
		l.flush()
	}
}

func (l *Loop) flush() {
	err := l.Documents.Flush()
	if err != nil && (l.unwritten == nil || l.unwritten.Error() != err.Error()) {
		l.Log.Warn("mirror cannot be written", slog.Any("err", err))
	}
	l.unwritten = err
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
			if after := min(l.retry(), l.due()); after != reconcile.Never {
				retry = l.Clock.After(after)
			}
		}
		select {
		case e := <-l.frames:
			l.take(e, &b)
		case keys := <-l.changed:
			b.all = b.all || keys == nil
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

// take applies one frame, or the word that all sets are whole.
func (l *Loop) take(e frameEvent, b *batch) {
	if e.frame == nil {
		b.all = b.all || !l.Documents.Synced()
		b.dirty = append(b.dirty, l.Documents.SetSynced()...)
		e.answer <- nil
		return
	}
	dirty, unreadable, err := l.Documents.Apply(e.frame)
	b.dirty = append(b.dirty, dirty...)
	l.aside(unreadable)
	for _, k := range dirty {
		if l.unreadable[k] != nil && unreadable[k] == nil {
			delete(l.unreadable, k)
			if _, there := l.Documents.Get(k.Kind, k.ID); there {
				l.reports.add(&wire.Status{Kind: k.Kind, Id: k.ID, Entity: wire.EntityMirror, State: wire.State_DONE})
			}
		}
	}
	e.answer <- err
}

// aside reports documents that cannot be read.
func (l *Loop) aside(unreadable map[change.Key]error) {
	for k, err := range unreadable {
		l.unreadable[k] = err
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
		o, looks := f.(Observer)
		seen := !looks || o.Observed() // before the Sync, which may see more
		res := f.Sync(l.Documents, mine, b.all)
		b.dirty = append(b.dirty, res.Dirty...)
		l.speech.heard(f.Name(), res)
		l.whole[f.Name()] = l.whole[f.Name()] || b.all && seen
	}
	inSync := l.Documents.Synced()
	for _, f := range l.Features {
		inSync = inSync && l.whole[f.Name()]
	}
	for _, s := range l.Stages {
		s.SetInSync(inSync)
		l.tell(ctx, s, "stage cannot grow", s.Grow(ctx))
	}
	for _, s := range slices.Backward(l.Stages) {
		l.tell(ctx, s, "stage cannot shrink", s.Shrink(ctx))
	}
	if ctx.Err() != nil {
		return // what failed failed because the agent stops
	}
	l.speech.waiting(l.Stages)
	for _, f := range l.Features {
		if r, ok := f.(Reporter); ok && l.whole[f.Name()] {
			l.speech.speak(l.Documents, f.Name(), r, b.all)
		}
	}
	l.judge()
}

// tell logs what a stage failed with, once until it is well.
func (l *Loop) tell(ctx context.Context, s reconcile.Stage, what string, err error) {
	k := s.Name() + what
	switch {
	case ctx.Err() != nil:
	case err == nil:
		if len(l.trouble[k]) > 0 && len(s.Troubles()) == 0 { // not only between two tries
			delete(l.trouble, k)
		}
	case !l.trouble[k][err.Error()]:
		if l.trouble[k] == nil {
			l.trouble[k] = map[string]bool{}
		}
		l.trouble[k][err.Error()] = true
		l.Log.Warn(what, slog.String("stage", s.Name()), slog.Any("err", err))
	}
}
