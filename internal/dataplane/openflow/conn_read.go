package openflow

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
)

// Multipart requests.
const (
	partFlows   = 1
	partGroups  = 7
	partMeters  = 10
	partMonitor = 16
)

// multipart asks for something long and calls entry for each piece of the answer. Pieces begin with their
// length.
func (s *session) multipart(kind uint16, body []byte, entry func([]byte) error) error {
	b, xid := s.begin(nil, typeMultipartRequest)
	b = append(zeros(be16(b, kind), 6), body...)
	return s.ask(finish(b, 0), func(m message) (bool, error) {
		if m.xid != xid {
			return false, nil
		}
		if m.kind == typeError {
			return true, m.refusal()
		}
		more, err := m.parts(kind, entry)
		return !more, err
	})
}

var errShort = errors.New("openflow: an answer is shorter than it says")

// parts splits a multipart reply.
func (m message) parts(kind uint16, entry func([]byte) error) (more bool, err error) {
	if m.kind != typeMultipartReply || len(m.body) < 8 || binary.BigEndian.Uint16(m.body) != kind {
		return false, &brokenError{fmt.Errorf("message of type %d where an answer was awaited", m.kind)}
	}
	more = binary.BigEndian.Uint16(m.body[2:])&1 != 0
	for rest := m.body[8:]; len(rest) > 0; {
		if len(rest) < 8 {
			return false, &brokenError{errShort}
		}
		n := int(binary.BigEndian.Uint16(rest))
		if n < 8 || n > len(rest) {
			return false, &brokenError{errShort}
		}
		if err := entry(rest[:n]); err != nil {
			return false, err
		}
		rest = rest[n:]
	}
	return more, nil
}

// ListFlows implements Transport.
func (c *Conn) ListFlows(ctx context.Context, tag Tag) (keys []Key, err error) {
	const allTables, anyone = 0xff, 0xffffffff
	b := zeros([]byte{allTables}, 3)
	b = zeros(be32(be32(b, anyone), anyone), 4)
	b = be64(be64(b, uint64(tag)<<48), tagMask)
	b = Match(nil).appendWire(b)
	err = c.exchange(ctx, func(s *session) error {
		keys = nil
		return s.multipart(partFlows, b, func(e []byte) error {
			if len(e) < 24 {
				return &brokenError{errShort}
			}
			keys = append(keys, Key{
				Table: e[4], Priority: binary.BigEndian.Uint16(e[6:]), Cookie: binary.BigEndian.Uint64(e[16:]),
			})
			return nil
		})
	})
	return keys, err
}

// ListGroups implements Transport.
func (c *Conn) ListGroups(ctx context.Context) (groups map[uint32]Group, err error) {
	const all = 0xfffffffc
	err = c.exchange(ctx, func(s *session) error {
		groups = map[uint32]Group{}
		return s.multipart(partGroups, zeros(be32(nil, all), 4), func(e []byte) error {
			if len(e) < 16 {
				return &brokenError{errShort}
			}
			g := Group{readBack: true}
			if binary.BigEndian.Uint16(e[8:]) >= 8 && len(e) >= 24 {
				g.mark = binary.BigEndian.Uint32(e[20:])
			}
			groups[binary.BigEndian.Uint32(e[4:])] = g
			return nil
		})
	})
	return groups, err
}

// ListMeters implements Transport.
func (c *Conn) ListMeters(ctx context.Context) (meters map[uint32]Meter, err error) {
	const all, pktps, burst = 0xffffffff, 2, 4
	err = c.exchange(ctx, func(s *session) error {
		meters = map[uint32]Meter{}
		return s.multipart(partMeters, zeros(be32(nil, all), 4), func(e []byte) error {
			flags := binary.BigEndian.Uint16(e[2:])
			m := Meter{Packets: flags&pktps != 0}
			if len(e) >= 20 {
				m.Rate = binary.BigEndian.Uint32(e[12:])
			}
			if len(e) >= 20 && flags&burst != 0 { // without the flag it is what Open vSwitch chose
				m.Burst = binary.BigEndian.Uint32(e[16:])
			}
			meters[binary.BigEndian.Uint32(e[4:])] = m
			return nil
		})
	})
	return meters, err
}

// Watch implements Transport, on a connection of its own: changes made on the same connection are told
// in a short form that lacks the cookie.
func (c *Conn) Watch(ctx context.Context, ready func(), event func(Event)) error {
	const anyone, adds, removals, changes, allTables = 0xffffffff, 2, 4, 8, 0xff
	s, err := dial(ctx, c.path)
	if err != nil {
		return err
	}
	defer s.conn.Close()
	return s.during(ctx, func(s *session) error {
		b := be32(be32(be32(nil, 1), anyone), anyone)
		b = append(be16(b, adds|removals|changes), allTables, 0)
		b = Match(nil).appendWire(b)
		tell := func(e []byte) error { return tellUpdate(e, event) }
		if err := s.multipart(partMonitor, b, tell); err != nil {
			return err
		}
		ready()
		for {
			m, err := s.receive()
			if err != nil {
				return err
			}
			if m.kind == typeMultipartReply {
				if _, err := m.parts(partMonitor, tell); err != nil {
					return err
				}
			}
		}
	})
}

// tellUpdate reads one piece of what a flow monitor tells.
func tellUpdate(e []byte, event func(Event)) error {
	kind := binary.BigEndian.Uint16(e[2:])
	const added, removed, modified = 1, 2, 3
	if kind < added || kind > modified {
		return nil
	}
	if len(e) < 24 {
		return &brokenError{errShort}
	}
	kinds := [...]EventKind{added: Added, removed: Deleted, modified: Modified}
	event(Event{Kind: kinds[kind], Table: e[4], Cookie: binary.BigEndian.Uint64(e[16:])})
	return nil
}
