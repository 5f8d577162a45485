// Package document says what each kind of document is: which rows it is made of, which sets it belongs to and
// which sets its holder must hold as well. session renders with it; the kinds live in packages below and assemble
// lists them. A kind is a function of the transaction: no memory, no clock, no I/O but tx.
package document

import (
	"context"

	"google.golang.org/protobuf/proto"

	"isospin/internal/change"
	"isospin/internal/store"
)

// Rendered is one document as it is now.
type Rendered struct {
	// Sets are all sets that hold the document now; a set that a change names and that is not among
	// them has lost it.
	Sets []change.Set
	// Refs are the sets that whoever holds this document must hold too.
	Refs []change.Set
	Body proto.Message
}

// Kind is one kind of document.
type Kind interface {
	// Name is the kind's wire name.
	Name() string
	// Families are the families of the sets in which this kind has documents.
	Families() []string
	// Members lists the ids of this kind's documents in each of the sets (all of one of Families); a set without
	// any may be left out. A constant number of statements, however many sets are asked for.
	Members(ctx context.Context, tx store.Tx, sets []change.Set) (map[change.Set][]string, error)
	// Render makes the documents; an id without a row is left out of the answer. A constant number of
	// statements, however many ids are asked for.
	Render(ctx context.Context, tx store.Tx, ids []string) (map[string]Rendered, error)
}
