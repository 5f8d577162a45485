package openflow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Fake is a Transport whose switch is a map: it replaces, refuses and tells as Open vSwitch does, as far as
// Flow.Check and references to groups and meters go. Unit tests of features print it with Flows and Golden.
type Fake struct {
	mu       sync.Mutex
	flows    map[place]fakeFlow
	groups   map[uint32]Group
	meters   map[uint32]Meter
	watchers map[int]fakeWatcher
	next     int
	writes   int
	refuse   func(Flow) error
}

type fakeFlow struct {
	key  Key
	flow Flow
}

type fakeWatcher struct {
	events chan Event
	gone   chan struct{}
}

// NewFake makes a switch without flows.
func NewFake() *Fake {
	return &Fake{
		flows: map[place]fakeFlow{}, groups: map[uint32]Group{}, meters: map[uint32]Meter{},
		watchers: map[int]fakeWatcher{},
	}
}

// Flows gives what is there, in the order of their texts.
func (f *Fake) Flows() []Flow {
	f.mu.Lock()
	defer f.mu.Unlock()
	fs := make([]Flow, 0, len(f.flows))
	for _, have := range f.flows {
		fs = append(fs, have.flow)
	}
	slices.SortFunc(fs, func(a, b Flow) int { return cmp.Compare(a.String(), b.String()) })
	return fs
}

// Groups gives the groups that are there.
func (f *Fake) Groups() map[uint32]Group {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.groups)
}

// Writes is how many changes were made through the Transport.
func (f *Fake) Writes() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.writes
}

// RefuseFlows makes the switch refuse the flows for which why is not nil.
func (f *Fake) RefuseFlows(why func(Flow) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refuse = why
}

// ApplyFlows implements Transport.
func (f *Fake) ApplyFlows(ctx context.Context, mods []FlowMod) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, m := range mods {
		if m.Op != Add {
			continue
		}
		if err := f.judge(m.Flow); err != nil {
			return &Refused{i, err.Error()}
		}
	}
	for _, m := range mods {
		f.writes++
		if m.Op == Add {
			f.flows[placeOf(m.Flow)] = fakeFlow{m.Key, m.Flow}
			f.tell(Event{Added, m.Key.Cookie, m.Key.Table})
			continue
		}
		f.remove(func(have fakeFlow) bool { return have.key.mark() == m.Key.mark() })
	}
	return nil
}

// judge answers as the switch would.
func (f *Fake) judge(flow Flow) error {
	if err := flow.Check(); err != nil {
		return err
	}
	if f.refuse != nil {
		if err := f.refuse(flow); err != nil {
			return err
		}
	}
	return f.judgeActions(flow.Actions)
}

func (f *Fake) judgeActions(as []Action) error {
	for _, a := range as {
		switch a := a.(type) {
		case group:
			if _, ok := f.groups[a.id]; !ok {
				return fmt.Errorf("no group %d", a.id)
			}
		case meter:
			if _, ok := f.meters[a.id]; !ok {
				return fmt.Errorf("no meter %d", a.id)
			}
		}
	}
	return nil
}

func (f *Fake) remove(which func(fakeFlow) bool) {
	for at, have := range f.flows {
		if which(have) {
			delete(f.flows, at)
			f.tell(Event{Deleted, have.key.Cookie, have.key.Table})
		}
	}
}

// ListFlows implements Transport.
func (f *Fake) ListFlows(ctx context.Context, tag Tag) ([]Key, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var keys []Key
	for _, have := range f.flows {
		if tag.Owns(have.key.Cookie) {
			keys = append(keys, have.key)
		}
	}
	return keys, ctx.Err()
}

// ApplyGroups implements Transport. A deleted group takes the flows with it that name it.
func (f *Fake) ApplyGroups(ctx context.Context, mods []GroupMod) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, m := range mods {
		if err := m.Group.Check(); m.Op == Add && err != nil {
			return &Refused{i, err.Error()}
		}
	}
	for _, m := range mods {
		f.writes++
		if m.Op == Add {
			f.groups[m.ID] = m.Group
			continue
		}
		delete(f.groups, m.ID)
		f.removeNaming(group{m.ID})
	}
	return nil
}

func (f *Fake) removeNaming(gone Action) {
	f.remove(func(have fakeFlow) bool {
		return slices.ContainsFunc(have.flow.Actions, func(a Action) bool {
			switch a.(type) {
			case group, meter:
				return a == gone
			}
			return false
		})
	})
}

// ListGroups implements Transport.
func (f *Fake) ListGroups(ctx context.Context) (map[uint32]Group, error) {
	return f.Groups(), ctx.Err()
}

// ApplyMeters implements Transport.
func (f *Fake) ApplyMeters(ctx context.Context, mods []MeterMod) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, m := range mods {
		if err := m.Meter.Check(); m.Op == Add && err != nil {
			return &Refused{i, err.Error()}
		}
		f.writes++
		if m.Op == Add {
			f.meters[m.ID] = m.Meter
			continue
		}
		delete(f.meters, m.ID)
		f.removeNaming(meter{m.ID})
	}
	return nil
}

// ListMeters implements Transport.
func (f *Fake) ListMeters(ctx context.Context) (map[uint32]Meter, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.meters), ctx.Err()
}

// Watch implements Transport.
func (f *Fake) Watch(ctx context.Context, ready func(), event func(Event)) error {
	w := fakeWatcher{make(chan Event, 1024), make(chan struct{})}
	f.mu.Lock()
	id := f.next
	f.next++
	f.watchers[id] = w
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		delete(f.watchers, id)
		f.mu.Unlock()
	}()
	ready()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.gone:
			return errors.New("the switch went away")
		case e := <-w.events:
			event(e)
		}
	}
}

// tell queues an event. A watcher that is far behind loses it, which the periodic read-back makes good.
func (f *Fake) tell(e Event) {
	for _, w := range f.watchers {
		select {
		case w.events <- e:
		default:
		}
	}
}

// DeleteByHand removes the flows for which which holds, as a stranger would.
func (f *Fake) DeleteByHand(which func(Flow) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.remove(func(have fakeFlow) bool { return which(have.flow) })
}

// AlterByHand changes the actions of the flows for which which holds, as a stranger would: the cookie stays.
func (f *Fake) AlterByHand(which func(Flow) bool, as ...Action) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for at, have := range f.flows {
		if which(have.flow) {
			have.flow.Actions = as
			f.flows[at] = have
			f.tell(Event{Modified, have.key.Cookie, have.key.Table})
		}
	}
}

// AddByHand adds a flow with a cookie of the caller's choice.
func (f *Fake) AddByHand(cookie uint64, flow Flow) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.flows[placeOf(flow)] = fakeFlow{Key{cookie, flow.Table, flow.Priority}, flow}
	f.tell(Event{Added, cookie, flow.Table})
}

// Restart loses everything and ends the watches, as a restart of ovs-vswitchd does.
func (f *Fake) Restart() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.flows)
	clear(f.groups)
	clear(f.meters)
	for id, w := range f.watchers {
		close(w.gone)
		delete(f.watchers, id)
	}
}

var _ Transport = (*Fake)(nil)
