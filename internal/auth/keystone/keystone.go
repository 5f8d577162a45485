// Package keystone tells callers apart by asking Keystone's v3 API about their tokens, as keystonemiddleware
// does for Neutron. rest calls an Authenticator for each request; assemble makes one for auth_strategy keystone.
// An answer is believed for token_cache_time, so the usual request asks nobody. It never issues or revokes a
// token, never decides what a caller may do, and never writes a token into a log.
package keystone

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"isospin/internal/auth"
	"isospin/internal/clock"
	"isospin/internal/config"
	"isospin/internal/fault"
	"isospin/internal/telemetry"
)

const (
	// maxTokens bounds the tokens that are remembered; beyond it the longest unused are asked about again.
	maxTokens = 20000
	// maxRefused bounds the digests of tokens that Keystone does not know.
	maxRefused = 20000
	// refusedFor is how long Keystone's no is remembered: it keeps a client with a stale token, which repeats
	// itself, from Keystone, and is short because a token may reach one Keystone later than another.
	refusedFor = 10 * time.Second
	// longestToken is more than any format of Keystone's needs; what is longer is nobody's.
	longestToken = 8192
	// serviceType is Isospin's in the catalogue and in access rules.
	serviceType = "network"
)

// Config is what an Authenticator is made of; all of it is needed.
type Config struct {
	Authtoken config.Authtoken
	Clock     clock.Clock
	Log       *slog.Logger
	Registry  *telemetry.Registry
}

// Authenticator asks Keystone. It is safe for concurrent use.
type Authenticator struct {
	clock        clock.Clock
	log          *slog.Logger
	challenge    string
	believe      time.Duration // 0: each request asks
	serviceRoles []string
	needRole     bool
	warned       atomic.Bool // of a service token without a service role

	ask     *client
	known   *recent[string, *token]
	refused *recent[question, time.Time]
	flights flights
}

// question is what Keystone is asked: about which token, and whether its having expired matters. Here the token is
// its digest, so that a flood of wrong ones costs little memory.
type question struct {
	digest       [sha256.Size]byte
	allowExpired bool
}

// New reads the certificates; Keystone is not asked yet and may be away.
func New(c Config) (*Authenticator, error) {
	t := c.Authtoken
	ask, err := newClient(t, c.Clock, c.Log, c.Registry)
	if err != nil {
		return nil, err
	}
	public := t.PublicURL
	if public == "" {
		public = t.URL
	}
	return &Authenticator{
		clock: c.Clock, log: c.Log, challenge: `Keystone uri="` + public + `"`,
		believe: max(0, time.Duration(t.CacheSeconds)*time.Second), serviceRoles: t.ServiceRoles, needRole: t.RolesRequired,
		ask: ask, known: newRecent[string, *token](maxTokens), refused: newRecent[question, time.Time](maxRefused),
		flights: flights{under: map[question]*flight{}},
	}, nil
}

// Login takes the token that Isospin asks with, so that wrong credentials are told of at the start and not by the first
// caller. The server may run without: each question logs in when it must.
func (a *Authenticator) Login(ctx context.Context) error { return a.ask.login(ctx) }

// Challenge names Keystone's address.
func (a *Authenticator) Challenge(*http.Request) string { return a.challenge }

// Authenticate answers from memory where it can: in less than a microsecond. Else it asks Keystone, for at most
// http_connect_timeout.
func (a *Authenticator) Authenticate(r *http.Request) (*auth.Principal, error) {
	user := header(r, "X-Auth-Token")
	if user == "" {
		if user = header(r, "X-Storage-Token"); user == "" {
			return nil, auth.Unauthenticated()
		}
	}
	if service := header(r, "X-Service-Token"); service != "" {
		return a.vouched(r, user, service)
	}
	t, err := a.find(r.Context(), user, false)
	if err != nil {
		return nil, err
	}
	if !t.permits(r.Method, r.URL.Path) {
		return nil, auth.Unauthenticated()
	}
	return t.principal, nil
}

// vouched is a user's request that a service passes on with its own token beside the user's. A service of the right role may
// do so after the user's token has expired: what the user began is finished. Access rules are for users' own
// requests (keystonemiddleware/auth_token/__init__.py).
func (a *Authenticator) vouched(r *http.Request, user, service string) (*auth.Principal, error) {
	s, err := a.find(r.Context(), service, false)
	if err != nil {
		return nil, err
	}
	trusted := false
	for _, role := range a.serviceRoles {
		trusted = trusted || s.principal.HasRole(role)
	}
	if !trusted && a.needRole {
		return nil, auth.Unauthenticated()
	}
	if !trusted && a.warned.CompareAndSwap(false, true) {
		a.log.Warn("a service token without a service role was accepted; service_token_roles_required refuses them",
			"user", s.principal.UserID, "roles", s.principal.Roles)
	}
	u, err := a.find(r.Context(), user, trusted)
	if err != nil {
		return nil, err
	}
	both := *u.principal
	both.ServiceUserID, both.ServiceProjectID, both.ServiceRoles = s.principal.UserID, s.principal.ProjectID, s.principal.Roles
	return &both, nil
}

// header gives a header's value without blanks around it; name is in canonical form.
func header(r *http.Request, name string) string {
	if v := r.Header[name]; len(v) > 0 {
		return strings.TrimSpace(v[0])
	}
	return ""
}

// find gives what is known of a token, and asks when that is nothing or too old.
func (a *Authenticator) find(ctx context.Context, text string, allowExpired bool) (*token, error) {
	if t, ok := a.known.get(text); ok && t.counts(a.clock.Now(), allowExpired) {
		return t, nil
	}
	if !wellFormed(text) {
		return nil, auth.Unauthenticated()
	}
	q := question{sha256.Sum256([]byte(text)), allowExpired}
	if until, ok := a.refused.get(q); ok && a.clock.Now().Before(until) {
		return nil, auth.Unauthenticated()
	}
	if a.believe == 0 { // an answer to somebody who asked before is too old already
		return a.learn(ctx, text, q)
	}
	return a.flights.join(ctx, q, func() (*token, error) {
		if t, ok := a.known.get(text); ok && t.counts(a.clock.Now(), allowExpired) {
			return t, nil // the flight before has just landed
		}
		return a.learn(ctx, text, q)
	})
}

// learn asks Keystone and remembers the answer. Others may wait for it, so it does not end with ctx, but in good time.
func (a *Authenticator) learn(ctx context.Context, text string, q question) (*token, error) {
	asked := a.clock.Now() // a token revoked while the answer travels counts from the question
	answer, err := a.ask.about(context.WithoutCancel(ctx), text, q.allowExpired)
	switch {
	case errors.Is(err, errUnknown):
		a.known.drop(text)
		if a.believe > 0 {
			a.refused.put(q, asked.Add(min(refusedFor, a.believe)))
		}
		a.log.DebugContext(ctx, "a token was refused", "token", mark(q))
		return nil, auth.Unauthenticated()
	case err != nil:
		a.log.DebugContext(ctx, "a token could not be checked", "token", mark(q), "err", err)
		return nil, unavailable(err)
	}
	t := answer.token(asked.Add(a.believe))
	if !q.allowExpired && !a.clock.Now().Before(t.expires) {
		return nil, auth.Unauthenticated()
	}
	if a.believe > 0 {
		a.known.put(text, t)
	}
	return t, nil
}

// mark names a token in a log: enough to tell two apart, useless to whoever reads it.
func mark(q question) string { return "sha256:" + hex.EncodeToString(q.digest[:4]) }

// wellFormed tells whether a text can be a token at all: printable, of a length that is one.
func wellFormed(text string) bool {
	if len(text) > longestToken {
		return false
	}
	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

func unavailable(cause error) *fault.Fault {
	f := fault.Newf(fault.Unavailable, "ServiceUnavailable", "The identity service cannot be reached at the moment.")
	f.Cause = cause
	return f
}

var (
	_ auth.Authenticator = (*Authenticator)(nil)
	_ auth.Challenger    = (*Authenticator)(nil)
)
