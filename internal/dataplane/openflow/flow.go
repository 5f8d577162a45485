package openflow

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// Flow is one entry of a table: packets that fulfil Match, and none of higher priority, get Actions. It is a
// value: what it is made of is not changed after it was given away.
type Flow struct {
	Table    uint8
	Priority uint16
	Match    Match
	Actions  []Action

	// altered is set on a flow read back of which a stranger changed the actions but not the cookie.
	altered bool
}

// Tag says whose flows these are: the upper 16 bits of a cookie. Two owners of flows on one bridge have different tags.
type Tag uint16

// TagOf derives a tag from an owner's name; it is never 0, which stands for flows that nobody marked.
func TagOf(owner string) Tag {
	sum := sha256.Sum256([]byte(owner))
	return Tag(binary.BigEndian.Uint16(sum[:]) | 1)
}

// Owns tells whether a cookie has this tag.
func (t Tag) Owns(cookie uint64) bool { return Tag(cookie>>48) == t }

// mask is the bits of a cookie that hold the tag.
const tagMask = 0xffff << 48

// Key names a flow on its bridge: what the reconciler compares, and all that is read back.
type Key struct {
	Cookie   uint64
	Table    uint8
	Priority uint16
}

// String is the key as people search for it.
func (k Key) String() string {
	return fmt.Sprintf("cookie=%#x,table=%d,priority=%d", k.Cookie, k.Table, k.Priority)
}

// Key is the key that f has when t owns it.
func (t Tag) Key(f Flow) Key {
	sum := sha256.Sum256([]byte(f.String()))
	return Key{uint64(t)<<48 | binary.BigEndian.Uint64(sum[:])&^tagMask, f.Table, f.Priority}
}

// Want gives flows the keys under which the driver of t holds them. Of two equal flows one remains.
func (t Tag) Want(fs ...Flow) map[Key]Flow {
	m := make(map[Key]Flow, len(fs))
	for _, f := range fs {
		m[t.Key(f)] = f
	}
	return m
}

// Same is the equality that the reconciler of flows is given. Flows with one key are the same, since the key holds a
// hash of all that a flow is; of a flow read back nothing else is known, except that a stranger altered it.
func Same(want, have Flow) bool { return want.altered == have.altered }

// String is the canonical text of f: one flow, one text.
func (f Flow) String() string {
	b := f.appendSlot(make([]byte, 0, 256))
	b = append(b, " actions="...)
	return string(f.appendActions(b, nil))
}

// slot is the text of table, priority and match: a bridge has one flow for each.
func (f Flow) slot() string { return string(f.appendSlot(make([]byte, 0, 160))) }

func (f Flow) appendSlot(b []byte) []byte {
	b = fmt.Appendf(b, "table=%d,priority=%d", f.Table, f.Priority)
	n := len(b)
	b = append(b, ',')
	b = f.Match.appendText(b)
	if len(b) == n+1 {
		b = b[:n]
	}
	return b
}

func (f Flow) appendActions(b []byte, names namer) []byte {
	if len(f.Actions) == 0 {
		return append(b, "drop"...)
	}
	return appendActions(b, f.Actions, names)
}

// Check tells what is wrong with f as far as f alone shows it; nil means that Open vSwitch accepts it if its
// tables, groups and meters exist.
func (f Flow) Check() error {
	if f.Table == 255 {
		return fmt.Errorf("flow %s: table 255 stands for all tables", f)
	}
	if err := f.Match.check(); err != nil {
		return fmt.Errorf("flow %s: match: %w", f, err)
	}
	if err := checkActions(f.Actions); err != nil {
		return fmt.Errorf("flow %s: action %w", f, err)
	}
	for i, a := range f.Actions {
		if err := f.checkPlace(i, a); err != nil {
			return fmt.Errorf("flow %s: %w", f, err)
		}
	}
	return nil
}

// checkPlace tells where an action may not stand. OpenFlow has goto_table and meter as instructions, which
// Open vSwitch wants last and first.
func (f Flow) checkPlace(i int, a Action) error {
	last := i == len(f.Actions)-1
	switch a := a.(type) {
	case gotoTable:
		if !last {
			return fmt.Errorf("goto_table is not the last action")
		}
		if a.table <= f.Table {
			return fmt.Errorf("goto_table leads back to table %d", a.table)
		}
	case meter:
		if i != 0 {
			return fmt.Errorf("meter is not the first action")
		}
	case CT:
		if !f.Match.meets(needIP) {
			return fmt.Errorf("ct: the match lacks IPv4 or IPv6")
		}
	case clone:
		for _, inner := range a.actions {
			if _, tracks := inner.(CT); tracks && !f.Match.meets(needIP) {
				return fmt.Errorf("ct: the match lacks IPv4 or IPv6")
			}
		}
	case clearActions:
		if !last {
			if _, ok := f.Actions[i+1].(gotoTable); !ok {
				return fmt.Errorf("clear_actions is followed by other than goto_table")
			}
		}
	case conjunction:
		for _, other := range f.Actions {
			switch other.(type) {
			case conjunction, note:
			default:
				return fmt.Errorf("conjunction stands beside another action")
			}
		}
	}
	return nil
}
