package telemetry

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"isospin/internal/ident"
)

func TestLogCarriesTheRequest(t *testing.T) {
	ctx := WithRequest(context.Background(), NewRequest(&ident.Counter{}))
	for _, c := range []struct {
		json bool
		want string
	}{
		{false, "level=INFO msg=bound port=p1 host=h1 request=req-00000000-0000-4000-8000-000000000001"},
		{true, `"msg":"bound","port":"p1","host":"h1","request":"req-00000000-0000-4000-8000-000000000001"`},
	} {
		var out bytes.Buffer
		log := NewLogger(&out, LogOptions{JSON: c.json}).With("port", "p1")
		log.InfoContext(ctx, "bound", "host", "h1")
		log.DebugContext(ctx, "not shown")
		if !strings.Contains(out.String(), c.want) || strings.Count(out.String(), "\n") != 1 {
			t.Errorf("got %s, want one line with %s", out.String(), c.want)
		}
		out.Reset()
		log.Info("nobody asked")
		if strings.Contains(out.String(), "request") {
			t.Errorf("a request came from nowhere: %s", out.String())
		}
	}
	Discard().Error("unseen")
}

func TestLevelCanBeTurned(t *testing.T) {
	var (
		out   bytes.Buffer
		level slog.LevelVar
	)
	log := NewLogger(&out, LogOptions{Level: &level})
	log.Debug("one")
	level.Set(slog.LevelDebug)
	log.Debug("two")
	if got := out.String(); strings.Contains(got, "one") || !strings.Contains(got, "two") {
		t.Errorf("got %s", got)
	}
}

// get asks the handler and gives status and body.
func get(t *testing.T, h http.Handler, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	body, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, string(body)
}

func TestMetrics(t *testing.T) {
	reg := NewRegistry()
	requests := reg.Counter("api_requests_total", "Requests answered.", "method", "status")
	requests.Inc("GET", "200")
	requests.Add(2, "GET", "200")
	requests.With("PUT", "404")(1)
	reg.Counter("nothing_total", "Nothing yet.")
	sessions := reg.Gauge("sessions", "Open sessions.", "role")
	sessions.Set(3, "agent")
	sessions.Add(-1, "agent")
	sessions.Set(1, "gone")
	sessions.Forget("gone")
	reg.Gauge("idle", "Always 0.")
	reg.GaugeFunc("rows", "Rows.", func() float64 { return 42 })
	took := reg.Histogram("took_seconds", "Time.", []float64{1, 2}, "kind")
	took.Observe(1.5, "write")
	took.With("write")(0.5)
	reg.Histogram("other_seconds", "Time.", nil).Observe(1)

	status, body := get(t, Handler(reg, &Health{}), "/metrics")
	if status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	for _, want := range []string{
		`isospin_api_requests_total{method="GET",status="200"} 3`,
		`isospin_api_requests_total{method="PUT",status="404"} 1`,
		"isospin_nothing_total 0",
		`isospin_sessions{role="agent"} 2`,
		"isospin_idle 0",
		"isospin_rows 42",
		`isospin_took_seconds_bucket{kind="write",le="1"} 1`,
		`isospin_took_seconds_sum{kind="write"} 2`,
		`isospin_other_seconds_bucket{le="10"} 1`,
		"go_goroutines",
		"process_resident_memory_bytes",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("%s is missing", want)
		}
	}
	if strings.Contains(body, "gone") {
		t.Error("a forgotten gauge is shown")
	}
}

func TestHealth(t *testing.T) {
	health := &Health{}
	var broken error
	health.Add("store", func(context.Context) error { return nil })
	health.Add("session", func(context.Context) error { return broken })
	h := Handler(NewRegistry(), health)
	if status, body := get(t, h, "/readyz"); status != http.StatusOK || !strings.Contains(body, `"ready"`) {
		t.Errorf("ready: %d %s", status, body)
	}
	broken = errors.New("no server answers")
	if status, body := get(t, h, "/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(body, `"session":"no server answers"`) {
		t.Errorf("not ready: %d %s", status, body)
	}
	if status, body := get(t, h, "/healthz"); status != http.StatusOK || !strings.Contains(body, "ok") {
		t.Errorf("healthy: %d %s", status, body)
	}
	for _, path := range Paths() {
		if !Serves(path) {
			t.Errorf("%s is not served", path)
		}
	}
	if Serves("/v2.0/ports") {
		t.Error("the API's paths are claimed")
	}
}
