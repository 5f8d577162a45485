package rest

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"isospin/internal/apidef"
	"isospin/internal/auth"
	"isospin/internal/clock"
	"isospin/internal/fault"
	"isospin/internal/ident"
	"isospin/internal/policy"
	"isospin/internal/store"
)

const requestHeader = "X-Openstack-Request-Id"

// Config is what a Server is made of; every field is needed but Limits.
type Config struct {
	Registry *apidef.Registry
	Store    store.Store
	Auth     auth.Authenticator
	Policy   *policy.Engine
	Log      *slog.Logger
	Clock    clock.Clock
	IDs      ident.Source
	// MaxPage caps limit and pages even requests without one (pagination_max_limit); 0: no cap.
	MaxPage int
	// LinkPrefix replaces scheme and host of links (network_link_prefix).
	LinkPrefix string
	// Quota is how many rows of a kind a project may have that has no limit of its own, -1: no limit; nil: nobody counts.
	Quota func(kind string) int64
	// Documents are served as they are at /v2.0/<name>, such as openapi.json.
	Documents map[string][]byte
}

// Server answers everything below /v2.0, and / itself. It is safe for concurrent use.
type Server struct {
	Config
	log       *slog.Logger
	endpoints map[string]*endpoint // by prefix + path: "networks", "qos/policies"
	byName    map[string]*endpoint // by collection
	byTable   map[string]*endpoint // by SQL table
}

// readRule is an attribute and the rule that says who may read it; a rule that is not there lets everybody.
type readRule struct{ name, rule string }

// endpoint is one served collection.
type endpoint struct {
	Binding
	res     *apidef.Resource
	noun    string     // what policy rules call it: "port", and below a parent "floatingip_port_forwarding"
	strip   []readRule // attributes that may have a read rule of their own, now or after a reload
	guarded []string   // attributes that have a write rule of their own
	hidden  map[string]bool
	parent  *endpoint
	subs    map[string]*endpoint
}

// New joins registry and bindings; it refuses a collection of the registry that nobody binds, and the other way round.
func New(c Config, bindings ...Binding) (*Server, error) {
	s := &Server{Config: c, log: c.Log, endpoints: map[string]*endpoint{}, byName: map[string]*endpoint{}, byTable: map[string]*endpoint{}}
	for _, b := range bindings {
		res, ok := c.Registry.Resource(b.Collection)
		if !ok {
			continue // its extension is switched off
		}
		if b.table != nil {
			if err := b.check(res); err != nil {
				return nil, err
			}
		}
		e := &endpoint{Binding: b, res: res, noun: s.noun(res), subs: map[string]*endpoint{}, hidden: map[string]bool{}}
		for _, a := range res.Attributes {
			if a.Hidden {
				e.hidden[a.Name] = true
			} else {
				e.strip = append(e.strip, readRule{a.Name, "get_" + e.noun + ":" + a.Name})
			}
			if a.Guarded {
				e.guarded = append(e.guarded, a.Name)
			}
		}
		for name := range b.fields { // none where there is no table
			if _, known := res.Attribute(name); !known {
				e.hidden[name] = true // the registry is the gate: the model may hold more
			}
		}
		s.byName[b.Collection] = e
		if b.table != nil {
			s.byTable[b.table.TableName()] = e
		}
	}
	for _, res := range c.Registry.Resources() {
		e := s.byName[res.ID()]
		if e == nil {
			return nil, fmt.Errorf("rest: no plugin serves the collection %s", res.ID())
		}
		if res.Parent != "" {
			e.parent = s.byName[res.Parent]
			if e.parent == nil {
				return nil, fmt.Errorf("rest: %s has an unknown parent %s", res.Collection, res.Parent)
			}
			// Dashes and underscores name the same (behaviour.md, section 15).
			e.parent.subs[res.Path], e.parent.subs[res.Collection], e.parent.subs[strings.ReplaceAll(res.Collection, "_", "-")] = e, e, e
			if e.table != nil && e.parent.table != nil {
				e.Options.Parents = append([]Parent{{Prefix: "ext_parent", Ref: e.Options.ParentColumn, Table: e.parent.table}}, e.Options.Parents...)
			}
			continue
		}
		s.endpoints[strings.Trim(res.Prefix+"/"+res.Path, "/")] = e
		// The underscore spelling resolves too (behaviour.md, section 1).
		s.endpoints[strings.Trim(res.Prefix+"/"+res.Collection, "/")] = e
	}
	return s, nil
}

// noun is what policy rules call a resource: below a parent both names (neutron/api/v2/base.py).
func (s *Server) noun(res *apidef.Resource) string {
	if up, ok := s.Registry.Resource(res.Parent); ok && res.Parent != "" {
		return up.Name + "_" + res.Name
	}
	return res.Name
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(requestHeader)
	if !strings.HasPrefix(id, "req-") || len(id) != 40 {
		id = "req-" + s.IDs.UUID()
	}
	w.Header().Set(requestHeader, id)
	path := strings.TrimSuffix(r.URL.Path, "/")
	switch path {
	case "":
		s.versions(w, r)
		return
	case "/healthcheck":
		w.WriteHeader(http.StatusOK)
		return
	}
	rest, ok := strings.CutPrefix(path, "/v2.0")
	if !ok || (rest != "" && rest[0] != '/') {
		s.fail(w, r, fault.HTTPNotFound("There is nothing at this path."))
		return
	}
	p, err := s.Auth.Authenticate(r)
	if err != nil {
		auth.Refuse(w, r, s.Auth, err)
		return
	}
	ctx, tally := store.WithTally(auth.With(r.Context(), p))
	r, w = r.WithContext(ctx), &counted{ResponseWriter: w, tally: tally}
	if err := s.route(w, r, strings.TrimPrefix(rest, "/")); err != nil {
		s.fail(w, r, err)
	}
}

// route finds the endpoint of a path and calls the handler of the method.
func (s *Server) route(w http.ResponseWriter, r *http.Request, path string) error {
	if path == "" {
		return s.resourceIndex(w, r)
	}
	path = strings.TrimSuffix(path, ".json")
	if path == "extensions" || strings.HasPrefix(path, "extensions/") {
		return s.extensions(w, r, strings.TrimPrefix(strings.TrimPrefix(path, "extensions"), "/"))
	}
	if doc, ok := s.Documents[path+".json"]; ok && r.Method == http.MethodGet {
		return s.write(w, http.StatusOK, doc)
	}
	parts := strings.Split(path, "/")
	e, n := s.endpoints[parts[0]], 1
	if e == nil && len(parts) > 1 {
		e, n = s.endpoints[parts[0]+"/"+parts[1]], 2
	}
	if e == nil {
		e, n = s.aliased(parts), 1
	}
	if e == nil {
		return fault.HTTPNotFound("There is no such collection.")
	}
	return s.dispatch(w, r, e, "", parts[n:])
}

// dispatch follows what is left of the path below an endpoint.
func (s *Server) dispatch(w http.ResponseWriter, r *http.Request, e *endpoint, parent string, rest []string) error {
	switch {
	case e.handler != nil:
		return s.special(w, r, e, parent, rest)
	case e.lister != nil:
		return s.computed(w, r, e, rest)
	}
	switch len(rest) {
	case 0:
		switch r.Method {
		case http.MethodGet:
			return s.list(w, r, e, parent)
		case http.MethodPost:
			if e.res.NoCreate {
				return fault.BadRequest(e.res.Name, "it cannot be created by a request.")
			}
			return s.create(w, r, e, parent)
		case http.MethodPut, http.MethodDelete:
			return e.notFound("None") // not 405: behaviour.md, section 2
		}
		return methodNotAllowed(r)
	case 1:
		switch r.Method {
		case http.MethodGet:
			return s.show(w, r, e, parent, rest[0])
		case http.MethodPut:
			if e.res.NoUpdate {
				return fault.BadRequest(e.res.Name, "it cannot be updated.")
			}
			return s.update(w, r, e, parent, rest[0])
		case http.MethodDelete:
			return s.delete(w, r, e, parent, rest[0])
		}
		return methodNotAllowed(r)
	}
	if sub := e.subs[rest[1]]; sub != nil && parent == "" {
		return s.dispatch(w, r, sub, rest[0], rest[2:])
	}
	if rest[1] == "tags" && s.taggable(e) {
		return s.tags(w, r, e, parent, rest[0], rest[2:])
	}
	if len(rest) == 2 {
		for _, a := range e.res.Actions {
			if a.Name != rest[1] {
				continue
			}
			if a.Method != r.Method {
				return methodNotAllowed(r)
			}
			return s.act(w, r, e, rest[0], a)
		}
	}
	return fault.HTTPNotFound("There is nothing at this path.")
}

func methodNotAllowed(r *http.Request) error {
	return fault.HTTPMethodNotAllowed("The method " + printable(r.Method) + " is not allowed here.")
}

func (e *endpoint) notFound(id string) error {
	if e.Options.NotFound != nil {
		return e.Options.NotFound(printable(id))
	}
	return fault.HTTPNotFound(fmt.Sprintf("There is no %s %s.", e.res.Name, printable(id)))
}

// printable shortens what a caller sent to what an error message may repeat.
func printable(s string) string {
	s = strings.ToValidUTF8(s, "�")
	if r := []rune(s); len(r) > 255 {
		return string(r[:255]) + "…"
	}
	return s
}

// write sends a JSON answer.
func (s *Server) write(w http.ResponseWriter, status int, body []byte) error {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", fmt.Sprint(len(body)))
	w.WriteHeader(status)
	// A write that fails has no reader left to be told.
	_, _ = w.Write(body)
	return nil
}

// principal is the caller.
func principal(ctx context.Context) *auth.Principal { return auth.From(ctx) }
