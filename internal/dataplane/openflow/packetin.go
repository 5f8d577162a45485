package openflow

import (
	"context"
	"encoding/binary"
	"fmt"
)

// Controller says how a packet is told to a process that listens with Conn.Packets.
type Controller struct {
	// ID is the listener's. 0 is everybody's who did not choose one.
	ID uint16
	// UserData comes back with the packet.
	UserData []byte
	// Meter bounds how many packets are told, already in the datapath; what is beyond its rate goes on and is not told. 0: no bound.
	Meter uint32
}

type controller struct{ Controller }

// ToController tells a process of the packet, as it is now, and goes on with the actions after it.
func ToController(c Controller) Action { return controller{c} }

func (a controller) check() error {
	if a.ID == 0 {
		return fmt.Errorf("controller: no listener is named")
	}
	return nil
}

func (a controller) appendText(b []byte, _ namer) []byte {
	b = append(b, "controller("...)
	b = fmt.Appendf(b, "id=%d", a.ID)
	if len(a.UserData) > 0 {
		b = append(b, ",userdata="...)
		for i, c := range a.UserData {
			if i > 0 {
				b = append(b, '.')
			}
			b = fmt.Appendf(b, "%02x", c)
		}
	}
	if a.Meter != 0 {
		b = fmt.Appendf(b, ",meter_id=%d", a.Meter)
	}
	return append(b, ')')
}

func (a controller) appendWire(b []byte) []byte {
	const id, userData, meterID = 1, 3, 5
	start := len(b)
	b = zeros(niciraAction(b, 37), 6)
	b = property(b, id, be16(nil, a.ID))
	if len(a.UserData) > 0 {
		b = property(b, userData, a.UserData)
	}
	if a.Meter != 0 {
		b = property(b, meterID, be32(nil, a.Meter))
	}
	return sized(b, start)
}

// property writes one property: its length does not count the bytes that fill it up.
func property(b []byte, kind uint16, value []byte) []byte {
	start := len(b)
	return pad(append(be16(be16(b, kind), uint16(4+len(value))), value...), start)
}

// PacketIn is a packet that a flow told of.
type PacketIn struct {
	UserData []byte
	// Data begins with the Ethernet header. It is the whole packet: Open vSwitch has not cut packets short since it keeps none back.
	Data []byte
}

// Packets listens as id, on a connection of its own, until it is lost or ctx ends. ready is called when flows that name id will be heard, packet for
// each packet, from this goroutine; what it is given stays its own.
func (c *Conn) Packets(ctx context.Context, id uint16, ready func(), packet func(PacketIn)) error {
	s, err := dial(ctx, c.path)
	if err != nil {
		return err
	}
	defer s.conn.Close()
	return s.during(ctx, func(s *session) error {
		if err := s.listen(id); err != nil {
			return err
		}
		ready()
		for {
			m, err := s.receive()
			if err != nil {
				return err
			}
			if m.kind != typeExperimenter {
				continue
			}
			p, ok, err := m.packetIn()
			if err != nil {
				return err
			}
			if ok {
				packet(p)
			}
		}
	})
}

// Messages of Open vSwitch's own.
const (
	typeExperimenter   = 4
	ovsVendor          = 0x2320
	setPacketInFormat  = 16
	setControllerID    = 20
	niciraPacketIn2    = 30
	formatNXPacketIn2  = 2
	fragmentsAsTheyAre = 3
	anyPacketsAreTaken = 0xffff
)

// listen has packets sent for a listener, in the form that has the flow's own data.
func (s *session) listen(id uint16) error {
	b, _ := s.begin(nil, typeSetConfig)
	b = finish(be16(be16(b, fragmentsAsTheyAre), anyPacketsAreTaken), 0)
	start := len(b)
	b, _ = s.begin(b, typeExperimenter)
	b = finish(be32(be32(be32(b, ovsVendor), setPacketInFormat), formatNXPacketIn2), start)
	start = len(b)
	b, _ = s.begin(b, typeExperimenter)
	b = finish(be16(zeros(be32(be32(b, ovsVendor), setControllerID), 6), id), start)
	start = len(b)
	b, last := s.begin(b, typeBarrierRequest)
	var refused error
	err := s.ask(finish(b, start), func(m message) (bool, error) {
		if m.kind == typeError {
			refused = fmt.Errorf("listen for packets: %w", m.refusal())
		}
		return m.xid == last, nil
	})
	if err == nil {
		err = refused
	}
	return err
}

// packetIn reads a packet; ok is false for other messages of the kind.
func (m message) packetIn() (p PacketIn, ok bool, err error) {
	const packet, userData = 0, 7
	if len(m.body) < 8 || binary.BigEndian.Uint32(m.body) != ovsVendor || binary.BigEndian.Uint32(m.body[4:]) != niciraPacketIn2 {
		return p, false, nil
	}
	for rest := m.body[8:]; len(rest) > 0; {
		if len(rest) < 4 {
			return p, false, &brokenError{errShort}
		}
		kind, n := binary.BigEndian.Uint16(rest), int(binary.BigEndian.Uint16(rest[2:]))
		if n < 4 || n > len(rest) {
			return p, false, &brokenError{errShort}
		}
		switch kind {
		case packet:
			p.Data = rest[4:n]
		case userData:
			p.UserData = rest[4:n]
		}
		rest = rest[min((n+7)&^7, len(rest)):]
	}
	return p, true, nil
}
