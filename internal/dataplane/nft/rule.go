package nft

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/google/nftables/expr"
)

// Term is a condition of a rule, or something that it does before its verdict.
type Term struct {
	text string
	code []expr.Any
}

// String reads much as nft writes it.
func (t Term) String() string { return t.text }

// register numbers the 32-bit registers as the kernel tells them: those that begin one of 128 bits have its number.
func register(n int) uint32 {
	if n%4 == 0 {
		return uint32(1 + n/4)
	}
	return uint32(8 + n)
}

// Is matches a field's value; a shorter one is its beginning (a device's name, without the rest).
func (f Field) Is(value []byte) Term { return f.compare("", expr.CmpOpEq, value) }

// Not matches every other value.
func (f Field) Not(value []byte) Term { return f.compare("!= ", expr.CmpOpNeq, value) }

// Above matches larger values.
func (f Field) Above(value []byte) Term { return f.compare("> ", expr.CmpOpGt, value) }

func (f Field) compare(sign string, op expr.CmpOp, value []byte) Term {
	show := f.kind.show(value)
	if len(value) < f.kind.Size && f.kind.Name == "ifname" {
		show = fmt.Sprintf("%q*", value)
	}
	return Term{f.name + " " + sign + show, []expr.Any{f.load(register(0)), &expr.Cmp{Op: op, Register: register(0), Data: slices.Clone(value)}}}
}

// Between matches values from low to high, both included.
func (f Field) Between(low, high []byte) Term {
	return Term{fmt.Sprintf("%s %s-%s", f.name, f.kind.show(low), f.kind.show(high)), []expr.Any{f.load(register(0)),
		&expr.Range{Op: expr.CmpOpEq, Register: register(0), FromData: slices.Clone(low), ToData: slices.Clone(high)}}}
}

// Like matches names some of whose characters are given; a dot stands for any.
func (f Field) Like(pattern string) Term {
	mask, value := make([]byte, f.kind.Size), make([]byte, f.kind.Size)
	for i := range mask {
		switch {
		case i >= len(pattern):
			mask[i] = 0xff
		case pattern[i] != '.':
			mask[i], value[i] = 0xff, pattern[i]
		}
	}
	t := f.masked(mask, value, expr.CmpOpEq)
	t.text = f.name + " like " + pattern
	return t
}

// Within matches the addresses of a prefix.
func (f Field) Within(p netip.Prefix) Term {
	if p.IsSingleIP() {
		return f.Is(p.Addr().AsSlice())
	}
	mask := make([]byte, f.kind.Size)
	for i := range p.Bits() {
		mask[i/8] |= 0x80 >> (i % 8)
	}
	t := f.masked(mask, p.Masked().Addr().AsSlice(), expr.CmpOpEq)
	t.text = f.name + " " + p.String()
	return t
}

// Bits matches fields some of whose bits have a value.
func (f Field) Bits(mask, value []byte) Term {
	t := f.masked(mask, value, expr.CmpOpEq)
	t.text = fmt.Sprintf("%s and 0x%x is 0x%x", f.name, mask, value)
	return t
}

func (f Field) masked(mask, value []byte, op expr.CmpOp) Term {
	return Term{"", []expr.Any{f.load(register(0)),
		&expr.Bitwise{SourceRegister: register(0), DestRegister: register(0), Len: uint32(len(mask)), Mask: slices.Clone(mask), Xor: make([]byte, len(mask))},
		&expr.Cmp{Op: op, Register: register(0), Data: slices.Clone(value)}}}
}

// loads puts fields into registers, one after the other as a set's key has them.
func loads(fields []Field) (names string, code []expr.Any) {
	var texts []string
	at := 0
	for _, f := range fields {
		texts = append(texts, f.name)
		code = append(code, f.load(register(at)))
		at += f.kind.padded() / 4
	}
	return strings.Join(texts, " . "), code
}

// In matches what has an element in a set.
func In(set string, fields ...Field) Term {
	names, code := loads(fields)
	return Term{names + " @" + set, append(code, &expr.Lookup{SourceRegister: register(0), SetName: set})}
}

// NotIn matches what has none.
func NotIn(set string, fields ...Field) Term {
	names, code := loads(fields)
	return Term{names + " != @" + set, append(code, &expr.Lookup{SourceRegister: register(0), SetName: set, Invert: true})}
}

// Vmap does what the map has for the fields' values, if anything.
func Vmap(set string, fields ...Field) Term {
	names, code := loads(fields)
	return Term{names + " vmap @" + set, append(code, &expr.Lookup{SourceRegister: register(0), SetName: set, IsDestRegSet: true})}
}

// ZoneFrom tracks the packet's connection in the zone that the map has for the field's value; before -200 only.
func ZoneFrom(set string, f Field) Term {
	return Term{"ct zone set " + f.name + " map @" + set, []expr.Any{f.load(register(0)),
		&expr.Lookup{SourceRegister: register(0), SetName: set, IsDestRegSet: true, DestRegister: register(0)},
		&expr.Ct{Key: expr.CtKeyZONE, Register: register(0), SourceRegister: true}}}
}

// NoTrack leaves the packet's connection untracked; before -200 only.
func NoTrack() Term { return Term{"notrack", []expr.Any{&expr.Notrack{}}} }

// States of connections.
const (
	StateEstablished = expr.CtStateBitESTABLISHED
	StateRelated     = expr.CtStateBitRELATED
	StateNew         = expr.CtStateBitNEW
)

// CTState matches packets whose connection is in one of the states.
func CTState(states uint32) Term {
	var names []string
	for _, s := range []struct {
		bit  uint32
		name string
	}{{StateEstablished, "established"}, {StateRelated, "related"}, {StateNew, "new"}} {
		if states&s.bit != 0 {
			names = append(names, s.name)
		}
	}
	t := ct(expr.CtKeySTATE, 4).masked(native(states), make([]byte, 4), expr.CmpOpNeq)
	t.text = "ct state " + strings.Join(names, ",")
	return t
}

// CTReply matches packets that go back to who began the connection; CTOriginal those that go the other way.
func CTReply() Term {
	t := ct(expr.CtKeyDIRECTION, 1).Is([]byte{1})
	t.text = "ct direction reply"
	return t
}

// CTOriginal see CTReply.
func CTOriginal() Term {
	t := ct(expr.CtKeyDIRECTION, 1).Is([]byte{0})
	t.text = "ct direction original"
	return t
}

// Parts of what a connection began with: of its first packet, whichever way the packet at hand goes.
func tuple(name string, k expr.CtKey, t Type) Field {
	return Field{"ct original " + name, t, func(r uint32) expr.Any { return &expr.Ct{Key: k, Register: r} }}
}

// Keys of conntrack that the library has no names for (linux/netfilter/nf_tables.h).
const (
	ctSourceIP, ctTargetIP, ctSourceIP6, ctTargetIP6 = 19, 20, 21, 22
)

// ofTuple tells whether the kernel wants a direction with the key.
func ofTuple(k expr.CtKey) bool {
	return k >= ctSourceIP && k <= ctTargetIP6 || k == expr.CtKeyPROTOSRC || k == expr.CtKeyPROTODST
}

// BeganIP and BeganIP6 are the address that a connection's first packet came from, ForIP and ForIP6 the one that it was for. What has no
// connection, or one of the other family, matches nothing.
func BeganIP() Field { return tuple("ip saddr", ctSourceIP, ipv4()) }

// BeganIP6 see BeganIP.
func BeganIP6() Field { return tuple("ip6 saddr", ctSourceIP6, ipv6()) }

// ForIP see BeganIP.
func ForIP() Field { return tuple("ip daddr", ctTargetIP, ipv4()) }

// ForIP6 see BeganIP.
func ForIP6() Field { return tuple("ip6 daddr", ctTargetIP6, ipv6()) }

// ForPort is the port that a connection's first packet was for; of ICMP the message's type and code.
func ForPort() Field {
	return tuple("proto-dst", expr.CtKeyPROTODST, number("inet_service", 2))
}

// ForProtocol is the protocol of a connection, also for an error of ICMP that is about it.
func ForProtocol() Field {
	return tuple("protocol", expr.CtKeyPROTOCOL, number("inet_proto", 1))
}

func ct(k expr.CtKey, size int) Field {
	return Field{"ct", raw(size), func(r uint32) expr.Any { return &expr.Ct{Key: k, Register: r} }}
}

func native(n uint32) []byte { return binary.NativeEndian.AppendUint32(nil, n) }

// Fragment matches packets with IPv6's fragment header.
func Fragment() Term {
	return Term{"exthdr frag exists", []expr.Any{
		&expr.Exthdr{DestRegister: register(0), Type: 44, Len: 1, Flags: 1, Op: expr.ExthdrOpIpv6},
		&expr.Cmp{Op: expr.CmpOpEq, Register: register(0), Data: []byte{1}}}}
}

// Verdict is what becomes of a packet. The zero value goes on with the next rule.
type Verdict struct {
	kind  expr.VerdictKind
	chain string
	set   bool
}

// Accept lets the packet pass this table; others may still drop it.
func Accept() Verdict { return Verdict{kind: expr.VerdictAccept, set: true} }

// Drop drops it.
func Drop() Verdict { return Verdict{kind: expr.VerdictDrop, set: true} }

// Return goes on in the chain that jumped here.
func Return() Verdict { return Verdict{kind: expr.VerdictReturn, set: true} }

// Jump goes on in a chain, and after its end here.
func Jump(chain string) Verdict { return Verdict{kind: expr.VerdictJump, chain: chain, set: true} }

// Goto goes on in a chain, and after its end where this one would have.
func Goto(chain string) Verdict { return Verdict{kind: expr.VerdictGoto, chain: chain, set: true} }

// String reads as nft writes it.
func (v Verdict) String() string {
	switch v.kind {
	case expr.VerdictAccept:
		if v.set {
			return "accept"
		}
		return "continue"
	case expr.VerdictDrop:
		return "drop"
	case expr.VerdictReturn:
		return "return"
	case expr.VerdictJump:
		return "jump " + v.chain
	case expr.VerdictGoto:
		return "goto " + v.chain
	}
	return fmt.Sprintf("verdict %d %s", v.kind, v.chain)
}

// Rule is conditions, deeds and a verdict.
type Rule struct {
	text    string
	code    []expr.Any
	verdict Verdict
	comment string
	print   string
}

// Do is a rule: what matches all terms is done so with.
func Do(v Verdict, terms ...Term) Rule {
	var r Rule
	var texts []string
	for _, t := range terms {
		texts = append(texts, t.text)
		r.code = append(r.code, t.code...)
	}
	r.verdict = v
	if v.set {
		texts = append(texts, v.String())
		r.code = append(r.code, &expr.Verdict{Kind: v.kind, Chain: v.chain})
	}
	r.text = strings.Join(texts, " ")
	r.print = fingerprint(encoded(r.code), "")
	return r
}

// For says for people what the rule is for, in at most 120 bytes; nft shows it.
func (r Rule) For(comment string) Rule {
	r.comment = comment
	r.print = r.print[:12] + comment
	return r
}

// String reads much as nft writes it.
func (r Rule) String() string {
	if r.comment == "" {
		return r.text
	}
	return fmt.Sprintf("%s comment %q", r.text, r.comment)
}

// encoded are steps as the kernel reads them.
func encoded(code []expr.Any) (out [][]byte) {
	for _, e := range code {
		b, err := encode(e)
		if err != nil { // newRule says so when it is put
			b = fmt.Append(nil, err)
		}
		out = append(out, b)
	}
	return out
}

// fingerprint is equal for rules that are equal in the kernel.
func fingerprint(steps [][]byte, comment string) string {
	h := sha256.New()
	for _, s := range steps {
		b, err := canonical(s)
		if err != nil {
			b = fmt.Append(s, err)
		}
		_, _ = h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(b)))) // a hash takes everything
		_, _ = h.Write(b)
	}
	return string(h.Sum(nil)[:12]) + comment
}

// uses are the sets and the chain that a rule names.
func (r Rule) uses() []Key {
	var out []Key
	for _, e := range r.code {
		if l, ok := e.(*expr.Lookup); ok {
			out = append(out, SetKey(l.SetName))
		}
	}
	if r.verdict.chain != "" {
		out = append(out, ChainKey(r.verdict.chain))
	}
	return out
}
