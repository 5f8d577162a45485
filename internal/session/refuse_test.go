package session_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"isospin/internal/agent/link"
	"isospin/internal/agent/simulate"
	"isospin/internal/ident"
	"isospin/internal/session"
	"isospin/internal/wire"
	"isospin/test/sessiontest"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// record is a log that tests read.
type record struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.Write(p)
}

func (r *record) has(text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Contains(r.b.String(), text)
}

// refusal runs a host until its link says why there is no session.
func refusal(t *testing.T, h *simulate.Host) error {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; {
		st := h.Link().State()
		if st.Err != nil {
			return st.Err
		}
		if time.Now().After(deadline) {
			t.Fatalf("host %s was not refused: %+v", h.Name(), st)
		}
		<-time.After(2 * time.Millisecond)
	}
}

func TestWhoIsRefused(t *testing.T) {
	c := sessiontest.New(t)
	log := &record{}
	c.Log = slog.New(slog.NewTextHandler(log, nil))
	s := c.Start(sessiontest.Options{})
	stranger := sessiontest.New(t) // another cloud: its authority is not ours
	stranger.Log = quiet()
	mine := c.Enrol("h1", s.Address)
	for _, tc := range []struct {
		name string
		make func() *simulate.Host
		code codes.Code
		log  string
	}{
		{"another cloud's certificate", func() *simulate.Host {
			e := stranger.Enrol("h1", s.Address)
			e.CA = mine.CA
			return c.Host(e, nil, nil)
		}, codes.Unavailable, "a certificate was refused"},
		{"another host's name", func() *simulate.Host {
			e := mine
			e.Host = "h2"
			return c.Host(e, nil, nil)
		}, codes.PermissionDenied, "a host that bears another's name was refused"},
		{"a certificate from before the host was enrolled anew", func() *simulate.Host {
			old := c.Enrol("h3", s.Address)
			c.Enrol("h3", s.Address)
			return c.Host(old, nil, nil)
		}, codes.PermissionDenied, "enrolled anew"},
		{"a revoked host", func() *simulate.Host {
			e := c.Enrol("h4", s.Address)
			if err := c.Keeper.Revoke(context.Background(), "h4"); err != nil {
				t.Fatal(err)
			}
			return c.Host(e, nil, nil)
		}, codes.PermissionDenied, "was revoked"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := refusal(t, tc.make())
			if status.Code(err) != tc.code {
				t.Errorf("%v: %v, want %v", status.Code(err), err, tc.code)
			}
			for deadline := time.Now().Add(5 * time.Second); !log.has(tc.log); <-time.After(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("the log does not say %q", tc.log)
				}
			}
		})
	}
	// An agent does not talk to a server of another cloud either.
	e := mine
	e.CA = stranger.Enrol("h1", s.Address).CA
	if err := refusal(t, c.Host(e, nil, nil)); !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a foreign server: %v", err)
	}
	if n := s.Session.Stats().Sessions; n != 0 {
		t.Errorf("%d sessions are open", n)
	}
}

func TestRevokingEndsTheSession(t *testing.T) {
	c := sessiontest.New(t)
	c.Log = quiet()
	s := c.Start(sessiontest.Options{})
	h := c.Host(c.Enrol("h1", s.Address), nil, nil)
	other := c.Host(c.Enrol("h2", s.Address), nil, nil)
	c.Wait(h, synced)
	c.Wait(other, synced)
	start := time.Now()
	// Through another process's store: the change is what the server hears of.
	if err := c.Keeper.Revoke(context.Background(), "h1"); err != nil {
		t.Fatal(err)
	}
	c.Wait(h, func(v simulate.View) bool { return !v.Synced() })
	t.Logf("the session ended after %v", time.Since(start))
	if err := refusal(t, h); status.Code(err) != codes.PermissionDenied {
		t.Errorf("it ended with %v", err)
	}
	if n := other.Counts().Sessions; n != 1 {
		t.Errorf("the other host had %d sessions", n)
	}
	hosts, err := c.Keeper.List(context.Background())
	if err != nil || len(hosts) != 2 || hosts[0].Revoked == 0 || hosts[1].Revoked != 0 {
		t.Errorf("hosts: %+v, %v", hosts, err)
	}
}

// TestARunningHostIsEnrolledAnew: the certificate that its session was opened with counts no more, and it goes on with the new one,
// without being restarted. Another host's enrolment, or none that can be read, changes nothing.
func TestARunningHostIsEnrolledAnew(t *testing.T) {
	c := sessiontest.New(t)
	c.Log = quiet()
	s := c.Start(sessiontest.Options{})
	var mu sync.Mutex
	first := c.Enrol("h1", s.Address)
	file, broken := first, error(nil)
	h := c.Host(first, nil, func(o *simulate.Options) {
		o.Link.Renew = func() (wire.Enrolment, error) {
			mu.Lock()
			defer mu.Unlock()
			return file, broken
		}
	})
	c.Wait(h, synced)
	put := func(e wire.Enrolment, err error) {
		mu.Lock()
		defer mu.Unlock()
		file, broken = e, err
	}
	put(wire.Enrolment{}, errors.New("half written"))
	second := c.Enrol("h1", s.Address)
	if err := refusal(t, h); status.Code(err) != codes.PermissionDenied {
		t.Errorf("the old enrolment: %v", err)
	}
	put(c.Enrol("h2", s.Address), nil)
	if err := refusal(t, h); status.Code(err) != codes.PermissionDenied {
		t.Errorf("another host's enrolment: %v", err)
	}
	put(second, nil)
	c.Wait(h, synced)
	if n := h.Counts().Sessions; n != 2 {
		t.Errorf("%d sessions", n)
	}
}

func TestASilentHostIsLetGo(t *testing.T) {
	c := sessiontest.New(t)
	c.Log = quiet()
	s := c.Start(sessiontest.Options{Config: func(sc *session.Config) {
		sc.DownTime, sc.HeartbeatEvery = 300*time.Millisecond, time.Hour // so that no heartbeat comes in time
	}})
	h := c.Host(c.Enrol("h1", s.Address), nil, nil)
	c.Wait(h, func(v simulate.View) bool { return v.Counts().Syncs == 1 })
	if err := refusal(t, h); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("it ended with %v", err)
	}
}

func TestASecondSessionOfAHostTakesOver(t *testing.T) {
	c := sessiontest.New(t)
	c.Log = quiet()
	s := c.Start(sessiontest.Options{})
	e := c.Enrol("h1", s.Address)
	old := c.Host(e, nil, nil)
	c.Wait(old, synced)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	young, err := simulate.New(simulate.Options{Link: link.Options{Enrolment: e, Clock: c.Clock, IDs: ident.Random{}, Log: c.Log}})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = young.Run(ctx) // it ends with ctx's own error
	}()
	c.Wait(young, func(v simulate.View) bool { return v.Counts().Syncs > 0 })
	if err := refusal(t, old); status.Code(err) != codes.Aborted {
		t.Errorf("the first session ended with %v", err)
	}
	cancel()
	<-done
}
