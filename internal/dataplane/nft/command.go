package nft

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/google/nftables/userdata"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Numbers of the kernel's interface that no library exports (linux/netfilter/nf_tables.h).
const (
	setConcat       = 0x80 // NFT_SET_CONCAT
	setDescConcat   = 2    // NFTA_SET_DESC_CONCAT
	setFieldLength  = 1    // NFTA_SET_FIELD_LEN
	setElementEnd   = 10   // NFTA_SET_ELEM_KEY_END
	dataVerdictType = 0xffffff00
)

// attributes gathers them; encoding fails for what is longer than 64 KiB.
type attributes []netlink.Attribute

func (a *attributes) text(kind uint16, s string) { a.bytes(kind, append([]byte(s), 0)) }
func (a *attributes) bytes(kind uint16, b []byte) {
	*a = append(*a, netlink.Attribute{Type: kind, Data: b})
}
func (a *attributes) number(kind uint16, n uint32) {
	a.bytes(kind, binary.BigEndian.AppendUint32(nil, n))
}
func (a *attributes) long(kind uint16, n uint64) {
	a.bytes(kind, binary.BigEndian.AppendUint64(nil, n))
}
func (a *attributes) nested(kind uint16, in attributes) error {
	b, err := netlink.MarshalAttributes(in)
	a.bytes(kind|unix.NLA_F_NESTED, b)
	return err
}

// command makes a message of the kind, NFT_MSG_*.
func command(kind uint16, flags netlink.HeaderFlags, a attributes) (netlink.Message, error) {
	b, err := netlink.MarshalAttributes(a)
	if err != nil {
		return netlink.Message{}, err
	}
	return netlink.Message{Header: netlink.Header{Type: netlink.HeaderType(unix.NFNL_SUBSYS_NFTABLES<<8 | kind), Flags: flags},
		Data: append(familyHead(byte(nftables.TableFamilyBridge)), b...)}, nil
}

func newTable(name string) (netlink.Message, error) {
	var a attributes
	a.text(unix.NFTA_TABLE_NAME, name)
	return command(unix.NFT_MSG_NEWTABLE, netlink.Create, a)
}

func delTable(name string) (netlink.Message, error) {
	var a attributes
	a.text(unix.NFTA_TABLE_NAME, name)
	return command(unix.NFT_MSG_DELTABLE, 0, a)
}

func newChain(table, name string, h *Hook) (netlink.Message, error) {
	var a attributes
	a.text(unix.NFTA_CHAIN_TABLE, table)
	a.text(unix.NFTA_CHAIN_NAME, name)
	if h != nil {
		var in attributes
		in.number(unix.NFTA_HOOK_HOOKNUM, uint32(h.Point))
		in.number(unix.NFTA_HOOK_PRIORITY, uint32(h.Priority))
		if err := a.nested(unix.NFTA_CHAIN_HOOK, in); err != nil {
			return netlink.Message{}, err
		}
		a.text(unix.NFTA_CHAIN_TYPE, "filter")
	}
	return command(unix.NFT_MSG_NEWCHAIN, netlink.Create, a)
}

func delChain(table, name string) (netlink.Message, error) {
	var a attributes
	a.text(unix.NFTA_CHAIN_TABLE, table)
	a.text(unix.NFTA_CHAIN_NAME, name)
	return command(unix.NFT_MSG_DELCHAIN, 0, a)
}

// newRule adds a rule at the end of a chain, or before another.
func newRule(table, chain string, r Rule, before uint64) (netlink.Message, error) {
	var a, in attributes
	for _, e := range r.code {
		b, err := encode(e)
		if err != nil {
			return netlink.Message{}, err
		}
		in.bytes(unix.NFTA_LIST_ELEM|unix.NLA_F_NESTED, b)
	}
	a.text(unix.NFTA_RULE_TABLE, table)
	a.text(unix.NFTA_RULE_CHAIN, chain)
	if err := a.nested(unix.NFTA_RULE_EXPRESSIONS, in); err != nil {
		return netlink.Message{}, err
	}
	if r.comment != "" {
		a.bytes(unix.NFTA_RULE_USERDATA, userdata.AppendString(nil, userdata.TypeComment, r.comment))
	}
	if before == 0 {
		return command(unix.NFT_MSG_NEWRULE, netlink.Create|netlink.Append, a)
	}
	a.long(unix.NFTA_RULE_POSITION, before)
	return command(unix.NFT_MSG_NEWRULE, netlink.Create, a)
}

// encode is a step of a rule as the kernel reads it. The library leaves out the direction where the kernel wants it with addresses of a connection.
func encode(e expr.Any) ([]byte, error) {
	c, isCT := e.(*expr.Ct)
	if !isCT || !ofTuple(c.Key) {
		return expr.Marshal(byte(nftables.TableFamilyBridge), e)
	}
	var a, in attributes
	in.number(unix.NFTA_CT_KEY, uint32(c.Key))
	in.number(unix.NFTA_CT_DREG, c.Register)
	in.bytes(unix.NFTA_CT_DIRECTION, []byte{byte(c.Direction)})
	a.text(unix.NFTA_EXPR_NAME, "ct")
	if err := a.nested(unix.NFTA_EXPR_DATA, in); err != nil {
		return nil, err
	}
	return netlink.MarshalAttributes(a)
}

// delRule removes one rule, or with handle 0 all of the chain.
func delRule(table, chain string, handle uint64) (netlink.Message, error) {
	var a attributes
	a.text(unix.NFTA_RULE_TABLE, table)
	a.text(unix.NFTA_RULE_CHAIN, chain)
	if handle != 0 {
		a.long(unix.NFTA_RULE_HANDLE, handle)
	}
	return command(unix.NFT_MSG_DELRULE, 0, a)
}

func newSet(table, name string, id uint32, l Layout) (netlink.Message, error) {
	kind, err := l.datatype()
	if err != nil {
		return netlink.Message{}, err
	}
	var flags uint32
	for _, f := range []struct {
		set bool
		bit uint32
	}{{l.Interval, unix.NFT_SET_INTERVAL}, {l.Map != Nothing, unix.NFT_SET_MAP}, {len(l.Fields) > 1, setConcat}} {
		if f.set {
			flags |= f.bit
		}
	}
	var a attributes
	a.text(unix.NFTA_SET_TABLE, table)
	a.text(unix.NFTA_SET_NAME, name)
	a.number(unix.NFTA_SET_FLAGS, flags)
	a.number(unix.NFTA_SET_KEY_TYPE, kind.GetNFTMagic())
	a.number(unix.NFTA_SET_KEY_LEN, uint32(l.size()))
	a.number(unix.NFTA_SET_ID, id)
	switch l.Map {
	case Verdicts:
		a.number(unix.NFTA_SET_DATA_TYPE, dataVerdictType)
		a.number(unix.NFTA_SET_DATA_LEN, 0)
	case Numbers:
		a.number(unix.NFTA_SET_DATA_TYPE, nftables.TypeInteger.GetNFTMagic())
		a.number(unix.NFTA_SET_DATA_LEN, 2)
	case Nothing:
	}
	if len(l.Fields) > 1 {
		if err := a.fields(l); err != nil {
			return netlink.Message{}, err
		}
	}
	if l.Interval { // for nft, which shows it
		a.bytes(unix.NFTA_SET_USERDATA, userdata.AppendUint32(nil, userdata.NFTNL_UDATA_SET_KEYBYTEORDER, 2))
	}
	return command(unix.NFT_MSG_NEWSET, netlink.Create, a)
}

// fields tells the kernel what a concatenation is of.
func (a *attributes) fields(l Layout) error {
	var desc, list attributes
	for _, f := range l.Fields {
		var in attributes
		in.number(setFieldLength, uint32(f.Size))
		if err := list.nested(unix.NFTA_LIST_ELEM, in); err != nil {
			return err
		}
	}
	if err := desc.nested(setDescConcat, list); err != nil {
		return err
	}
	return a.nested(unix.NFTA_SET_DESC, desc)
}

func delSet(table, name string) (netlink.Message, error) {
	var a attributes
	a.text(unix.NFTA_SET_TABLE, table)
	a.text(unix.NFTA_SET_NAME, name)
	return command(unix.NFT_MSG_DELSET, 0, a)
}

// element is one of a set as the kernel has it.
type element struct {
	key, end []byte
	last     bool // where a range is over
	object   Object
}

// elements are what the kernel wants for one: a range of a single field is two.
func elements(k Key, o Object) []element {
	e := element{key: []byte(k.Item), object: o}
	if !o.Layout.Interval {
		return []element{e}
	}
	half := len(k.Item) / 2
	last := bytes.Clone(e.key[half:])
	e.key = e.key[:half]
	if len(o.Layout.Fields) > 1 {
		e.end = last
		return []element{e}
	}
	if end := step(last, 1); end != nil {
		return []element{e, {key: end, last: true}}
	}
	return []element{e}
}

// changeElements adds elements to a set, or with NFT_MSG_DELSETELEM takes them out.
func changeElements(kind uint16, table, set string, es []element) (netlink.Message, error) {
	var a, list attributes
	for _, e := range es {
		in, err := e.attributes()
		if err != nil {
			return netlink.Message{}, err
		}
		if err := list.nested(unix.NFTA_LIST_ELEM, in); err != nil {
			return netlink.Message{}, err
		}
	}
	a.text(unix.NFTA_SET_ELEM_LIST_TABLE, table)
	a.text(unix.NFTA_SET_ELEM_LIST_SET, set)
	if err := a.nested(unix.NFTA_SET_ELEM_LIST_ELEMENTS, list); err != nil {
		return netlink.Message{}, fmt.Errorf("%d elements of %s: %w", len(es), set, err)
	}
	var flags netlink.HeaderFlags
	if kind == unix.NFT_MSG_NEWSETELEM {
		flags = netlink.Create
	}
	return command(kind, flags, a)
}

func (e element) attributes() (attributes, error) {
	var in, value attributes
	value.bytes(unix.NFTA_DATA_VALUE, e.key)
	if err := in.nested(unix.NFTA_SET_ELEM_KEY, value); err != nil {
		return nil, err
	}
	if e.end != nil {
		var end attributes
		end.bytes(unix.NFTA_DATA_VALUE, e.end)
		if err := in.nested(setElementEnd, end); err != nil {
			return nil, err
		}
	}
	if e.last {
		in.number(unix.NFTA_SET_ELEM_FLAGS, unix.NFT_SET_ELEM_INTERVAL_END)
	}
	var data attributes
	switch e.object.Layout.Map {
	case Verdicts:
		var v attributes
		v.number(unix.NFTA_VERDICT_CODE, uint32(int32(e.object.Verdict.kind)))
		if c := e.object.Verdict.chain; c != "" {
			v.text(unix.NFTA_VERDICT_CHAIN, c)
		}
		if err := data.nested(unix.NFTA_DATA_VERDICT, v); err != nil {
			return nil, err
		}
	case Numbers:
		data.bytes(unix.NFTA_DATA_VALUE, binary.NativeEndian.AppendUint16(nil, e.object.Number))
	case Nothing:
		return in, nil
	}
	return in, in.nested(unix.NFTA_SET_ELEM_DATA, data)
}
