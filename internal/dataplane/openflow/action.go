package openflow

import (
	"fmt"
	"slices"
	"strconv"
)

// Port is an OpenFlow port number of a bridge.
type Port uint32

// Ports with a meaning of their own.
const (
	PortNone   Port = 0
	PortMax    Port = 0xffffff00 // no number from here on is a real port's
	PortIn     Port = 0xfffffff8
	PortNormal Port = 0xfffffffa
	PortFlood  Port = 0xfffffffb
	PortAll    Port = 0xfffffffc
	PortLocal  Port = 0xfffffffe
)

func appendPort(b []byte, p Port) []byte {
	switch p {
	case PortIn:
		return append(b, "IN_PORT"...)
	case PortNormal:
		return append(b, "NORMAL"...)
	case PortFlood:
		return append(b, "FLOOD"...)
	case PortAll:
		return append(b, "ALL"...)
	case PortLocal:
		return append(b, "LOCAL"...)
	}
	return strconv.AppendUint(b, uint64(p), 10)
}

// Action is one step of what is done with a packet.
type Action interface {
	// check tells what Open vSwitch would refuse.
	check() error
	// appendText writes the action as ovs-ofctl reads it; tables are named by names where it is not nil.
	appendText(b []byte, names namer) []byte
	// appendWire writes the action as OpenFlow 1.5 has it.
	appendWire(b []byte) []byte
}

// namer gives a table's name, for texts that people read; nil leaves numbers.
type namer func(table uint8) string

func appendTable(b []byte, t uint8, names namer) []byte {
	if names != nil {
		if n := names(t); n != "" {
			return append(b, n...)
		}
	}
	return strconv.AppendUint(b, uint64(t), 10)
}

type (
	output     struct{ port Port }
	outputTo   struct{ src Subfield }
	resubmit   struct{ table uint8 }
	resubmitCT struct{ table uint8 }
	gotoTable  struct{ table uint8 }
	setField   struct{ term Term }
	load       struct {
		dst   Subfield
		value uint64
	}
	move        struct{ src, dst Subfield }
	pushVLAN    struct{ ethType uint16 }
	conjunction struct {
		id         uint32
		clause, of uint8
	}
	group        struct{ id uint32 }
	meter        struct{ id uint32 }
	setQueue     struct{ id uint32 }
	note         struct{ data []byte }
	clone        struct{ actions []Action }
	popVLAN      struct{}
	decTTL       struct{}
	ctClear      struct{}
	clearActions struct{}
)

// Do is actions in their order. An action that stands for several is given by a function that returns
// a slice; Sequence joins such.
func Do(as ...Action) []Action { return as }

// Sequence joins lists of actions.
func Sequence(lists ...[]Action) []Action { return slices.Concat(lists...) }

// Output sends the packet out of p; nothing goes back to the port that it came from except by PortIn.
func Output(p Port) Action { return output{p} }

// OutputEach sends a copy out of each of ps.
func OutputEach(ps ...Port) []Action {
	as := make([]Action, len(ps))
	for i, p := range ps {
		as[i] = output{p}
	}
	return as
}

// OutputTo sends the packet out of the port whose number s holds.
func OutputTo(s Subfield) Action { return outputTo{s} }

// Resubmit looks the packet up in a table and comes back to the actions after this one.
func Resubmit(table uint8) Action { return resubmit{table} }

// ResubmitReply is Resubmit with addresses and ports seen as the original direction of the tracked connection has them.
// The match must say that there is a connection (+est, +new or such).
func ResubmitReply(table uint8) Action { return resubmitCT{table} }

// Goto leaves the packet to a later table. It must be the last action.
func Goto(table uint8) Action { return gotoTable{table} }

// Load writes the number v into some bits.
func Load(dst Subfield, v uint64) Action { return load{dst, v} }

// Move copies bits.
func Move(src, dst Subfield) Action { return move{src, dst} }

// PushVLAN adds an outer tag with VLAN identifier 0; ethType is TypeVLAN or TypeQinQ. SetVLAN follows it.
func PushVLAN(ethType uint16) Action { return pushVLAN{ethType} }

// PopVLAN removes the outer tag.
func PopVLAN() Action { return popVLAN{} }

// SetVLAN writes the identifier of the tag that the packet has.
func SetVLAN(vid uint16) Action { return setField{VLAN(vid)} }

// TagVLAN tags the packet with vid: PushVLAN and SetVLAN.
func TagVLAN(vid uint16) []Action { return Do(PushVLAN(TypeVLAN), SetVLAN(vid)) }

// SetTunnel writes the VNI or key for tunnel ports whose key is "flow".
func SetTunnel(id uint64) Action { return TunID.Set(id) }

// DecTTL takes one from the TTL or hop limit.
func DecTTL() Action { return decTTL{} }

// Conjunction makes the flow a part of clause (from 1) of so many clauses of the conjunction id.
// No action but Note may stand beside it.
func Conjunction(id uint32, clause, of uint8) Action { return conjunction{id, clause, of} }

// ToGroup hands the packet to a group.
func ToGroup(id uint32) Action { return group{id} }

// Metered drops what is beyond the meter's rate. It must be the first action.
func Metered(id uint32) Action { return meter{id} }

// SetQueue chooses the queue of the ports that the packet then leaves by.
func SetQueue(id uint32) Action { return setQueue{id} }

// Note does nothing; the data is for people who read flows.
func Note(data []byte) Action { return note{data} }

// Clone runs actions on a copy of the packet: what they change is undone after it.
func Clone(as ...Action) Action { return clone{as} }

// CTClear forgets what conntrack found out about the packet.
func CTClear() Action { return ctClear{} }

// ClearActions empties the action set; applied actions stay done.
func ClearActions() Action { return clearActions{} }

// Drop is the empty list of actions.
func Drop() []Action { return nil }

func (a output) check() error { return nil }
func (a output) appendText(b []byte, _ namer) []byte {
	if a.port < PortMax {
		b = append(b, "output:"...)
	}
	return appendPort(b, a.port)
}

func (a outputTo) check() error { return a.src.check() }
func (a outputTo) appendText(b []byte, _ namer) []byte {
	return a.src.appendText(append(b, "output:"...))
}

func (a resubmit) check() error { return nil }
func (a resubmit) appendText(b []byte, n namer) []byte {
	return append(appendTable(append(b, "resubmit(,"...), a.table, n), ')')
}

func (a resubmitCT) check() error { return nil }
func (a resubmitCT) appendText(b []byte, n namer) []byte {
	return append(appendTable(append(b, "resubmit(,"...), a.table, n), ",ct)"...)
}

func (a gotoTable) check() error { return nil }
func (a gotoTable) appendText(b []byte, n namer) []byte {
	return appendTable(append(b, "goto_table:"...), a.table, n)
}

func (a setField) check() error { return a.term.err() }
func (a setField) appendText(b []byte, _ namer) []byte {
	spec := a.term.field.spec()
	if a.term.fault != "" {
		return fmt.Appendf(b, "set_field:!(%s)->%s", a.term.fault, spec.name)
	}
	b = append(b, "set_field:"...)
	if a.term.field == idVLANVID && a.term.isExact() {
		b = strconv.AppendUint(b, a.term.value.lo, 10)
	} else {
		b = a.term.appendOperand(b)
	}
	return append(append(b, "->"...), spec.name...)
}

func (a load) check() error {
	if err := a.dst.check(); err != nil {
		return err
	}
	if a.value&^ones(a.dst.bits()).lo != 0 {
		return fmt.Errorf("load: %#x needs more than %d bits", a.value, a.dst.bits())
	}
	return nil
}

func (a load) appendText(b []byte, _ namer) []byte {
	return a.dst.appendText(fmt.Appendf(b, "load:%#x->", a.value))
}

func (a move) check() error {
	if err := a.src.check(); err != nil {
		return err
	}
	if err := a.dst.check(); err != nil {
		return err
	}
	if a.src.bits() != a.dst.bits() {
		return fmt.Errorf("move: %d bits into %d", a.src.bits(), a.dst.bits())
	}
	return nil
}

func (a move) appendText(b []byte, _ namer) []byte {
	return a.dst.appendText(append(a.src.appendText(append(b, "move:"...)), "->"...))
}

func (a pushVLAN) check() error {
	if a.ethType != TypeVLAN && a.ethType != TypeQinQ {
		return fmt.Errorf("push_vlan: %#x is no type of a tag", a.ethType)
	}
	return nil
}

func (a pushVLAN) appendText(b []byte, _ namer) []byte {
	return fmt.Appendf(b, "push_vlan:%#x", a.ethType)
}

func (a conjunction) check() error {
	if a.of < 2 || a.of > 64 || a.clause < 1 || a.clause > a.of {
		return fmt.Errorf("conjunction: no clause %d of %d", a.clause, a.of)
	}
	return nil
}

func (a conjunction) appendText(b []byte, _ namer) []byte {
	return fmt.Appendf(b, "conjunction(%d,%d/%d)", a.id, a.clause, a.of)
}

func (a group) check() error                             { return nil }
func (a group) appendText(b []byte, _ namer) []byte      { return fmt.Appendf(b, "group:%d", a.id) }
func (a meter) check() error                             { return nil }
func (a meter) appendText(b []byte, _ namer) []byte      { return fmt.Appendf(b, "meter:%d", a.id) }
func (a setQueue) check() error                          { return nil }
func (a setQueue) appendText(b []byte, _ namer) []byte   { return fmt.Appendf(b, "set_queue:%d", a.id) }
func (popVLAN) check() error                             { return nil }
func (popVLAN) appendText(b []byte, _ namer) []byte      { return append(b, "pop_vlan"...) }
func (decTTL) check() error                              { return nil }
func (decTTL) appendText(b []byte, _ namer) []byte       { return append(b, "dec_ttl"...) }
func (ctClear) check() error                             { return nil }
func (ctClear) appendText(b []byte, _ namer) []byte      { return append(b, "ct_clear"...) }
func (clearActions) check() error                        { return nil }
func (clearActions) appendText(b []byte, _ namer) []byte { return append(b, "clear_actions"...) }

func (a note) check() error { return nil }
func (a note) appendText(b []byte, _ namer) []byte {
	b = append(b, "note:"...)
	for i, c := range a.data {
		if i > 0 {
			b = append(b, '.')
		}
		b = fmt.Appendf(b, "%02x", c)
	}
	return b
}

func (a clone) check() error { return checkNested(a.actions) }
func (a clone) appendText(b []byte, n namer) []byte {
	return append(appendActions(append(b, "clone("...), a.actions, n), ')')
}

// appendActions writes as, divided by commas; nothing for no actions.
func appendActions(b []byte, as []Action, n namer) []byte {
	for i, a := range as {
		if i > 0 {
			b = append(b, ',')
		}
		b = a.appendText(b, n)
	}
	return b
}

func checkActions(as []Action) error {
	for _, a := range as {
		if a == nil {
			return fmt.Errorf("an action is nil")
		}
		if err := a.check(); err != nil {
			return err
		}
	}
	return nil
}

// checkNested checks actions inside another, or of a bucket, where instructions have no place.
func checkNested(as []Action) error {
	for _, a := range as {
		switch a.(type) {
		case gotoTable, clearActions, conjunction:
			return fmt.Errorf("%s stands inside another action or a group", a.appendText(nil, nil))
		}
	}
	return checkActions(as)
}
