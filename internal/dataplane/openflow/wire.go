package openflow

import (
	"encoding/binary"
)

// What follows writes flows, groups and meters as OpenFlow 1.5 (version 6 on the wire) with Open vSwitch's
// extensions has them. Numbers are those of openflow-1.5.h and nicira-ext.h.

func be16(b []byte, v uint16) []byte { return binary.BigEndian.AppendUint16(b, v) }
func be32(b []byte, v uint32) []byte { return binary.BigEndian.AppendUint32(b, v) }
func be64(b []byte, v uint64) []byte { return binary.BigEndian.AppendUint64(b, v) }
func zeros(b []byte, n int) []byte   { return append(b, make([]byte, n)...) }

// pad fills what began at start up to a multiple of 8 bytes.
func pad(b []byte, start int) []byte { return zeros(b, -(len(b)-start)&7) }

// sized pads what began at start and writes its length into its third and fourth byte.
func sized(b []byte, start int) []byte {
	b = pad(b, start)
	binary.BigEndian.PutUint16(b[start+2:], uint16(len(b)-start))
	return b
}

// bytes is the length of the field's value on the wire.
func (s fieldSpec) bytes() int { return (int(s.bits) + 7) / 8 }

// header is the field's OXM header without a mask.
func (s fieldSpec) header() uint32 {
	return uint32(s.class)<<16 | uint32(s.code)<<9 | uint32(s.bytes())
}

func (t Term) appendWire(b []byte) []byte {
	spec := t.field.spec()
	n := spec.bytes()
	if t.isExact() {
		return append(be32(b, spec.header()), t.value.bytes(n)...)
	}
	b = be32(b, spec.header()+uint32(n)|1<<8)
	return append(append(b, t.value.bytes(n)...), t.mask.bytes(n)...)
}

// appendWire writes the match, terms in canonical order, in which prerequisites come before what needs them.
func (m Match) appendWire(b []byte) []byte {
	start := len(b)
	b = be32(b, 1<<16)
	for _, t := range m.inOrder() {
		b = t.appendWire(b)
	}
	binary.BigEndian.PutUint16(b[start+2:], uint16(len(b)-start))
	return pad(b, start)
}

// nicira begins an action of Open vSwitch's own.
func niciraAction(b []byte, subtype uint16) []byte {
	return be16(be32(be32(b, 0xffff<<16), 0x2320), subtype)
}

// ofsNBits is a part of a field as Nicira actions have it.
func (s Subfield) ofsNBits() uint16 { return uint16(s.lo)<<6 | uint16(s.bits()-1) }

// short is an action of 8 bytes with one number.
func short(b []byte, kind uint16, arg uint32) []byte {
	return be32(be16(be16(b, kind), 8), arg)
}

func (a output) appendWire(b []byte) []byte {
	return zeros(be32(be32(b, 16), uint32(a.port)), 8)
}

func (a outputTo) appendWire(b []byte) []byte {
	start := len(b)
	b = be16(niciraAction(b, 15), a.src.ofsNBits())
	return sized(zeros(be32(b, a.src.field.spec().header()), 8), start)
}

func appendResubmit(b []byte, subtype uint16, table uint8) []byte {
	const inPort = 0xfff8
	start := len(b)
	return sized(zeros(append(be16(niciraAction(b, subtype), inPort), table), 3), start)
}

func (a resubmit) appendWire(b []byte) []byte   { return appendResubmit(b, 14, a.table) }
func (a resubmitCT) appendWire(b []byte) []byte { return appendResubmit(b, 44, a.table) }

// Goto and clear_actions are instructions: Flow.appendInstructions writes them.
func (a gotoTable) appendWire(b []byte) []byte  { return b }
func (clearActions) appendWire(b []byte) []byte { return b }

func (a setField) appendWire(b []byte) []byte {
	start := len(b)
	return sized(a.term.appendWire(be32(b, 25<<16)), start)
}

// A load is a set_field with a mask, as ovs-ofctl sends it too.
func (a load) appendWire(b []byte) []byte {
	return setField{masked(a.dst.field, value{lo: a.value}.shift(a.dst.lo), ones(a.dst.bits()).shift(a.dst.lo))}.appendWire(b)
}

// shift moves v up by n bits.
func (v value) shift(n uint8) value {
	switch {
	case n == 0:
		return v
	case n >= 64:
		return value{hi: v.lo << (n - 64)}
	}
	return value{v.hi<<n | v.lo>>(64-n), v.lo << n}
}

func (a move) appendWire(b []byte) []byte {
	start := len(b)
	b = be16(be32(b, 28<<16), uint16(a.src.bits()))
	b = be16(be16(be16(b, uint16(a.src.lo)), uint16(a.dst.lo)), 0)
	return sized(be32(be32(b, a.src.field.spec().header()), a.dst.field.spec().header()), start)
}

func (a conjunction) appendWire(b []byte) []byte {
	start := len(b)
	return sized(be32(append(niciraAction(b, 34), a.clause-1, a.of), a.id), start)
}

func (a note) appendWire(b []byte) []byte {
	start := len(b)
	b = append(niciraAction(b, 8), a.data...)
	return sized(zeros(b, max(16-(len(b)-start), 0)), start)
}

func (a clone) appendWire(b []byte) []byte {
	start := len(b)
	return sized(appendWireActions(zeros(niciraAction(b, 42), 6), a.actions), start)
}

func (a pushVLAN) appendWire(b []byte) []byte { return short(b, 17, uint32(a.ethType)<<16) }
func (popVLAN) appendWire(b []byte) []byte    { return short(b, 18, 0) }
func (a setQueue) appendWire(b []byte) []byte { return short(b, 21, a.id) }
func (a group) appendWire(b []byte) []byte    { return short(b, 22, a.id) }
func (decTTL) appendWire(b []byte) []byte     { return short(b, 24, 0) }
func (a meter) appendWire(b []byte) []byte    { return short(b, 29, a.id) }

func (ctClear) appendWire(b []byte) []byte {
	start := len(b)
	return sized(zeros(niciraAction(b, 43), 6), start)
}

func (c CT) appendWire(b []byte) []byte {
	start := len(b)
	var flags uint16
	if c.Commit {
		flags |= 1
	}
	if c.Force {
		flags |= 2
	}
	b = be16(niciraAction(b, 35), flags)
	if c.ZoneFrom != nil {
		b = be16(be32(b, c.ZoneFrom.field.spec().header()), c.ZoneFrom.ofsNBits())
	} else {
		b = be16(be32(b, 0), c.Zone)
	}
	table := uint8(255)
	if c.HasTable {
		table = c.Table
	}
	b = zeros(append(b, table), 5)
	if c.NAT != nil {
		b = c.NAT.appendWire(b)
	}
	return sized(appendWireActions(b, c.Exec), start)
}

func (n *NAT) appendWire(b []byte) []byte {
	start := len(b)
	b = zeros(niciraAction(b, 36), 2)
	if !n.Min.IsValid() {
		return sized(be32(b, 0), start)
	}
	flags, present, body := uint16(2), uint16(1), n.Min.AsSlice()
	if n.Source {
		flags = 1
	}
	if n.Min.Is6() {
		present = 4
	}
	if n.Max.IsValid() && n.Max != n.Min {
		present |= present << 1
		body = append(body, n.Max.AsSlice()...)
	}
	if n.PortMin != 0 {
		present |= 16
		body = be16(body, n.PortMin)
		if n.PortMax > n.PortMin {
			present |= 32
			body = be16(body, n.PortMax)
		}
	}
	return sized(append(be16(be16(b, flags), present), body...), start)
}

func appendWireActions(b []byte, as []Action) []byte {
	for _, a := range as {
		b = a.appendWire(b)
	}
	return b
}

// appendInstructions writes what the flow does: applied actions first, then clear_actions, then goto_table.
func (f Flow) appendInstructions(b []byte) []byte {
	const apply, clearAll, goTo = 4, 5, 1
	start := len(b)
	b = zeros(be32(b, apply<<16), 4)
	b = appendWireActions(b, f.Actions)
	if len(b) == start+8 {
		b = b[:start]
	} else {
		b = sized(b, start)
	}
	for _, a := range f.Actions {
		switch a := a.(type) {
		case clearActions:
			b = short(b, clearAll, 0)
		case gotoTable:
			b = short(b, goTo, uint32(a.table)<<24)
		}
	}
	return b
}

// appendWire writes the body of a flow_mod.
func (m FlowMod) appendWire(b []byte) []byte {
	const cmdAdd, cmdDelete = 0, 3
	const nobody = 0xffffffff
	command, cookieMask, priority := byte(cmdAdd), uint64(0), m.Flow.Priority
	if m.Op == Delete {
		command, cookieMask, priority = cmdDelete, ^uint64(0), 0
	}
	b = be64(be64(b, m.Key.Cookie), cookieMask)
	b = append(b, m.Key.Table, command)
	b = be16(zeros(b, 4), priority)
	b = zeros(be32(be32(be32(b, nobody), nobody), nobody), 4)
	if m.Op == Delete {
		return Match(nil).appendWire(b)
	}
	return m.Flow.appendInstructions(m.Flow.Match.appendWire(b))
}

// appendWire writes the body of a group_mod.
func (m GroupMod) appendWire(b []byte) []byte {
	const cmdAddOrModify, cmdDelete = 0x8000, 2
	if m.Op == Delete {
		return be32(zeros(be32(be16(be16(b, cmdDelete), 0), m.ID), 4), 0xffffffff)
	}
	b = be16(b, cmdAddOrModify)
	b = be32(append(b, byte(m.Group.Type), 0), m.ID)
	at := len(b)
	b = be32(zeros(b, 4), 0xffffffff)
	start := len(b)
	for i, k := range m.Group.Buckets {
		b = k.appendWire(b, m.Group.Mark()+uint32(i), m.Group.Type)
	}
	binary.BigEndian.PutUint16(b[at:], uint16(len(b)-start))
	return b
}

func (k Bucket) appendWire(b []byte, id uint32, t GroupType) []byte {
	start := len(b)
	b = appendWireActions(be32(zeros(b, 4), id), k.Actions)
	binary.BigEndian.PutUint16(b[start+2:], uint16(len(b)-start-8))
	if t == GroupSelect {
		b = zeros(be16(be32(b, 8), max(k.Weight, 1)), 2) // the property "weight", 8 bytes long
	}
	binary.BigEndian.PutUint16(b[start:], uint16(len(b)-start))
	return b
}

// Commands of meter_mod.
const (
	meterAdd    = 0
	meterModify = 1
	meterDelete = 2
)

// appendWire writes the body of a meter_mod.
func (m MeterMod) appendWire(b []byte, command uint16) []byte {
	const kbps, pktps, burst = 1, 2, 4
	b = be16(b, command)
	if command == meterDelete {
		return be32(be16(b, 0), m.ID)
	}
	flags := uint16(kbps)
	if m.Meter.Packets {
		flags = pktps
	}
	if m.Meter.Burst > 0 {
		flags |= burst
	}
	b = be32(be16(b, flags), m.ID)
	return zeros(be32(be32(be32(b, 1<<16|16), m.Meter.Rate), m.Meter.Burst), 4)
}
