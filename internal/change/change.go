// Package change is what a committed transaction leaves behind for those who act after it: changes, which say
// what sets of documents became dirty, and tasks, work that is owed once. Service plugins declare them through
// store.WriteTx; sessions read changes and the task runner claims tasks. It never holds the objects themselves:
// whoever reads a change looks at the present state, so that seeing one twice, or late, does no harm.
package change

import (
	"encoding/json"
	"strings"
	"time"
)

// Set names a group of documents that a host holds as a whole or not at all: "host:h1", "net:<id>", "sg:<id>".
type Set string

// NewSet joins a family and a name.
func NewSet(family, name string) Set { return Set(family + ":" + name) }

// Family is the part before the colon.
func (s Set) Family() string {
	f, _, _ := strings.Cut(string(s), ":")
	return f
}

// Name is the part behind the first colon.
func (s Set) Name() string {
	_, n, _ := strings.Cut(string(s), ":")
	return n
}

// Key names one document: the kind of document and the identifier of the row that it is made of.
type Key struct {
	Kind string
	ID   string
}

// Change is one document that a committed write may have altered, with every set that holds it before or after.
type Change struct {
	ID   int64
	Key  Key
	Sets []Set
}

// Task is work owed once after the commit, done by whichever server claims it.
type Task struct {
	ID      int64
	Name    string // the handler's name
	Payload json.RawMessage
	Tries   int       // how often it was tried before
	Due     time.Time // not before; the zero time is at once
}
