package nft

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// atOnce is how many elements one command carries: its length is told in 16 bits.
const atOnce = 200

// transaction gathers commands, each on behalf of objects.
type transaction struct {
	d        *Driver
	messages []netlink.Message
	of       [][]Key // of each message
	changes  int     // rules, sets, chains and elements in them
	sets     uint32
	err      error
}

// add takes what a command's maker returned.
func (t *transaction) add(keys ...Key) func(netlink.Message, error) {
	return func(m netlink.Message, err error) {
		if err != nil {
			t.err = err
			return
		}
		t.messages, t.of = append(t.messages, m), append(t.of, keys)
		t.changes++
	}
}

// send has the kernel do it. refused are the objects that stand in its way.
func (t *transaction) send(ctx context.Context) (refused map[Key]error, err error) {
	if t.err != nil || len(t.messages) == 0 {
		return nil, t.err
	}
	bad, err := t.d.conn.transact(ctx, t.messages)
	if err != nil {
		return nil, fmt.Errorf("nftables: %w", err)
	}
	if len(bad) == 0 {
		t.d.transactions.Add(1)
		t.d.changes.Add(uint64(t.changes))
		return nil, nil
	}
	refused = map[Key]error{}
	for at, e := range bad {
		e = fmt.Errorf("nftables: %w", e)
		for _, k := range t.of[at] {
			refused[k] = e
		}
		if len(t.of[at]) == 0 { // the table itself
			err = e
		}
	}
	return refused, err
}

// put makes or corrects the objects in one transaction.
func (d *Driver) put(ctx context.Context, keys []Key, batch map[Key]Object) (map[Key]error, error) {
	t := &transaction{d: d}
	t.add()(newTable(Table))
	t.changes = 0
	lost := map[Key]bool{} // what goes with an object that is made anew
	for _, k := range keys {
		if k.Kind == KindSet {
			t.putSet(k, batch[k], lost)
		}
	}
	for _, k := range keys {
		if k.Kind == KindChain {
			t.declare(k, batch[k], lost)
		}
	}
	for _, k := range keys {
		if k.Kind == KindChain {
			t.putRules(ctx, k, batch[k], lost[k])
		}
	}
	t.elements(unix.NFT_MSG_DELSETELEM, keys, func(k Key) (Object, bool) {
		have, there := d.known[k]
		return batch[k], there && !lost[k] && (have.Verdict != batch[k].Verdict || have.Number != batch[k].Number) // the kernel changes none
	})
	t.elements(unix.NFT_MSG_NEWSETELEM, keys, func(k Key) (Object, bool) { return batch[k], true })
	refused, err := t.send(ctx)
	if err != nil || len(refused) > 0 {
		return refused, err
	}
	for k := range lost {
		delete(d.known, k)
	}
	for _, k := range keys {
		d.known[k] = batch[k]
	}
	return nil, nil
}

// drop removes those of the objects that are there in one transaction.
func (d *Driver) drop(ctx context.Context, keys []Key, batch map[Key]Object) (map[Key]error, error) {
	keys = slices.DeleteFunc(slices.Clone(keys), func(k Key) bool {
		_, there := d.known[k]
		return !there
	})
	t := &transaction{d: d}
	gone := map[string]bool{} // sets that go, with all their elements
	for _, k := range keys {
		if k.Kind == KindSet {
			gone[k.Name] = true
		}
	}
	// Verdicts hold on to chains that go too.
	t.elements(unix.NFT_MSG_DELSETELEM, keys, func(k Key) (Object, bool) { return batch[k], !gone[k.Name] || batch[k].Layout.Map == Verdicts })
	for _, k := range keys {
		if k.Kind == KindChain && len(d.known[k].Rules) > 0 {
			t.add(k)(delRule(Table, k.Name, 0))
		}
	}
	for _, k := range slices.Backward(keys) { // those that jump before those that are jumped to
		switch k.Kind {
		case KindChain:
			t.add(k)(delChain(Table, k.Name))
		case KindSet:
			t.add(k)(delSet(Table, k.Name))
		case KindElement:
		}
	}
	refused, err := t.send(ctx)
	if err != nil || len(refused) > 0 {
		return refused, err
	}
	for _, k := range keys {
		delete(d.known, k)
	}
	if len(gone) == 0 {
		return nil, nil
	}
	maps.DeleteFunc(d.known, func(k Key, _ Object) bool { return k.Kind == KindElement && gone[k.Name] })
	return nil, nil
}

// putSet makes a set, anew if it is another than wanted: the kernel refuses that while rules use it.
func (t *transaction) putSet(k Key, o Object, lost map[Key]bool) {
	if have, there := t.d.known[k]; there {
		if o.Layout.equal(have.Layout) {
			return
		}
		for e := range t.d.known {
			if e.Kind == KindElement && e.Name == k.Name {
				lost[e] = true
			}
		}
		t.add(k)(delSet(Table, k.Name))
	}
	t.sets++
	t.add(k)(newSet(Table, k.Name, t.sets, o.Layout))
}

// declare makes a chain without rules, so that others can name it.
func (t *transaction) declare(k Key, o Object, lost map[Key]bool) {
	have, there := t.d.known[k]
	if there && (have.Hook == nil) == (o.Hook == nil) && (o.Hook == nil || *have.Hook == *o.Hook) {
		return
	}
	if there {
		lost[k] = true
		t.add(k)(delRule(Table, k.Name, 0))
		t.add(k)(delChain(Table, k.Name))
	}
	t.add(k)(newChain(Table, k.Name, o.Hook))
}

// putRules makes a chain's rules what they shall be. Those at its beginning and end that are right stay, so that a rule more is one command.
func (t *transaction) putRules(ctx context.Context, k Key, o Object, fresh bool) {
	var have []readRule
	if old, there := t.d.known[k]; there && !fresh && len(old.Rules) > 0 {
		// Handles are the kernel's, and another may have changed the chain since.
		var err error
		if have, err = t.d.conn.rules(ctx, k.Name); err != nil {
			t.err = err
			return
		}
	}
	before := 0
	for before < len(have) && before < len(o.Rules) && have[before].rule.print == o.Rules[before].print {
		before++
	}
	after := 0
	for after < len(have)-before && after < len(o.Rules)-before && have[len(have)-1-after].rule.print == o.Rules[len(o.Rules)-1-after].print {
		after++
	}
	for _, r := range have[before : len(have)-after] {
		t.add(k)(delRule(Table, k.Name, r.handle))
	}
	var next uint64 // the first of those that stay at the end
	if after > 0 {
		next = have[len(have)-after].handle
	}
	for _, r := range o.Rules[before : len(o.Rules)-after] {
		t.add(k)(newRule(Table, k.Name, r, next))
	}
}

// elements gives one command a set, or more where it would be too long.
func (t *transaction) elements(kind uint16, keys []Key, pick func(Key) (Object, bool)) {
	var of []Key
	var list []element
	send := func() {
		if len(list) > 0 {
			t.add(of...)(changeElements(kind, Table, of[0].Name, list))
			t.changes += len(of) - 1
		}
		of, list = nil, nil
	}
	for _, k := range keys {
		o, wanted := pick(k)
		if k.Kind != KindElement || !wanted {
			continue
		}
		if len(of) > 0 && (of[0].Name != k.Name || len(list) >= atOnce) {
			send()
		}
		of, list = append(of, k), append(list, elements(k, o)...)
	}
	send()
}
