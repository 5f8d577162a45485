package policy

import (
	"isospin/internal/auth"
)

// Condition is what must hold for one attribute of an object, the names being those of Needs. The attribute has to
// be there and to be Value, in any case where Fold (booleans), or to match the expression that Value is where
// Pattern, from its start; with Not, all that must not be so.
type Condition struct {
	Attr    string
	Value   string
	Fold    bool
	Pattern bool
	Not     bool
}

// maxAlternatives bounds what Residue gives before it gives up.
const maxAlternatives = 32

// Residue is what a Depends still depends on for the caller: alternatives, of which one must hold, each a list of
// conditions that must all hold. It lets a list ask the database for visible rows only. No alternative: never;
// an alternative without conditions: always. ok is false where the rule cannot be put that way; then each row
// needs Allow.
func (e *Engine) Residue(p *auth.Principal, name string) (alternatives [][]Condition, ok bool) {
	t := e.table.Load()
	switch t.judge(p, name, nil) {
	case Never:
		return nil, true
	case Always:
		return [][]Condition{{}}, true
	}
	x := expander{p: p, kind: resourceOf(name)}
	return x.expand(t.find(name).node, false)
}

type expander struct {
	p    *auth.Principal
	kind string
}

// expand gives the disjunctive form of n, or of its opposite.
func (x expander) expand(n node, negate bool) ([][]Condition, bool) {
	v := n.eval(x.p, nil)
	if negate {
		v = Always - v
	}
	switch v {
	case Never:
		return nil, true
	case Always:
		return [][]Condition{{}}, true
	}
	switch n := n.(type) {
	case not:
		return x.expand(n.node, !negate)
	case *reference:
		return x.expand(n.to.node, negate)
	case or:
		if negate {
			return x.all(n, true)
		}
		return x.any(n, false)
	case and:
		if negate {
			return x.any(n, true)
		}
		return x.all(n, false)
	case *field:
		return x.field(n, negate)
	case *equal:
		return x.equal(n, negate)
	}
	return nil, false // a role whose name the object holds
}

func (x expander) any(list []node, negate bool) ([][]Condition, bool) {
	var out [][]Condition
	for _, n := range list {
		alt, ok := x.expand(n, negate)
		if !ok || len(out)+len(alt) > maxAlternatives {
			return nil, false
		}
		out = append(out, alt...)
	}
	return out, true
}

func (x expander) all(list []node, negate bool) ([][]Condition, bool) {
	out := [][]Condition{{}}
	for _, n := range list {
		alt, ok := x.expand(n, negate)
		if !ok || len(out)*len(alt) > maxAlternatives {
			return nil, false
		}
		var next [][]Condition
		for _, a := range out {
			for _, b := range alt {
				next = append(next, append(append([]Condition(nil), a...), b...))
			}
		}
		out = next
	}
	return out, true
}

func (x expander) field(f *field, negate bool) ([][]Condition, bool) {
	c := Condition{Attr: f.own, Value: f.value, Fold: f.fold, Not: negate}
	if x.kind != "" && f.resource != x.kind {
		c.Attr = f.parent
	}
	if f.re != nil {
		c.Pattern, c.Value = true, f.value[1:]
	}
	return [][]Condition{{c}}, true
}

func (x expander) equal(e *equal, negate bool) ([][]Condition, bool) {
	if len(e.right) != 1 {
		return nil, false
	}
	c := Condition{Attr: e.right[0].attr, Value: e.literal, Fold: e.fold, Not: negate}
	if e.isLiteral {
		return [][]Condition{{c}}, true
	}
	one, many := e.get(x.p)
	if many == nil {
		c.Value = one
		return [][]Condition{{c}}, true
	}
	var any [][]Condition // one of the caller's values; negated: none of them
	var none []Condition
	for _, m := range many {
		c.Value = m
		any, none = append(any, []Condition{c}), append(none, c)
	}
	if negate {
		return [][]Condition{none}, true
	}
	return any, true
}
