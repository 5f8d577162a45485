package freerange

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"math/bits"
	"net/netip"
	"strconv"
)

// Value is an integer of 128 bits: a VLAN ID, a VNI or an IP address. The zero Value is 0; values compare with Compare.
type Value struct{ hi, lo uint64 }

// Of makes a Value of a small number.
func Of(n uint64) Value { return Value{lo: n} }

// OfAddr makes a Value of an address; IPv4 addresses count as IPv4-mapped ones, so that Addr gives them back.
func OfAddr(a netip.Addr) Value {
	b := a.As16()
	return Value{hi: binary.BigEndian.Uint64(b[:8]), lo: binary.BigEndian.Uint64(b[8:])}
}

// Uint64 is the value's lower 64 bits.
func (v Value) Uint64() uint64 { return v.lo }

// Addr is the address that the value was made of.
func (v Value) Addr() netip.Addr {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], v.hi)
	binary.BigEndian.PutUint64(b[8:], v.lo)
	return netip.AddrFrom16(b).Unmap()
}

// Big is the value as a number of any size.
func (v Value) Big() *big.Int {
	n := new(big.Int).SetUint64(v.hi)
	return n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(v.lo))
}

func (v Value) String() string { return v.Big().String() }

// Compare orders values as numbers.
func (v Value) Compare(w Value) int {
	switch {
	case v == w:
		return 0
	case v.hi < w.hi, v.hi == w.hi && v.lo < w.lo:
		return -1
	}
	return 1
}

func (v Value) less(w Value) bool { return v.Compare(w) < 0 }

func (v Value) plus(w Value) Value {
	lo, carry := bits.Add64(v.lo, w.lo, 0)
	return Value{hi: v.hi + w.hi + carry, lo: lo}
}

func (v Value) minus(w Value) Value {
	lo, borrow := bits.Sub64(v.lo, w.lo, 0)
	return Value{hi: v.hi - w.hi - borrow, lo: lo}
}

func (v Value) next() Value { return v.plus(Value{lo: 1}) }
func (v Value) prev() Value { return v.minus(Value{lo: 1}) }

// scaled is v*n/2^64: a share of v when n is a random number.
func (v Value) scaled(n uint64) Value {
	hi, lo := bits.Mul64(v.hi, n)
	rest, _ := bits.Mul64(v.lo, n)
	return Value{hi: hi, lo: lo}.plus(Value{lo: rest})
}

// over is v/n.
func (v Value) over(n uint64) Value {
	hi, rest := v.hi/n, v.hi%n
	lo, _ := bits.Div64(rest, v.lo, n)
	return Value{hi: hi, lo: lo}
}

const digits = "0123456789abcdef"

// text is 32 hexadecimal digits.
func (v Value) text() string {
	var b [32]byte
	for i := range 16 {
		b[15-i] = digits[v.hi>>(4*i)&0xf]
		b[31-i] = digits[v.lo>>(4*i)&0xf]
	}
	return string(b[:])
}

func parse(s string) (v Value, err error) {
	if len(s) != 32 {
		return v, fmt.Errorf("freerange: %q has not 32 digits", s)
	}
	if v.hi, err = strconv.ParseUint(s[:16], 16, 64); err == nil {
		v.lo, err = strconv.ParseUint(s[16:], 16, 64)
	}
	if err != nil {
		return v, fmt.Errorf("freerange: %w", err)
	}
	return v, nil
}
