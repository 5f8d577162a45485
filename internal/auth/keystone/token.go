package keystone

import (
	"errors"
	"regexp"
	"strings"
	"time"

	"isospin/internal/auth"
)

// answer is what Keystone says of a token, as far as it matters here. is_admin_project is left out on purpose: a role
// is what makes an administrator.
type answer struct {
	Expires time.Time `json:"expires_at"`
	User    place     `json:"user"`
	Project *place    `json:"project"`
	Domain  *place    `json:"domain"`
	System  struct {
		All bool `json:"all"`
	} `json:"system"`
	Roles []struct {
		Name string `json:"name"`
	} `json:"roles"`
	Credential *struct {
		// Rules is nil where the application credential has none: then it may do all that its roles may. An empty list
		// permits nothing.
		Rules *[]accessRule `json:"access_rules"`
	} `json:"application_credential"`
}

// place is a user, project or domain with the domain that it is in.
type place struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Domain struct {
		ID string `json:"id"`
	} `json:"domain"`
}

var errAnswer = errors.New("keystone: the answer does not describe a token")

// whole tells whether the answer is one about a token.
func (a *answer) whole() error {
	if a.User.ID == "" || a.Expires.IsZero() {
		return errAnswer
	}
	return nil
}

// token is a token that Keystone vouched for. It is not changed after it was made.
type token struct {
	principal  *auth.Principal
	until      time.Time // from then on Keystone is asked again
	expires    time.Time
	restricted bool // to what rules permit
	rules      []compiledRule
}

// token is the answer as it is remembered.
func (a *answer) token(until time.Time) *token {
	p := &auth.Principal{UserID: a.User.ID, UserName: a.User.Name, UserDomainID: a.User.Domain.ID}
	switch {
	case a.Project != nil:
		p.ProjectID, p.ProjectName, p.ProjectDomainID = a.Project.ID, a.Project.Name, a.Project.Domain.ID
	case a.Domain != nil:
		p.DomainID = a.Domain.ID
	case a.System.All:
		p.SystemScope = auth.SystemAll
	}
	for _, r := range a.Roles {
		p.Roles = append(p.Roles, r.Name)
	}
	t := &token{principal: p, until: until, expires: a.Expires}
	if a.Credential != nil && a.Credential.Rules != nil {
		t.restricted = true
		for _, r := range *a.Credential.Rules {
			if r.Service == serviceType {
				t.rules = append(t.rules, compiledRule{r.Method, pathPattern(r.Path)})
			}
		}
	}
	return t
}

// counts tells whether the token may be believed without asking.
func (t *token) counts(now time.Time, allowExpired bool) bool {
	return now.Before(t.until) && (allowExpired || now.Before(t.expires))
}

// accessRule is a request that an application credential may be used for.
type accessRule struct {
	Service string `json:"service"`
	Method  string `json:"method"`
	Path    string `json:"path"`
}

type compiledRule struct {
	method string
	path   *regexp.Regexp
}

// permits tells whether the token's access rules, if it has any, allow the request.
func (t *token) permits(method, path string) bool {
	if !t.restricted {
		return true
	}
	for _, r := range t.rules {
		if r.method == method && r.path.MatchString(path) {
			return true
		}
	}
	return false
}

var wildcards = regexp.MustCompile(`\{[^}]*\}|\*\*|\*`)

// pathPattern compiles the path of an access rule: {name} and * are one segment, ** is anything.
func pathPattern(path string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString("^")
	at := 0
	for _, m := range wildcards.FindAllStringIndex(path, -1) {
		b.WriteString(regexp.QuoteMeta(path[at:m[0]]))
		if path[m[0]:m[1]] == "**" {
			b.WriteString(".*")
		} else {
			b.WriteString("[^/]+")
		}
		at = m[1]
	}
	b.WriteString(regexp.QuoteMeta(path[at:]) + "$")
	return regexp.MustCompile(b.String())
}
