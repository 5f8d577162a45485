package identity

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"isospin/internal/auth"
	"isospin/internal/fault"
)

// timeFormat is how Keystone writes times.
const timeFormat = "2006-01-02T15:04:05.000000Z"

// named is something given by id, or by name and domain.
type named struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Domain *named `json:"domain"`
}

// authRequest is the body of POST /v3/auth/tokens.
type authRequest struct {
	Identity struct {
		Methods  []string `json:"methods"`
		Password *struct {
			User struct {
				named
				Password string `json:"password"`
			} `json:"user"`
		} `json:"password"`
		Token *struct {
			ID string `json:"id"`
		} `json:"token"`
	} `json:"identity"`
	Scope json.RawMessage `json:"scope"`
}

type scopeRequest struct {
	Project  *named              `json:"project"`
	Domain   *named              `json:"domain"`
	System   *struct{ All bool } `json:"system"`
	Unscoped json.RawMessage     `json:"unscoped"`
}

func (s *Service) createToken(c *call) (any, error) {
	req, err := read[authRequest](c, "auth")
	if err != nil {
		return nil, err
	}
	now := s.now()
	t := claims{issued: now, expires: now.Add(s.cfg.TokenLife), audit: s.cfg.IDs.Secret(16)}
	if err := s.identify(c, &req, &t); err != nil {
		return nil, err
	}
	c.st = s.state.Load() // identifying may have taken a while
	if err := c.scopeOf(req.Scope, &t); err != nil {
		return nil, err
	}
	// Why a token cannot be had is nobody's business before it was had: one answer for all reasons.
	if !s.valid(c.st, t) {
		return nil, auth.Unauthenticated()
	}
	c.w.Header().Set("X-Subject-Token", t.seal(c.st.key))
	c.code = http.StatusCreated
	return object{"token": s.describe(c, t)}, nil
}

// identify fills in who the token is for, by the methods that the request uses.
func (s *Service) identify(c *call, req *authRequest, t *claims) error {
	if len(req.Identity.Methods) == 0 {
		return bad("identity names no methods.")
	}
	for _, m := range req.Identity.Methods {
		var user string
		switch m {
		case "password":
			in := req.Identity.Password
			if in == nil {
				return bad("identity lacks %q.", m)
			}
			u := c.st.findUser(&in.User.named)
			if !s.verify(c.Context(), u, in.User.Password) {
				return auth.Unauthenticated()
			}
			user = u.ID
			t.methods = append(t.methods, m)
		case "token":
			in := req.Identity.Token
			if in == nil {
				return bad("identity lacks %q.", m)
			}
			old, err := s.session(in.ID)
			if err != nil {
				return err
			}
			user = old.claims.user
			t.expires, t.origin = old.claims.expires, old.claims.audit
			if old.claims.origin != "" {
				t.origin = old.claims.origin
			}
			t.methods = append(t.methods, m)
			for _, before := range old.claims.methods {
				if before != m {
					t.methods = append(t.methods, before)
				}
			}
		default:
			return fault.Newf(fault.Unauthenticated, "Unauthorized", "The authentication method %q is not supported.", m)
		}
		if t.user != "" && t.user != user {
			return auth.Unauthenticated()
		}
		t.user = user
	}
	return nil
}

func (st *state) findDomain(n *named) *Domain {
	switch {
	case n == nil:
		return nil
	case n.ID != "":
		return st.domains[n.ID]
	}
	return st.domainNames[n.Name]
}

func (st *state) findUser(n *named) *User {
	if n.ID != "" {
		return st.users[n.ID]
	}
	if d := st.findDomain(n.Domain); d != nil {
		return st.userNames[[2]string{d.ID, n.Name}]
	}
	return nil
}

func (st *state) findProject(n *named) *Project {
	if n.ID != "" {
		return st.projects[n.ID]
	}
	if d := st.findDomain(n.Domain); d != nil {
		return st.projNames[[2]string{d.ID, n.Name}]
	}
	return nil
}

// scopeOf fills in what the token is for. Without a scope it is the user's default project, where the user has
// a role there, else nothing.
func (c *call) scopeOf(raw json.RawMessage, t *claims) error {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		if u := c.st.users[t.user]; u != nil && u.DefaultProjectID != "" {
			if sc := (Scope{ProjectID: u.DefaultProjectID}); c.st.alive(sc) && len(c.st.rolesIn(t.user, sc)) > 0 {
				t.scope = sc
			}
		}
		return nil
	}
	if string(raw) == `"unscoped"` {
		return nil
	}
	var in scopeRequest
	if err := json.Unmarshal(raw, &in); err != nil {
		return bad("scope does not have the expected form.")
	}
	switch {
	case in.Project != nil:
		p := c.st.findProject(in.Project)
		if p == nil {
			return auth.Unauthenticated()
		}
		t.scope.ProjectID = p.ID
	case in.Domain != nil:
		d := c.st.findDomain(in.Domain)
		if d == nil {
			return auth.Unauthenticated()
		}
		t.scope.DomainID = d.ID
	case in.System != nil && in.System.All:
		t.scope.System = true
	case in.Unscoped != nil:
	default:
		return bad("scope names no project, domain or system.")
	}
	return nil
}

func (st *state) domainRef(id string) object {
	name := ""
	if d := st.domains[id]; d != nil {
		name = d.Name
	}
	return object{"id": id, "name": name}
}

// describe is the token's body.
func (s *Service) describe(c *call, t claims) object {
	u := c.st.users[t.user]
	audits := []string{t.audit}
	if t.origin != "" {
		audits = append(audits, t.origin)
	}
	out := object{
		"methods": t.methods, "audit_ids": audits,
		"issued_at": t.issued.Format(timeFormat), "expires_at": t.expires.Format(timeFormat),
		"user": object{"id": u.ID, "name": u.Name, "domain": c.st.domainRef(u.DomainID), "password_expires_at": nil},
	}
	switch t.scope.kind() {
	case projectScope:
		p := c.st.projects[t.scope.ProjectID]
		out["project"] = object{"id": p.ID, "name": p.Name, "domain": c.st.domainRef(p.DomainID)}
		out["is_domain"] = false
	case domainScope:
		out["domain"] = c.st.domainRef(t.scope.DomainID)
	case systemScope:
		out["system"] = object{"all": true}
	default:
		return out
	}
	roles := []object{}
	for _, r := range c.st.rolesIn(t.user, t.scope) {
		roles = append(roles, object{"id": r.ID, "name": r.Name})
	}
	out["roles"] = roles
	if !c.URL.Query().Has("nocatalog") {
		out["catalog"] = s.catalog(c)
	}
	return out
}

// subject is the token that the request is about, which its sender may look at: admins and services any, others
// their own.
func (s *Service) subject(c *call) (string, *session, error) {
	token := c.Header.Get("X-Subject-Token")
	if token == "" {
		return "", nil, bad("The header X-Subject-Token is missing.")
	}
	ses, err := s.session(token)
	if err != nil {
		return "", nil, fault.Newf(fault.NotFound, "NotFound", "Could not find token.")
	}
	if ses.claims.user != c.me.claims.user && !c.admin() && !c.me.principal.HasRole(auth.RoleService) {
		return "", nil, forbidden()
	}
	return token, ses, nil
}

func (s *Service) showToken(c *call) (any, error) {
	token, ses, err := s.subject(c)
	if err != nil {
		return nil, err
	}
	c.st = ses.under
	c.w.Header().Set("X-Subject-Token", token)
	return object{"token": s.describe(c, ses.claims)}, nil
}

func (s *Service) revokeToken(c *call) (any, error) {
	_, ses, err := s.subject(c)
	if err != nil {
		return nil, err
	}
	if ses.claims.user != c.me.claims.user && !c.admin() {
		return nil, forbidden()
	}
	return nil, s.update(func(_ *state, next *Snapshot) error {
		next.Revoked = append(next.Revoked, Revocation{Audit: ses.claims.audit, Expires: ses.claims.expires.Add(time.Second)})
		return nil
	})
}

// projectsOf are the enabled projects where the user has a role, by name.
func (st *state) projectsOf(user string) []*Project {
	var out []*Project
	for _, a := range st.held[user] {
		p := st.projects[a.Scope.ProjectID]
		if p != nil && st.alive(a.Scope) && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *Project) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func (s *Service) authProjects(c *call) (any, error) {
	var out []object
	for _, p := range c.st.projectsOf(c.me.claims.user) {
		out = append(out, s.showOfProject(c, p))
	}
	return s.list(c, "projects", out), nil
}

func (s *Service) authDomains(c *call) (any, error) {
	var out []object
	seen := map[string]bool{}
	for _, a := range c.st.held[c.me.claims.user] {
		if d := c.st.domains[a.Scope.DomainID]; d != nil && d.Enabled && !seen[d.ID] {
			seen[d.ID] = true
			out = append(out, s.showOfDomain(c, d))
		}
	}
	return s.list(c, "domains", out), nil
}

func (s *Service) authSystem(c *call) (any, error) {
	out := []object{}
	if len(c.st.rolesIn(c.me.claims.user, Scope{System: true})) > 0 {
		out = append(out, object{"all": true})
	}
	return object{"system": out, "links": s.self(c, "/auth/system")}, nil
}
