package agent

import (
	"errors"
	"time"

	"isospin/internal/change"
	"isospin/internal/reconcile"
	"isospin/internal/wire"
)

// speech decides what is said of ports: each feature's word, held against what the stages still owe it, and said when it is another
// than before. It is the loop's goroutine's.
type speech struct {
	say func(*wire.Status)
	// touched are ports whose report may be another, by entity; those that are not final stay.
	touched map[string]map[string]bool
	said    map[statusKey]PortState
	faults  map[string]map[change.Key]error // by entity
	owed    map[reconcile.Owner]error
	// held are ports that were DONE and whose objects cannot be made as they were: since when.
	held map[statusKey]time.Time
	// failed are ports that failed for a reason of their own, not of a stage's: why.
	failed map[statusKey]string
	now    func() time.Time
}

type statusKey struct{ entity, port string }

func newSpeech(say func(*wire.Status), now func() time.Time) speech {
	return speech{say: say, touched: map[string]map[string]bool{}, said: map[statusKey]PortState{}, faults: map[string]map[change.Key]error{},
		held: map[statusKey]time.Time{}, failed: map[statusKey]string{}, now: now}
}

// heard keeps what a Sync found out.
func (s *speech) heard(entity string, r Result) {
	faults := s.faults[entity]
	if faults == nil {
		faults = map[change.Key]error{}
		s.faults[entity] = faults
	}
	for k, err := range r.Faults {
		if err == nil {
			delete(faults, k)
		} else {
			faults[k] = err
		}
	}
	for _, id := range r.Ports {
		s.touch(entity, id)
	}
}

func (s *speech) touch(entity, port string) {
	if s.touched[entity] == nil {
		s.touched[entity] = map[string]bool{}
	}
	s.touched[entity][port] = true
}

// touchAll touches all ports of which anything was ever said.
func (s *speech) touchAll(entity string) {
	for k := range s.said {
		if k.entity == entity {
			s.touch(entity, k.port)
		}
	}
}

// waiting takes who still waits for what. Of several stages the first counts, what failed before what merely has not come.
func (s *speech) waiting(stages []reconcile.Stage) {
	before := s.owed
	s.owed = map[reconcile.Owner]error{}
	defer func() {
		for owner := range s.owed {
			_, known := before[owner]
			_, port := s.said[statusKey{owner.Feature, owner.Doc}]
			if !known && !port {
				s.touchAll(owner.Feature) // something that many ports stand on
			}
		}
	}()
	for _, stage := range stages {
		for owner, err := range stage.Unsettled() {
			other, has := s.owed[owner]
			if !has || errors.Is(other, reconcile.ErrPending) && !errors.Is(err, reconcile.ErrPending) {
				s.owed[owner] = err
			}
			s.touch(owner.Feature, owner.Doc)
		}
	}
}

// speak reports the ports of one entity that were touched, or all of which anything was ever said.
func (s *speech) speak(v View, entity string, r Reporter, all bool) {
	if all {
		s.touchAll(entity)
	}
	for id := range s.touched[entity] {
		if s.speakOf(v, entity, id, r, all) {
			delete(s.touched[entity], id)
		}
	}
}

// speakOf reports one port; final says that nothing is awaited that would not be told. whole says that everything is looked at,
// as after a start, when servers may believe what is no longer true.
func (s *speech) speakOf(v View, entity, id string, r Reporter, whole bool) (final bool) {
	k := statusKey{entity, id}
	before, spoken := s.said[k]
	report, ok := r.Report(v, id)
	if !ok {
		delete(s.said, k)
		delete(s.held, k)
		delete(s.failed, k)
		if spoken && before.State == wire.State_PLUGGED {
			// The port was never this host's; whoever was told of its interface must hear that it went.
			s.say(status(k, PortState{State: wire.State_UNPLUGGED}))
		}
		return true
	}
	state, own := s.judge(entity, id, report)
	delete(s.failed, k)
	if own && state.State == wire.State_FAILED {
		s.failed[k] = state.Detail
	}
	if !own && s.holds(k, before, state) {
		return false
	}
	if !spoken || before != state {
		s.said[k] = state
		// That a port which has just come has no interface yet is what every server takes for granted: of a thousand
		// ports bound before their guests are there, not one has to be written down for it.
		if spoken || whole || state.State != wire.State_UNPLUGGED {
			s.say(status(k, state))
		}
	}
	return state.State != wire.State_PENDING && state.State != wire.State_FAILED
}

// holds tells whether a failure is not said yet: what somebody broke is mostly mended before anybody need hear of it, and
// a port that everybody saw DONE would blink.
func (s *speech) holds(k statusKey, before, now PortState) bool {
	if before.State != wire.State_DONE || now.State != wire.State_FAILED || before.Generation != now.Generation {
		delete(s.held, k)
		return false
	}
	since, known := s.held[k]
	if !known {
		since = s.now()
		s.held[k] = since
	}
	return s.now().Sub(since) < patience
}

// judge holds a report against faults and what is owed. own says that the state is not for what stages owe.
func (s *speech) judge(entity, id string, r Report) (state PortState, own bool) {
	state = r.PortState
	for _, k := range append([]change.Key{{Kind: wire.KindPort, ID: id}}, r.Documents...) {
		if err := s.faults[entity][k]; err != nil {
			state.State, state.Detail = wire.State_FAILED, err.Error()
			return state, true
		}
	}
	if state.State != wire.State_DONE {
		return state, true
	}
	for _, doc := range append([]string{id}, r.Docs...) {
		err := s.owed[reconcile.Owner{Feature: entity, Doc: doc}]
		if err == nil {
			continue
		}
		worse := state.State == wire.State_DONE || state.State == wire.State_PENDING && !errors.Is(err, reconcile.ErrPending)
		if !worse {
			continue
		}
		state.State, state.Detail = wire.State_PENDING, err.Error()
		if !errors.Is(err, reconcile.ErrPending) {
			state.State = wire.State_FAILED
		}
	}
	if state.State == wire.State_DONE && r.After != "" && s.said[statusKey{wire.EntityL2, r.After}].State != wire.State_DONE {
		state.State, state.Detail = wire.State_PENDING, "port "+r.After+" of this host is not wired yet"
	}
	return state, false
}

func status(k statusKey, p PortState) *wire.Status {
	return &wire.Status{Kind: wire.KindPort, Id: k.port, Generation: p.Generation, Entity: k.entity, State: p.State, Detail: p.Detail}
}
