package lifecycle

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

const long = time.Minute // longer than any test

// diary is what parts did, in order.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) write(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, line)
}

// part writes into the diary; its Run waits for its context.
func (d *diary) part(name string) Part {
	return Part{
		Name:  name,
		Start: func(context.Context) error { d.write("start " + name); return nil },
		Run: func(ctx context.Context) error {
			<-ctx.Done()
			d.write("ended " + name)
			return ctx.Err()
		},
		Stop: func(context.Context) error { return nil },
	}
}

func (d *diary) compare(t *testing.T, want ...string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if diff := cmp.Diff(want, d.lines); diff != "" {
		t.Error(diff)
	}
}

func TestOrder(t *testing.T) {
	defer goleak.VerifyNone(t)
	var (
		d   diary
		g   Group
		out bytes.Buffer
	)
	g.Log = slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	ctx, cancel := context.WithCancel(context.Background())
	g.Add(d.part("store"), d.part("session"))
	g.Add(Part{Name: "last", Start: func(context.Context) error { cancel(); return nil }})
	if err := g.Run(ctx, long); err != nil {
		t.Fatal(err)
	}
	d.compare(t, "start store", "start session", "ended session", "ended store")
	if !strings.Contains(out.String(), "msg=stopping part=store") {
		t.Errorf("log: %s", out.String())
	}
}

func TestFailedStartStopsWhatIsStarted(t *testing.T) {
	defer goleak.VerifyNone(t)
	var (
		d      diary
		g      Group
		broken = errors.New("no such file")
	)
	g.Add(d.part("store"),
		Part{Name: "api", Start: func(context.Context) error { return broken }},
		d.part("never"))
	err := g.Run(context.Background(), long)
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "start api") {
		t.Errorf("got %v", err)
	}
	d.compare(t, "start store", "ended store")
}

func TestFirstErrorWins(t *testing.T) {
	defer goleak.VerifyNone(t)
	var (
		d      diary
		g      Group
		broken = errors.New("stream broke")
	)
	g.Add(d.part("store"),
		Part{Name: "session", Run: func(context.Context) error { return broken }},
		Part{Name: "api", Stop: func(context.Context) error { return errors.New("later trouble") }})
	err := g.Run(context.Background(), long)
	if !errors.Is(err, broken) || strings.Contains(err.Error(), "later") {
		t.Errorf("got %v", err)
	}
	d.compare(t, "start store", "ended store")
}

func TestDoneWorkStopsNothing(t *testing.T) {
	defer goleak.VerifyNone(t)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	var g Group
	g.Add(Part{Name: "once", Run: func(context.Context) error { close(done); return nil }},
		Part{Name: "after", Run: func(ctx context.Context) error {
			<-done
			if ctx.Err() != nil {
				return errors.New("stopped by the other's end")
			}
			cancel()
			<-ctx.Done()
			return nil
		}})
	if err := g.Run(ctx, long); err != nil {
		t.Error(err)
	}
}

// TestStopMakesRunEnd is the way of http.Server: Run does not look at its context.
func TestStopMakesRunEnd(t *testing.T) {
	defer goleak.VerifyNone(t)
	ctx, cancel := context.WithCancel(context.Background())
	quit := make(chan struct{})
	var g Group
	g.Add(Part{Name: "http",
		Run:  func(context.Context) error { cancel(); <-quit; return nil },
		Stop: func(context.Context) error { close(quit); return nil }})
	if err := g.Run(ctx, long); err != nil {
		t.Error(err)
	}
}

func TestGraceIsBounded(t *testing.T) {
	defer goleak.VerifyNone(t)
	var (
		d diary
		g Group
	)
	ctx, cancel := context.WithCancel(context.Background())
	release := make(chan struct{})
	gone := make(chan struct{})
	g.Add(d.part("store"),
		Part{Name: "stuck", Run: func(context.Context) error { defer close(gone); cancel(); <-release; return nil }})
	err := g.Run(ctx, 100*time.Millisecond)
	if err == nil || err.Error() != "stop stuck: it still runs after 100ms" {
		t.Errorf("got %v", err)
	}
	close(release)
	<-gone
	d.compare(t, "start store", "ended store")
}

func TestErrorsOfStops(t *testing.T) {
	defer goleak.VerifyNone(t)
	ctx, cancel := context.WithCancel(context.Background())
	one, two := errors.New("one"), errors.New("two")
	var g Group
	g.Add(Part{Name: "a", Stop: func(context.Context) error { return one }},
		Part{Name: "b", Start: func(context.Context) error { cancel(); return nil }, Stop: func(context.Context) error { return two }})
	if err := g.Run(ctx, long); !errors.Is(err, one) || !errors.Is(err, two) {
		t.Errorf("got %v", err)
	}
}

func TestToldToStopWhileStarting(t *testing.T) {
	defer goleak.VerifyNone(t)
	var d diary
	ctx, cancel := context.WithCancel(context.Background())
	var g Group
	g.Add(d.part("store"),
		Part{Name: "slow", Start: func(ctx context.Context) error { cancel(); <-ctx.Done(); return ctx.Err() }},
		d.part("never"))
	if err := g.Run(ctx, long); err != nil {
		t.Errorf("got %v", err)
	}
	d.compare(t, "start store", "ended store")
}
