package rest

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"

	"isospin/internal/fault"
)

// statuses is the one map from fault kinds to HTTP.
var statuses = [...]int{
	fault.Internal:         http.StatusInternalServerError,
	fault.Invalid:          http.StatusBadRequest,
	fault.Unauthenticated:  http.StatusUnauthorized,
	fault.Forbidden:        http.StatusForbidden,
	fault.NotFound:         http.StatusNotFound,
	fault.MethodNotAllowed: http.StatusMethodNotAllowed,
	fault.Conflict:         http.StatusConflict,
	fault.OverQuota:        http.StatusConflict,
	fault.Precondition:     http.StatusPreconditionFailed,
	fault.TooLarge:         http.StatusRequestEntityTooLarge,
	fault.NotImplemented:   http.StatusNotImplemented,
	fault.Unavailable:      http.StatusServiceUnavailable,
}

// fail answers with Neutron's error body. What nobody classified is logged with its cause and shown without.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	f := fault.Of(err)
	switch {
	case r.Context().Err() != nil:
		// The client is gone: nobody reads the answer, and nothing is wrong with the server.
		f = fault.Newf(fault.Unavailable, "ServiceUnavailable", "The request was given up.")
	case f.Kind == fault.Internal:
		s.log.Error("request failed", slog.String("request", w.Header().Get(requestHeader)),
			slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Any("err", err))
	}
	type inner struct {
		Type    string `json:"type"`
		Message string `json:"message"`
		Detail  string `json:"detail"`
	}
	envelope := "NeutronError"
	if f.Kind == fault.NotImplemented {
		envelope = f.Name // behaviour.md, section 4
	}
	body, merr := json.Marshal(map[string]inner{envelope: {Type: f.Name, Message: f.Message, Detail: f.Detail}})
	if merr != nil {
		body = []byte(`{"NeutronError":{"type":"InternalServerError","message":"","detail":""}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(statuses[f.Kind])
	// A write that fails has no reader left to be told.
	_, _ = w.Write(body)
}

func asType[T any](err error, to *T) bool { return errors.As(err, to) }
