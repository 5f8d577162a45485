package session

import (
	"context"
	"crypto/x509"
	"errors"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"isospin/internal/change"
	"isospin/internal/service/hostcred"
	"isospin/internal/wire"
)

// stream is one session's gRPC stream.
type stream struct {
	*Server
	grpc.BidiStreamingServer[wire.Up, wire.Down]
	host   *host
	serial string
	up     chan *wire.Up
	lost   chan error // what ended the receiver
}

// Open serves one session until its stream, its credential or the server ends.
func (s *Server) Open(g grpc.BidiStreamingServer[wire.Up, wire.Down]) error {
	st := &stream{Server: s, BidiStreamingServer: g, up: make(chan *wire.Up), lost: make(chan error, 1)}
	s.running.Go(st.receive)
	err := st.serve(g.Context())
	s.Log.Debug("a session ended", "host", st.name(), "err", err)
	return err
}

func (st *stream) name() string {
	if st.host == nil {
		return ""
	}
	return st.host.name
}

// receive hands on what the agent sends. It ends with the stream, which ends with serve.
func (st *stream) receive() {
	for {
		m, err := st.Recv()
		if err != nil {
			st.lost <- err
			return
		}
		select {
		case st.up <- m:
		case <-st.Context().Done():
			return
		}
	}
}

func (st *stream) serve(ctx context.Context) error {
	hello, err := st.hello(ctx)
	if err != nil {
		return err
	}
	revisions := st.hub.revisions.Load()
	if err := st.admit(ctx, hello); err != nil {
		return err
	}
	out := newOutbox(st.Backlog)
	st.host = &host{name: hello.Host, out: out, facts: hello.Facts, have: map[change.Set]uint64{}, recheck: make(chan struct{}, 1)}
	if hello.Facts == nil {
		st.host.facts = &wire.Facts{}
	}
	for _, h := range hello.Have {
		st.host.have[change.Set(h.Set)] = h.Hash
	}
	out.push(&wire.Down{Message: &wire.Down_Welcome{Welcome: &wire.Welcome{Server: st.Name, Protocol: min(hello.Protocol, wire.Protocol),
		HeartbeatEvery: st.HeartbeatEvery.Milliseconds()}}})
	st.running.Go(func() { out.drain(ctx, st.Send) })
	st.hub.tell(opened{host: st.host, revisions: revisions})
	last, err := st.attend(ctx)
	out.end(err)
	st.hub.tell(ended{host: st.host, last: last})
	return err
}

// hello waits for the first message.
func (st *stream) hello(ctx context.Context) (*wire.Hello, error) {
	select {
	case m := <-st.up:
		if h := m.GetHello(); h != nil {
			return h, nil
		}
		return nil, status.Error(codes.FailedPrecondition, "a session begins with a hello")
	case err := <-st.lost:
		return nil, err
	case <-st.Clock.After(st.HeartbeatEvery):
		return nil, status.Error(codes.DeadlineExceeded, "no hello came")
	case <-st.stopping:
		return nil, stopping()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func stopping() error { return status.Error(codes.Unavailable, "the server stops") }

// admit judges who opens the session: the certificate's host, and no other.
func (st *stream) admit(ctx context.Context, hello *wire.Hello) error {
	p, _ := peer.FromContext(ctx)
	cert := leaf(p)
	if cert == nil {
		st.Log.Warn("a session without a certificate was refused", "host", hello.Host)
		return status.Error(codes.Unauthenticated, "no certificate")
	}
	if cert.Subject.CommonName != hello.Host {
		st.Log.Warn("a host that bears another's name was refused", "host", hello.Host, "certificate", cert.Subject.CommonName, "peer", p.Addr.String())
		return status.Error(codes.PermissionDenied, "the certificate is another host's")
	}
	st.serial = hostcred.Serial(cert)
	if err := st.check(ctx, hello.Host); err != nil {
		return err
	}
	if hello.Protocol < wire.OldestProtocol || hello.OldestProtocol > wire.Protocol {
		st.Log.Warn("an agent of another time was refused", "host", hello.Host, "protocol", hello.Protocol, "oldest", hello.OldestProtocol)
		return status.Errorf(codes.FailedPrecondition, "the server speaks protocols %d to %d", wire.OldestProtocol, wire.Protocol)
	}
	for kind, version := range wire.Reads() {
		if hello.Reads[kind] < version {
			st.Log.Warn("an agent that cannot read a kind of document was refused", "host", hello.Host, "kind", kind, "version", version)
			return status.Errorf(codes.FailedPrecondition, "the agent does not read version %d of %s", version, kind)
		}
	}
	return nil
}

func leaf(p *peer.Peer) *x509.Certificate {
	if p == nil {
		return nil
	}
	info, ok := p.AuthInfo.(credentials.TLSInfo)
	if !ok || len(info.State.PeerCertificates) == 0 {
		return nil
	}
	return info.State.PeerCertificates[0]
}

// check asks whether the credential still counts.
func (st *stream) check(ctx context.Context, host string) error {
	err := st.Credentials.Check(ctx, host, st.serial)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, hostcred.ErrRefused):
		st.Log.Warn("a host was refused", "host", host, "err", err)
		return status.Error(codes.PermissionDenied, err.Error())
	case ctx.Err() != nil:
		return ctx.Err()
	}
	st.Log.Error("a host's credential could not be looked at", "host", host, "err", err)
	return status.Error(codes.Unavailable, "the credential could not be looked at")
}

// attend takes what the agent says until the session ends, and returns when it was last heard.
func (st *stream) attend(ctx context.Context) (last time.Time, err error) {
	last = st.Clock.Now()
	silence := st.Clock.After(st.DownTime)
	for {
		select {
		case m := <-st.up:
			last = st.Clock.Now()
			st.counters.heard.Add(1)
			if err := st.heard(ctx, m); err != nil {
				return last, err
			}
		case <-silence:
			quiet := st.Clock.Now().Sub(last)
			if quiet >= st.DownTime {
				st.Log.Warn("a host was silent for too long", "host", st.host.name, "silent", quiet)
				return last, status.Error(codes.DeadlineExceeded, "nothing was heard of the agent")
			}
			silence = st.Clock.After(st.DownTime - quiet)
		case <-st.host.recheck:
			if err := st.check(ctx, st.host.name); err != nil {
				return last, err
			}
		case <-st.host.out.ended:
			return last, st.host.out.reason()
		case err := <-st.lost:
			return last, err
		case <-st.stopping:
			return last, stopping()
		case <-ctx.Done():
			return last, ctx.Err()
		}
	}
}

func (st *stream) heard(ctx context.Context, m *wire.Up) error {
	switch m := m.Message.(type) {
	case *wire.Up_Report:
		r := report{host: st.host, number: m.Report.Number, statuses: m.Report.Statuses}
		select {
		case st.reports.queue <- r:
		case <-st.host.out.ended:
		case <-st.stopping:
			return stopping()
		case <-ctx.Done():
			return ctx.Err()
		}
	case *wire.Up_Facts:
		st.hub.tell(newFacts{host: st.host, facts: m.Facts})
	case *wire.Up_Hello:
		return status.Error(codes.FailedPrecondition, "a second hello")
	}
	return nil
}
