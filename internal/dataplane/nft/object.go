package nft

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/google/nftables"
)

// Kind is a kind of object.
type Kind uint8

// The kinds, in the order in which they can be made.
const (
	KindSet Kind = iota
	KindChain
	KindElement
)

// Key names an object of the table.
type Key struct {
	Kind Kind
	Name string // of the set or chain
	// Item is an element's key: its fields, each padded to 4 bytes; of a set of intervals the first and the last value.
	Item string
}

// SetKey names a set or map.
func SetKey(name string) Key { return Key{Kind: KindSet, Name: name} }

// ChainKey names a chain.
func ChainKey(name string) Key { return Key{Kind: KindChain, Name: name} }

// String tells the key in logs.
func (k Key) String() string {
	switch k.Kind {
	case KindSet:
		return "set " + k.Name
	case KindChain:
		return "chain " + k.Name
	}
	return fmt.Sprintf("element %x of %s", k.Item, k.Name)
}

// Object is a set, a chain with its rules, or an element.
type Object struct {
	// Layout is a set's, and of an element that of its set.
	Layout Layout
	// Hook is where a chain is called from; nil: from other chains only.
	Hook *Hook
	// Rules are a chain's, in order.
	Rules []Rule
	// Verdict is an element's in a map of verdicts, Number that in a map of numbers.
	Verdict Verdict
	Number  uint16
}

// Hook is a place on the way of frames through a bridge.
type Hook struct {
	Point    Point
	Priority int32
}

// Point is a place on the way of frames through a bridge.
type Point uint32

// The points: before the bridge decides, and after it.
const (
	Prerouting  Point = 0
	Postrouting Point = 4
)

// Layout is what a set holds.
type Layout struct {
	// Fields are the types of its elements' parts.
	Fields []Type
	// Interval: its elements are ranges, of the last field.
	Interval bool
	// Map is what it has for each element.
	Map MapOf
}

// MapOf is what a map has for each element.
type MapOf uint8

// Nothing (a set), verdicts, or numbers of 16 bits in the machine's order.
const (
	Nothing MapOf = iota
	Verdicts
	Numbers
)

// LayoutOf is that of sets that are asked with these fields.
func LayoutOf(fields ...Field) Layout {
	var l Layout
	for _, f := range fields {
		l.Fields = append(l.Fields, f.kind)
	}
	return l
}

// To makes it a map's.
func (l Layout) To(m MapOf) Layout {
	l.Map = m
	return l
}

// Ranges makes it one of ranges.
func (l Layout) Ranges() Layout {
	l.Interval = true
	return l
}

// String reads as nft writes it.
func (l Layout) String() string {
	var names []string
	for _, f := range l.Fields {
		names = append(names, f.Name)
	}
	s := strings.Join(names, " . ")
	if l.Map != Nothing {
		s += [...]string{"", " : verdict", " : number"}[l.Map]
	}
	if l.Interval {
		s += " interval"
	}
	return s
}

func (l Layout) size() int {
	if len(l.Fields) == 1 {
		return l.Fields[0].Size
	}
	n := 0
	for _, f := range l.Fields {
		n += f.padded()
	}
	return n
}

// equal compares with what was read back; of a map of verdicts the library does not tell the fields.
func (l Layout) equal(o Layout) bool {
	if l.Map == Verdicts && o.Map == Verdicts && len(o.Fields) == 0 {
		return l.Interval == o.Interval
	}
	return l.Interval == o.Interval && l.Map == o.Map && slices.EqualFunc(l.Fields, o.Fields, func(a, b Type) bool { return a.Name == b.Name })
}

// key lays the values of fields beside each other.
func (l Layout) key(values [][]byte) string {
	if len(values) == 1 {
		return string(values[0])
	}
	var b []byte
	for i, v := range values {
		b = append(b, v...)
		if i < len(l.Fields) {
			b = append(b, make([]byte, l.Fields[i].padded()-len(v))...)
		}
	}
	return string(b)
}

// Element is an element of a set of single values.
func (l Layout) Element(set string, values ...[]byte) (Key, Object) {
	return Key{Kind: KindElement, Name: set, Item: l.key(values)}, Object{Layout: l}
}

// Prefix is an element of a set of ranges: a prefix of addresses behind other values.
func (l Layout) Prefix(set string, p netip.Prefix, before ...[]byte) (Key, Object) {
	low := p.Masked().Addr().AsSlice()
	high := slices.Clone(low)
	for i := p.Bits(); i < len(high)*8; i++ {
		high[i/8] |= 0x80 >> (i % 8)
	}
	first, last := l.key(append(slices.Clone(before), low)), l.key(append(slices.Clone(before), high))
	return Key{Kind: KindElement, Name: set, Item: first + last}, Object{Layout: l}
}

// Show is an object's text for people and golden files.
func Show(k Key, o Object) string {
	switch k.Kind {
	case KindSet:
		return fmt.Sprintf("set %s { %s }", k.Name, o.Layout)
	case KindChain:
		var b strings.Builder
		fmt.Fprintf(&b, "chain %s", k.Name)
		if o.Hook != nil {
			fmt.Fprintf(&b, " hook %s priority %d", map[Point]string{Prerouting: "prerouting", Postrouting: "postrouting"}[o.Hook.Point], o.Hook.Priority)
		}
		for _, r := range o.Rules {
			b.WriteString("\n    " + r.String())
		}
		return b.String()
	}
	s := fmt.Sprintf("element %s { %s", k.Name, o.Layout.show(k.Item))
	switch o.Layout.Map {
	case Verdicts:
		s += " : " + o.Verdict.String()
	case Numbers:
		s += fmt.Sprintf(" : %d", o.Number)
	case Nothing:
	}
	return s + " }"
}

// show is an element's key for people.
func (l Layout) show(item string) string {
	b := []byte(item)
	size := l.size()
	if l.Interval && len(b) == 2*size {
		if last := l.show1(b[size:]); last != l.show1(b[:size]) {
			return l.show1(b[:size]) + " - " + last
		}
		b = b[:size]
	}
	return l.show1(b)
}

func (l Layout) show1(b []byte) string {
	var parts []string
	for _, f := range l.Fields {
		if len(b) < f.Size {
			return fmt.Sprintf("%x", b)
		}
		parts = append(parts, f.show(b[:f.Size]))
		b = b[min(f.padded(), len(b)):]
	}
	return strings.Join(parts, " . ")
}

// Equal tells whether what is there is what is wanted; it is for the stage of the driver.
func Equal(want, have Object) bool {
	if (want.Hook == nil) != (have.Hook == nil) || want.Hook != nil && *want.Hook != *have.Hook {
		return false
	}
	return want.Layout.equal(have.Layout) && want.Verdict == have.Verdict && want.Number == have.Number &&
		slices.EqualFunc(want.Rules, have.Rules, func(a, b Rule) bool { return a.print == b.print })
}

// check says why an object can never be made.
func check(k Key, o Object) error {
	switch {
	case k.Name == "" || len(k.Name) > 127:
		return fmt.Errorf("%q is no name", k.Name)
	case k.Kind == KindChain:
		if len(o.Layout.Fields) > 0 || k.Item != "" {
			return fmt.Errorf("a chain has no elements")
		}
		for _, r := range o.Rules {
			if len(r.comment) > 120 {
				return fmt.Errorf("the comment %q is too long", r.comment)
			}
		}
		return nil
	case len(o.Layout.Fields) == 0:
		return fmt.Errorf("a set without fields")
	case k.Kind == KindSet:
		_, err := o.Layout.datatype()
		return err
	}
	want := o.Layout.size()
	if o.Layout.Interval {
		want *= 2
	}
	if len(k.Item) != want {
		return fmt.Errorf("an element has %d bytes, this one %d", want, len(k.Item))
	}
	if (o.Layout.Map == Verdicts) != o.Verdict.set {
		return fmt.Errorf("a map of verdicts has verdicts, and nothing else has")
	}
	return nil
}

func (l Layout) datatype() (nftables.SetDatatype, error) {
	var kinds []nftables.SetDatatype
	for _, f := range l.Fields {
		d, err := f.datatype()
		if err != nil {
			return d, err
		}
		kinds = append(kinds, d)
	}
	if len(kinds) == 1 {
		return kinds[0], nil
	}
	return nftables.ConcatSetType(kinds...)
}
