package policy

import (
	"fmt"
	"slices"
	"strings"

	"isospin/internal/auth"
)

// Explanation says how a rule was judged, for `isospin why` and for logs. It names values of the object, so it
// is not for answers to callers who may not see the object.
type Explanation struct {
	Allowed bool     `json:"allowed"`
	Rule    string   `json:"rule"`   // the rule that decided: the one asked for, or "default"
	Check   string   `json:"check"`  // its text
	Origin  string   `json:"origin"` // file:line of an override; empty for a default rule
	Missing []string `json:"missing,omitempty"`
}

// String is one line.
func (x Explanation) String() string {
	if x.Allowed {
		return fmt.Sprintf("%s (%s): allowed", x.Rule, x.Check)
	}
	return fmt.Sprintf("%s (%s): refused: %s", x.Rule, x.Check, strings.Join(x.Missing, "; "))
}

// Explain judges as Allow does and tells what would have to be different: each entry of Missing is one thing
// that kept an alternative of the rule from being true.
func (e *Engine) Explain(p *auth.Principal, name string, t Target) Explanation {
	if t == nil {
		t = Attrs(nil)
	}
	tab := e.table.Load()
	r := tab.find(name)
	if r == nil {
		return Explanation{Allowed: true, Rule: name, Check: "no rule guards this attribute"}
	}
	x := Explanation{Rule: r.name, Check: r.check, Origin: r.origin, Allowed: tab.judge(p, name, t) == Always}
	if x.Allowed {
		return x
	}
	if !tab.ignoreScope && r.scopes != 0 && r.scopes&scopeOf(p) == 0 {
		x.Missing = []string{fmt.Sprintf("the token's scope is %s, the rule is for %s", scopeOf(p), r.scopes)}
		return x
	}
	reasons(r.node, p, t, &x.Missing)
	return x
}

// String names the scopes.
func (s scopes) String() string {
	var out []string
	for i, n := range []string{"project", "domain", "system"} {
		if s&(1<<i) != 0 {
			out = append(out, n)
		}
	}
	return strings.Join(out, " or ")
}

// reasons adds why n, which is not true, is not true.
func reasons(n node, p *auth.Principal, t Target, into *[]string) {
	add := func(format string, args ...any) {
		if s := fmt.Sprintf(format, args...); !slices.Contains(*into, s) {
			*into = append(*into, s)
		}
	}
	switch n := n.(type) {
	case or:
		for _, c := range n {
			reasons(c, p, t, into)
		}
	case and:
		for _, c := range n {
			if c.eval(p, t) != Always {
				reasons(c, p, t, into)
				return
			}
		}
	case *reference:
		reasons(n.to.node, p, t, into)
	case *role:
		want, _ := n.fill(t)
		add("the caller lacks the role %s (it has %s)", want, strings.Join(p.Roles, ", "))
	case *isAdmin:
		add("is_admin is not %v", n.want)
	case *equal:
		have, v := n.right.fill(t)
		switch {
		case v != Always:
			add("the object has no %s", n.right)
		case n.isLiteral:
			add("%s is %q, not %q", n.right, have, n.literal)
		default:
			one, many := n.get(p)
			add("the caller's %s %q is not %q (%s)", n.name, one+strings.Join(many, ","), have, n.right)
		}
	case *field:
		add("%s of the %s is not %s", n.own, n.resource, n.value)
	case not:
		add("what the rule excludes is the case (%s)", describe(n.node))
	case constant:
		add("nobody is allowed")
	}
}

// describe is the text of a part of a rule.
func describe(n node) string {
	switch n := n.(type) {
	case *reference:
		return "rule:" + n.name
	case *role:
		return "role:" + n.template.String()
	case *field:
		return fmt.Sprintf("field:%s:%s=%s", n.collection, n.own, n.value)
	case *equal:
		return n.name + n.literal + ":" + n.right.String()
	case *isAdmin:
		return fmt.Sprintf("is_admin:%v", n.want)
	case not:
		return "not " + describe(n.node)
	case and:
		return join(n, " and ")
	case or:
		return join(n, " or ")
	case constant:
		return Verdict(n).String()
	}
	return "?"
}

func join(list []node, by string) string {
	out := make([]string, len(list))
	for i, n := range list {
		out[i] = describe(n)
	}
	return "(" + strings.Join(out, by) + ")"
}

// String is the template as it was written.
func (t template) String() string {
	var b strings.Builder
	for _, p := range t {
		if p.attr != "" {
			b.WriteString("%(" + p.attr + ")s")
		} else {
			b.WriteString(p.text)
		}
	}
	return b.String()
}
