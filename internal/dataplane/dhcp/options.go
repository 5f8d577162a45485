package dhcp

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Codes of the options that the server itself makes or reads (RFC 2132 and later).
const (
	optPad            = 0
	optNetmask        = 1
	optRouter         = 3
	optDNS            = 6
	optHostname       = 12
	optDomain         = 15
	optMTU            = 26
	optBroadcast      = 28
	optRequestedIP    = 50
	optLease          = 51
	optOverload       = 52
	optMessageType    = 53
	optServerID       = 54
	optParameters     = 55
	optMessage        = 56
	optMaxSize        = 57
	optT1             = 58
	optT2             = 59
	optClientID       = 61
	optTFTPServer     = 66
	optBootfile       = 67
	optFQDN           = 81
	optRelay          = 82
	optSearch         = 119
	optRoutes         = 121
	optIPXE           = 175
	optRoutesMS       = 249
	optEnd            = 255
	optServerIP       = 255 // dnsmasq's internal number for the siaddr field
	maxOptionBytes    = 1024
	codeClientIDMatch = -1
)

// valueType is how an option's text becomes bytes.
type valueType uint8

const (
	guessed   valueType = iota // number, hex, addresses or text, by what it looks like
	addresses                  // list of IPv4 addresses
	text
	byteNumber
	shortNumber
	longNumber
	duration   // seconds, or with a unit, or "infinite"
	names      // list of domain names, RFC 1035 form
	routePairs // prefix,next hop,... in the RFC 3442 form
)

type optionDef struct {
	code  uint8
	value valueType
}

// optionByName knows dnsmasq's names of IPv4 options (`dnsmasq --help dhcp`), some older and common spellings too.
func optionByName(name string) (optionDef, bool) {
	for _, d := range optionNames() {
		if d.name == name {
			return d.optionDef, true
		}
	}
	return optionDef{}, false
}

func optionByCode(code uint8) optionDef {
	for _, d := range optionNames() {
		if d.code == code {
			return d.optionDef
		}
	}
	return optionDef{code: code}
}

// reserved are the options that the exchange itself consists of: setting them would break it.
func reserved(code uint8) bool {
	switch code {
	case optPad, optRequestedIP, optOverload, optMessageType, optServerID, optParameters, optMessage, optMaxSize, optRelay:
		return true
	}
	return false
}

// condition says for which clients an option is meant. Neutron has dnsmasq mark clients that send option 175 with the
// tag "ipxe" (neutron/agent/linux/dhcp.py); no other tag is ever set there.
type condition uint8

const (
	always condition = iota
	onlyIPXE
	exceptIPXE
	never
)

func (c condition) holds(ipxe bool) bool {
	return c == always || c == onlyIPXE && ipxe || c == exceptIPXE && !ipxe
}

func parseTag(tag string) condition {
	name, negated := strings.CutPrefix(tag, "!")
	switch {
	case name == "ipxe" && negated:
		return exceptIPXE
	case name == "ipxe":
		return onlyIPXE
	case negated:
		return always
	}
	return never
}

// parsedOption is an Option understood. code is codeClientIDMatch for "client-id".
type parsedOption struct {
	code   int
	data   []byte // empty: suppressed
	when   condition
	siaddr bool // the header field, not an option
}

// parseOption understands one extra option; the error names what is wrong for the port's owner to read.
func parseOption(o Option) (parsedOption, error) {
	name, p := o.Name, parsedOption{}
	for {
		tag, rest, found := strings.Cut(name, ",")
		if !found || !strings.HasPrefix(tag, "tag:") {
			break
		}
		c := parseTag(strings.TrimPrefix(tag, "tag:"))
		if p.when == always {
			p.when = c
		} else if c != always && c != p.when {
			p.when = never
		}
		name = rest
	}
	name = strings.TrimPrefix(strings.TrimPrefix(name, "option:"), "option-")
	if name == "client-id" || name == strconv.Itoa(optClientID) {
		p.code, p.data = codeClientIDMatch, parseClientID(o.Value)
		return p, nil
	}
	def, known := optionByName(name)
	if !known {
		n, err := strconv.ParseUint(name, 10, 8)
		if err != nil || n == optPad {
			return p, fmt.Errorf("option %q: neither a known name nor a number from 1 to 255", o.Name)
		}
		def = optionByCode(uint8(n))
	}
	if reserved(def.code) {
		return p, fmt.Errorf("option %q: belongs to the exchange itself and cannot be set", o.Name)
	}
	p.code, p.siaddr = int(def.code), def.code == optServerIP
	if strings.TrimSpace(o.Value) == "" {
		return p, nil
	}
	data, err := encodeValue(def.value, strings.TrimSpace(o.Value))
	if err != nil {
		return p, fmt.Errorf("option %q: %w", o.Name, err)
	}
	if len(data) > maxOptionBytes {
		return p, fmt.Errorf("option %q: %d bytes are more than a reply can hold", o.Name, len(data))
	}
	p.data = data
	return p, nil
}

// parseClientID takes colon-separated hex as bytes and anything else as text, as dnsmasq's "id:" does.
func parseClientID(v string) []byte {
	v = strings.TrimPrefix(v, "id:")
	if b, ok := parseHex(v); ok {
		return b
	}
	return []byte(v)
}

// encodeValue turns text into an option's bytes.
func encodeValue(t valueType, v string) ([]byte, error) {
	switch t {
	case addresses:
		return encodeAddresses(v)
	case text:
		return []byte(unquote(v)), nil
	case byteNumber:
		return encodeNumber(v, 1)
	case shortNumber:
		return encodeNumber(v, 2)
	case longNumber:
		return encodeNumber(v, 4)
	case duration:
		return encodeDuration(v)
	case names:
		return encodeNames(split(v))
	case routePairs:
		return encodeRoutePairs(v)
	}
	return encodeGuess(v)
}

func encodeGuess(v string) ([]byte, error) {
	if u := unquote(v); u != v {
		return []byte(u), nil
	}
	if b, ok := parseHex(v); ok {
		return b, nil
	}
	if n, err := strconv.ParseInt(v, 0, 64); err == nil && n >= -1<<31 && n < 1<<32 {
		size := 4
		if n >= 0 && n < 1<<8 {
			size = 1
		} else if n >= 0 && n < 1<<16 {
			size = 2
		}
		return encodeNumber(v, size)
	}
	if b, err := encodeAddresses(v); err == nil {
		return b, nil
	}
	return []byte(v), nil
}

func encodeAddresses(v string) ([]byte, error) {
	var out []byte
	for _, f := range split(v) {
		a, err := netip.ParseAddr(f)
		if err != nil || !a.Is4() {
			// Policy filters and static routes may be written address/mask length.
			if p, perr := netip.ParsePrefix(f); perr == nil && p.Addr().Is4() {
				out = append(append(out, p.Addr().AsSlice()...), maskOf(p.Bits())...)
				continue
			}
			return nil, fmt.Errorf("%q is not an IPv4 address", f)
		}
		out = append(out, a.AsSlice()...)
	}
	if len(out) == 0 {
		return nil, errors.New("no address given")
	}
	return out, nil
}

func encodeNumber(v string, size int) ([]byte, error) {
	n, err := strconv.ParseInt(v, 0, 64)
	if err != nil {
		// A flag or a size may be written in hex bytes too.
		if b, ok := parseHex(v); ok && len(b) == size {
			return b, nil
		}
		return nil, fmt.Errorf("%q is not a number", v)
	}
	limit := int64(1) << (8 * size)
	if n >= limit || n < -limit/2 {
		return nil, fmt.Errorf("%d does not fit into %d bytes", n, size)
	}
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	return b[8-size:], nil
}

func encodeDuration(v string) ([]byte, error) {
	if v == "infinite" {
		return []byte{255, 255, 255, 255}, nil
	}
	unit, digits := uint64(1), v
	switch v[len(v)-1] {
	case 's':
		digits = v[:len(v)-1]
	case 'm':
		unit, digits = 60, v[:len(v)-1]
	case 'h':
		unit, digits = 3600, v[:len(v)-1]
	case 'd':
		unit, digits = 86400, v[:len(v)-1]
	case 'w':
		unit, digits = 7*86400, v[:len(v)-1]
	}
	n, err := strconv.ParseUint(digits, 10, 32)
	if err != nil || n*unit > 1<<32-1 {
		return nil, fmt.Errorf("%q is not a time", v)
	}
	return binary.BigEndian.AppendUint32(nil, uint32(n*unit)), nil
}

func encodeNames(list []string) ([]byte, error) {
	var out []byte
	for _, name := range list {
		b, err := encodeName(name)
		if err != nil {
			return nil, err
		}
		out = append(append(out, b...), 0)
	}
	if len(out) == 0 {
		return nil, errors.New("no name given")
	}
	return out, nil
}

// encodeName is the labels of a name without the root's empty one.
func encodeName(name string) ([]byte, error) {
	var out []byte
	for label := range strings.SplitSeq(strings.TrimSuffix(name, "."), ".") {
		if len(label) == 0 || len(label) > 63 {
			return nil, fmt.Errorf("%q is not a domain name", name)
		}
		out = append(append(out, byte(len(label))), label...)
	}
	if len(out) > 253 {
		return nil, fmt.Errorf("%q is longer than a domain name can be", name)
	}
	return out, nil
}

// encodeRoutePairs reads "10.0.0.0/8,10.1.1.1,0.0.0.0/0,10.1.1.2"; a value in hex is taken as it is.
func encodeRoutePairs(v string) ([]byte, error) {
	if b, ok := parseHex(v); ok {
		return b, nil
	}
	fields := split(v)
	if len(fields) == 0 || len(fields)%2 != 0 {
		return nil, errors.New("want pairs of destination and next hop")
	}
	var out []byte
	for i := 0; i < len(fields); i += 2 {
		dst, err := netip.ParsePrefix(fields[i])
		if err != nil {
			a, aerr := netip.ParseAddr(fields[i])
			if aerr != nil {
				return nil, fmt.Errorf("%q is not an IPv4 prefix", fields[i])
			}
			dst = netip.PrefixFrom(a, a.BitLen())
		}
		hop, err := netip.ParseAddr(fields[i+1])
		if err != nil || !hop.Is4() || !dst.Addr().Is4() {
			return nil, fmt.Errorf("%q via %q is not an IPv4 route", fields[i], fields[i+1])
		}
		out = appendRoute(out, dst, hop)
	}
	return out, nil
}

// appendRoute adds one route in the form of RFC 3442: length, the significant bytes of the destination, next hop.
func appendRoute(out []byte, dst netip.Prefix, hop netip.Addr) []byte {
	a := dst.Masked().Addr().As4()
	out = append(out, byte(dst.Bits()))
	out = append(out, a[:(dst.Bits()+7)/8]...)
	h := hop.As4()
	return append(out, h[:]...)
}

// parseHex understands "01:aF:2"-like bytes, at least two of them, and 0x-less plain forms not at all.
func parseHex(v string) ([]byte, bool) {
	fields := strings.Split(v, ":")
	if len(fields) < 2 {
		return nil, false
	}
	out := make([]byte, 0, len(fields))
	for _, f := range fields {
		if len(f) == 1 {
			f = "0" + f
		}
		b, err := hex.DecodeString(f)
		if err != nil || len(b) != 1 {
			return nil, false
		}
		out = append(out, b[0])
	}
	return out, true
}

func unquote(v string) string {
	if len(v) >= 2 && v[0] == '"' && v[len(v)-1] == '"' {
		return v[1 : len(v)-1]
	}
	return v
}

func split(v string) []string {
	var out []string
	for f := range strings.SplitSeq(v, ",") {
		if f = strings.Trim(strings.TrimSpace(f), "[]"); f != "" {
			out = append(out, f)
		}
	}
	return out
}

func maskOf(bits int) []byte {
	return binary.BigEndian.AppendUint32(nil, ^uint32(0)<<(32-bits))
}

// seconds is a lease time as the wire has it: all ones never ends.
func seconds(d time.Duration) uint32 {
	s := d / time.Second
	if d < 0 || s >= 1<<32-1 {
		return 1<<32 - 1
	}
	return uint32(s)
}
