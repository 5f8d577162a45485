package nft

import (
	"bytes"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// What a kernel without connection tracking on bridges answers.
const (
	errProto        = unix.EPROTO
	errNotSupported = unix.EOPNOTSUPP
)

// atOnce is how many elements one command carries: its length is told in 16 bits.
const atOnce = 200

// transaction gathers commands.
type transaction struct {
	d        *Driver
	lib      *nftables.Conn
	commands int
	err      error
}

func (d *Driver) begin() (*transaction, error) {
	lib, err := d.conn.open()
	if err != nil {
		return nil, err
	}
	return &transaction{d: d, lib: lib}, nil
}

// put makes or corrects the objects in one transaction.
func (d *Driver) put(keys []Key, batch map[Key]Object) error {
	t, err := d.begin()
	if err != nil {
		return err
	}
	t.lib.AddTable(d.table)
	for _, k := range keys {
		if k.Kind == KindSet {
			t.putSet(k, batch[k])
		}
	}
	for _, k := range keys {
		if k.Kind == KindChain {
			t.declare(k, batch[k])
		}
	}
	for _, k := range keys {
		if k.Kind == KindChain {
			t.putRules(k, batch[k])
		}
	}
	t.elements(keys, func(k Key) (Object, bool) { return t.stale(k, batch[k]) }, t.lib.SetDeleteElements)
	t.elements(keys, func(k Key) (Object, bool) { return batch[k], true }, t.lib.SetAddElements)
	if t.err != nil {
		d.conn.failed()
		return t.err
	}
	if err := d.flush(t.lib, t.commands); err != nil {
		return err
	}
	for _, k := range keys {
		d.known[k] = batch[k]
	}
	return nil
}

// drop removes those of the objects that are there in one transaction.
func (d *Driver) drop(keys []Key, batch map[Key]Object) error {
	keys = slices.DeleteFunc(slices.Clone(keys), func(k Key) bool {
		_, there := d.known[k]
		return !there
	})
	if len(keys) == 0 {
		return nil
	}
	t, err := d.begin()
	if err != nil {
		return err
	}
	gone := map[string]bool{} // sets that go, with all their elements
	for _, k := range keys {
		if k.Kind == KindSet {
			gone[k.Name] = true
		}
	}
	t.elements(keys, func(k Key) (Object, bool) { return batch[k], !gone[k.Name] || batch[k].Layout.Map == Verdicts }, t.lib.SetDeleteElements)
	for _, k := range keys {
		if k.Kind == KindChain && len(d.known[k].Rules) > 0 {
			t.lib.FlushChain(&nftables.Chain{Name: k.Name, Table: d.table})
			t.commands++
		}
	}
	for _, k := range slices.Backward(keys) { // those that jump before those that are jumped to
		switch k.Kind {
		case KindChain:
			t.lib.DelChain(&nftables.Chain{Name: k.Name, Table: d.table})
			t.commands++
		case KindSet:
			t.lib.DelSet(&nftables.Set{Name: k.Name, Table: d.table})
			t.commands++
		case KindElement:
		}
	}
	if t.err != nil {
		d.conn.failed()
		return t.err
	}
	if err := d.flush(t.lib, t.commands); err != nil {
		return err
	}
	for _, k := range keys {
		delete(d.known, k)
	}
	maps.DeleteFunc(d.known, func(k Key, _ Object) bool { return k.Kind == KindElement && gone[k.Name] })
	return nil
}

// set is the library's word for a set.
func (t *transaction) set(name string, l Layout) *nftables.Set {
	s := &nftables.Set{Table: t.d.table, Name: name, Interval: l.Interval, IsMap: l.Map != Nothing, Concatenation: len(l.Fields) > 1}
	var err error
	if s.KeyType, err = l.datatype(); err != nil {
		t.err = err
	}
	switch l.Map {
	case Verdicts:
		s.DataType = nftables.TypeVerdict
	case Numbers:
		s.DataType = nftables.TypeInteger
		s.DataType.Bytes = 2
	case Nothing:
	}
	return s
}

// putSet makes a set, anew if it is another than wanted: the kernel refuses that while rules use it.
func (t *transaction) putSet(k Key, o Object) {
	s := t.set(k.Name, o.Layout)
	if have, there := t.d.known[k]; there {
		if o.Layout.equal(have.Layout) {
			return
		}
		t.lib.DelSet(s)
		t.commands++
	}
	if err := t.lib.AddSet(s, nil); err != nil {
		t.err = err
	}
	t.commands++
}

// declare makes a chain without rules, so that others can name it.
func (t *transaction) declare(k Key, o Object) {
	c := &nftables.Chain{Name: k.Name, Table: t.d.table}
	have, there := t.d.known[k]
	if there && (have.Hook == nil) == (o.Hook == nil) && (o.Hook == nil || *have.Hook == *o.Hook) {
		return
	}
	if there {
		t.lib.FlushChain(c)
		t.lib.DelChain(c)
		t.commands += 2
		delete(t.d.known, k)
	}
	if o.Hook != nil {
		c.Type = nftables.ChainTypeFilter
		c.Hooknum = nftables.ChainHookRef(nftables.ChainHook(o.Hook.Point))
		c.Priority = nftables.ChainPriorityRef(nftables.ChainPriority(o.Hook.Priority))
	}
	t.lib.AddChain(c)
	t.commands++
}

// putRules makes a chain's rules what they shall be. Those at its beginning and end that are right stay, with their counters and their places, so
// that a rule more is one command.
func (t *transaction) putRules(k Key, o Object) {
	c := &nftables.Chain{Name: k.Name, Table: t.d.table}
	var have []*nftables.Rule
	if old, there := t.d.known[k]; there && len(old.Rules) > 0 {
		// Handles are the kernel's, and another may have changed the chain since.
		now, err := t.lib.GetRules(t.d.table, c)
		if err != nil {
			t.err = err
			return
		}
		have = now
	}
	before := 0
	for before < len(have) && before < len(o.Rules) && readRule(have[before]).print == o.Rules[before].print {
		before++
	}
	after := 0
	for after < len(have)-before && after < len(o.Rules)-before && readRule(have[len(have)-1-after]).print == o.Rules[len(o.Rules)-1-after].print {
		after++
	}
	for _, r := range have[before : len(have)-after] {
		if err := t.lib.DelRule(&nftables.Rule{Table: t.d.table, Chain: c, Handle: r.Handle}); err != nil {
			t.err = err
		}
		t.commands++
	}
	fresh := o.Rules[before : len(o.Rules)-after]
	for _, r := range fresh {
		n := &nftables.Rule{Table: t.d.table, Chain: c, Exprs: r.code, UserData: commentData(r.comment)}
		t.commands++
		if after > 0 { // before the first of those that stay
			n.Position = have[len(have)-after].Handle
			t.lib.InsertRule(n)
			continue
		}
		t.lib.AddRule(n)
	}
}

// stale tells whether an element is there with another value: the kernel changes none.
func (t *transaction) stale(k Key, o Object) (Object, bool) {
	have, there := t.d.known[k]
	return o, there && (have.Verdict != o.Verdict || have.Number != o.Number)
}

// elements gives one command a set, or more where it would be too long.
func (t *transaction) elements(keys []Key, pick func(Key) (Object, bool), do func(*nftables.Set, []nftables.SetElement) error) {
	var s *nftables.Set
	var list []nftables.SetElement
	send := func() {
		if len(list) > 0 {
			if err := do(s, list); err != nil {
				t.err = err
			}
		}
		list = nil
	}
	for _, k := range keys {
		if k.Kind != KindElement {
			continue
		}
		o, wanted := pick(k)
		if !wanted {
			continue
		}
		if s == nil || s.Name != k.Name || len(list) >= atOnce {
			send()
			s = t.set(k.Name, o.Layout)
		}
		list = append(list, element(k, o)...)
		t.commands++
	}
	send()
}

// element is what the library wants for one: a range of a single field is two.
func element(k Key, o Object) []nftables.SetElement {
	e := nftables.SetElement{Key: []byte(k.Item)}
	switch o.Layout.Map {
	case Verdicts:
		e.VerdictData = &expr.Verdict{Kind: o.Verdict.kind, Chain: o.Verdict.chain}
	case Numbers:
		e.Val = binary.NativeEndian.AppendUint16(nil, o.Number)
	case Nothing:
	}
	if !o.Layout.Interval {
		return []nftables.SetElement{e}
	}
	half := len(k.Item) / 2
	first, last := bytes.Clone(e.Key[:half]), bytes.Clone(e.Key[half:])
	if len(o.Layout.Fields) > 1 {
		e.Key, e.KeyEnd = first, last
		return []nftables.SetElement{e}
	}
	e.Key = first
	if end := step(last, 1); end != nil {
		return []nftables.SetElement{e, {Key: end, IntervalEnd: true}}
	}
	return []nftables.SetElement{e}
}
