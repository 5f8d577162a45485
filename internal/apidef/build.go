package apidef

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// builder collects what Build finds; its steps go on past an error, so that one run tells all.
type builder struct {
	reg    *Registry
	chosen []Extension
	known  map[string]string // key of every resource of all definitions, enabled or not → alias
	errs   []error
}

func (b *builder) failf(format string, args ...any) {
	b.errs = append(b.errs, fmt.Errorf(format, args...))
}

func (b *builder) choose(all []Extension, enabled func(alias string) bool) {
	seen := map[string]bool{}
	for _, e := range all {
		if e.Alias == "" || seen[e.Alias] {
			b.failf("extension %q: the alias is empty or defined twice", e.Alias)
			continue
		}
		seen[e.Alias] = true
		for _, r := range e.Resources {
			b.known[r.ID()] = e.Alias
		}
		if !e.Core && !enabled(e.Alias) {
			continue
		}
		b.chosen = append(b.chosen, e)
		b.reg.enabled[e.Alias] = true
		if !e.Core {
			b.reg.extensions = append(b.reg.extensions, e)
		}
	}
	for _, e := range b.chosen {
		for _, need := range e.Requires {
			if !b.reg.enabled[need] {
				b.failf("extension %q requires %q, which is not enabled", e.Alias, need)
			}
		}
		if !e.Core && (e.Name == "" || e.Doc == "" || e.Updated.IsZero()) {
			b.failf("extension %q has no name, description or date", e.Alias)
		}
	}
}

// nouns takes the resources of e, as copies that later steps may extend.
func (b *builder) nouns(e Extension) {
	for i := range e.Resources {
		r := e.Resources[i]
		r.Attributes = e.signed(r.Attributes)
		r.Actions = slices.Clone(r.Actions)
		if b.reg.byKey[r.ID()] != nil {
			b.failf("extension %q: resource %q is defined twice", e.Alias, r.ID())
			continue
		}
		b.reg.byKey[r.ID()] = &r
		b.reg.resources = append(b.reg.resources, &r)
	}
}

// signed copies attributes with the alias of their extension on them.
func (e Extension) signed(as []Attribute) []Attribute {
	out := slices.Clone(as)
	for i := range out {
		out[i].Alias = e.Alias
	}
	return out
}

// target finds what e extends. A collection of an optional extension that is off is left out without complaint.
func (b *builder) target(e Extension, collection string) *Resource {
	if r := b.reg.byKey[collection]; r != nil {
		return r
	}
	if owner, ok := b.known[collection]; !ok || !slices.Contains(e.Optional, owner) {
		b.failf("extension %q adds to %q, which nothing enabled defines", e.Alias, collection)
	}
	return nil
}

func (b *builder) extend(e Extension) {
	for _, collection := range slices.Sorted(maps.Keys(e.Extends)) {
		if r := b.target(e, collection); r != nil {
			r.Attributes = append(r.Attributes, e.signed(e.Extends[collection])...)
		}
	}
	for _, collection := range slices.Sorted(maps.Keys(e.Actions)) {
		if r := b.target(e, collection); r != nil {
			r.Actions = append(r.Actions, e.Actions[collection]...)
		}
	}
}

func (b *builder) standard(e Extension) {
	for _, r := range b.reg.resources {
		if r.Standard {
			r.Attributes = appendMissing(r.Attributes, e.signed(e.Standard))
		}
		if r.Taggable {
			r.Attributes = appendMissing(r.Attributes, e.signed(e.Tagged))
		}
	}
}

// appendMissing adds standard attributes, except those that the resource defines in its own way.
func appendMissing(to, more []Attribute) []Attribute {
	for _, a := range more {
		if !slices.ContainsFunc(to, func(x Attribute) bool { return x.Name == a.Name }) {
			to = append(to, a)
		}
	}
	return to
}

func (b *builder) override(e Extension) {
	for _, collection := range slices.Sorted(maps.Keys(e.Overrides)) {
		r := b.target(e, collection)
		if r == nil {
			continue
		}
		for _, a := range e.signed(e.Overrides[collection]) {
			i := slices.IndexFunc(r.Attributes, func(x Attribute) bool { return x.Name == a.Name })
			if i < 0 {
				b.failf("extension %q redefines %s.%s, which does not exist", e.Alias, collection, a.Name)
				continue
			}
			r.Attributes[i] = a
		}
	}
}

// finish gives project_id its place beside tenant_id, indexes the attributes and judges the whole resource.
func (b *builder) finish(r *Resource) {
	name := func(n string) func(Attribute) bool { return func(a Attribute) bool { return a.Name == n } }
	if i := slices.IndexFunc(r.Attributes, name("tenant_id")); i >= 0 && !slices.ContainsFunc(r.Attributes, name("project_id")) {
		project := r.Attributes[i]
		project.Name, project.Doc = "project_id", "The project that owns the object."
		r.Attributes = slices.Insert(r.Attributes, i+1, project)
	}
	if r.PerQuota != nil {
		for _, counted := range b.reg.resources {
			if counted.Quota {
				a := *r.PerQuota
				a.Name = counted.Name
				r.Attributes = append(r.Attributes, a)
			}
		}
	}
	r.index = make(map[string]int, len(r.Attributes))
	for i := range r.Attributes {
		a := &r.Attributes[i]
		if _, twice := r.index[a.Name]; twice {
			b.failf("%s.%s is defined twice", r.ID(), a.Name)
		}
		r.index[a.Name] = i
		if why := a.flaw(); why != "" {
			b.failf("%s.%s %s", r.ID(), a.Name, why)
			continue
		}
		a.JSONType = jsonType(a.Type.Schema())
		if a.HasDefault() {
			var err error
			if a.Fallback, err = json.Marshal(a.Default); err != nil {
				b.failf("%s.%s: the default is no JSON: %w", r.ID(), a.Name, err)
			}
		}
	}
	actions := map[string]bool{}
	for _, a := range r.Actions {
		if a.Name == "" || a.Method == "" || actions[a.Name] {
			b.failf("%s: action %q has no name or method, or is defined twice", r.ID(), a.Name)
		}
		actions[a.Name] = true
	}
	if r.Name == "" || r.Collection == "" || r.Path == "" || r.Doc == "" {
		b.failf("resource %q lacks a name, a collection, a path or a description", r.ID())
	}
	path := r.Path
	if r.Parent != "" {
		parent := b.reg.byKey[r.Parent]
		if parent == nil {
			b.failf("resource %q: its parent %q is not defined", r.ID(), r.Parent)
			return
		}
		path = parent.Path + "/" + path
		if parent.Prefix != "" {
			path = parent.Prefix[1:] + "/" + path
		}
	} else if r.Prefix != "" {
		path = r.Prefix[1:] + "/" + path
	}
	if b.reg.byPath[path] != nil {
		b.failf("resource %q: the path %q is taken", r.ID(), path)
	}
	b.reg.byPath[path] = r
}

// flaw says what is wrong with an attribute's definition; empty: nothing.
func (a *Attribute) flaw() string {
	switch {
	case a.Name == "":
		return "has no name"
	case a.Type == nil:
		return "has no type"
	case a.Doc == "":
		return "has no description"
	case a.FilterOnly && (!a.Filter || a.Post != Never || a.Put != Never):
		return "exists only as a filter, but is none or may be written"
	case a.Post != Optional && a.Default != nil && a.Default != Unspecified:
		return "has a default that a create can never use"
	case a.Put == Required:
		return "is required on update, which is always partial"
	}
	return ""
}

// jsonType is the first type that a schema names and that is not null.
func jsonType(s Schema) string {
	switch t := s["type"].(type) {
	case string:
		return t
	case []any:
		for _, k := range t {
			if word, ok := k.(string); ok && word != "null" {
				return word
			}
		}
	}
	return ""
}
