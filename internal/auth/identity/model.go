package identity

import (
	"maps"
	"slices"
	"time"
)

// Snapshot is everything that the identity knows. Published ones are never changed.
type Snapshot struct {
	Revision    int64        `json:"revision"` // grows by one with each change
	Key         string       `json:"key"`      // signs tokens
	Domains     []Domain     `json:"domains"`
	Projects    []Project    `json:"projects"`
	Users       []User       `json:"users"`
	Roles       []Role       `json:"roles"`
	Assignments []Assignment `json:"assignments"`
	Revoked     []Revocation `json:"revoked"`
}

// Domain holds projects and users.
type Domain struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Enabled     bool   `json:"enabled"`
}

// Project owns resources.
type Project struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	DomainID    string   `json:"domain_id"`
	ParentID    string   `json:"parent_id"`
	Description string   `json:"description"`
	Enabled     bool     `json:"enabled"`
	Tags        []string `json:"tags"`
}

// User is who logs in. Hash is bcrypt of the digest of the password, or empty: no login by password.
type User struct {
	ID               string    `json:"id"`
	Name             string    `json:"name"`
	DomainID         string    `json:"domain_id"`
	DefaultProjectID string    `json:"default_project_id,omitempty"`
	Description      string    `json:"description,omitempty"`
	Email            string    `json:"email,omitempty"`
	Enabled          bool      `json:"enabled"`
	Hash             string    `json:"hash,omitempty"`
	TokensSince      time.Time `json:"tokens_since"` // older tokens are void: the password was changed, or the user disabled
}

// Role is a name that policy rules speak of.
type Role struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	DomainID    string `json:"domain_id,omitempty"`
	Description string `json:"description,omitempty"`
}

// Kind of a scope.
type scopeKind byte

const (
	unscoped scopeKind = iota
	projectScope
	domainScope
	systemScope
)

// Scope is where a role is held: a project, a domain or the system. At most one is set.
type Scope struct {
	ProjectID string `json:"project_id,omitempty"`
	DomainID  string `json:"domain_id,omitempty"`
	System    bool   `json:"system,omitempty"`
}

func (s Scope) kind() scopeKind {
	switch {
	case s.ProjectID != "":
		return projectScope
	case s.DomainID != "":
		return domainScope
	case s.System:
		return systemScope
	}
	return unscoped
}

// Assignment gives a user a role in a scope.
type Assignment struct {
	UserID string `json:"user_id"`
	RoleID string `json:"role_id"`
	Scope  Scope  `json:"scope"`
}

// Revocation voids one token until it would have expired anyway.
type Revocation struct {
	Audit   string    `json:"audit"`
	Expires time.Time `json:"expires"`
}

// clone copies the snapshot deep enough to be changed.
func (s *Snapshot) clone() *Snapshot {
	c := *s
	c.Domains = slices.Clone(s.Domains)
	c.Projects = slices.Clone(s.Projects)
	c.Users = slices.Clone(s.Users)
	c.Roles = slices.Clone(s.Roles)
	c.Assignments = slices.Clone(s.Assignments)
	c.Revoked = slices.Clone(s.Revoked)
	return &c
}

// drop removes the assignments that match.
func (s *Snapshot) drop(match func(a Assignment) bool) {
	s.Assignments = slices.DeleteFunc(s.Assignments, match)
}

// state is a published snapshot with its indexes. A pointer to one is also the stamp of what was derived from it.
type state struct {
	snap        *Snapshot
	key         []byte
	domains     map[string]*Domain
	projects    map[string]*Project
	users       map[string]*User
	roles       map[string]*Role
	userNames   map[[2]string]*User    // domain, name
	projNames   map[[2]string]*Project // domain, name
	domainNames map[string]*Domain
	roleNames   map[string]*Role // those of no domain
	held        map[string][]Assignment
	revoked     map[string]bool
}

func index(s *Snapshot) *state {
	st := &state{
		snap: s, key: []byte(s.Key),
		domains: map[string]*Domain{}, projects: map[string]*Project{}, users: map[string]*User{}, roles: map[string]*Role{},
		userNames: map[[2]string]*User{}, projNames: map[[2]string]*Project{}, domainNames: map[string]*Domain{},
		roleNames: map[string]*Role{}, held: map[string][]Assignment{}, revoked: map[string]bool{},
	}
	for i := range s.Domains {
		d := &s.Domains[i]
		st.domains[d.ID], st.domainNames[d.Name] = d, d
	}
	for i := range s.Projects {
		p := &s.Projects[i]
		st.projects[p.ID], st.projNames[[2]string{p.DomainID, p.Name}] = p, p
	}
	for i := range s.Users {
		u := &s.Users[i]
		st.users[u.ID], st.userNames[[2]string{u.DomainID, u.Name}] = u, u
	}
	for i := range s.Roles {
		r := &s.Roles[i]
		st.roles[r.ID] = r
		if r.DomainID == "" {
			st.roleNames[r.Name] = r
		}
	}
	for _, a := range s.Assignments {
		st.held[a.UserID] = append(st.held[a.UserID], a)
	}
	for _, r := range s.Revoked {
		st.revoked[r.Audit] = true
	}
	return st
}

// implies is which role a role brings along, as Keystone's bootstrap sets it up.
func implies(role string) string {
	switch role {
	case "admin":
		return "manager"
	case "manager":
		return "member"
	case "member":
		return "reader"
	}
	return ""
}

// rolesIn are the user's roles in a scope, with the implied ones, sorted by name.
func (st *state) rolesIn(user string, s Scope) []*Role {
	found := map[string]*Role{}
	for _, a := range st.held[user] {
		if a.Scope != s {
			continue
		}
		r := st.roles[a.RoleID]
		for r != nil && found[r.ID] == nil {
			found[r.ID] = r
			if r.DomainID != "" {
				break
			}
			r = st.roleNames[implies(r.Name)]
		}
	}
	out := slices.Collect(maps.Values(found))
	slices.SortFunc(out, func(a, b *Role) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return out
}

// alive tells whether tokens may have the scope: all that it names exists and is enabled.
func (st *state) alive(s Scope) bool {
	switch s.kind() {
	case projectScope:
		p := st.projects[s.ProjectID]
		return p != nil && p.Enabled && st.domainAlive(p.DomainID)
	case domainScope:
		return st.domainAlive(s.DomainID)
	}
	return true
}

func (st *state) domainAlive(id string) bool {
	d := st.domains[id]
	return d != nil && d.Enabled
}
