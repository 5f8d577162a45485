// Package auth turns the credentials of a request into a Principal. rest calls an Authenticator once for
// each request and hands the Principal to policy; the implementations are NoAuth here, the built-in
// identity in auth/identity, and Keystone's. It never decides what a Principal may do: that is policy's part.
package auth

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"isospin/internal/fault"
)

// The role names that Keystone's bootstrap makes and that the default policy speaks of.
const (
	RoleAdmin   = "admin"
	RoleManager = "manager"
	RoleMember  = "member"
	RoleReader  = "reader"
	RoleService = "service"
)

// SystemAll is the one system scope that Keystone knows.
const SystemAll = "all"

// Principal is who asks: a user, the scope of its token and the roles it has there. A Principal may be
// shared by many requests at once (authenticators cache them): nobody changes one after it was returned.
type Principal struct {
	UserID       string
	UserName     string
	UserDomainID string

	// ProjectID and its names are empty for tokens that are not scoped to a project.
	ProjectID       string
	ProjectName     string
	ProjectDomainID string

	// DomainID is set for tokens scoped to a domain.
	DomainID string

	// SystemScope is "all" for tokens scoped to the system, else empty.
	SystemScope string

	// Roles are the names of the roles in the token's scope, implied ones included.
	Roles []string

	// ServiceUserID, ServiceProjectID and ServiceRoles come from the second token (X-Service-Token) with which
	// a service vouches for a user's request; empty without one.
	ServiceUserID    string
	ServiceProjectID string
	ServiceRoles     []string
}

// HasRole tells whether the principal has the role; case does not matter, as in oslo.policy.
func (p *Principal) HasRole(role string) bool {
	return hasFold(p.Roles, role)
}

// HasServiceRole tells whether the service that vouches for the request has the role.
func (p *Principal) HasServiceRole(role string) bool {
	return hasFold(p.ServiceRoles, role)
}

func hasFold(list []string, want string) bool {
	for _, s := range list {
		if s == want || strings.EqualFold(s, want) {
			return true
		}
	}
	return false
}

// Authenticator finds out who sent a request. It reads headers only, never the body. The error is a
// *fault.Fault: Unauthenticated for credentials that are missing or wrong, Unavailable when they could
// not be checked. It is safe for concurrent use, and fast: every API request pays for it.
type Authenticator interface {
	Authenticate(r *http.Request) (*Principal, error)
}

// Challenger is the part of an Authenticator that tells clients where to get a token.
type Challenger interface {
	// Challenge is the value of the WWW-Authenticate header for r.
	Challenge(r *http.Request) string
}

// Unauthenticated is the fault for a request without valid credentials.
func Unauthenticated() *fault.Fault {
	return fault.Newf(fault.Unauthenticated, "Unauthorized", "The request you have made requires authentication.")
}

// Refuse answers a request whose Authenticate failed: 401 with the challenge of a, or 503 where the
// credentials could not be checked. The body has the shape that keystonemiddleware gives, which is not a
// NeutronError (behaviour.md section 4).
func Refuse(w http.ResponseWriter, r *http.Request, a Authenticator, err error) {
	f := fault.Of(err)
	code, title := http.StatusServiceUnavailable, "Service Unavailable"
	message := "The identity service cannot be reached at the moment."
	if f.Kind == fault.Unauthenticated {
		code, title, message = http.StatusUnauthorized, "Unauthorized", f.Message
		if c, ok := a.(Challenger); ok {
			w.Header().Set("WWW-Authenticate", c.Challenge(r))
		}
	}
	WriteError(w, code, title, message)
}

// WriteError answers with the error body that Keystone and its middleware use.
func WriteError(w http.ResponseWriter, code int, title, message string) {
	type body struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Title   string `json:"title"`
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	// A write that fails has no reader left to be told.
	_ = json.NewEncoder(w).Encode(map[string]body{"error": {Code: code, Message: message, Title: title}})
}

type principalKey struct{}

// With returns a context that carries p, for the parts of a request that need the caller.
func With(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// From gives the principal that With put into ctx; nil when there is none.
func From(ctx context.Context) *Principal {
	p, _ := ctx.Value(principalKey{}).(*Principal)
	return p
}
