package rest

import (
	"fmt"
	"net/http"

	"isospin/internal/store"
)

// counted tells in each answer how many SQL statements were made for it, as a metric of Server-Timing, which browsers and proxies show: who finds a
// request slow sees whether the database was asked much. All statements precede the answer's first byte.
type counted struct {
	http.ResponseWriter
	tally *store.Tally
}

// WriteHeader adds the count.
func (w *counted) WriteHeader(status int) {
	w.Header().Set("Server-Timing", fmt.Sprintf(`sql;desc="%d statements"`, w.tally.Statements()))
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *counted) Unwrap() http.ResponseWriter { return w.ResponseWriter }
