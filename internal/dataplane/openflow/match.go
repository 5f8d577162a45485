package openflow

import (
	"fmt"
	"slices"
)

// Term is one condition on one field.
type Term struct {
	field       FieldID
	value, mask value
	fault       string
}

// Match is the conditions of a flow, all of which must hold; the order in which they are given means nothing.
type Match []Term

func exact(id FieldID, v value) Term {
	spec := id.spec()
	if v.and(ones(spec.bits)) != v {
		return bad(id, "%#x needs more than %d bits", v.lo, spec.bits)
	}
	return Term{field: id, value: v, mask: ones(spec.bits)}
}

// masked clears the bits of v that mask does not look at, as Open vSwitch does: so one condition has one text.
func masked(id FieldID, v, mask value) Term {
	spec := id.spec()
	if mask.and(ones(spec.bits)) != mask {
		return bad(id, "mask %#x needs more than %d bits", mask.lo, spec.bits)
	}
	if !spec.maskable && mask != ones(spec.bits) {
		return bad(id, "it cannot be masked")
	}
	return Term{field: id, value: v.and(mask), mask: mask}
}

func bad(id FieldID, why string, args ...any) Term {
	return Term{field: id, fault: fmt.Sprintf(why, args...)}
}

func (t Term) err() error {
	if t.fault != "" {
		return fmt.Errorf("%s: %s", t.field.spec().name, t.fault)
	}
	return nil
}

func (t Term) isExact() bool { return t.mask == ones(t.field.spec().bits) }

// Ethernet types and protocols that matches and actions name.
const (
	TypeIPv4 = 0x0800
	TypeARP  = 0x0806
	TypeRARP = 0x8035
	TypeVLAN = 0x8100
	TypeQinQ = 0x88a8
	TypeIPv6 = 0x86dd

	ProtoICMP   = 1
	ProtoTCP    = 6
	ProtoUDP    = 17
	ProtoICMPv6 = 58
	ProtoSCTP   = 132
)

// Bits of CTState.
const (
	CTNew     = 0x01
	CTEst     = 0x02
	CTRel     = 0x04
	CTReply   = 0x08
	CTInvalid = 0x10
	CTTracked = 0x20
	CTSNAT    = 0x40
	CTDNAT    = 0x80
)

// Any matches packets of all protocols that fulfil ts.
func Any(ts ...Term) Match { return ts }

// ARP matches ARP packets that fulfil ts.
func ARP(ts ...Term) Match { return ofType(TypeARP, ts) }

// IPv4 matches IPv4 packets that fulfil ts.
func IPv4(ts ...Term) Match { return ofType(TypeIPv4, ts) }

// IPv6 matches IPv6 packets that fulfil ts.
func IPv6(ts ...Term) Match { return ofType(TypeIPv6, ts) }

// TCP matches TCP over IPv4.
func TCP(ts ...Term) Match { return ofProto(TypeIPv4, ProtoTCP, ts) }

// UDP matches UDP over IPv4.
func UDP(ts ...Term) Match { return ofProto(TypeIPv4, ProtoUDP, ts) }

// SCTP matches SCTP over IPv4.
func SCTP(ts ...Term) Match { return ofProto(TypeIPv4, ProtoSCTP, ts) }

// ICMP matches ICMP over IPv4.
func ICMP(ts ...Term) Match { return ofProto(TypeIPv4, ProtoICMP, ts) }

// TCP6 matches TCP over IPv6.
func TCP6(ts ...Term) Match { return ofProto(TypeIPv6, ProtoTCP, ts) }

// UDP6 matches UDP over IPv6.
func UDP6(ts ...Term) Match { return ofProto(TypeIPv6, ProtoUDP, ts) }

// SCTP6 matches SCTP over IPv6.
func SCTP6(ts ...Term) Match { return ofProto(TypeIPv6, ProtoSCTP, ts) }

// ICMPv6 matches ICMPv6.
func ICMPv6(ts ...Term) Match { return ofProto(TypeIPv6, ProtoICMPv6, ts) }

// NeighbourSolicit matches neighbour solicitations.
func NeighbourSolicit(ts ...Term) Match {
	return ICMPv6(append([]Term{ICMPv6Type.Is(135), ICMPv6Code.Is(0)}, ts...)...)
}

// NeighbourAdvert matches neighbour advertisements.
func NeighbourAdvert(ts ...Term) Match {
	return ICMPv6(append([]Term{ICMPv6Type.Is(136), ICMPv6Code.Is(0)}, ts...)...)
}

func ofType(ethType uint64, ts []Term) Match {
	return append(Match{EthType.Is(ethType)}, ts...)
}

func ofProto(ethType, proto uint64, ts []Term) Match {
	return append(Match{EthType.Is(ethType), IPProto.Is(proto)}, ts...)
}

// With is m and ts; m stays as it is.
func (m Match) With(ts ...Term) Match {
	return append(slices.Clip(slices.Clone(m)), ts...)
}

// VLAN matches packets whose outer tag carries vid.
func VLAN(vid uint16) Term {
	if vid > 4095 {
		return bad(idVLANVID, "%d is no VLAN identifier", vid)
	}
	return VLANVID.Is(0x1000 | uint64(vid))
}

// Tagged matches packets with a VLAN tag, whichever.
func Tagged() Term { return VLANVID.Masked(0x1000, 0x1000) }

// Untagged matches packets without one.
func Untagged() Term { return VLANVID.Is(0) }

// number finds the exact value that m asks of a field.
func (m Match) number(id FieldID) (uint64, bool) {
	for _, t := range m {
		if t.field == id && t.fault == "" && t.isExact() {
			return t.value.lo, true
		}
	}
	return 0, false
}

// check tells what Open vSwitch would refuse or, worse, silently widen: a lost prerequisite drops the term.
func (m Match) check() error {
	seen := [fieldCount]bool{}
	for _, t := range m {
		if err := t.err(); err != nil {
			return err
		}
		name := t.field.spec().name
		if seen[t.field] {
			return fmt.Errorf("%s: matched twice", name)
		}
		seen[t.field] = true
		if !m.meets(t.field.spec().needs) {
			return fmt.Errorf("%s: the match lacks the protocol that has this field", name)
		}
		if t.field == idCTState && t.isExact() {
			return fmt.Errorf("%s: match it with a mask", name)
		}
	}
	return nil
}

func (m Match) meets(n need) bool {
	ethType, _ := m.number(idEthType)
	proto, _ := m.number(idIPProto)
	ip := ethType == TypeIPv4 || ethType == TypeIPv6
	icmp6 := ethType == TypeIPv6 && proto == ProtoICMPv6
	kind, _ := m.number(idICMPv6Type)
	switch n {
	case needARP:
		return ethType == TypeARP || ethType == TypeRARP
	case needIPv4:
		return ethType == TypeIPv4
	case needIPv6:
		return ethType == TypeIPv6
	case needIP:
		return ip
	case needTCP:
		return ip && proto == ProtoTCP
	case needUDP:
		return ip && proto == ProtoUDP
	case needSCTP:
		return ip && proto == ProtoSCTP
	case needICMP:
		return ethType == TypeIPv4 && proto == ProtoICMP
	case needICMPv6:
		return icmp6
	case needND:
		return icmp6 && (kind == 135 || kind == 136)
	case needNS:
		return icmp6 && kind == 135
	case needNA:
		return icmp6 && kind == 136
	case needVLAN:
		return m.tagged()
	}
	return true
}

func (m Match) tagged() bool {
	for _, t := range m {
		if t.field == idVLANVID && t.value.lo&0x1000 != 0 {
			return true
		}
	}
	return false
}

// shorthand gives the keyword for a match's protocol, as ovs-ofctl prints it; then these terms need no text of their own.
func (m Match) shorthand() (word string, withProto bool) {
	ethType, ok := m.number(idEthType)
	if !ok {
		return "", false
	}
	proto, hasProto := m.number(idIPProto)
	if hasProto {
		if w := protoWord(ethType, proto); w != "" {
			return w, true
		}
	}
	switch ethType {
	case TypeIPv4:
		return "ip", false
	case TypeIPv6:
		return "ipv6", false
	case TypeARP:
		return "arp", false
	case TypeRARP:
		return "rarp", false
	}
	return "", false
}

func protoWord(ethType, proto uint64) string {
	switch {
	case ethType == TypeIPv4 && proto == ProtoICMP:
		return "icmp"
	case ethType == TypeIPv6 && proto == ProtoICMPv6:
		return "icmp6"
	case ethType != TypeIPv4 && ethType != TypeIPv6:
		return ""
	}
	word := ""
	switch proto {
	case ProtoTCP:
		word = "tcp"
	case ProtoUDP:
		word = "udp"
	case ProtoSCTP:
		word = "sctp"
	}
	if word != "" && ethType == TypeIPv6 {
		word += "6"
	}
	return word
}

// inOrder is m in the order of the fields.
func (m Match) inOrder() Match {
	sorted := slices.Clone(m)
	slices.SortStableFunc(sorted, func(x, y Term) int { return int(x.field) - int(y.field) })
	return sorted
}

// appendText writes m in canonical order; empty for the match of everything.
func (m Match) appendText(b []byte) []byte {
	word, withProto := m.shorthand()
	start := len(b)
	comma := func() {
		if len(b) > start {
			b = append(b, ',')
		}
	}
	if word != "" {
		b = append(b, word...)
	}
	for _, t := range m.inOrder() {
		if word != "" && t.field == idEthType || withProto && t.field == idIPProto {
			continue
		}
		comma()
		b = t.appendText(b)
	}
	return b
}

// String is the canonical text of m.
func (m Match) String() string { return string(m.appendText(nil)) }

func (t Term) appendText(b []byte) []byte {
	spec := t.field.spec()
	if t.fault != "" {
		return fmt.Appendf(b, "%s=!(%s)", spec.name, t.fault)
	}
	if t.field == idVLANVID {
		return t.appendVLAN(b)
	}
	b = append(append(b, spec.name...), '=')
	return t.appendOperand(b)
}

// appendOperand writes value and mask.
func (t Term) appendOperand(b []byte) []byte {
	spec := t.field.spec()
	switch {
	case spec.format == connState && !t.isExact():
		return appendConnState(b, t.value.lo, t.mask.lo)
	case spec.format == fragment:
		return append(b, fragmentWord(t.value.lo, t.mask.lo)...)
	case t.isExact():
		return appendValue(b, spec.format, t.value)
	}
	f := spec.format
	if f == decimal || f == portNumber {
		f = hexadecimal
	}
	b = append(appendValue(b, f, t.value), '/')
	if f == ipv4Address || f == ipv6Address {
		if n := t.mask.prefix(spec.bits); n >= 0 {
			return fmt.Appendf(b, "%d", n)
		}
	}
	return appendValue(b, f, t.mask)
}

// appendVLAN writes the common cases as ovs-ofctl prints them.
func (t Term) appendVLAN(b []byte) []byte {
	switch {
	case t.isExact() && t.value.lo == 0:
		return append(b, "vlan_tci=0x0000/0x1fff"...)
	case t.isExact() && t.value.lo&0x1000 != 0:
		return fmt.Appendf(b, "dl_vlan=%d", t.value.lo&0xfff)
	}
	return t.appendOperand(append(b, "vlan_vid="...))
}

func appendConnState(b []byte, v, mask uint64) []byte {
	for i, name := range [...]string{"new", "est", "rel", "rpl", "inv", "trk", "snat", "dnat"} {
		bit := uint64(1) << i
		switch {
		case mask&bit == 0:
			continue
		case v&bit != 0:
			b = append(b, '+')
		default:
			b = append(b, '-')
		}
		b = append(b, name...)
	}
	return b
}

func fragmentWord(v, mask uint64) string {
	switch {
	case mask == 1 && v == 1:
		return "yes"
	case mask == 3 && v == 1:
		return "first"
	case mask == 3 && v == 3, mask == 2 && v == 2:
		return "later"
	case mask == 2 && v == 0:
		return "not_later"
	}
	return "no"
}
