package rest

import (
	"context"
	"encoding/json"
	"strings"

	"isospin/internal/fault"
	"isospin/internal/policy"
	"isospin/internal/store"
)

// Facts computes values of objects that policy asks for and their bodies lack, keyed by id and name: "shared".
type Facts func(ctx context.Context, tx store.Tx, ids []string) (map[string]map[string]string, error)

// target is an object as policy looks at it: its members, what was computed about it, and its parents' values.
type target struct {
	get     func(name string) (json.RawMessage, bool)
	facts   map[string]string
	parents map[string]map[string]string // "network" → {"project_id": ..., "shared": ...}
}

// Attr finds a value by the name that a rule uses: "project_id", "network:project_id", "shared".
func (t *target) Attr(name string) (string, bool) {
	if v, ok := t.facts[name]; ok {
		return v, true
	}
	if raw, ok := t.get(name); ok {
		return text(raw), true
	}
	if prefix, rest, ok := strings.Cut(name, ":"); ok {
		if v, ok := t.parents[prefix][rest]; ok {
			return v, true
		}
		// "field:networks:shared" names the parent by its collection.
		if v, ok := t.parents[strings.TrimSuffix(prefix, "s")][rest]; ok {
			return v, true
		}
	}
	// Neutron's field checks on a port or subnet look at the network's sharing.
	for _, p := range t.parents {
		if v, ok := p[name]; ok && (name == "shared" || name == "router:external") {
			return v, true
		}
	}
	return "", false
}

func ofBody(body []byte) func(string) (json.RawMessage, bool) {
	return func(name string) (json.RawMessage, bool) { return member(body, name) }
}

// ofBoth looks at what a request gave first, then at the row.
func ofBoth(given map[string]json.RawMessage, body []byte) func(string) (json.RawMessage, bool) {
	return func(name string) (json.RawMessage, bool) {
		if v, ok := given[name]; ok {
			return v, true
		}
		return member(body, name)
	}
}

func ofMap(m map[string]json.RawMessage) func(string) (json.RawMessage, bool) {
	return func(name string) (json.RawMessage, bool) { v, ok := m[name]; return v, ok }
}

// parentValues reads the parents of one or many objects: two statements a kind of parent at the most.
func (e *endpoint) parentValues(ctx context.Context, tx store.Tx, gets []func(string) (json.RawMessage, bool)) ([]map[string]map[string]string, error) {
	out := make([]map[string]map[string]string, len(gets))
	for i := range out {
		out[i] = map[string]map[string]string{}
	}
	for _, p := range e.Options.Parents {
		var ids []string
		seen := map[string]bool{}
		for _, get := range gets {
			if raw, ok := get(p.Ref); ok {
				if id := text(raw); id != "" && !seen[id] {
					seen[id] = true
					ids = append(ids, id)
				}
			}
		}
		if len(ids) == 0 {
			continue
		}
		values, err := loadParents(ctx, tx, p, ids)
		if err != nil {
			return nil, err
		}
		for i, get := range gets {
			if raw, ok := get(p.Ref); ok {
				if v, ok := values[text(raw)]; ok {
					out[i][p.Prefix] = v
				}
			}
		}
	}
	return out, nil
}

func loadParents(ctx context.Context, tx store.Tx, p Parent, ids []string) (map[string]map[string]string, error) {
	rows, err := p.Table.Bodies(ctx, tx, store.List{Where: store.In("id", ids)})
	if err != nil {
		return nil, err
	}
	extra := map[string]map[string]string{}
	if p.Extra != nil {
		if extra, err = p.Extra(ctx, tx, ids); err != nil {
			return nil, err
		}
	}
	values := make(map[string]map[string]string, len(rows))
	for _, r := range rows {
		v := map[string]string{"project_id": r.Project, "tenant_id": r.Project}
		if ext, ok := member(r.Body, "router:external"); ok {
			v["router:external"] = text(ext)
		}
		for name, x := range extra[r.ID] {
			v[name] = x
		}
		values[r.ID] = v
	}
	return values, nil
}

// targets makes the policy targets of rows, in a constant number of statements.
func (e *endpoint) targets(ctx context.Context, tx store.Tx, rows []store.Row) ([]*target, error) {
	gets := make([]func(string) (json.RawMessage, bool), len(rows))
	ids := make([]string, len(rows))
	for i, r := range rows {
		gets[i], ids[i] = ofBody(r.Body), r.ID
	}
	parents, err := e.parentValues(ctx, tx, gets)
	if err != nil {
		return nil, err
	}
	facts := map[string]map[string]string{}
	if e.Options.Facts != nil {
		if facts, err = e.Options.Facts(ctx, tx, ids); err != nil {
			return nil, err
		}
	}
	out := make([]*target, len(rows))
	for i := range rows {
		out[i] = &target{get: gets[i], facts: facts[ids[i]], parents: parents[i]}
	}
	return out, nil
}

// seen tells whether the caller may see the row; what it may not see does not exist for it.
func (s *Server) seen(ctx context.Context, tx store.Tx, e *endpoint, row store.Row) (*target, bool, error) {
	rule := "get_" + e.noun
	p := principal(ctx)
	switch s.Policy.Verdict(p, rule) {
	case policy.Always:
		return &target{get: ofBody(row.Body)}, true, nil
	case policy.Never:
		return nil, false, nil
	}
	ts, err := e.targets(ctx, tx, []store.Row{row})
	if err != nil {
		return nil, false, err
	}
	return ts[0], s.Policy.Allow(p, rule, ts[0]), nil
}

// mayWrite judges a create, update or delete: the whole first, then each guarded attribute that was given.
func (s *Server) mayWrite(ctx context.Context, tx store.Tx, e *endpoint, verb string, given map[string]json.RawMessage, row *store.Row) error {
	p := principal(ctx)
	rule := verb + "_" + e.noun
	var t *target
	// Targets cost reads, so they are made only when a rule cannot be decided from the caller alone.
	build := func() error {
		if t != nil {
			return nil
		}
		if row == nil {
			parents, err := e.parentValues(ctx, tx, []func(string) (json.RawMessage, bool){ofMap(given)})
			if err != nil {
				return err
			}
			t = &target{get: ofMap(given), parents: parents[0]}
			return nil
		}
		ts, err := e.targets(ctx, tx, []store.Row{*row})
		if err != nil {
			return err
		}
		t = ts[0]
		t.get = ofBoth(given, row.Body)
		return nil
	}
	check := func(rule string) error {
		switch s.Policy.Verdict(p, rule) {
		case policy.Always:
			return nil
		case policy.Never:
			return fault.PolicyNotAuthorized(rule)
		}
		if err := build(); err != nil {
			return err
		}
		if !s.Policy.Allow(p, rule, t) {
			return fault.PolicyNotAuthorized(rule)
		}
		return nil
	}
	if err := check(rule); err != nil {
		return err
	}
	for _, name := range e.guarded {
		raw, ok := given[name]
		if !ok || verb == "create" && e.isDefault(name, raw) {
			continue
		}
		attr := rule + ":" + name
		if !s.Policy.Has(attr) {
			continue
		}
		if err := check(attr); err != nil {
			return err
		}
		for _, sub := range subKeys(raw) {
			if s.Policy.Has(attr + ":" + sub) {
				if err := check(attr + ":" + sub); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// isDefault: on POST no rule is asked for a value that equals the default (behaviour.md, section 5).
func (e *endpoint) isDefault(name string, raw json.RawMessage) bool {
	a, _ := e.res.Attribute(name)
	if a == nil {
		return false
	}
	def, err := json.Marshal(a.Default)
	return err == nil && string(def) == string(raw)
}

// subKeys lists the keys of an object or of a list's objects, each once.
func subKeys(raw json.RawMessage) []string {
	var list []map[string]json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		var one map[string]json.RawMessage
		if json.Unmarshal(raw, &one) != nil {
			return nil
		}
		list = append(list, one)
	}
	var keys []string
	seen := map[string]bool{}
	for _, item := range list {
		for k := range item {
			if !seen[k] {
				seen[k] = true
				keys = append(keys, k)
			}
		}
	}
	return keys
}
