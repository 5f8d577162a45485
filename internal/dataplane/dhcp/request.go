package dhcp

import (
	"encoding/binary"
	"net/netip"

	"github.com/insomniacslk/dhcp/dhcpv4"
)

// request is a client's message, reduced to what the answer depends on.
type request struct {
	kind           dhcpv4.MessageType
	mac            hwaddr // the client's, as the message says
	from           hwaddr // the frame's sender: the client itself, or the relay
	xid            [4]byte
	flags          uint16
	ciaddr, giaddr netip.Addr // zero value: none
	wanted         netip.Addr // option 50
	serverID       netip.Addr // option 54
	chaddr         [16]byte
	params         []byte // option 55; nil: the client did not say what it wants
	clientID       []byte
	fqdn           []byte
	relayInfo      []byte
	maxSize        int // of the DHCP message
	ipxe           bool
}

const (
	flagBroadcast  = 0x8000
	defaultMaxSize = 576 - headers // RFC 2131: what every client must be able to take
	largestMaxSize = 1500 - headers
	maxHops        = 16
)

// parseRequest reads a message. It returns false for everything that is no request of an Ethernet client.
func parseRequest(payload []byte, from hwaddr) (request, bool) {
	m, err := dhcpv4.FromBytes(payload)
	if err != nil || m.OpCode != dhcpv4.OpcodeBootRequest || m.HWType != 1 || len(m.ClientHWAddr) != 6 || m.HopCount > maxHops {
		return request{}, false
	}
	kind := m.Options[optMessageType]
	if len(kind) != 1 {
		return request{}, false
	}
	q := request{
		kind: dhcpv4.MessageType(kind[0]), mac: hwaddr(m.ClientHWAddr), from: from, xid: m.TransactionID, flags: m.Flags & flagBroadcast,
		ciaddr: given(m.ClientIPAddr), giaddr: given(m.GatewayIPAddr),
		wanted: given(m.Options[optRequestedIP]), serverID: given(m.Options[optServerID]),
		params: m.Options[optParameters], clientID: m.Options[optClientID], fqdn: m.Options[optFQDN], relayInfo: m.Options[optRelay],
		maxSize: defaultMaxSize, ipxe: m.Options[optIPXE] != nil,
	}
	copy(q.chaddr[:], q.mac[:])
	if size := m.Options[optMaxSize]; len(size) == 2 {
		q.maxSize = min(max(int(binary.BigEndian.Uint16(size))-headers, defaultMaxSize), largestMaxSize)
	}
	return q, true
}

// given is an address, or the zero value for 0.0.0.0 and for what is none.
func given(b []byte) netip.Addr {
	if len(b) != 4 || [4]byte(b) == [4]byte{} {
		return netip.Addr{}
	}
	return netip.AddrFrom4([4]byte(b))
}

// asks says whether the client wants an option: dnsmasq, too, sends all to clients without a list.
func (q *request) asks(code uint8) bool {
	if q.params == nil {
		return true
	}
	for _, p := range q.params {
		if p == code {
			return true
		}
	}
	return false
}

// verdict is what a request is answered with. kind 0: nothing.
type verdict struct {
	kind dhcpv4.MessageType
	ip   netip.Addr // not with a NAK or to an INFORM
	on   *servedSubnet
}

// decide applies RFC 2131, section 4.3, to reservations. A client without one is never asked about here: it gets
// silence, not a NAK, since another server on the network may own it.
func (s *served) decide(q *request, g *grant) verdict {
	switch q.kind {
	case dhcpv4.MessageTypeDiscover:
		if ip, on, ok := s.choose(g, q.wanted, q.giaddr); ok {
			return verdict{dhcpv4.MessageTypeOffer, ip, on}
		}
	case dhcpv4.MessageTypeRequest:
		return s.decideRequest(q, g)
	case dhcpv4.MessageTypeInform:
		if on := s.subnetOf(q.ciaddr); q.ciaddr.IsValid() && on != nil {
			return verdict{kind: dhcpv4.MessageTypeAck, on: on}
		}
	}
	return verdict{}
}

func (s *served) decideRequest(q *request, g *grant) verdict {
	if q.serverID.IsValid() && !s.isServer(q.serverID) {
		return verdict{} // the client has chosen another server
	}
	asked := q.wanted
	if q.ciaddr.IsValid() && !(q.serverID.IsValid() && q.wanted.IsValid()) {
		asked = q.ciaddr // renewing or rebinding
	}
	ip, on, ok := s.choose(g, asked, q.giaddr)
	switch {
	case !ok || !asked.IsValid():
		return verdict{}
	case ip != asked:
		return verdict{kind: dhcpv4.MessageTypeNak, on: on}
	}
	return verdict{dhcpv4.MessageTypeAck, ip, on}
}
