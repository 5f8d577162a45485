package policy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// link resolves rule:name, refuses circles and collects what each rule asks of a target. It returns the names
// that other rules refer to.
func (t *table) link() (map[string]bool, error) {
	t.fallback = t.rules[ruleDefault]
	used := map[string]bool{ruleDefault: true, ruleAdmin: true}
	var bad []error
	for _, r := range t.sorted() {
		walk(r.node, func(n node) {
			ref, ok := n.(*reference)
			if !ok {
				return
			}
			used[ref.name] = true
			if ref.to = t.rules[ref.name]; ref.to == nil {
				bad = append(bad, r.wrap(fmt.Errorf("there is no rule %q", ref.name)))
			}
		})
	}
	if len(bad) > 0 {
		return nil, errors.Join(bad...)
	}
	state := map[*rule]int{}
	for _, r := range t.sorted() {
		if err := r.circle(state); err != nil {
			return nil, err
		}
	}
	t.linkAdmin()
	for _, r := range t.rules {
		names := map[string]bool{}
		collect(r.node, resourceOf(r.name), names)
		r.needs = slices.Sorted(maps.Keys(names))
	}
	return used, nil
}

// circle walks down the references; state is 1 for rules on the way and 2 for those known to end.
func (r *rule) circle(state map[*rule]int) error {
	switch state[r] {
	case 1:
		return r.wrap(errors.New("the rule refers to itself"))
	case 2:
		return nil
	}
	state[r] = 1
	var err error
	walk(r.node, func(n node) {
		if ref, ok := n.(*reference); ok && err == nil {
			err = ref.to.circle(state)
		}
	})
	state[r] = 2
	return err
}

// linkAdmin points is_admin checks at the rule that defines an administrator, but not those that this rule
// itself is made of: there is_admin is false.
func (t *table) linkAdmin() {
	admin := t.rules[ruleAdmin]
	inside := map[node]bool{}
	var mark func(n node)
	mark = func(n node) {
		walk(n, func(n node) {
			switch n := n.(type) {
			case *isAdmin:
				inside[n] = true
			case *reference:
				mark(n.to.node)
			}
		})
	}
	mark(admin.node)
	for _, r := range t.rules {
		walk(r.node, func(n node) {
			if a, ok := n.(*isAdmin); ok && !inside[a] {
				a.rule = admin
			}
		})
	}
}

// walk visits the nodes of one rule, without following references.
func walk(n node, visit func(node)) {
	switch n := n.(type) {
	case and:
		for _, c := range n {
			walk(c, visit)
		}
	case or:
		for _, c := range n {
			walk(c, visit)
		}
	case not:
		walk(n.node, visit)
	case *reference, *isAdmin, *role, *equal, *field:
		visit(n)
	}
}

// collect gathers the attributes that n asks of a target of the kind, references followed.
func collect(n node, kind string, into map[string]bool) {
	walk(n, func(n node) {
		switch n := n.(type) {
		case *reference:
			collect(n.to.node, kind, into)
		case *role:
			n.template.attrs(into)
		case *equal:
			n.right.attrs(into)
		case *field:
			if kind == "" || n.resource == kind {
				into[n.own] = true
			} else {
				into[n.parent] = true
			}
		}
	})
}

func (t template) attrs(into map[string]bool) {
	for _, p := range t {
		if p.attr != "" {
			into[p.attr] = true
		}
	}
}

// resourceOf is the kind of object that a rule's name speaks of: "port" for create_port:fixed_ips. Empty for
// base rules and member actions.
func resourceOf(rule string) string {
	rule, _, _ = strings.Cut(rule, ":")
	for _, verb := range []string{"create_", "update_", "delete_", "get_"} {
		if s, ok := strings.CutPrefix(rule, verb); ok {
			return s
		}
	}
	return ""
}
