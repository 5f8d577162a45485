package rest

import (
	"context"
	"encoding/json"
	"net/url"

	"isospin/internal/apidef"
	"isospin/internal/fault"
	"isospin/internal/policy"
	"isospin/internal/store"
)

// The methods of this file are for handlers of sub-resources whose rows stand in their parent's.

// Filters are the filters of a list by attribute; whatever else the query string holds is refused or, where every list
// knows it, left out.
func (c *Call) Filters() (url.Values, error) {
	values, err := query(c.r)
	if err != nil {
		return nil, err
	}
	q := &listQuery{}
	if err := q.sorting(c.e, values); err != nil {
		return nil, err
	}
	if err := c.s.paging(q, values); err != nil {
		return nil, err
	}
	for name := range values {
		switch name {
		case "fields", "limit", "marker", "page_reverse", "sort_key", "sort_dir":
			delete(values, name)
			continue
		}
		if a, ok := c.e.res.Attribute(name); !ok || !a.Filter {
			return nil, fault.HTTPBadRequest("Invalid filter: " + printable(name) + " is not an attribute of " + c.e.res.Name + " to filter on.")
		}
	}
	return values, nil
}

// Checked reads the object in the body under the resource's name, each attribute checked against the registry, as canonical
// JSON; on a POST with defaults.
func (c *Call) Checked(post bool) (map[string]json.RawMessage, error) {
	in, err := c.Object(c.e.res.Name)
	if err != nil {
		return nil, err
	}
	out := map[string]json.RawMessage{}
	for name, raw := range in {
		a, ok := c.e.res.Attribute(name)
		if !ok || a.FilterOnly {
			return nil, fault.HTTPBadRequest("Unrecognized attribute " + printable(name) + " of " + c.e.res.Name + ".")
		}
		if post && a.Post == apidef.Never || !post && a.Put == apidef.Never {
			return nil, fault.HTTPBadRequest("The attribute " + name + " of " + c.e.res.Name + " cannot be set by this request.")
		}
		v, err := a.Type.Decode(raw)
		if err != nil {
			return nil, blame(name, err)
		}
		out[name] = v
	}
	for i := range c.e.res.Attributes {
		a := &c.e.res.Attributes[i]
		if _, given := out[a.Name]; given || !post {
			continue
		}
		if a.Post == apidef.Required {
			return nil, fault.HTTPBadRequest("The request lacks the required attribute " + a.Name + " of " + c.e.res.Name + ".")
		}
		if a.Fallback != nil {
			out[a.Name] = a.Fallback
		}
	}
	return out, nil
}

// ParentSeen is the parent's 404 unless the caller may see the member above the sub-resource.
func (c *Call) ParentSeen(ctx context.Context, tx store.Tx) error {
	return c.s.parentSeen(ctx, tx, c.e, c.Parent)
}

// Sees tells whether the caller alone passes a rule.
func (c *Call) Sees(ctx context.Context, rule string) bool {
	return c.s.Policy.Verdict(principal(ctx), rule) == policy.Always
}
