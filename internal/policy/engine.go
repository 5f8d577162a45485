package policy

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"isospin/internal/auth"
)

//go:embed defaults.json
var defaultRules []byte

// The rules that the engine itself asks for.
const (
	ruleDefault = "default"
	ruleAdmin   = "context_is_admin"
)

// Operation is a request that a rule guards.
type Operation struct {
	Method string `json:"method"`
	Path   string `json:"path"`
}

// Default is one of the rules that hold without configuration.
type Default struct {
	Name       string      `json:"name"`
	Check      string      `json:"check_str"`
	Scopes     []string    `json:"scope_types,omitempty"` // "project", "domain", "system"; none: any scope
	Operations []Operation `json:"operations,omitempty"`  // none: a base rule, for use by others
	Formerly   string      `json:"formerly,omitempty"`    // an older name, accepted in override files
}

// Defaults returns the default rules, base rules first, each group by name.
func Defaults() ([]Default, error) {
	var out []Default
	if err := json.Unmarshal(defaultRules, &out); err != nil {
		return nil, fmt.Errorf("default policy: %w", err)
	}
	return out, nil
}

// Options say how an Engine differs from the defaults; the zero value is the defaults.
type Options struct {
	// Overrides are applied in order; a later one wins.
	Overrides []Override
	// IgnoreScope switches oslo.policy's enforce_scope off: otherwise a rule for project tokens refuses
	// tokens that are scoped to a domain or to the system.
	IgnoreScope bool
}

// Engine judges rules. It is safe for concurrent use; Replace changes all rules at one moment.
type Engine struct {
	table atomic.Pointer[table]
}

type table struct {
	rules       map[string]*rule
	fallback    *rule // "default"
	ignoreScope bool
	warnings    []string
}

type rule struct {
	name   string
	check  string
	origin string // file:line; empty for defaults
	node   node
	scopes scopes
	ops    []Operation
	needs  []string
}

// scopes is a set of token scopes; empty: any.
type scopes uint8

const (
	projectScope scopes = 1 << iota
	domainScope
	systemScope
)

// New compiles the default rules and the overrides. The error tells every rule that cannot be compiled, with
// file and line where it came from one.
func New(o Options) (*Engine, error) {
	e := &Engine{}
	return e, e.Replace(o)
}

// Replace puts other rules in force; on an error the old ones stay.
func (e *Engine) Replace(o Options) error {
	t, err := compile(o)
	if err != nil {
		return err
	}
	e.table.Store(t)
	return nil
}

// Warnings tells what is odd about the overrides without being wrong: rules that nothing asks for.
func (e *Engine) Warnings() []string { return slices.Clone(e.table.Load().warnings) }

// Has tells whether there is a rule of that name.
func (e *Engine) Has(rule string) bool {
	_, ok := e.table.Load().rules[rule]
	return ok
}

// Allow judges the rule for the caller and the object; a nil target has no attributes. A rule that does not
// exist is the rule "default", but an attribute of an object may be read (get_<resource>:<attribute>)
// unless a rule says otherwise.
func (e *Engine) Allow(p *auth.Principal, rule string, t Target) bool {
	if t == nil {
		t = Attrs(nil)
	}
	return e.table.Load().judge(p, rule, t) == Always
}

// Verdict judges the rule for the caller alone: what a list of ten thousand rows needs to know only once.
func (e *Engine) Verdict(p *auth.Principal, rule string) Verdict {
	return e.table.Load().judge(p, rule, nil)
}

// IsAdmin tells whether the caller is an administrator (the rule context_is_admin).
func (e *Engine) IsAdmin(p *auth.Principal) bool { return e.Allow(p, ruleAdmin, nil) }

// Needs lists the attributes that the rule may ask a Target for, sorted. A name with a parent's kind before it
// ("network:project_id", "network:shared") tells the caller to load that parent; without it no rule looks there.
func (e *Engine) Needs(rule string) []string {
	r := e.table.Load().find(rule)
	if r == nil {
		return nil
	}
	return slices.Clone(r.needs)
}

func (t *table) judge(p *auth.Principal, name string, target Target) Verdict {
	r := t.find(name)
	if r == nil {
		return Always
	}
	if !t.ignoreScope && r.scopes != 0 && r.scopes&scopeOf(p) == 0 {
		return Never
	}
	return r.node.eval(p, target)
}

// find gives nil for an attribute that anybody may read.
func (t *table) find(name string) *rule {
	if r, ok := t.rules[name]; ok {
		return r
	}
	if strings.HasPrefix(name, "get_") && strings.IndexByte(name, ':') >= 0 {
		return nil
	}
	return t.fallback
}

func scopeOf(p *auth.Principal) scopes {
	switch {
	case p.SystemScope != "":
		return systemScope
	case p.DomainID != "":
		return domainScope
	}
	return projectScope
}

func compile(o Options) (*table, error) {
	defaults, err := Defaults()
	if err != nil {
		return nil, err
	}
	t := &table{rules: make(map[string]*rule, len(defaults)), ignoreScope: o.IgnoreScope}
	former := map[string]string{}
	for _, d := range defaults {
		r := &rule{name: d.Name, check: d.Check, ops: d.Operations}
		if r.scopes, err = parseScopes(d.Scopes); err != nil {
			return nil, fmt.Errorf("default policy: %s: %w", d.Name, err)
		}
		t.rules[d.Name] = r
		if d.Formerly != "" {
			former[d.Formerly] = d.Name
		}
	}
	custom := t.override(o.Overrides, former)
	var bad []error
	for _, r := range t.sorted() {
		if r.node, err = parse(r.check); err != nil {
			bad = append(bad, r.wrap(err))
		}
	}
	if len(bad) > 0 {
		return nil, errors.Join(bad...)
	}
	used, err := t.link()
	if err != nil {
		return nil, err
	}
	for _, name := range custom {
		if !used[name] {
			t.warnings = append(t.warnings, fmt.Sprintf("%s: nothing asks for the rule %q", t.rules[name].origin, name))
		}
	}
	return t, nil
}

// override lays the overrides over the defaults and returns the names that are new.
func (t *table) override(list []Override, former map[string]string) []string {
	var custom []string
	plain := map[string]bool{} // given under their present name
	for _, o := range list {
		plain[o.Name] = true
	}
	for _, o := range list {
		name := o.Name
		if now, ok := former[name]; ok {
			if plain[now] {
				continue
			}
			name = now
		}
		r, ok := t.rules[name]
		if !ok {
			r = &rule{name: name}
			t.rules[name] = r
			custom = append(custom, name)
		}
		r.check, r.origin = o.Check, o.Origin
	}
	slices.Sort(custom)
	return custom
}

func parseScopes(names []string) (scopes, error) {
	var s scopes
	for _, n := range names {
		switch n {
		case "project":
			s |= projectScope
		case "domain":
			s |= domainScope
		case "system":
			s |= systemScope
		default:
			return 0, fmt.Errorf("unknown scope %q", n)
		}
	}
	return s, nil
}

func (t *table) sorted() []*rule {
	out := make([]*rule, 0, len(t.rules))
	for _, r := range t.rules {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b *rule) int { return strings.Compare(a.name, b.name) })
	return out
}

func (r *rule) wrap(err error) error {
	if r.origin != "" {
		return fmt.Errorf("%s: rule %q: %w", r.origin, r.name, err)
	}
	return fmt.Errorf("default policy: rule %q: %w", r.name, err)
}
