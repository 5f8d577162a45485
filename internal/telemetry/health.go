package telemetry

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Health answers whether a process is ready: whether each of its parts is. The zero value has no parts and
// is ready. It is safe for concurrent use.
type Health struct {
	mu    sync.Mutex
	parts []part
}

type part struct {
	name  string
	check func(context.Context) error
}

// Add names a part; check is called for each question, must be quick and safe for concurrent use, and says
// why the part is not ready.
func (h *Health) Add(name string, check func(context.Context) error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.parts = append(h.parts, part{name, check})
}

// Unready is the parts that are not ready, with the reasons, by name.
func (h *Health) Unready(ctx context.Context) map[string]string {
	h.mu.Lock()
	parts := slices.Clone(h.parts)
	h.mu.Unlock()
	why := map[string]string{}
	for _, p := range parts {
		if err := p.check(ctx); err != nil {
			why[p.name] = err.Error()
		}
	}
	return why
}

// Handler serves /metrics, /healthz (the process answers) and /readyz (it also does its work: 200, or 503 with
// the parts that are not ready as a JSON object). They tell nothing secret and ask for no token.
func Handler(reg *Registry, health *Health) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", reg.handler())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		why := health.Unready(r.Context())
		if len(why) > 0 {
			answer(w, http.StatusServiceUnavailable, map[string]any{"status": "not ready", "parts": why})
			return
		}
		answer(w, http.StatusOK, map[string]string{"status": "ready"})
	})
	return mux
}

// Paths are what Handler serves, for a server that has other things on the same address.
func Paths() []string { return []string{"/metrics", "/healthz", "/readyz"} }

// Serves tells whether a request's path is one of Paths.
func Serves(path string) bool {
	return slices.Contains(Paths(), strings.TrimSuffix(path, "/"))
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // an error means that the caller is gone
}
