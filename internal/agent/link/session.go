package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/protobuf/proto"

	"isospin/internal/wire"
)

type stream = grpc.BidiStreamingClient[wire.Up, wire.Down]

// session opens one session and lives as long as it does. opened tells whether the server accepted it.
func (l *Link) session(ctx context.Context, server string, h Handler) (opened bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	conn, err := l.dial(server)
	if err != nil {
		return false, fmt.Errorf("dial %s: %w", server, err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	s, err := wire.NewHostSessionClient(conn).Open(ctx)
	if err != nil {
		return false, err
	}
	l.mu.Lock()
	l.told, l.sent = l.facts, 0
	l.mu.Unlock()
	err = s.Send(&wire.Up{Message: &wire.Up_Hello{Hello: &wire.Hello{Host: l.Host(), Protocol: wire.Protocol,
		OldestProtocol: wire.OldestProtocol, Have: h.Have(), Reads: wire.Reads(), Facts: l.told}}})
	first, recvErr := s.Recv() // says more than a failed Send, which only knows that the stream is over
	if recvErr != nil {
		return false, recvErr
	}
	welcome := first.GetWelcome()
	if err != nil || welcome == nil {
		return false, errors.Join(err, errors.New("the server did not begin with a welcome"))
	}
	l.setState(State{Connected: true, Server: welcome.Server, Since: l.o.Clock.Now()})
	l.o.Log.Debug("session open", "host", l.Host(), "server", welcome.Server)
	h.Opened(welcome.Server)
	sending := make(chan struct{})
	go func() {
		defer close(sending)
		cancel(l.send(ctx, s, time.Duration(welcome.HeartbeatEvery)*time.Millisecond))
	}()
	err = l.receive(s, h)
	cancel(err)
	<-sending
	h.Closed(err)
	return true, err
}

// dial prepares a connection, which the first message opens.
func (l *Link) dial(server string) (*grpc.ClientConn, error) {
	opts := []grpc.DialOption{
		grpc.WithTransportCredentials(credentials.NewTLS(l.renew.creds)),
		// A cut network answers nothing and closes nothing: after this the session counts as ended.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 10 * time.Second}),
		grpc.WithNoProxy(),
	}
	if l.o.Dial != nil {
		opts = append(opts, grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) { return l.o.Dial(ctx, address) }))
	}
	return grpc.NewClient("passthrough:///"+server, opts...)
}

func (l *Link) receive(s stream, h Handler) error {
	for {
		m, err := s.Recv()
		if err != nil {
			return err
		}
		switch m := m.Message.(type) {
		case *wire.Down_Frame:
			err = h.Frame(m.Frame)
		case *wire.Down_Synced:
			err = h.Synced()
		case *wire.Down_Ack:
			l.acknowledged(m.Ack.Number)
		}
		if err != nil {
			return err
		}
	}
}

// send is the only sender of an open session: what is pending, changed facts, and heartbeats.
func (l *Link) send(ctx context.Context, s stream, every time.Duration) error {
	if every <= 0 {
		every = 10 * time.Second
	}
	beat := l.o.Clock.After(every)
	for {
		for {
			m := l.next()
			if m == nil {
				break
			}
			if err := s.Send(m); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-l.wake:
		case <-beat:
			if err := s.Send(&wire.Up{Message: &wire.Up_Heartbeat{Heartbeat: &wire.Heartbeat{}}}); err != nil {
				return err
			}
			beat = l.o.Clock.After(every)
		}
	}
}

// next is what this session's server has not been sent yet, nil when it has everything.
func (l *Link) next() *wire.Up {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.told != l.facts {
		known := proto.Equal(l.told, l.facts)
		l.told = l.facts
		if !known {
			return &wire.Up{Message: &wire.Up_Facts{Facts: l.facts}}
		}
	}
	for _, r := range l.pending {
		if r.number > l.sent {
			l.sent = r.number
			return &wire.Up{Message: &wire.Up_Report{Report: &wire.Report{Number: r.number, Statuses: r.statuses}}}
		}
	}
	return nil
}
