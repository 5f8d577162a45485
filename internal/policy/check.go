package policy

import (
	"regexp"
	"strings"

	"isospin/internal/auth"
)

// Verdict is what is known of a rule: for a caller alone (Engine.Verdict) or for a caller and an object.
type Verdict uint8

// The verdicts, in the order in which `and` takes the least and `or` the greatest.
const (
	// Never: no object makes the rule true for this caller.
	Never Verdict = iota
	// Depends: the object decides; ask Allow for each.
	Depends
	// Always: every object makes it true.
	Always
)

// String is the verdict in lower case.
func (v Verdict) String() string {
	return [...]string{"never", "depends", "always"}[v]
}

// Target is the object that a request is about, its values as text: booleans as "true" or "false" in any
// case, numbers in decimal. Names are the API's ("project_id", "router:external", never the tenant_id
// spelling); those of a parent carry its kind: "network:project_id", "security_group:project_id", and
// "ext_parent:project_id" for the parent in the URL. ok is false for a name that the object does not have
// and for null. An Attr is called while the rule is judged and must not block.
type Target interface {
	Attr(name string) (value string, ok bool)
}

// Attrs is a Target made of a map, for callers with few values at hand.
type Attrs map[string]string

// Attr looks the name up.
func (a Attrs) Attr(name string) (string, bool) {
	v, ok := a[name]
	return v, ok
}

// node is a part of a compiled rule. With a nil target eval tells what the caller alone decides.
type node interface {
	eval(p *auth.Principal, t Target) Verdict
}

type constant Verdict

func (c constant) eval(*auth.Principal, Target) Verdict { return Verdict(c) }

type and []node

func (a and) eval(p *auth.Principal, t Target) Verdict {
	least := Always
	for _, n := range a {
		if v := n.eval(p, t); v < least {
			if least = v; v == Never {
				return Never
			}
		}
	}
	return least
}

type or []node

func (o or) eval(p *auth.Principal, t Target) Verdict {
	most := Never
	for _, n := range o {
		if v := n.eval(p, t); v > most {
			if most = v; v == Always {
				return Always
			}
		}
	}
	return most
}

type not struct{ node }

func (n not) eval(p *auth.Principal, t Target) Verdict { return Always - n.node.eval(p, t) }

// reference is rule:name; link sets to, so that judging needs no lookup.
type reference struct {
	name string
	to   *rule
}

func (r *reference) eval(p *auth.Principal, t Target) Verdict { return r.to.node.eval(p, t) }

// isAdmin is is_admin:True. As in Neutron it means that the rule context_is_admin holds for the caller alone;
// used inside that very rule it is false.
type isAdmin struct {
	want bool
	rule *rule
}

func (a *isAdmin) eval(p *auth.Principal, _ Target) Verdict {
	return yes((a.rule != nil && a.rule.node.eval(p, nil) == Always) == a.want)
}

func yes(b bool) Verdict {
	if b {
		return Always
	}
	return Never
}

// role is role:name; the name may be a template.
type role struct{ template }

func (r *role) eval(p *auth.Principal, t Target) Verdict {
	want, v := r.fill(t)
	if v != Always {
		if len(p.Roles) == 0 {
			return Never
		}
		return v
	}
	return yes(p.HasRole(want))
}

// fill makes the template's text. Depends: there is no target yet; Never: the target lacks an attribute.
func (t template) fill(target Target) (string, Verdict) {
	if len(t) == 1 {
		if t[0].attr == "" {
			return t[0].text, Always
		}
		if target == nil {
			return "", Depends
		}
		s, ok := target.Attr(t[0].attr)
		return s, yes(ok)
	}
	var b strings.Builder
	for _, p := range t {
		if p.attr == "" {
			b.WriteString(p.text)
			continue
		}
		if target == nil {
			return "", Depends
		}
		s, ok := target.Attr(p.attr)
		if !ok {
			return "", Never
		}
		b.WriteString(s)
	}
	return b.String(), Always
}

// equal compares a credential or a literal with a template. An empty credential equals nothing: a caller
// without a project owns no object, not even those that belong to none. (oslo.policy would compare "None".)
type equal struct {
	name      string
	get       getter
	literal   string
	isLiteral bool
	fold      bool
	right     template
}

func (e *equal) eval(p *auth.Principal, t Target) Verdict {
	if e.isLiteral {
		have, v := e.right.fill(t)
		if v != Always {
			return v
		}
		return yes(have == e.literal || e.fold && strings.EqualFold(have, e.literal))
	}
	one, many := e.get(p)
	if one == "" && len(many) == 0 {
		have, v := e.right.fill(t)
		return yes(v == Always && have == "None" && e.right[0].attr == "")
	}
	want, v := e.right.fill(t)
	if v != Always {
		return v
	}
	if many == nil {
		return yes(one == want)
	}
	for _, m := range many {
		if m == want {
			return Always
		}
	}
	return Never
}

// getter reads one credential: a text or a list.
type getter func(p *auth.Principal) (string, []string)

// credential finds the credential that a check names; the names are those of Neutron's request context.
func credential(name string) (getter, bool) {
	switch name {
	case "user_id", "user":
		return func(p *auth.Principal) (string, []string) { return p.UserID, nil }, true
	case "user_name":
		return func(p *auth.Principal) (string, []string) { return p.UserName, nil }, true
	case "user_domain_id", "user_domain":
		return func(p *auth.Principal) (string, []string) { return p.UserDomainID, nil }, true
	case "project_id", "tenant_id", "tenant", "project":
		return func(p *auth.Principal) (string, []string) { return p.ProjectID, nil }, true
	case "project_name", "tenant_name":
		return func(p *auth.Principal) (string, []string) { return p.ProjectName, nil }, true
	case "project_domain_id", "project_domain":
		return func(p *auth.Principal) (string, []string) { return p.ProjectDomainID, nil }, true
	case "domain_id", "domain":
		return func(p *auth.Principal) (string, []string) { return p.DomainID, nil }, true
	case "system_scope":
		return func(p *auth.Principal) (string, []string) { return p.SystemScope, nil }, true
	case "roles":
		return func(p *auth.Principal) (string, []string) { return "", p.Roles }, true
	case "service_user_id":
		return func(p *auth.Principal) (string, []string) { return p.ServiceUserID, nil }, true
	case "service_project_id":
		return func(p *auth.Principal) (string, []string) { return p.ServiceProjectID, nil }, true
	case "service_roles":
		return func(p *auth.Principal) (string, []string) { return "", p.ServiceRoles }, true
	}
	return nil, false
}

// field compares the object's own attribute, or, where it has none of the name, that of its parent of the
// named collection: field:networks:shared on a port asks for "shared", then for "network:shared".
type field struct {
	collection  string
	resource    string // the kind that has the attribute
	own, parent string
	value       string
	fold        bool
	re          *regexp.Regexp
}

func (f *field) eval(_ *auth.Principal, t Target) Verdict {
	if t == nil {
		return Depends
	}
	have, ok := t.Attr(f.own)
	if !ok {
		have, ok = t.Attr(f.parent)
	}
	if !ok {
		return Never
	}
	if f.re != nil {
		return yes(f.re.MatchString(have))
	}
	return yes(have == f.value || f.fold && strings.EqualFold(have, f.value))
}
