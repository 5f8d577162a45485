package apidef

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Registry is the union of the enabled extensions, frozen: nobody may change what it returns.
type Registry struct {
	resources  []*Resource
	byKey      map[string]*Resource
	byPath     map[string]*Resource
	extensions []Extension
	enabled    map[string]bool
}

// Build joins core and the enabled ones of all. It refuses an alias, a collection, a path or an attribute that is
// defined twice, a requirement that is not enabled, and attributes for a collection that nobody enabled defines.
// Attributes of a resource stand in this order: its own, then those of extensions in the order of all, then the
// standard ones. An override keeps the place of what it replaces. Every error found is reported, not the first alone.
func Build(all []Extension, enabled func(alias string) bool) (*Registry, error) {
	b := builder{reg: &Registry{byKey: map[string]*Resource{}, byPath: map[string]*Resource{}, enabled: map[string]bool{}}, known: map[string]string{}}
	b.choose(all, enabled)
	for _, e := range b.chosen {
		b.nouns(e)
	}
	for _, e := range b.chosen {
		b.extend(e)
	}
	for _, e := range b.chosen {
		b.standard(e)
	}
	for _, e := range b.chosen {
		b.override(e)
	}
	for _, r := range b.reg.resources {
		b.finish(r)
	}
	if len(b.errs) > 0 {
		return nil, fmt.Errorf("the API definitions do not fit together: %w", errors.Join(b.errs...))
	}
	slices.SortFunc(b.reg.extensions, func(a, c Extension) int { return strings.Compare(a.Alias, c.Alias) })
	return b.reg, nil
}

// Resource finds a resource by its key, which is its collection for all but a few sub-resources.
func (r *Registry) Resource(collection string) (*Resource, bool) {
	res, ok := r.byKey[collection]
	return res, ok
}

// ByPath finds a resource by its URL below the version, without ids: "ports", "qos/policies", "ports/bindings".
// Underscores stand for dashes too, as clients of old spell them.
func (r *Registry) ByPath(path string) (*Resource, bool) {
	res, ok := r.byPath[strings.Trim(path, "/")]
	if !ok {
		res, ok = r.byPath[strings.ReplaceAll(strings.Trim(path, "/"), "_", "-")]
	}
	return res, ok
}

// Resources are all resources, core first, in the order of definition.
func (r *Registry) Resources() []*Resource { return r.resources }

// Extensions are the advertised extensions, sorted by alias.
func (r *Registry) Extensions() []Extension { return r.extensions }

// Enabled tells whether the extension is on.
func (r *Registry) Enabled(alias string) bool { return r.enabled[alias] }

// Children are the sub-resources of a collection.
func (r *Registry) Children(collection string) []*Resource {
	var out []*Resource
	for _, res := range r.resources {
		if res.Parent != "" && res.Parent == collection {
			out = append(out, res)
		}
	}
	return out
}

// Template is the URL of the collection below the version, with the parent's id in braces:
// "/ports/{port_id}/bindings", "/qos/policies".
func (r *Registry) Template(res *Resource) string {
	if parent, ok := r.byKey[res.Parent]; ok {
		return r.Template(parent) + "/{" + parent.Name + "_id}/" + res.Path
	}
	return res.Prefix + "/" + res.Path
}

// ID is the name of the resource in the registry.
func (r *Resource) ID() string {
	if r.Key != "" {
		return r.Key
	}
	return r.Collection
}

// Attribute finds an attribute of a resource that came out of a Registry.
func (r *Resource) Attribute(name string) (*Attribute, bool) {
	i, ok := r.index[name]
	if !ok {
		return nil, false
	}
	return &r.Attributes[i], true
}

// Action finds a member action by name.
func (r *Resource) Action(name string) (*Action, bool) {
	for i := range r.Actions {
		if r.Actions[i].Name == name {
			return &r.Actions[i], true
		}
	}
	return nil, false
}

// Visible tells whether the attribute is part of answers.
func (a *Attribute) Visible() bool { return !a.Hidden && !a.FilterOnly }

// HasDefault tells whether a create without the attribute puts a value in place.
func (a *Attribute) HasDefault() bool { return a.Post == Optional && a.Default != Unspecified }
