package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"isospin/internal/apidef"
	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/store"
)

// Input is the checked body of a POST or PUT: the value with defaults in place, and which attributes were given.
type Input[T any] struct {
	Value T
	// Parent is the id in the URL above a sub-resource, "" elsewhere.
	Parent string
	given  map[string]json.RawMessage
	fields map[string]int
}

// Made is the input of a write that another plugin makes: v, of which the attributes named count as given.
func Made[T any](v T, given ...string) (Input[T], error) {
	in := Input[T]{Value: v, given: map[string]json.RawMessage{}}
	raw, err := json.Marshal(&v)
	if err != nil {
		return in, fmt.Errorf("encode an input: %w", err)
	}
	for _, name := range given {
		value, ok := member(raw, name)
		if !ok {
			value = []byte("null")
		}
		in.given[name] = json.RawMessage(value)
	}
	return in, nil
}

// Given tells whether the request carried the attribute (null counts as given).
func (in Input[T]) Given(attribute string) bool {
	_, ok := in.given[attribute]
	return ok
}

// Null tells whether the request carried the attribute as null.
func (in Input[T]) Null(attribute string) bool {
	raw, ok := in.given[attribute]
	return ok && string(raw) == "null"
}

// Raw is the canonical JSON of a given attribute, for attributes that T does not hold.
func (in Input[T]) Raw(attribute string) (json.RawMessage, bool) {
	raw, ok := in.given[attribute]
	return raw, ok
}

// Apply sets on to what the request gave and leaves the rest; to shares nothing with its earlier value afterwards.
func (in Input[T]) Apply(to *T) error {
	v := reflect.ValueOf(to).Elem()
	for name := range in.given {
		if i, ok := in.fields[name]; ok && i >= 0 { // fields of an embedded struct hold no reference that is shared
			v.Field(i).SetZero()
		}
	}
	return json.Unmarshal(object(in.given), to)
}

// Controller is all that a plugin writes for a collection of T. Decoding, defaults, validation, policy, filters,
// pages and rendering have happened, or will happen, outside it. The transaction is the request's; current is
// the row as it stands, locked. A controller returns *fault.Fault for what the caller did wrong.
type Controller[T any] interface {
	Create(ctx context.Context, tx store.WriteTx, in Input[T]) (T, error)
	Update(ctx context.Context, tx store.WriteTx, current T, in Input[T]) (T, error)
	Delete(ctx context.Context, tx store.WriteTx, current T) error
}

// Member is an action's answer that is the member itself, of the binding's T: it is shown as a PUT shows it.
type Member struct{ Value any }

// Actor answers member actions (PUT /routers/{id}/add_router_interface) with the JSON of the answer, or with a Member.
type Actor interface {
	Act(ctx context.Context, tx store.WriteTx, id, action string, in json.RawMessage) (any, error)
}

// Page is one page of rows on its way out. Splice adds a member to a row, such as what depends on the caller or on other rows.
type Page struct {
	Rows []store.Row
	// Wants tells whether the answer shows the attribute at all (fields, policy), so that nothing is read in vain.
	Wants func(attribute string) bool
	more  [][]byte // members added to rows, as they stand in JSON behind others: bodies are not copied for them
	room  []byte   // that they are cut from
}

// Splice adds a member to row i.
func (p *Page) Splice(i int, name string, value []byte) {
	if p.more == nil {
		p.more = make([][]byte, len(p.Rows))
	}
	need := len(p.more[i]) + len(name) + len(value) + 4
	if cap(p.room)-len(p.room) < need { // long pages get it out of few pieces of memory
		p.room = make([]byte, 0, max(need, min(len(p.Rows), 100)*need))
	}
	at := len(p.room)
	p.room = p.room[:at+need]
	out := append(p.room[at:at:at+need], p.more[i]...)
	out = append(append(append(out, ',', '"'), name...), '"', ':')
	p.more[i] = append(out, value...)
}

// added are the members that were added to row i.
func (p *Page) added(i int) []byte {
	if p.more == nil {
		return nil
	}
	return p.more[i]
}

// fold puts the added members into the bodies.
func (p *Page) fold() {
	for i := range p.more {
		if len(p.more[i]) > 0 {
			p.Rows[i].Body = whole(make([]byte, 0, len(p.Rows[i].Body)+len(p.more[i])), p.Rows[i].Body, p.more[i])
		}
	}
	p.more = nil
}

// Replace gives a member of row i another value.
func (p *Page) Replace(i int, name string, value []byte) {
	body := project(make([]byte, 0, len(p.Rows[i].Body)), p.Rows[i].Body, func(key []byte) bool { return string(key) != name })
	p.Rows[i].Body = appendMember(body, name, value)
}

// Member is a member of row i as its body has it, as JSON; ok is false without one.
func (p *Page) Member(i int, name string) (value json.RawMessage, ok bool) {
	if value, ok = member(p.Rows[i].Body, name); !ok && len(p.added(i)) > 0 {
		return member(whole(nil, p.Rows[i].Body, p.added(i)), name)
	}
	return value, ok
}

// IDs lists the rows' ids.
func (p *Page) IDs() []string {
	ids := make([]string, len(p.Rows))
	for i, r := range p.Rows {
		ids[i] = r.ID
	}
	return ids
}

// Splicer adds computed attributes to a whole page at once, in a constant number of statements.
type Splicer interface {
	Splice(ctx context.Context, tx store.Tx, p *Page) error
}

// Filter turns a filter's values (all of one key, joined by OR) into a condition.
type Filter func(ctx context.Context, values []string) (store.Cond, error)

// Item is one checked object of a bulk create, with its defaults: canonical JSON.
type Item map[string]json.RawMessage

// Into decodes the item.
func (i Item) Into(v any) error { return json.Unmarshal(object(i), v) }

// Parent says where a policy name such as "network:project_id" finds its value: the row in Table whose id is
// the attribute Ref of the object. Extra adds values that are not in the parent's body (shared).
type Parent struct {
	Prefix string // "network"
	Ref    string // "network_id"
	Table  store.Rows
	// Extra computes further values of the parents, keyed by id; may be nil.
	Extra Facts
	// Missing makes the fault for an id that has no row, or that the caller may not see.
	Missing func(id string) error
}

// Options is what a binding says beyond its controller; every field may be left out.
type Options struct {
	// Visible limits what a caller who is not an administrator can see at all, in SQL.
	Visible func(ctx context.Context) store.Cond
	// Filters overrides how attributes are filtered.
	Filters map[string]Filter
	// Before runs ahead of a list or create, in a transaction of its own: the default security group.
	Before func(ctx context.Context, tx store.WriteTx, projects []string) error
	// BeforeNeeds tells in a read transaction whether Before has work to do.
	BeforeNeeds func(ctx context.Context, tx store.Tx, projects []string) (bool, error)
	Splicer     Splicer
	// Uses are kinds that a create counts besides its own resource: a security group's first rules.
	Uses []string
	// Bulk judges the items of one bulk create together, before the transaction; may be nil.
	Bulk func(items []Item) error
	// Facts computes what policy asks of the objects themselves beyond their bodies.
	Facts   Facts
	Actor   Actor
	Parents []Parent
	// ParentColumn is the column that holds the URL's parent id, for sub-resources; the body has a member of the same name, by which
	// rules find the parent ("ext_parent:project_id").
	ParentColumn string
	// RowID is the id of the row that the id in a URL below a parent stands for, where members are named by what they join to the
	// parent (a port associated with a local address); nil: the row's own id.
	RowID func(parent, id string) string
	// NotFound makes the fault for an absent id.
	NotFound func(id string) error
}

// Binding joins a collection of the registry to its table and controller, with T's type erased.
type Binding struct {
	Collection string
	Options    Options
	table      store.Rows
	fields     map[string]int
	create     func(ctx context.Context, tx store.WriteTx, given, full map[string]json.RawMessage, parent string) (store.Row, error)
	update     func(ctx context.Context, tx store.WriteTx, row store.Row, given map[string]json.RawMessage) (store.Row, error)
	remove     func(ctx context.Context, tx store.WriteTx, row store.Row) error
	lock       func(ctx context.Context, tx store.WriteTx, id string) (store.Row, error)
	// row makes a row of a T, for what actions answer.
	row func(v any) (store.Row, error)
	// retag writes a locked row's new tags, with its next revision; nil where T has no standard attributes.
	retag func(ctx context.Context, tx store.WriteTx, row store.Row, tags []string, now string) error

	handler     Handler // Special
	lister      Lister  // Computed
	idAttribute string
}

// Table is what a binding needs of store.Table[T].
type Table[T any] interface {
	store.Rows
	GetForUpdate(ctx context.Context, tx store.WriteTx, id string) (T, error)
	Update(ctx context.Context, tx store.WriteTx, v *T, prevRevision int64) error
}

// Bind makes the binding of a collection of T. T's fields are found by their JSON names.
func Bind[T any](collection string, t Table[T], c Controller[T], o Options) Binding {
	fields := map[string]int{}
	collectFields(reflect.TypeFor[T](), fields)
	row := func(v T) (store.Row, error) {
		body, err := json.Marshal(&v)
		if err != nil {
			return store.Row{}, fmt.Errorf("encode %s: %w", collection, err)
		}
		id, _ := textMember(body, "id")
		owner, _ := textMember(body, "project_id")
		return store.Row{ID: id, Project: owner, Body: body, Value: v}, nil
	}
	return Binding{
		Collection: collection, Options: o, table: t, fields: fields, retag: retag(t),
		create: func(ctx context.Context, tx store.WriteTx, given, full map[string]json.RawMessage, parent string) (store.Row, error) {
			in := Input[T]{Parent: parent, given: given, fields: fields}
			if err := json.Unmarshal(object(full), &in.Value); err != nil {
				return store.Row{}, misfit(err)
			}
			v, err := c.Create(ctx, tx, in)
			if err != nil {
				return store.Row{}, err
			}
			return row(v)
		},
		update: func(ctx context.Context, tx store.WriteTx, cur store.Row, given map[string]json.RawMessage) (store.Row, error) {
			in := Input[T]{given: given, fields: fields}
			if err := json.Unmarshal(object(given), &in.Value); err != nil {
				return store.Row{}, misfit(err)
			}
			v, err := c.Update(ctx, tx, cur.Value.(T), in)
			if err != nil {
				return store.Row{}, err
			}
			return row(v)
		},
		remove: func(ctx context.Context, tx store.WriteTx, cur store.Row) error {
			return c.Delete(ctx, tx, cur.Value.(T))
		},
		row: func(v any) (store.Row, error) {
			t, ok := v.(T)
			if !ok {
				return store.Row{}, fmt.Errorf("rest: a member of %s is a %T", collection, v)
			}
			return row(t)
		},
		lock: func(ctx context.Context, tx store.WriteTx, id string) (store.Row, error) {
			v, err := t.GetForUpdate(ctx, tx, id)
			if err != nil {
				return store.Row{}, err
			}
			return row(v)
		},
	}
}

// retag makes a binding's function of the same name.
func retag[T any](t Table[T]) func(context.Context, store.WriteTx, store.Row, []string, string) error {
	type standard interface{ Std() *model.Standard }
	if _, ok := any(new(T)).(standard); !ok {
		return nil
	}
	return func(ctx context.Context, tx store.WriteTx, row store.Row, tags []string, now string) error {
		v, ok := row.Value.(T)
		std, has := any(&v).(standard)
		if !ok || !has {
			return fmt.Errorf("rest: a row of %s is a %T", t.TableName(), row.Value)
		}
		s := std.Std()
		s.Tags, s.UpdatedAt, s.Revision = tags, now, s.Revision+1
		return t.Update(ctx, tx, &v, -1)
	}
}

// misfit is a value that passed its type but does not fit the model: a definition and a model that disagree.
func misfit(err error) error {
	var te *json.UnmarshalTypeError
	if ok := asType(err, &te); ok {
		return fault.BadInput("%s cannot hold a %s.", te.Field, te.Value)
	}
	return fmt.Errorf("decode into the model: %w", err)
}

// check refuses a binding whose model lacks a field for a stored attribute of the registry.
func (b *Binding) check(res *apidef.Resource) error {
	for _, a := range res.Attributes {
		if a.Computed || a.FilterOnly || a.Hidden {
			continue
		}
		if _, ok := b.fields[a.Name]; !ok {
			return fmt.Errorf("rest: the model of %s has no field for attribute %s", b.Collection, a.Name)
		}
	}
	return nil
}

// collectFields maps JSON names to the index of the top-level field that holds them; embedded structs count
// with the index of the embedding field only where it is a pointer (it is cleared as a whole).
func collectFields(t reflect.Type, out map[string]int) {
	for i := range t.NumField() {
		f := t.Field(i)
		ft := f.Type
		if f.Anonymous {
			if ft.Kind() == reflect.Pointer {
				ft = ft.Elem()
			}
			inner := map[string]int{}
			collectFields(ft, inner)
			for name := range inner {
				out[name] = -1
			}
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			out[name] = i
		}
	}
}

// object writes canonical members as one JSON object.
func object(members map[string]json.RawMessage) []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	first := true
	for k, v := range members {
		if !first {
			b.WriteByte(',')
		}
		first = false
		b.WriteByte('"')
		b.WriteString(k)
		b.WriteString(`":`)
		b.Write(v)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// textMember is a top-level string member, unquoted.
func textMember(body []byte, name string) (string, bool) {
	v, ok := member(body, name)
	if !ok {
		return "", false
	}
	return text(v), true
}

// text is a JSON scalar as policy and filters compare it: strings unquoted, null as "", the rest as written.
func text(v []byte) string {
	switch {
	case len(v) > 0 && v[0] == '"':
		if bytes.IndexByte(v, '\\') < 0 {
			return string(v[1 : len(v)-1])
		}
		var s string
		if json.Unmarshal(v, &s) != nil {
			return ""
		}
		return s
	case string(v) == "null":
		return ""
	}
	return string(v)
}
