package identity

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"isospin/internal/auth"
	"isospin/internal/fault"
)

// call is one request on its way through a handler.
type call struct {
	*http.Request
	w    http.ResponseWriter
	st   *state   // what the request sees, unless it changes it
	me   *session // nil before authentication
	code int      // 0: 200, or 204 without a body
}

// handler answers with a body for JSON, nil for none.
type handler func(c *call) (any, error)

// access is who may call a handler.
type access uint8

const (
	anybody  access = iota // no token
	user                   // any valid token
	operator               // the role admin, in any scope
)

// object is a JSON object in the making.
type object = map[string]any

// ServeHTTP serves everything below /identity, the prefix included.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/identity")
	if path = strings.TrimRight(path, "/"); path == "" {
		path = "/"
	}
	r2 := r.Clone(r.Context())
	r2.URL.Path, r2.URL.RawPath = path, ""
	r2.Body = http.MaxBytesReader(w, r.Body, 1<<20)
	s.mux.ServeHTTP(w, r2)
}

// routes is the whole API in one table.
func (s *Service) routes() *http.ServeMux {
	m := http.NewServeMux()
	on := func(pattern string, who access, h handler) { m.HandleFunc(pattern, s.wrap(who, h)) }
	on("GET /{$}", anybody, s.versions)
	on("GET /v3", anybody, s.version)

	on("POST /v3/auth/tokens", anybody, s.createToken)
	on("GET /v3/auth/tokens", user, s.showToken)
	on("DELETE /v3/auth/tokens", user, s.revokeToken)
	on("GET /v3/auth/projects", user, s.authProjects)
	on("GET /v3/auth/domains", user, s.authDomains)
	on("GET /v3/auth/system", user, s.authSystem)
	on("GET /v3/auth/catalog", user, s.authCatalog)

	on("GET /v3/regions", user, s.listRegions)
	on("GET /v3/regions/{id}", user, s.showRegion)
	on("GET /v3/services", operator, s.listServices)
	on("GET /v3/services/{id}", operator, s.showService)
	on("GET /v3/endpoints", operator, s.listEndpoints)
	on("GET /v3/endpoints/{id}", operator, s.showEndpoint)

	on("GET /v3/domains", operator, s.listDomains)
	on("POST /v3/domains", operator, s.createDomain)
	on("GET /v3/domains/{id}", user, s.showDomain)
	on("PATCH /v3/domains/{id}", operator, s.updateDomain)
	on("DELETE /v3/domains/{id}", operator, s.deleteDomain)

	on("GET /v3/projects", operator, s.listProjects)
	on("POST /v3/projects", operator, s.createProject)
	on("GET /v3/projects/{id}", user, s.showProject)
	on("PATCH /v3/projects/{id}", operator, s.updateProject)
	on("DELETE /v3/projects/{id}", operator, s.deleteProject)

	on("GET /v3/users", operator, s.listUsers)
	on("POST /v3/users", operator, s.createUser)
	on("GET /v3/users/{id}", user, s.showUser)
	on("PATCH /v3/users/{id}", operator, s.updateUser)
	on("DELETE /v3/users/{id}", operator, s.deleteUser)
	on("POST /v3/users/{id}/password", anybody, s.changePassword)
	on("GET /v3/users/{id}/projects", user, s.userProjects)
	on("GET /v3/users/{id}/groups", user, s.noGroups)
	on("GET /v3/groups", operator, s.noGroups)

	on("GET /v3/roles", operator, s.listRoles)
	on("POST /v3/roles", operator, s.createRole)
	on("GET /v3/roles/{id}", operator, s.showRole)
	on("PATCH /v3/roles/{id}", operator, s.updateRole)
	on("DELETE /v3/roles/{id}", operator, s.deleteRole)
	on("GET /v3/role_assignments", user, s.listAssignments)
	for _, at := range []string{"/v3/projects/{project}", "/v3/domains/{domain}", "/v3/system"} {
		on("GET "+at+"/users/{user}/roles", operator, s.heldRoles)
		on("GET "+at+"/users/{user}/roles/{role}", operator, s.checkRole)
		on("PUT "+at+"/users/{user}/roles/{role}", operator, s.grantRole)
		on("DELETE "+at+"/users/{user}/roles/{role}", operator, s.withdrawRole)
	}
	on("/", anybody, func(*call) (any, error) {
		return nil, fault.Newf(fault.NotFound, "NotFound", "The resource could not be found.")
	})
	return m
}

func (s *Service) wrap(who access, h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Vary", "X-Auth-Token")
		c := &call{Request: r, w: w, st: s.state.Load()}
		err := s.admit(c, who)
		var body any
		if err == nil {
			body, err = h(c)
		}
		if err != nil {
			s.refuse(c, err)
			return
		}
		if body == nil {
			if c.code == 0 {
				c.code = http.StatusNoContent
			}
			w.WriteHeader(c.code)
			return
		}
		if c.code == 0 {
			c.code = http.StatusOK
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(c.code)
		// A write that fails has no reader left to be told.
		_ = json.NewEncoder(w).Encode(body)
	}
}

// admit authenticates and checks the rough rights; finer ones are the handler's.
func (s *Service) admit(c *call, who access) error {
	if who == anybody {
		return nil
	}
	token := c.Header.Get("X-Auth-Token")
	if token == "" {
		return auth.Unauthenticated()
	}
	var err error
	if c.me, err = s.session(token); err != nil {
		return err
	}
	if who == operator && !c.admin() {
		return forbidden()
	}
	return nil
}

func (c *call) admin() bool { return c.me.principal.HasRole(auth.RoleAdmin) }

func forbidden() error {
	return fault.Newf(fault.Forbidden, "Forbidden", "You are not authorized to perform the requested action.")
}

func notFound(kind, id string) error {
	return fault.Newf(fault.NotFound, "NotFound", "Could not find %s: %s.", kind, id)
}

func bad(format string, args ...any) error {
	return fault.Newf(fault.Invalid, "BadRequest", format, args...)
}

func conflict(format string, args ...any) error {
	return fault.Newf(fault.Conflict, "Conflict", format, args...)
}

// refuse is the one place where faults become statuses of this API.
func (s *Service) refuse(c *call, err error) {
	f := fault.Of(err)
	code := http.StatusInternalServerError
	switch f.Kind {
	case fault.Invalid:
		code = http.StatusBadRequest
	case fault.Unauthenticated:
		code = http.StatusUnauthorized
		c.w.Header().Set("WWW-Authenticate", s.Challenge(c.Request))
	case fault.Forbidden:
		code = http.StatusForbidden
	case fault.NotFound:
		code = http.StatusNotFound
	case fault.Conflict:
		code = http.StatusConflict
	case fault.TooLarge:
		code = http.StatusRequestEntityTooLarge
	default:
		s.cfg.Log.Error("identity request failed", "method", c.Method, "path", c.URL.Path, "err", err)
	}
	auth.WriteError(c.w, code, http.StatusText(code), f.Message)
}

// read decodes the member of the body that the API wraps things in.
func read[T any](c *call, name string) (T, error) {
	var v T
	raw, err := io.ReadAll(c.Body)
	if err != nil {
		var big *http.MaxBytesError
		if errors.As(err, &big) {
			return v, fault.Newf(fault.TooLarge, "RequestTooLarge", "The request is larger than %d bytes.", big.Limit)
		}
		return v, bad("The request body could not be read.")
	}
	var outer map[string]json.RawMessage
	if err := json.Unmarshal(raw, &outer); err != nil {
		return v, bad("The request body is not a JSON object.")
	}
	inner, ok := outer[name]
	if !ok {
		return v, bad("The request body lacks %q.", name)
	}
	if err := json.Unmarshal(inner, &v); err != nil {
		return v, bad("%q does not have the expected form.", name)
	}
	return v, nil
}

// hostPattern is what a Host header may hold to be written into URLs.
var hostPattern = regexp.MustCompile(`^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.%]+\])(:[0-9]+)?$`)

// base is scheme and host of this server as the client sees it.
func (s *Service) base(r *http.Request) string {
	if !hostPattern.MatchString(r.Host) {
		return strings.TrimRight(s.cfg.BaseURL, "/")
	}
	scheme := "http"
	if r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https") {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

// self is the URL of something below /identity/v3.
func (s *Service) self(c *call, path string) object {
	return object{"self": s.base(c.Request) + "/identity/v3" + path}
}

// list is the envelope of a collection.
func (s *Service) list(c *call, name string, items []object) object {
	if items == nil {
		items = []object{}
	}
	u := url.URL{Path: c.URL.Path, RawQuery: c.URL.RawQuery}
	return object{name: items, "links": object{"self": s.base(c.Request) + "/identity" + u.String(), "previous": nil, "next": nil}}
}

// matches applies the query's filters to an item: equality on the named attributes; booleans as clients write them.
func matches(c *call, item object, filters ...string) bool {
	q := c.URL.Query()
	for _, f := range filters {
		if !q.Has(f) {
			continue
		}
		want := q.Get(f)
		switch have := item[f].(type) {
		case bool:
			if have != truth(want) {
				return false
			}
		case string:
			if have != want {
				return false
			}
		default:
			if want != "" && want != "null" {
				return false
			}
		}
	}
	return true
}

// truth reads a boolean of a query: everything but false, no and 0 is true, as in Keystone.
func truth(s string) bool {
	switch strings.ToLower(s) {
	case "false", "no", "0", "off":
		return false
	}
	return true
}

// orNil is nil for an empty text: the API writes null.
func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}
