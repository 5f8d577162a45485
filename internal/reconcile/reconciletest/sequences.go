package reconciletest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"isospin/internal/reconcile"

	"pgregory.net/rapid"
)

// state is what every owner wants at one moment: per owner, per object, the number of its value.
type state[K comparable] [3]map[K]int

// owners are two features, one of them with two documents; the first wins.
func owners() [3]reconcile.Owner {
	return [3]reconcile.Owner{{Feature: "a", Doc: "1"}, {Feature: "a", Doc: "2"}, {Feature: "b", Doc: "1"}}
}

// expansion turns one drawn sequence into another that must end the same.
type expansion[K comparable] struct {
	name     string
	states   func(drawn []state[K]) []state[K]
	split    bool // settle after each owner
	restarts bool // a new process for each state
}

func expansions[K comparable]() []expansion[K] {
	same := func(drawn []state[K]) []state[K] { return drawn }
	return []expansion[K]{
		{name: "as drawn", states: same},
		{name: "squashed", states: func(drawn []state[K]) []state[K] { return drawn[len(drawn)-1:] }},
		{name: "reversed", states: func(drawn []state[K]) []state[K] {
			back := slices.Clone(drawn)
			slices.Reverse(back)
			return append(back, drawn[len(drawn)-1])
		}},
		{name: "emptied between", states: func(drawn []state[K]) []state[K] {
			var out []state[K]
			for _, s := range drawn {
				out = append(out, state[K]{}, s)
			}
			return out
		}},
		{name: "split", states: same, split: true},
		{name: "with restarts", states: same, restarts: true},
	}
}

// sequences plays drawn sequences in every expansion and compares the end with a world that only ever saw it.
func (s Subject[K, V]) sequences(t *testing.T) {
	w, scratch := s.world(t), s.world(t)
	draw := s.drawing()
	play := func(t failer, drawn []state[K]) {
		s.empty(t, scratch)
		last := drawn[len(drawn)-1]
		p := s.start(t, scratch)
		s.apply(p, last)
		p.settle(t)
		s.expect(t, scratch.Open(), "from scratch", s.union(last))
		for _, e := range expansions[K]() {
			s.empty(t, w)
			s.play(t, w, e, drawn)
		}
	}
	if s.Sequences == 0 {
		rapid.Check(t, func(rt *rapid.T) { play(rt, draw.Draw(rt, "states")) })
	}
	for seed := range s.Sequences {
		play(t, draw.Example(seed))
	}
	w.check()
	scratch.check()
}

func (s Subject[K, V]) play(t failer, w World[K, V], e expansion[K], drawn []state[K]) {
	t.Helper()
	states := e.states(drawn)
	p := s.start(t, w)
	for _, st := range states {
		if e.restarts {
			p = s.start(t, w)
		}
		for i, o := range owners() {
			p.r.Replace(o, s.values(st[i]))
			if e.split && !e.restarts {
				p.settle(t)
			}
		}
		p.settle(t)
	}
	last := states[len(states)-1]
	s.expect(t, w.Open(), e.name, s.union(last))
	if un := p.r.Unsettled(); len(un) != 0 {
		t.Errorf("%s: unsettled at the end: %v", e.name, un)
	}
	// A restart with nothing to do writes nothing, and sees no drift.
	p = s.start(t, w)
	s.apply(p, last)
	p.settle(t)
	p.r.Invalidate("once more")
	p.settle(t)
	if p.d.writes != 0 || p.r.Stats().Drift != 0 {
		t.Errorf("%s: %d writes and %d drifted after a restart with nothing to do", e.name, p.d.writes, p.r.Stats().Drift)
	}
}

func (s Subject[K, V]) apply(p *player[K, V], st state[K]) {
	for i, o := range owners() {
		p.r.Replace(o, s.values(st[i]))
	}
}

func (s Subject[K, V]) values(picks map[K]int) map[K]V {
	out := map[K]V{}
	for k, i := range picks {
		out[k] = s.Objects[k][i]
	}
	return out
}

// union is what must be there: the first owner's value of each object.
func (s Subject[K, V]) union(st state[K]) map[K]V {
	out := map[K]V{}
	for i := len(st) - 1; i >= 0; i-- {
		maps.Copy(out, s.values(st[i]))
	}
	return out
}

// empty makes w a new world again.
func (s Subject[K, V]) empty(t failer, w World[K, V]) {
	t.Helper()
	d := w.Open()
	have, err := d.List(context.Background())
	if err == nil && len(have) > 0 {
		err = d.Drop(context.Background(), have)
	}
	if err != nil {
		t.Fatalf("emptying: %v", err)
	}
}

// drawing draws one to four states.
func (s Subject[K, V]) drawing() *rapid.Generator[[]state[K]] {
	keys := slices.Collect(maps.Keys(s.Objects))
	slices.SortFunc(keys, func(a, b K) int { return compareText(a, b) })
	return rapid.Custom(func(t *rapid.T) []state[K] {
		states := make([]state[K], rapid.IntRange(1, 4).Draw(t, "length"))
		for n := range states {
			for o := range states[n] {
				picks := map[K]int{}
				for i, k := range keys {
					v := rapid.IntRange(-1, len(s.Objects[k])-1).Draw(t, fmt.Sprintf("state %d owner %d object %d", n, o, i))
					if v >= 0 {
						picks[k] = v
					}
				}
				states[n][o] = picks
			}
		}
		return states
	})
}

func compareText(a, b any) int {
	x, y := fmt.Sprint(a), fmt.Sprint(b)
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}
