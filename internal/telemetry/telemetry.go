// Package telemetry is how a process tells of itself: its log, its metrics, whether it lives and is ready,
// and the identifier that ties a request's log lines together. assemble makes these things and passes them
// on; packages that count take a *Registry and never import Prometheus. It keeps no global logger or registry.
package telemetry

import (
	"context"
	"io"
	"log/slog"

	"isospin/internal/ident"
)

// LogOptions is how a log looks.
type LogOptions struct {
	JSON  bool         // objects, one a line; else key=value text
	Level slog.Leveler // nil: Info. A *slog.LevelVar can be turned while the process runs.
}

// NewLogger makes a log that writes to w. Lines logged with a context that holds a request's identifier
// carry it as "request".
func NewLogger(w io.Writer, o LogOptions) *slog.Logger {
	opts := &slog.HandlerOptions{Level: o.Level}
	var h slog.Handler = slog.NewTextHandler(w, opts)
	if o.JSON {
		h = slog.NewJSONHandler(w, opts)
	}
	return slog.New(requestHandler{h})
}

// Discard is a log that nobody reads.
func Discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// requestHandler adds the request's identifier.
type requestHandler struct{ slog.Handler }

// Handle adds "request" when ctx has it.
func (h requestHandler) Handle(ctx context.Context, r slog.Record) error {
	if id := Request(ctx); id != "" {
		r = r.Clone()
		r.AddAttrs(slog.String("request", id))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs keeps the wrapping.
func (h requestHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return requestHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup keeps the wrapping.
func (h requestHandler) WithGroup(name string) slog.Handler {
	return requestHandler{h.Handler.WithGroup(name)}
}

var _ slog.Handler = requestHandler{}

type requestKey struct{}

// NewRequest is a new request identifier in OpenStack's form, req-<uuid>: the value of X-Openstack-Request-Id.
func NewRequest(ids ident.Source) string { return "req-" + ids.UUID() }

// WithRequest gives a context the identifier of the request that it belongs to.
func WithRequest(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestKey{}, id)
}

// Request is the identifier of ctx's request, or empty.
func Request(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}
