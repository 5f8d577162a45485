// Package service holds what the server's plugins have in common: how one looks from outside, how they take part
// in each other's transactions and how work that is owed after a commit is done. assemble builds the plugins and
// lists them. It holds no plugin: each lives in a package below and takes what it needs as arguments.
package service

import (
	"context"
	"encoding/json"

	"isospin/internal/model"
	"isospin/internal/store"
)

// Op is what a write does.
type Op uint8

// The three writes.
const (
	Create Op = iota
	Update
	Delete
)

// Write is one object on its way into the store. T is model.Network, model.Subnet or model.Port. Old is nil for a
// Create, New for a Delete; a guard may change New before the row is written.
type Write[T any] struct {
	Op       Op
	Old, New *T
	// Network is the row of the network that a port is created or changed on; nil for deletes and for what is no port.
	Network *model.Network
	// Cascade tells that what the object hangs on goes with it.
	Cascade bool
	// Given tells whether the request carried an attribute; nil for writes that no request made.
	Given func(attribute string) bool
}

// Gave is Given, and false where no request made the write.
func (w Write[T]) Gave(attribute string) bool { return w.Given != nil && w.Given(attribute) }

// Guard runs inside another plugin's transaction before the row is written, to veto, to complete New or to write along
// with it. Order is the order of assembly.
type Guard[T any] interface {
	Guard(ctx context.Context, tx store.WriteTx, w Write[T]) error
}

// Follower runs in the same transaction after the row was written.
type Follower[T any] interface {
	Follow(ctx context.Context, tx store.WriteTx, w Write[T]) error
}

// TaskHandler does owed work: at least once, retried with backoff, parked with its reason after enough tries.
type TaskHandler interface {
	Name() string
	Handle(ctx context.Context, payload json.RawMessage) error
}

// Runner has work of its own until ctx ends.
type Runner interface {
	Run(ctx context.Context) error
}
