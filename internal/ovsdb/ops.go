package ovsdb

import (
	"context"
	"errors"
	"fmt"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"
)

// Row is what an Insert or Update sets: column to value. A value is a string, int or bool; a UUID; a
// []string, []int or []UUID, which is a set (an empty one clears an optional column); or a map[string]string or
// map[int]UUID.
type Row map[string]any

// Op is one step of a transaction.
type Op struct {
	op  ovsdb.Operation
	err error
}

// Insert makes a row. name stands for its UUID in the same transaction: letters, digits and underscores only.
func Insert(table string, name UUID, row Row) Op {
	r, err := wireRow(row)
	return Op{ovsdb.Operation{Op: ovsdb.OperationInsert, Table: table, UUIDName: string(name), Row: r}, err}
}

// Update sets the named columns of a row and leaves the others.
func Update(table string, id UUID, row Row) Op {
	r, err := wireRow(row)
	return Op{ovsdb.Operation{Op: ovsdb.OperationUpdate, Table: table, Where: where(id), Row: r}, err}
}

// Add puts elements into a set or map column; those that are there stay as they are.
func Add(table string, id UUID, column string, elements any) Op {
	return mutate(table, id, column, ovsdb.MutateOperationInsert, elements)
}

// Remove takes elements out of a set column, and keys ([]string) or pairs out of a map column.
func Remove(table string, id UUID, column string, elements any) Op {
	return mutate(table, id, column, ovsdb.MutateOperationDelete, elements)
}

// Delete removes a row of a table whose rows stay although nothing refers to them: QoS, Queue.
func Delete(table string, id UUID) Op {
	return Op{op: ovsdb.Operation{Op: ovsdb.OperationDelete, Table: table, Where: where(id)}}
}

// Result is what the server says of one Op.
type Result struct {
	Count int  // rows that an Update, Add, Remove or Delete met
	UUID  UUID // of the row that an Insert made
}

// OpError is a transaction that the server refused as a whole.
type OpError struct {
	Index         int    // of the Op to blame; the number of Ops when it is the commit
	Kind, Details string // the server's words
}

// Error repeats the server's words.
func (e *OpError) Error() string {
	return fmt.Sprintf("operation %d: %s: %s", e.Index, e.Kind, e.Details)
}

// Transact runs the steps as one transaction: all or none. It is an *OpError when the server refuses.
func (c *Client) Transact(ctx context.Context, ops ...Op) ([]Result, error) {
	if len(ops) == 0 {
		return nil, nil
	}
	raw := make([]ovsdb.Operation, len(ops))
	for i, o := range ops {
		if o.err != nil {
			return nil, fmt.Errorf("operation %d: %w", i, o.err)
		}
		raw[i] = o.op
	}
	answers, err := c.transact(ctx, raw)
	if err != nil {
		return nil, err
	}
	out := make([]Result, len(ops))
	for i := range ops {
		out[i] = Result{Count: answers[i].Count, UUID: UUID(answers[i].UUID.GoUUID)}
	}
	return out, nil
}

// transact is the one door to the server; it returns an answer for each operation.
func (c *Client) transact(ctx context.Context, ops []ovsdb.Operation) ([]ovsdb.OperationResult, error) {
	s, err := c.session()
	if err != nil {
		return nil, err
	}
	answers, err := s.lib.Transact(ctx, ops...)
	if err != nil {
		if s.isLost() {
			return nil, errors.Join(ErrNotConnected, err)
		}
		return nil, err
	}
	// A failing commit answers one more than was asked.
	for i, a := range answers {
		if a.Error != "" {
			return nil, &OpError{Index: i, Kind: a.Error, Details: a.Details}
		}
	}
	if len(answers) < len(ops) {
		return nil, fmt.Errorf("%d answers to %d operations", len(answers), len(ops))
	}
	return answers, nil
}

// Read is the database now, all tables at one moment: nothing that was committed before the call is missing.
func (c *Client) Read(ctx context.Context) (*Snapshot, error) {
	s, err := c.session()
	if err != nil {
		return nil, err
	}
	snap, err := s.read(ctx)
	if err != nil && s.isLost() {
		err = errors.Join(ErrNotConnected, err)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the database: %w", err)
	}
	return snap, nil
}

// Settle waits until ovs-vswitchd has applied all that was committed before the call, or until ctx ends.
func (c *Client) Settle(ctx context.Context) error {
	snap, err := c.Read(ctx)
	if err != nil {
		return err
	}
	want := snap.Root.NextCfg + 1
	if _, err := c.Transact(ctx, Again(snap)); err != nil {
		return fmt.Errorf("asking ovs-vswitchd to catch up: %w", err)
	}
	return c.Until(ctx, "ovs-vswitchd to catch up", func(s *Snapshot) bool { return s.Root.CurCfg >= want })
}

// Again has ovs-vswitchd go through its configuration once more: it tries again what it could not do, which it does only
// when the database changes.
func Again(s *Snapshot) Op {
	return Op{op: ovsdb.Operation{Op: ovsdb.OperationMutate, Table: TableRoot, Where: where(s.Root.UUID),
		Mutations: []ovsdb.Mutation{*ovsdb.NewMutation("next_cfg", ovsdb.MutateOperationAdd, 1)}}}
}

func mutate(table string, id UUID, column string, how ovsdb.Mutator, elements any) Op {
	v, err := wireValue(elements)
	return Op{ovsdb.Operation{Op: ovsdb.OperationMutate, Table: table, Where: where(id),
		Mutations: []ovsdb.Mutation{*ovsdb.NewMutation(column, how, v)}}, err}
}

func where(id UUID) []ovsdb.Condition {
	return []ovsdb.Condition{ovsdb.NewCondition("_uuid", ovsdb.ConditionEqual, ovsdb.UUID{GoUUID: string(id)})}
}

func wireRow(row Row) (ovsdb.Row, error) {
	out := make(ovsdb.Row, len(row))
	for column, v := range row {
		w, err := wireValue(v)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", column, err)
		}
		out[column] = w
	}
	return out, nil
}

func wireValue(v any) (any, error) {
	switch x := v.(type) {
	case string, int, bool:
		return x, nil
	case UUID:
		return ovsdb.UUID{GoUUID: string(x)}, nil
	case []UUID:
		set := make([]any, len(x))
		for i, id := range x {
			set[i] = ovsdb.UUID{GoUUID: string(id)}
		}
		return ovsdb.OvsSet{GoSet: set}, nil
	case []string:
		return ovsdb.NewOvsSet(x)
	case []int:
		return ovsdb.NewOvsSet(x)
	case map[string]string:
		return ovsdb.NewOvsMap(x)
	case map[int]UUID:
		m := ovsdb.OvsMap{GoMap: make(map[any]any, len(x))}
		for k, id := range x {
			m.GoMap[k] = ovsdb.UUID{GoUUID: string(id)}
		}
		return m, nil
	}
	return nil, fmt.Errorf("a %T is no column value", v)
}
