package agent

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"isospin/internal/change"
	"isospin/internal/reconcile"
	"isospin/internal/wire"
)

// Reason is one thing that keeps the host from being as it should be, in a sentence for people.
type Reason struct {
	Text string
	// Whole is true when it concerns the host's work as a whole, false when some objects or documents alone.
	Whole bool
}

// patience is how long a failure stands before it is said: what others break is mended within this time, or reported.
const patience = 2 * time.Second

// rewrite is how soon a mirror that could not be written is tried again when nothing else happens.
const rewrite = 5 * time.Second

// reasons bounds how many are told; a person mends them one after the other.
const reasons = 20

// review is what was told last, and when it must be looked at again although nothing happens.
type review struct {
	told []Reason
	next time.Time
}

// judge looks at what is not as it should be, and tells when that is another than before.
func (l *Loop) judge() {
	now := l.Clock.Now()
	l.review.next = time.Time{}
	var out []Reason
	for _, s := range l.Stages {
		for _, t := range s.Troubles() {
			if ripe := t.Since.Add(patience); ripe.After(now) {
				l.review.later(ripe)
				continue
			}
			out = append(out, Reason{Text: t.String(), Whole: t.Object == ""})
		}
	}
	for _, since := range l.speech.held {
		if ripe := since.Add(patience); ripe.After(now) {
			l.review.later(ripe)
		}
	}
	if l.unwritten != nil {
		l.review.later(now.Add(rewrite))
		out = append(out, Reason{Text: fmt.Sprintf("%v; an agent that is started now, with no server there, knows less than this one", l.unwritten)})
	}
	out = append(out, l.documents()...)
	out = append(out, l.speech.objects()...)
	out = append(out, l.speech.ports()...)
	if more := len(out) - reasons; more > 0 {
		out = append(out[:reasons:reasons], Reason{Text: fmt.Sprintf("and %d more", more)})
	}
	if !slices.Equal(out, l.review.told) {
		l.log(l.review.told, out)
		l.review.told = out
		if l.Troubled != nil {
			l.Troubled(out)
		}
	}
}

// log tells which reasons are new and which are no more.
func (l *Loop) log(before, now []Reason) {
	for _, r := range now {
		if !slices.Contains(before, r) {
			l.Log.Warn("not as it should be", slog.String("reason", r.Text))
		}
	}
	for _, r := range before {
		if !slices.Contains(now, r) {
			l.Log.Info("no longer so", slog.String("reason", r.Text))
		}
	}
}

func (r *review) later(at time.Time) {
	if r.next.IsZero() || at.Before(r.next) {
		r.next = at
	}
}

// due is when failures that stand now will have stood for long enough.
func (l *Loop) due() time.Duration {
	if l.review.next.IsZero() {
		return reconcile.Never
	}
	return max(0, l.review.next.Sub(l.Clock.Now()))
}

// documents are the reasons of those that were set aside.
func (l *Loop) documents() []Reason {
	keys := make([]change.Key, 0, len(l.unreadable))
	for k := range l.unreadable {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b change.Key) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID)) })
	out := make([]Reason, len(keys))
	for i, k := range keys {
		out[i] = Reason{Text: fmt.Sprintf("document %s %s is set aside: %v", k.Kind, k.ID, l.unreadable[k])}
	}
	return out
}

// objects are the reasons of documents, other than ports, that features could not turn into objects; what of them can be done is done.
func (s *speech) objects() []Reason {
	var out []Reason
	for _, faults := range s.faults {
		for k, err := range faults {
			if k.Kind != wire.KindPort {
				out = append(out, Reason{Text: fmt.Sprintf("document %s %s: %v", k.Kind, k.ID, err)})
			}
		}
	}
	slices.SortFunc(out, func(a, b Reason) int { return cmp.Compare(a.Text, b.Text) })
	return slices.Compact(out)
}

// ports are the reasons of ports that failed for what is no stage's trouble, those of one reason together.
func (s *speech) ports() []Reason {
	alike := map[string][]statusKey{}
	for k, why := range s.failed {
		alike[why] = append(alike[why], k)
	}
	out := make([]Reason, 0, len(alike))
	for why, keys := range alike {
		first := slices.MinFunc(keys, func(a, b statusKey) int { return cmp.Or(cmp.Compare(a.port, b.port), cmp.Compare(a.entity, b.entity)) })
		others := ""
		if n := len(keys) - 1; n > 0 {
			others = fmt.Sprintf(" and %d more", n)
		}
		out = append(out, Reason{Text: fmt.Sprintf("port %s%s: %s", first.port, others, why)})
	}
	slices.SortFunc(out, func(a, b Reason) int { return cmp.Compare(a.Text, b.Text) })
	return out
}
