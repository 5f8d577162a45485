package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"isospin/internal/apidef"
	"isospin/internal/fault"
	"isospin/internal/policy"
	"isospin/internal/store"
)

// Handler answers the requests below the path of a collection that no table makes, such as quotas and the schedulers' lists.
// It is called for every method, by many requests at once.
type Handler interface {
	Handle(ctx context.Context, c *Call) error
}

// HandlerFunc is a function as a Handler.
type HandlerFunc func(ctx context.Context, c *Call) error

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, c *Call) error { return f(ctx, c) }

// Special is the binding of a collection, named by its key in the registry, whose requests the handler answers.
func Special(key string, h Handler) Binding { return Binding{Collection: key, handler: h} }

// Call is one request to a Handler.
type Call struct {
	Method string
	// Parent is the id in the URL above a sub-resource, Rest the path behind the collection.
	Parent string
	Rest   []string
	s      *Server
	e      *endpoint
	w      http.ResponseWriter
	r      *http.Request
}

// May refuses callers whom the rule does not let, with what the rule may ask of the object.
func (c *Call) May(ctx context.Context, rule string, object map[string]string) error {
	if !c.s.Policy.Allow(principal(ctx), rule, policy.Attrs(object)) {
		return fault.PolicyNotAuthorized(rule)
	}
	return nil
}

// Resource is the collection's definition.
func (c *Call) Resource() *apidef.Resource { return c.e.res }

// Known tells whether the extension is on.
func (c *Call) Known(alias string) bool { return c.s.Registry.Enabled(alias) }

// Fields are the attributes that the request asks for; none: all.
func (c *Call) Fields() ([]string, error) {
	values, err := query(c.r)
	return values["fields"], err
}

// Object reads the object in the body, under its name or (name "") as the body itself.
func (c *Call) Object(name string) (map[string]json.RawMessage, error) {
	body, err := readBody(c.w, c.r)
	if err != nil {
		return nil, err
	}
	return objectOf(body, name)
}

func objectOf(body []byte, name string) (map[string]json.RawMessage, error) {
	var out map[string]json.RawMessage
	if len(body) == 0 {
		return nil, fault.HTTPBadRequest("The request has no body.")
	}
	if json.Unmarshal(body, &out) != nil || out == nil {
		return nil, fault.HTTPBadRequest("The request body is not a JSON object.")
	}
	if name == "" {
		return out, nil
	}
	raw := out[name]
	if out = nil; json.Unmarshal(raw, &out) != nil || out == nil {
		return nil, fault.HTTPBadRequest("The request body has no " + name + ".")
	}
	return out, nil
}

// NoBody refuses a request that has a body.
func (c *Call) NoBody() error {
	body, err := readBody(c.w, c.r)
	if err == nil && len(body) > 0 {
		err = fault.HTTPBadRequest("A " + printable(c.Method) + " takes no body here.")
	}
	return err
}

// Write runs the request's transaction.
func (c *Call) Write(ctx context.Context, fn func(store.WriteTx) error) error {
	return c.s.transact(ctx, fn)
}

// Read runs a transaction that only reads.
func (c *Call) Read(ctx context.Context, fn func(store.Tx) error) error {
	return c.s.Store.Read(ctx, fn)
}

// Rows makes the JSON list of rows of another collection as its own list shows them to the caller.
func (c *Call) Rows(ctx context.Context, tx store.Tx, collection string, where store.Cond) (json.RawMessage, error) {
	e := c.s.byName[collection]
	rows, err := e.table.Bodies(ctx, tx, store.List{Where: where})
	if err != nil {
		return nil, err
	}
	return c.s.render(ctx, tx, e, rows, nil)
}

// Answer sends a value as JSON; with 204 nothing is sent.
func (c *Call) Answer(status int, v any) error {
	if status == http.StatusNoContent {
		c.w.WriteHeader(status)
		return nil
	}
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.s.write(c.w, status, body)
}

// NotAllowed is the fault for a method that a path does not have, Nothing the one for a path that is not there.
func (c *Call) NotAllowed() error { return methodNotAllowed(c.r) }

// Nothing is the fault for a path that is not there.
func (c *Call) Nothing() error { return fault.HTTPNotFound("There is nothing at this path.") }

// Plain tells whether text can be an identifier in the database at all.
func Plain(id string) bool { return plain(id) }

// Printable shortens what a caller sent to what an error message may repeat.
func Printable(s string) string { return printable(s) }

// special hands a request to the endpoint's handler.
func (s *Server) special(w http.ResponseWriter, r *http.Request, e *endpoint, parent string, rest []string) error {
	return e.handler.Handle(r.Context(), &Call{Method: r.Method, Parent: parent, Rest: rest, s: s, e: e, w: w, r: r})
}

// aliased finds the collection of a tag's path that has no prefix: /v2.0/policies/{id}/tags (behaviour.md, section 7).
func (s *Server) aliased(parts []string) *endpoint {
	if len(parts) < 3 || parts[2] != "tags" {
		return nil
	}
	return s.byName[strings.ReplaceAll(parts[0], "-", "_")]
}
