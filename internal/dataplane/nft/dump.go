package nft

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/google/nftables/userdata"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// readRule is a rule as the kernel tells it.
type readRule struct {
	chain  string
	handle uint64
	rule   Rule
}

// rules reads those of a chain, or with "" those of the whole table, in order. The library's reader would stop at what a connection began with, and
// leave out what it does not know.
func (c *conn) rules(ctx context.Context, chain string) ([]readRule, error) {
	var a attributes
	a.text(unix.NFTA_RULE_TABLE, Table)
	if chain != "" {
		a.text(unix.NFTA_RULE_CHAIN, chain)
	}
	m, err := command(unix.NFT_MSG_GETRULE, netlink.Dump, a)
	if err != nil {
		return nil, err
	}
	for range 20 {
		var out []readRule
		whole, err := c.dump(ctx, m, func(data []byte) error {
			r, err := parseRule(data)
			out = append(out, r)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("rules: %w", err)
		}
		if whole {
			return out, nil
		}
	}
	return nil, errors.New("rules: they change faster than they can be read")
}

// dump asks for a list. whole is false when it changed meanwhile.
func (c *conn) dump(ctx context.Context, m netlink.Message, each func(data []byte) error) (whole bool, err error) {
	if err := c.writer(ctx); err != nil {
		return false, err
	}
	if err := unix.Sendto(c.write, appendMessage(nil, m.Header.Type, m.Header.Flags, 1, m.Data), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		c.close()
		return false, err
	}
	whole = true
	var bad error
	done := false
	err = c.receive(func(kind, flags uint16, _ int, data []byte) bool {
		whole = whole && flags&unix.NLM_F_DUMP_INTR == 0
		switch {
		case kind == unix.NLMSG_DONE:
			done = true
		case kind == unix.NLMSG_ERROR && len(data) >= 4:
			bad, done = unix.Errno(-int32(binary.NativeEndian.Uint32(data))), true
		case len(data) > 4 && bad == nil:
			bad = each(data[4:])
		}
		return done
	})
	if err == nil {
		err = bad
	}
	if err != nil {
		c.close()
	}
	return whole, err
}

// receive hands on messages until one is the last.
func (c *conn) receive(each func(kind, flags uint16, seq int, data []byte) (last bool)) error {
	if c.buf == nil {
		c.buf = make([]byte, 1<<17)
	}
	for {
		n, _, err := unix.Recvfrom(c.write, c.buf, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		for b := c.buf[:n]; len(b) >= unix.NLMSG_HDRLEN; {
			size := int(binary.NativeEndian.Uint32(b))
			if size < unix.NLMSG_HDRLEN || size > len(b) {
				break
			}
			if each(binary.NativeEndian.Uint16(b[4:]), binary.NativeEndian.Uint16(b[6:]), int(binary.NativeEndian.Uint32(b[8:])), b[unix.NLMSG_HDRLEN:size]) {
				return nil
			}
			b = b[min(len(b), (size+3)&^3):]
		}
	}
}

// appendMessage writes one.
func appendMessage(b []byte, kind netlink.HeaderType, flags netlink.HeaderFlags, seq int, data []byte) []byte {
	b = binary.NativeEndian.AppendUint32(b, uint32(unix.NLMSG_HDRLEN+len(data)))
	b = binary.NativeEndian.AppendUint16(b, uint16(kind))
	b = binary.NativeEndian.AppendUint16(b, uint16(netlink.Request|flags))
	b = binary.NativeEndian.AppendUint32(b, uint32(seq))
	b = binary.NativeEndian.AppendUint32(b, 0) // from us
	b = append(b, data...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

func parseRule(data []byte) (readRule, error) {
	var r readRule
	ad, err := netlink.NewAttributeDecoder(data)
	if err != nil {
		return r, err
	}
	ad.ByteOrder = binary.BigEndian
	var steps [][]byte
	for ad.Next() {
		switch ad.Type() {
		case unix.NFTA_RULE_CHAIN:
			r.chain = ad.String()
		case unix.NFTA_RULE_HANDLE:
			r.handle = ad.Uint64()
		case unix.NFTA_RULE_USERDATA:
			r.rule.comment, _ = userdata.GetString(slices.Clone(ad.Bytes()), userdata.TypeComment)
		case unix.NFTA_RULE_EXPRESSIONS:
			ad.Nested(func(in *netlink.AttributeDecoder) error {
				for in.Next() {
					steps = append(steps, slices.Clone(in.Bytes()))
				}
				return nil
			})
		}
	}
	r.rule.text = "as the kernel has it"
	r.rule.print = fingerprint(steps, r.rule.comment)
	return r, ad.Err()
}

// canonical is a step of a rule in the one form that both the kernel's telling and ours have: what is zero is left out, and so are the number
// of a set, which serves within a transaction only, and the register of a set that is asked for a verdict.
func canonical(step []byte) ([]byte, error) {
	ad, err := netlink.NewAttributeDecoder(step)
	if err != nil {
		return nil, err
	}
	var out []byte
	name := ""
	for ad.Next() {
		switch ad.Type() {
		case unix.NFTA_EXPR_NAME:
			name = ad.String()
			out = append(append(out, name...), 0)
		case unix.NFTA_EXPR_DATA:
			in, err := netlink.NewAttributeDecoder(ad.Bytes())
			if err != nil {
				return nil, err
			}
			type part struct {
				kind  uint16
				value []byte
			}
			var parts []part
			for in.Next() {
				p := part{in.Type() &^ (unix.NLA_F_NESTED | unix.NLA_F_NET_BYTEORDER), slices.Clone(in.Bytes())}
				asks := name == "lookup" && p.kind == unix.NFTA_LOOKUP_DREG
				if name == "lookup" && p.kind == unix.NFTA_LOOKUP_SET_ID || !asks && zero(p.value) {
					continue
				}
				if nests(name, p.kind) {
					unflag(p.value)
				}
				parts = append(parts, p)
			}
			if in.Err() != nil {
				return nil, in.Err()
			}
			slices.SortFunc(parts, func(a, b part) int { return int(a.kind) - int(b.kind) })
			for _, p := range parts {
				out = binary.BigEndian.AppendUint16(out, p.kind)
				out = binary.BigEndian.AppendUint16(out, uint16(len(p.value)))
				out = append(out, p.value...)
			}
		}
	}
	return out, ad.Err()
}

func zero(b []byte) bool { return !slices.ContainsFunc(b, func(x byte) bool { return x != 0 }) }

// nests tells which parts of which steps are attributes themselves.
func nests(name string, kind uint16) bool {
	switch name {
	case "cmp":
		return kind == unix.NFTA_CMP_DATA
	case "bitwise":
		return kind == unix.NFTA_BITWISE_MASK || kind == unix.NFTA_BITWISE_XOR
	case "range":
		return kind == unix.NFTA_RANGE_FROM_DATA || kind == unix.NFTA_RANGE_TO_DATA
	case "immediate":
		return kind == unix.NFTA_IMMEDIATE_DATA
	}
	return false
}

// unflag clears the mark of nested attributes, which not everybody sets.
func unflag(b []byte) {
	for len(b) >= 4 {
		size := int(binary.NativeEndian.Uint16(b))
		kind := binary.NativeEndian.Uint16(b[2:])
		if size < 4 || size > len(b) {
			return
		}
		binary.NativeEndian.PutUint16(b[2:], kind&^unix.NLA_F_NESTED)
		if kind&unix.NLA_F_NESTED != 0 {
			unflag(b[4:size])
		}
		b = b[min(len(b), (size+3)&^3):]
	}
}
