package openflow

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"sync"
	"time"
)

// Conn is the Transport that speaks OpenFlow 1.5 itself on a bridge's management socket and keeps the connection,
// so that a change costs no process. A connection that ended is opened anew at the next call.
type Conn struct {
	path string

	// mu is held through an exchange: there is one at a time.
	mu   sync.Mutex
	live *session
}

// NewConn makes the transport to a bridge whose management socket is in runDir, which is where ovs-vswitchd has its
// sockets. It connects at the first call.
func NewConn(runDir, bridge string) *Conn {
	return &Conn{path: filepath.Join(runDir, bridge+".mgmt")}
}

// Close ends the connection; a later call opens another.
func (c *Conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.drop()
}

func (c *Conn) drop() error {
	if c.live == nil {
		return nil
	}
	err := c.live.conn.Close()
	c.live = nil
	return err
}

// exchange runs talk on the connection. Every exchange may be repeated, so one that broke on a connection from before is
// tried again on a new one: ovs-vswitchd ends connections when it restarts, and when a bridge's identity changes.
func (c *Conn) exchange(ctx context.Context, talk func(*session) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		old := c.live != nil
		if !old {
			s, err := dial(ctx, c.path)
			if err != nil {
				return err
			}
			c.live = s
		}
		limit, cancel := context.WithTimeout(ctx, exchangeLimit)
		err := c.live.during(limit, talk)
		cancel()
		var broken *brokenError
		if !errors.As(err, &broken) {
			return err
		}
		_ = c.drop()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !old {
			return err
		}
	}
}

// brokenError says that the connection cannot be used any more.
type brokenError struct{ cause error }

func (e *brokenError) Error() string { return "openflow connection: " + e.cause.Error() }
func (e *brokenError) Unwrap() error { return e.cause }

// Types of messages.
const (
	typeHello            = 0
	typeError            = 1
	typeEchoRequest      = 2
	typeEchoReply        = 3
	typeSetConfig        = 9
	typeFlowMod          = 14
	typeGroupMod         = 15
	typeMultipartRequest = 18
	typeMultipartReply   = 19
	typeBarrierRequest   = 20
	typeMeterMod         = 29
	typeBundleControl    = 33
	typeBundleAdd        = 34
)

const (
	version   = 6 // OpenFlow 1.5
	headerLen = 8

	// maxMessage is what the length of a message can say: some 2,000 times "to this endpoint, out of this port".
	// ovs-ofctl ends at about half of that.
	maxMessage = 65535
)

// session is one connection, used by one goroutine at a time.
type session struct {
	conn net.Conn
	in   *bufio.Reader
	xid  uint32
}

// message is what the switch sent.
type message struct {
	kind uint8
	xid  uint32
	body []byte
}

// begin starts a message with the next number and gives that; finish is called when its body is written.
func (s *session) begin(b []byte, kind uint8) ([]byte, uint32) {
	s.xid++
	return be32(append(b, version, kind, 0, 0), s.xid), s.xid
}

func finish(b []byte, start int) []byte {
	binary.BigEndian.PutUint16(b[start+2:], uint16(len(b)-start))
	return b
}

// A switch that has lost its database, or hangs, takes connections and says nothing: whoever asks it must hear that. An exchange's
// limit leaves room for tens of thousands of flows on a busy machine.
const (
	helloLimit    = 3 * time.Second
	exchangeLimit = 30 * time.Second
)

// dial connects and agrees on the version.
func dial(ctx context.Context, path string) (*session, error) {
	ctx, cancel := context.WithTimeout(ctx, helloLimit)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("openflow connection: %w", err)
	}
	s := &session{conn: conn, in: bufio.NewReaderSize(conn, 1<<16)}
	err = s.during(ctx, func(s *session) error {
		hello, _ := s.begin(nil, typeHello)
		hello = be32(be32(hello, 1<<16|8), 1<<version) // the element that lists versions
		if err := s.send(finish(hello, 0)); err != nil {
			return err
		}
		var head [headerLen]byte
		if _, err := io.ReadFull(s.in, head[:]); err != nil {
			return &brokenError{err}
		}
		if _, err := s.in.Discard(int(binary.BigEndian.Uint16(head[2:])) - headerLen); err != nil {
			return &brokenError{err}
		}
		if head[1] != typeHello {
			return errors.New("openflow connection: the bridge does not speak OpenFlow 1.5")
		}
		return s.configure()
	})
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return s, nil
}

// configure has the bridge show fragments as they are: the first one with its ports, later ones by ip_frag alone. Without it Open vSwitch takes the
// ports of all of them for 0. A bridge forgets it when ovs-vswitchd ends, as it does the connection.
func (s *session) configure() error {
	const showFragments, noPackets = 3, 0
	b, _ := s.begin(nil, typeSetConfig)
	b = finish(be16(be16(b, showFragments), noPackets), 0)
	start := len(b)
	b, last := s.begin(b, typeBarrierRequest)
	var refused error
	err := s.ask(finish(b, start), func(m message) (bool, error) {
		if m.kind == typeError {
			refused = fmt.Errorf("openflow connection: %w", m.refusal())
		}
		return m.xid == last, nil
	})
	return errors.Join(err, refused)
}

// during runs talk and breaks its reads and writes off when ctx ends.
func (s *session) during(ctx context.Context, talk func(*session) error) error {
	stop := context.AfterFunc(ctx, func() { _ = s.conn.SetDeadline(time.Unix(1, 0)) })
	err := talk(s)
	if !stop() {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return &brokenError{fmt.Errorf("the switch says nothing: %w", ctx.Err())}
		}
		return &brokenError{ctx.Err()} // the deadline stays on the connection, whatever talk says
	}
	return err
}

func (s *session) send(b []byte) error {
	if _, err := s.conn.Write(b); err != nil {
		return &brokenError{err}
	}
	return nil
}

// receive gives the next message, and answers the switch's questions whether we are there.
func (s *session) receive() (message, error) {
	for {
		var head [headerLen]byte
		if _, err := io.ReadFull(s.in, head[:]); err != nil {
			return message{}, &brokenError{err}
		}
		n := int(binary.BigEndian.Uint16(head[2:])) - headerLen
		if n < 0 {
			return message{}, &brokenError{errors.New("a message shorter than its head")}
		}
		m := message{head[1], binary.BigEndian.Uint32(head[4:]), make([]byte, n)}
		if _, err := io.ReadFull(s.in, m.body); err != nil {
			return message{}, &brokenError{err}
		}
		if m.kind != typeEchoRequest {
			return m, nil
		}
		reply := append(be32([]byte{version, typeEchoReply, 0, 0}, m.xid), m.body...)
		if err := s.send(finish(reply, 0)); err != nil {
			return message{}, err
		}
	}
}

// ask sends b and reads answers until hear says that it was the last. Sending goes on beside reading: the switch stops
// to read when too many of its answers are not read.
func (s *session) ask(b []byte, hear func(message) (last bool, err error)) error {
	sent := make(chan error, 1)
	go func() { sent <- s.send(b) }()
	for {
		m, err := s.receive()
		if err != nil {
			_ = s.conn.Close() // ends the sending
			<-sent
			return err
		}
		if last, err := hear(m); last || err != nil {
			return errors.Join(err, <-sent)
		}
	}
}

// refusedError is an error message of the switch.
type refusedError struct{ kind, code uint16 }

func (e refusedError) Error() string { return errorName(e.kind, e.code) }

func (m message) refusal() refusedError {
	if len(m.body) < 4 {
		return refusedError{}
	}
	return refusedError{binary.BigEndian.Uint16(m.body), binary.BigEndian.Uint16(m.body[2:])}
}

// bundle sends n messages as one atomic, ordered bundle; body writes the i-th.
func (s *session) bundle(n int, kind uint8, body func(b []byte, i int) []byte) error {
	const open, commit, atomicOrdered, id = 0, 4, 3, 1
	control := func(b []byte, step uint16) ([]byte, uint32) {
		start := len(b)
		b, xid := s.begin(b, typeBundleControl)
		return finish(be16(be16(be32(b, id), step), atomicOrdered), start), xid
	}
	b, _ := control(make([]byte, 0, 256*(n+1)), open)
	first := s.xid + 1
	for i := range n {
		start := len(b)
		var xid uint32
		b, xid = s.begin(b, typeBundleAdd)
		b = be16(zeros(be32(b, id), 2), atomicOrdered)
		inner := len(b)
		b = body(be32(append(b, version, kind, 0, 0), xid), i)
		if len(b)-start > maxMessage {
			return &Refused{i, "it is longer than an OpenFlow message can be"}
		}
		b = finish(finish(b, inner), start)
	}
	b, last := control(b, commit)
	var refused error
	err := s.ask(b, func(m message) (bool, error) {
		if m.kind == typeError && refused == nil {
			refused = &Refused{-1, m.refusal().Error()}
			if i := m.xid - first; i < uint32(n) {
				refused = &Refused{int(i), m.refusal().Error()}
			}
		}
		return m.xid == last, nil
	})
	return errors.Join(err, refused)
}

// ApplyFlows implements Transport.
func (c *Conn) ApplyFlows(ctx context.Context, mods []FlowMod) error {
	return c.exchange(ctx, func(s *session) error {
		return s.bundle(len(mods), typeFlowMod, func(b []byte, i int) []byte { return mods[i].appendWire(b) })
	})
}

// ApplyGroups implements Transport.
func (c *Conn) ApplyGroups(ctx context.Context, mods []GroupMod) error {
	return c.exchange(ctx, func(s *session) error {
		return s.bundle(len(mods), typeGroupMod, func(b []byte, i int) []byte { return mods[i].appendWire(b) })
	})
}

// ApplyMeters implements Transport. The switch takes no meters in bundles.
func (c *Conn) ApplyMeters(ctx context.Context, mods []MeterMod) error {
	return c.exchange(ctx, func(s *session) error {
		for i, m := range mods {
			command := uint16(meterAdd)
			if m.Op == Delete {
				command = meterDelete
			}
			err := s.meter(m, command)
			if errors.Is(err, refusedError{errMeterMod, codeMeterExists}) {
				err = s.meter(m, meterModify)
			}
			var r refusedError
			switch {
			case errors.As(err, &r) && m.Op == Delete && r == refusedError{errMeterMod, codeUnknownMeter}:
			case errors.As(err, &r):
				return &Refused{i, r.Error()}
			case err != nil:
				return err
			}
		}
		return nil
	})
}

// meter sends one change and a barrier, whose answer says that no error will come any more.
func (s *session) meter(m MeterMod, command uint16) error {
	b, _ := s.begin(nil, typeMeterMod)
	b = finish(m.appendWire(b, command), 0)
	start := len(b)
	b, last := s.begin(b, typeBarrierRequest)
	var refused error
	err := s.ask(finish(b, start), func(m message) (bool, error) {
		if m.kind == typeError {
			refused = m.refusal()
		}
		return m.xid == last, nil
	})
	return errors.Join(err, refused)
}

var _ Transport = (*Conn)(nil)
