// Package agent is what runs on a host: it keeps a mirror of the documents that the server says this host needs,
// lets features turn them into wanted kernel objects, has the reconcilers make those real and reports how far it
// is. assemble builds a Loop of the host's features and drivers. It never asks the server for one thing at a
// time, and it never deletes from the kernel before the mirror is whole.
package agent

import (
	"iter"

	"google.golang.org/protobuf/proto"

	"isospin/internal/change"
	"isospin/internal/wire"
)

// View reads the mirror: this host's documents, decoded. Documents are shared: nobody changes one.
type View interface {
	// Get finds one document.
	Get(kind, id string) (proto.Message, bool)
	// All walks the documents of a kind, in no order.
	All(kind string) iter.Seq2[string, proto.Message]
	// In walks the documents of a kind that refer to an id through the named index: ports, forwards, reservations and
	// subnets ByNetwork; ports, rules and members ByGroup.
	In(kind, index, id string) iter.Seq2[string, proto.Message]
	// Synced tells whether every set that this host must hold is whole (from the server, or from the disk
	// mirror that was whole when it was written).
	Synced() bool
}

// The indexes of a View.
const (
	ByNetwork = "network"
	ByGroup   = "group"
)

// Feature turns documents into desired kernel objects. Sync is a function of the view and of the observations
// that the feature's constructor was given as snapshots (interfaces present on the integration bridge): it may fill Targets,
// it may not do I/O, sleep, or remember what it said last time beyond what it can throw away.
type Feature interface {
	// Name is also the entity in whose name statuses are reported.
	Name() string
	// Kinds are the kinds of documents that it reads.
	Kinds() []string
	// Sync refills what the dirty documents concern. all asks it to look at every document: after a start, or
	// when what it observes changed as a whole.
	Sync(v View, dirty []change.Key, all bool) Result
}

// Result is what a Sync found out.
type Result struct {
	// Faults are the documents that were looked at: those that could not be turned into objects with the reason, which is
	// reported, and with nil those that could, also when the Sync before said otherwise.
	Faults map[change.Key]error
	// Ports are those whose report may be another now.
	Ports []string
	// Dirty are what the features after this one have to look at as well, as if these documents had changed.
	Dirty []change.Key
}

// Observer is the part of a Feature that looks at more than documents.
type Observer interface {
	// Changed yields the keys that something outside the mirror touched (an interface came or went), and the loop calls Sync
	// with them; nil asks for a Sync of all. One is sent when Observed becomes true.
	Changed() <-chan []change.Key
	// Observed tells whether there was a first look. Until then what the feature wants is not the whole of it:
	// nothing is deleted, and nothing is said in its name.
	Observed() bool
}

// PortState is what is said of a port.
type PortState struct {
	Generation int64
	State      wire.State
	Detail     string
}

// Report is what a feature says of a port, and what has to be true besides for its DONE to be said.
type Report struct {
	PortState
	// Docs are further Docs of the feature's owners whose objects must be there too: the network's, beside the port's own.
	Docs []string
	// Documents are those whose faults are the port's too, beside its own.
	Documents []change.Key
	// After is another port of this host that EntityL2 must have wired before; empty for none.
	After string
}

// Reporter is the part of a Feature that answers for ports. Objects that a feature wants on behalf of a port have the
// port's id as their reconcile.Owner's Doc.
type Reporter interface {
	// Report tells how far a port is; ok is false while it is not this feature's business.
	Report(v View, portID string) (r Report, ok bool)
}
