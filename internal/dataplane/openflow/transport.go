package openflow

import (
	"context"
	"fmt"
)

// Op is what a change does.
type Op uint8

// Changes. Add replaces what stands at the flow's place. Delete removes by key, never what has another cookie.
const (
	Add Op = iota
	Delete
)

// FlowMod is one change of flows; Flow is set for Add only.
type FlowMod struct {
	Op   Op
	Key  Key
	Flow Flow
}

// GroupMod is one change of groups; Group is set for Add only.
type GroupMod struct {
	Op    Op
	ID    uint32
	Group Group
}

// MeterMod is one change of meters; Meter is set for Add only.
type MeterMod struct {
	Op    Op
	ID    uint32
	Meter Meter
}

// Transport carries changes to one bridge and tells what is there. Its methods may be called concurrently.
type Transport interface {
	// ApplyFlows makes all changes at once, in their order, or none. It answers *Refused when the
	// switch or its syntax refuses one of them.
	ApplyFlows(ctx context.Context, mods []FlowMod) error
	// ListFlows gives the keys of the flows with a tag.
	ListFlows(ctx context.Context, tag Tag) ([]Key, error)
	// ApplyGroups is ApplyFlows for groups. Add creates or changes a group.
	ApplyGroups(ctx context.Context, mods []GroupMod) error
	// ListGroups gives all groups of the bridge, of which Mark is known.
	ListGroups(ctx context.Context) (map[uint32]Group, error)
	// ApplyMeters makes changes one after the other and stops at the first that is refused, which
	// *Refused names. Add creates or changes a meter.
	ApplyMeters(ctx context.Context, mods []MeterMod) error
	// ListMeters gives all meters of the bridge.
	ListMeters(ctx context.Context) (map[uint32]Meter, error)
	// Watch tells of every change of flows, by whomever, until ctx ends or the switch goes away; ready is called
	// once when no change can be missed any more. It returns an error in either case.
	Watch(ctx context.Context, ready func(), event func(Event)) error
}

// Event is a change of a flow that the switch tells of.
type Event struct {
	Kind   EventKind
	Cookie uint64
	Table  uint8
}

// EventKind is what happened to a flow.
type EventKind uint8

// Kinds of events. Adding a flow in the place of another is Added, and nothing is said of the other.
const (
	Added EventKind = iota
	Modified
	Deleted
)

func (k EventKind) String() string { return [...]string{"added", "modified", "deleted"}[k] }

// Refused says which change of a batch was refused, and why.
type Refused struct {
	Index  int // in the batch
	Reason string
}

func (r *Refused) Error() string { return fmt.Sprintf("change %d refused: %s", r.Index, r.Reason) }
