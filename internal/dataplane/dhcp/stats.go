package dhcp

import (
	"sync/atomic"

	"github.com/insomniacslk/dhcp/dhcpv4"
)

// Stats counts messages since the server was made; networks that are no longer served are still in the sum.
type Stats struct {
	Networks, Reservations int // now

	Discover, Request, Decline, Release, Inform uint64 // received
	Offer, Ack, Nak                             uint64 // sent

	Malformed  uint64 // no DHCP request, or a wrong checksum
	Ignored    uint64 // for another server's address, or of a kind that servers do not answer
	Spoofed    uint64 // the frame's sender is neither the client nor a relay of this network
	Unknown    uint64 // clients without a reservation here
	Trimmed    uint64 // answers that could not hold all options
	SendErrors uint64
}

func (s *Stats) add(o Stats) {
	s.Discover += o.Discover
	s.Request += o.Request
	s.Decline += o.Decline
	s.Release += o.Release
	s.Inform += o.Inform
	s.Offer += o.Offer
	s.Ack += o.Ack
	s.Nak += o.Nak
	s.Malformed += o.Malformed
	s.Ignored += o.Ignored
	s.Spoofed += o.Spoofed
	s.Unknown += o.Unknown
	s.Trimmed += o.Trimmed
	s.SendErrors += o.SendErrors
}

// counters are one network's Stats while it is served.
type counters struct {
	discover, request, decline, release, inform, offer, ack, nak atomic.Uint64
	malformed, ignored, spoofed, unknown, trimmed, sendErrors    atomic.Uint64
}

func (c *counters) received(kind dhcpv4.MessageType) {
	switch kind {
	case dhcpv4.MessageTypeDiscover:
		c.discover.Add(1)
	case dhcpv4.MessageTypeRequest:
		c.request.Add(1)
	case dhcpv4.MessageTypeDecline:
		c.decline.Add(1)
	case dhcpv4.MessageTypeRelease:
		c.release.Add(1)
	case dhcpv4.MessageTypeInform:
		c.inform.Add(1)
	default:
		c.ignored.Add(1)
	}
}

func (c *counters) sent(kind dhcpv4.MessageType) {
	switch kind {
	case dhcpv4.MessageTypeOffer:
		c.offer.Add(1)
	case dhcpv4.MessageTypeAck:
		c.ack.Add(1)
	case dhcpv4.MessageTypeNak:
		c.nak.Add(1)
	}
}

func (c *counters) snapshot() Stats {
	return Stats{
		Discover: c.discover.Load(), Request: c.request.Load(), Decline: c.decline.Load(), Release: c.release.Load(),
		Inform: c.inform.Load(), Offer: c.offer.Load(), Ack: c.ack.Load(), Nak: c.nak.Load(),
		Malformed: c.malformed.Load(), Ignored: c.ignored.Load(), Spoofed: c.spoofed.Load(), Unknown: c.unknown.Load(),
		Trimmed: c.trimmed.Load(), SendErrors: c.sendErrors.Load(),
	}
}

// Stats sums all networks.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := s.retired
	for _, n := range s.serving {
		sum.add(n.counters.snapshot())
	}
	sum.Networks = len(s.serving)
	for _, t := range s.tables {
		t.mu.RLock()
		sum.Reservations += len(t.ports)
		t.mu.RUnlock()
	}
	return sum
}

// NetworkStats are one network's, since it was last opened; false if it is not served.
func (s *Server) NetworkStats(id string) (Stats, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.serving[id]
	if n == nil {
		return Stats{}, false
	}
	st := n.counters.snapshot()
	st.Networks = 1
	n.table.mu.RLock()
	st.Reservations = len(n.table.ports)
	n.table.mu.RUnlock()
	return st, true
}
