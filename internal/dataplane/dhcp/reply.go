package dhcp

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"strconv"

	"github.com/insomniacslk/dhcp/dhcpv4"
)

// Layout of a BOOTP message, and the least length that old relays and clients take (RFC 1542).
const (
	snameAt, snameLen = 44, 64
	fileAt, fileLen   = 108, 128
	cookieAt          = 236
	optionsAt         = 240
	leastMessage      = 300
)

// reply is one answer being put together. It belongs to one socket's goroutine, which uses it again and again.
type reply struct {
	buf     [headers + largestMaxSize]byte
	fields  []field
	extra   []field // the port's own options, which come last
	router  []byte  // the port's own, asked for or not
	scratch []byte
	name    []byte
}

// build writes the whole IPv4 packet and says to whom the frame goes. trimmed: options had to be left out.
func (r *reply) build(s *served, q *request, g *grant, v verdict) (packet []byte, to hwaddr, trimmed bool) {
	m := r.buf[headers:]
	clear(m)
	m[0], m[1], m[2] = 2, 1, 6
	copy(m[4:], q.xid[:])
	flags := q.flags
	if v.kind == dhcpv4.MessageTypeNak && q.giaddr.IsValid() {
		flags |= flagBroadcast // the relay must not try an address that the client has no right to
	}
	binary.BigEndian.PutUint16(m[10:], flags)
	if v.kind == dhcpv4.MessageTypeAck {
		putAddr(m[12:], q.ciaddr)
	}
	putAddr(m[16:], v.ip)
	putAddr(m[24:], q.giaddr)
	copy(m[28:], q.chaddr[:])
	copy(m[cookieAt:], []byte{99, 130, 83, 99})
	r.collect(s, q, g, v, m)
	limit := q.maxSize
	if s.mtu > 0 {
		limit = min(limit, max(s.mtu-headers, defaultMaxSize))
	}
	n, trimmed := r.pack(m[:limit])
	n = max(n, leastMessage)
	packet = r.buf[:headers+n]
	dst, port, to := destination(q, v)
	fillHeaders(packet, v.on.server, dst, port)
	return packet, to, trimmed
}

// destination follows RFC 2131, section 4.1; the frame goes straight to the client, which may not answer ARP yet.
func destination(q *request, v verdict) (netip.Addr, uint16, hwaddr) {
	switch {
	case q.giaddr.IsValid():
		return q.giaddr, serverPort, q.from
	case v.kind == dhcpv4.MessageTypeNak:
	case q.ciaddr.IsValid():
		return q.ciaddr, clientPort, q.from
	case q.flags&flagBroadcast == 0:
		return v.ip, clientPort, q.from
	}
	return broadcastAddress(), clientPort, hwaddr{255, 255, 255, 255, 255, 255}
}

func putAddr(b []byte, a netip.Addr) {
	if a.Is4() {
		v := a.As4()
		copy(b, v[:])
	}
}

func (r *reply) add(code uint8, data []byte) {
	r.fields = append(r.fields, field{code: code, data: data})
}

// keep copies bytes that are made for this answer to where they live until it is sent.
func (r *reply) keep(b ...byte) []byte {
	at := len(r.scratch)
	r.scratch = append(r.scratch, b...)
	return r.scratch[at:len(r.scratch):len(r.scratch)]
}

func (r *reply) number(code uint8, v uint32) {
	r.add(code, r.keep(byte(v>>24), byte(v>>16), byte(v>>8), byte(v)))
}

// collect chooses the options, those that matter most first.
func (r *reply) collect(s *served, q *request, g *grant, v verdict, m []byte) {
	r.router = nil
	r.fields, r.extra, r.scratch = r.fields[:0], r.extra[:0], r.scratch[:0]
	r.add(optMessageType, r.keep(byte(v.kind)))
	server := v.on.server.As4()
	r.add(optServerID, r.keep(server[:]...))
	if len(q.clientID) > 0 && len(q.clientID) <= 255 {
		r.add(optClientID, q.clientID) // RFC 6842
	}
	if v.kind != dhcpv4.MessageTypeNak {
		copy(m[20:24], server[:])
		var done codes
		r.own(q, g, m, &done)
		r.times(v, &done)
		r.subnet(q, v.on, &done)
		r.names(s, q, g, v, &done)
		r.fields = append(r.fields, r.extra...)
	} else {
		r.add(optMessage, []byte("address belongs to another port or network"))
	}
	if len(q.relayInfo) > 0 && len(q.relayInfo) <= 255 {
		r.add(optRelay, q.relayInfo) // RFC 3046: last
	}
}

// codes is a set of option codes.
type codes [256]bool

// own adds the port's extra options, and marks what they replace or suppress. The boot file and server names move to the
// header for clients that do not ask for them as options, as in dnsmasq (do_options in rfc2131.c).
func (r *reply) own(q *request, g *grant, m []byte, done *codes) {
	for _, f := range g.siaddr {
		if f.when.holds(q.ipxe) && len(f.data) == 4 {
			copy(m[20:24], f.data)
			break
		}
	}
	for _, f := range g.fields {
		if done[f.code] || !f.when.holds(q.ipxe) {
			continue
		}
		done[f.code] = true
		if f.code == optRouter {
			r.router = f.data
		}
		listed := q.params != nil && q.asks(f.code)
		switch {
		case len(f.data) == 0:
		case f.code == optBootfile && !listed && len(f.data) < fileLen:
			copy(m[fileAt:fileAt+fileLen], f.data)
		case f.code == optTFTPServer && !listed && len(f.data) < snameLen:
			copy(m[snameAt:snameAt+snameLen], f.data)
		case q.asks(f.code) || basic(f.code):
			r.extra = append(r.extra, f)
		}
	}
}

// basic are the options that every client is told, asked for or not.
func basic(code uint8) bool {
	switch code {
	case optNetmask, optBroadcast, optMTU, optLease, optT1, optT2:
		return true
	}
	return false
}

func (r *reply) times(v verdict, done *codes) {
	if !v.ip.IsValid() {
		return // an INFORM's answer grants no lease
	}
	if !done[optLease] {
		r.number(optLease, v.on.lease)
	}
	if !done[optT1] && v.on.renewal > 0 {
		r.number(optT1, v.on.renewal)
	}
	if !done[optT2] && v.on.rebinding > 0 {
		r.number(optT2, v.on.rebinding)
	}
}

// subnet adds what all clients of the subnet are told. A port's own router also is the default route of option 121:
// clients that read 121 do not read 3 (RFC 3442), so the two must agree.
func (r *reply) subnet(q *request, on *servedSubnet, done *codes) {
	router := on.router
	if done[optRouter] {
		router = nil
		if len(r.router) >= 4 {
			router = r.router[:4]
		}
	} else if router != nil && q.asks(optRouter) {
		r.add(optRouter, router)
	}
	for _, f := range on.fields {
		if !done[f.code] && (f.forced || q.asks(f.code)) {
			r.add(f.code, f.data)
		}
	}
	if len(on.routes) == 0 {
		return
	}
	for _, code := range [...]uint8{optRoutes, optRoutesMS} {
		if done[code] || !q.asks(code) || code == optRoutesMS && q.params == nil {
			continue
		}
		at := len(r.scratch)
		r.scratch = append(r.scratch, on.routes...)
		if router != nil {
			r.scratch = append(append(r.scratch, 0), router...)
		}
		b := r.scratch[at:len(r.scratch):len(r.scratch)]
		r.add(code, b)
	}
}

// names adds the host name and, for clients that sent one, the full name (RFC 4702: the server says who registers it).
func (r *reply) names(s *served, q *request, g *grant, v verdict, done *codes) {
	name := g.hostname
	if name == "" {
		ip := v.ip
		if !ip.IsValid() {
			ip = q.ciaddr
		}
		r.name = appendHostname(r.name[:0], ip)
	} else {
		r.name = append(r.name[:0], name...)
	}
	if !done[optHostname] && q.asks(optHostname) {
		r.add(optHostname, r.name)
	}
	if len(q.fqdn) < 3 || done[optFQDN] {
		return
	}
	const byServer, overridden, encoded = 1, 2, 4
	flags := q.fqdn[0]&encoded | byServer
	if q.fqdn[0]&byServer == 0 {
		flags |= overridden
	}
	b := r.keep(flags, 255, 255)
	if flags&encoded == 0 {
		b = append(b, r.name...)
		if s.domain != "" {
			b = append(append(b, '.'), s.domain...)
		}
	} else {
		for label := range bytes.SplitSeq(r.name, []byte{'.'}) {
			label = label[:min(len(label), 63)]
			b = append(append(b, byte(len(label))), label...)
		}
		if s.domain != "" {
			b = append(append(b, s.fqdn...), 0)
		}
	}
	r.add(optFQDN, b)
}

// appendHostname writes host-10-0-0-5, Neutron's name for a port without one (neutron/agent/linux/dhcp.py).
func appendHostname(b []byte, ip netip.Addr) []byte {
	b = append(b, "host"...)
	for _, octet := range ip.As4() {
		b = strconv.AppendUint(append(b, '-'), uint64(octet), 10)
	}
	return b
}
