package ml2

import (
	"context"

	"isospin/internal/model"
	"isospin/internal/store"
)

// TypeDriver owns the segment pool of one network type. Drivers are safe for concurrent use and keep no pool in memory.
type TypeDriver interface {
	Type() string
	// Prepare brings the pool in the database in line with the configured ranges; called once at start, in a
	// transaction, by every server.
	Prepare(ctx context.Context, tx store.WriteTx) error
	// Validate judges what a user asked for, without the database. The error is a *fault.Fault.
	Validate(want model.Segment) error
	// Reserve completes and claims want: all given (provider), some (partial) or nothing but the type (project
	// network). want.ID is set. ErrNoSegment says that the pool is exhausted or that there is none.
	Reserve(ctx context.Context, tx store.WriteTx, want model.Segment) (model.Segment, error)
	Release(ctx context.Context, tx store.WriteTx, s model.Segment) error
	// MTU is the largest packet, in bytes, that a network on this physical network can carry; 0: unlimited.
	MTU(physicalNetwork string) int64
}

// IDRange is segmentation ids that an administrator set, both ends included: for one project, or for all (Project "").
type IDRange struct {
	ID      string `json:"id"` // of the network segment range
	Project string `json:"project"`
	Min     int64  `json:"min"`
	Max     int64  `json:"max"`
}

// RangedDriver is a TypeDriver of ids that administrators may set ranges of while the server runs.
type RangedDriver interface {
	TypeDriver
	// Configured are the ranges of the configuration by physical network ("" for tunnels).
	Configured() map[string][]IDRange
	// Bounds are the least and the largest id that the type can carry.
	Bounds() (least, most int64)
	// ChangeRanges lets the administrators' ranges on a physical network become what f makes of them; an error of f is
	// returned and changes nothing.
	ChangeRanges(ctx context.Context, tx store.WriteTx, physicalNetwork string, f func(have []IDRange) ([]IDRange, error)) error
}

// MechanismDriver decides whether its backend can realize a port on a host. Bind is a function of its
// request and runs in the request's transaction: no I/O, no writes. ok false lets the next driver try.
type MechanismDriver interface {
	Name() string
	Bind(r BindRequest) (b Binding, ok bool)
}

// Remote is a driver that must ask somebody (a switch, a controller, a process of another language): its BindRemote runs
// as a task after the commit, and its answer is saved only if the port has not changed meanwhile.
type Remote interface {
	MechanismDriver
	// Claims tells, without I/O, whether BindRemote shall be asked at all.
	Claims(r BindRequest) bool
	// BindRemote may block and fail; a failure is retried, ok false lets the next driver try.
	BindRemote(ctx context.Context, r BindRequest) (b Binding, ok bool, err error)
	// Postcommit tells the backend of a port as it is now bound (or no longer); at least once, level not edge.
	Postcommit(ctx context.Context, p model.Port, levels []model.BindingLevel) error
}

// HostFilter is the part of a driver that knows which hosts can carry segments; asked for by assertion.
type HostFilter interface {
	Reaches(h model.Host, s model.Segment) bool
}

// BindRequest is one level of binding one port.
type BindRequest struct {
	Port     model.Port
	Network  model.Network
	Host     model.Host
	Level    int64
	Segments []model.Segment
	// From is the port as it is bound where its running guest is, when the guest is to move; nil otherwise, and in tasks.
	From *model.Port
}

// Binding is a driver's answer.
type Binding struct {
	Segment    model.Segment
	VIFType    string
	VIFDetails map[string]any
	// Status is the port's from now on where nobody on the host has to act; "": DOWN until the host has done its part.
	Status string
	// Next is not empty for a driver that binds here and leaves the rest to the level below: segments by type and physical
	// network, which the manager reserves.
	Next []model.Segment
}

// ExtensionDriver adds attributes of its own to networks, subnets and ports (`extension_drivers`). old is nil for a create.
type ExtensionDriver interface {
	Name() string
	ProcessNetwork(ctx context.Context, tx store.WriteTx, old, now *model.Network) error
	ProcessSubnet(ctx context.Context, tx store.WriteTx, old, now *model.Subnet) error
	ProcessPort(ctx context.Context, tx store.WriteTx, old, now *model.Port) error
}

// Hosts tells what is known of a host. One statement each.
type Hosts interface {
	// Host has the agents that are alive and take work.
	Host(ctx context.Context, tx store.Tx, name string) (model.Host, error)
	// Known has all agents: what a host reaches does not change while nobody looks after it.
	Known(ctx context.Context, tx store.Tx, name string) (model.Host, error)
}
