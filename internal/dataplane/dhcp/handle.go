package dhcp

import "github.com/insomniacslk/dhcp/dhcpv4"

// handle judges one packet and builds the answer, in memory that the next call uses again. It holds no state between
// packets but counters: whatever arrives, nothing grows.
func (n *instance) handle(packet []byte, from hwaddr, summed bool) (out []byte, to hwaddr, ok bool) {
	c := &n.counters
	d, ok := parsePacket(packet, summed)
	if !ok {
		c.malformed.Add(1)
		return nil, to, false
	}
	config := n.config.Load()
	if !config.addressed(d.dst) {
		c.ignored.Add(1)
		return nil, to, false
	}
	q, ok := parseRequest(d.payload, from)
	if !ok {
		c.malformed.Add(1)
		return nil, to, false
	}
	c.received(q.kind)
	if !config.credible(&q) {
		c.spoofed.Add(1)
		return nil, to, false
	}
	g := n.table.find(q.mac, q.clientID)
	if g == nil {
		c.unknown.Add(1)
		return nil, to, false
	}
	if q.kind == dhcpv4.MessageTypeDecline {
		// Somebody else uses the address on the wire; what the API says stays right, so there is nothing to change.
		n.logger.Debug("dhcp client declined its address", "port", g.port, "ip", q.wanted)
	}
	v := config.decide(&q, g)
	if v.kind == 0 {
		return nil, to, false
	}
	out, to, trimmed := n.answer.build(config, &q, g, v)
	if trimmed {
		c.trimmed.Add(1)
	}
	c.sent(v.kind)
	return out, to, true
}

// credible refuses requests that would let one port speak for another: the frame must come from the client that the
// message names, unless a relay on one of the served subnets sends it. A multicast sender is nobody.
func (s *served) credible(q *request) bool {
	if q.from[0]&1 != 0 || q.mac[0]&1 != 0 {
		return false
	}
	if q.giaddr.IsValid() {
		return s.subnetOf(q.giaddr) != nil && !s.isServer(q.giaddr)
	}
	return q.from == q.mac
}
