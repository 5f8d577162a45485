package identity

import (
	"net/http"

	"isospin/internal/auth"
)

// Authenticate validates X-Auth-Token and, where given, X-Service-Token.
func (s *Service) Authenticate(r *http.Request) (*auth.Principal, error) {
	token := r.Header.Get("X-Auth-Token")
	if token == "" {
		return nil, auth.Unauthenticated()
	}
	ses, err := s.session(token)
	if err != nil {
		return nil, err
	}
	vouch := r.Header.Get("X-Service-Token")
	if vouch == "" {
		return ses.principal, nil
	}
	// A service token that is not valid does not fail the request; it just vouches for nothing.
	service, err := s.session(vouch)
	if err != nil {
		return ses.principal, nil //nolint:nilerr // see above
	}
	p := *ses.principal
	p.ServiceUserID, p.ServiceProjectID = service.principal.UserID, service.principal.ProjectID
	p.ServiceRoles = service.principal.Roles
	return &p, nil
}

// Challenge tells where tokens are to be had.
func (s *Service) Challenge(r *http.Request) string {
	return `Keystone uri="` + s.base(r) + `/identity"`
}

// session finds the token in the cache or verifies it against the present state.
func (s *Service) session(token string) (*session, error) {
	st := s.state.Load()
	s.cacheMu.RLock()
	ses := s.cache[token]
	s.cacheMu.RUnlock()
	if ses != nil && ses.under == st {
		if s.cfg.Clock.Now().Before(ses.claims.expires) {
			return ses, nil
		}
		s.cacheMu.Lock()
		delete(s.cache, token)
		s.cacheMu.Unlock()
		return nil, auth.Unauthenticated()
	}
	c, err := open(token, st.key)
	if err != nil {
		return nil, auth.Unauthenticated().Because(err)
	}
	if !s.valid(st, c) {
		return nil, auth.Unauthenticated()
	}
	ses = &session{under: st, claims: c, principal: st.principal(c)}
	s.cacheMu.Lock()
	defer s.cacheMu.Unlock()
	if len(s.cache) >= maxSessions {
		for k := range s.cache { // any: a map's order is random enough
			delete(s.cache, k)
			if len(s.cache) < maxSessions*3/4 {
				break
			}
		}
	}
	s.cache[token] = ses
	return ses, nil
}

// valid tells whether everything that the token stands on still holds.
func (s *Service) valid(st *state, c claims) bool {
	u := st.users[c.user]
	switch {
	case !s.cfg.Clock.Now().Before(c.expires), st.revoked[c.audit]:
		return false
	case u == nil, !u.Enabled, !st.domainAlive(u.DomainID), c.issued.Before(u.TokensSince):
		return false
	case !st.alive(c.scope):
		return false
	}
	return c.scope.kind() == unscoped || len(st.rolesIn(c.user, c.scope)) > 0
}

func (st *state) principal(c claims) *auth.Principal {
	u := st.users[c.user]
	p := &auth.Principal{UserID: u.ID, UserName: u.Name, UserDomainID: u.DomainID}
	switch c.scope.kind() {
	case projectScope:
		pr := st.projects[c.scope.ProjectID]
		p.ProjectID, p.ProjectName, p.ProjectDomainID = pr.ID, pr.Name, pr.DomainID
	case domainScope:
		p.DomainID = c.scope.DomainID
	case systemScope:
		p.SystemScope = auth.SystemAll
	}
	if c.scope.kind() != unscoped {
		for _, r := range st.rolesIn(c.user, c.scope) {
			p.Roles = append(p.Roles, r.Name)
		}
	}
	return p
}

var (
	_ auth.Authenticator = (*Service)(nil)
	_ auth.Challenger    = (*Service)(nil)
)
