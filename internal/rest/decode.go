package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"isospin/internal/apidef"
	"isospin/internal/auth"
	"isospin/internal/fault"
)

// maxBody is the largest request body read, in bytes; Neutron's default max_request_body_size.
const maxBody = 114688 * 10

// readBody reads the whole request body.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		var big *http.MaxBytesError
		if errors.As(err, &big) {
			return nil, fault.Newf(fault.TooLarge, "HTTPRequestEntityTooLarge", "The request body is larger than %d bytes.", big.Limit)
		}
		return nil, fault.MalformedRequestBody("it could not be read.").Because(err)
	}
	return body, nil
}

// envelope takes apart {"network": {...}} or {"networks": [...]}. The plural wins where both are there.
func envelope(res *apidef.Resource, body []byte, bulk bool) (items []json.RawMessage, many bool, err error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, false, fault.HTTPBadRequest("The request has no body.")
	}
	var outer map[string]json.RawMessage
	if err := json.Unmarshal(body, &outer); err != nil {
		var te *json.UnmarshalTypeError
		if errors.As(err, &te) || outer == nil && string(bytes.TrimSpace(body)) == "null" {
			return nil, false, fault.HTTPBadRequest("The request body is not a JSON object.")
		}
		return nil, false, malformed(res, "it is not JSON: "+printable(err.Error())+".")
	}
	if raw, ok := outer[res.Collection]; ok && bulk {
		if err := json.Unmarshal(raw, &items); err != nil || items == nil {
			return nil, false, fault.HTTPBadRequest(res.Collection + " is not a list.")
		}
		if len(items) == 0 {
			return nil, false, fault.HTTPBadRequest(res.Collection + " is an empty list.")
		}
		for i, it := range items {
			var wrapped map[string]json.RawMessage
			if json.Unmarshal(it, &wrapped) == nil && len(wrapped) == 1 && wrapped[res.Name] != nil {
				items[i] = wrapped[res.Name]
			}
		}
		return items, true, nil
	}
	raw, ok := outer[res.Name]
	if !ok {
		return nil, false, fault.HTTPBadRequest("The request body has no " + res.Name + ".")
	}
	return []json.RawMessage{raw}, false, nil
}

// malformed names the fault as the front end does that serves the collection in Neutron (behaviour.md, section 2).
func malformed(res *apidef.Resource, reason string) error {
	switch res.Collection {
	case "networks", "subnets", "ports":
		return fault.HTTPBadRequest("The request body cannot be read: " + reason)
	}
	return fault.MalformedRequestBody(reason)
}

// attributes checks one item against the registry and returns canonical JSON: what was given, and for a create the whole
// with defaults in place.
func (e *endpoint) attributes(p *auth.Principal, item json.RawMessage, post bool) (given, full map[string]json.RawMessage, err error) {
	var in map[string]json.RawMessage
	if err := json.Unmarshal(item, &in); err != nil || in == nil {
		return nil, nil, fault.HTTPBadRequest("The " + e.res.Name + " in the request is not a JSON object.")
	}
	given = make(map[string]json.RawMessage, len(in)+2)
	for name, raw := range in {
		a, ok := e.res.Attribute(name)
		if !ok || a.FilterOnly {
			return nil, nil, fault.HTTPBadRequest("Unrecognized attribute " + printable(name) + " of " + e.res.Name + ".")
		}
		access := a.Put
		if post {
			access = a.Post
		}
		if access == apidef.Never {
			return nil, nil, fault.HTTPBadRequest("The attribute " + name + " of " + e.res.Name + " cannot be set by this request.")
		}
		v, err := a.Type.Decode(raw)
		if err != nil {
			return nil, nil, blame(name, err)
		}
		given[name] = v
	}
	if !post {
		return given, given, nil
	}
	if err := e.own(p, given); err != nil {
		return nil, nil, err
	}
	full = make(map[string]json.RawMessage, len(e.res.Attributes))
	for i := range e.res.Attributes {
		a := &e.res.Attributes[i]
		if v, ok := given[a.Name]; ok {
			full[a.Name] = v
			continue
		}
		switch {
		case a.Post == apidef.Required && a.Name != "project_id" && a.Name != "tenant_id":
			return nil, nil, fault.HTTPBadRequest("The request lacks the required attribute " + a.Name + " of " + e.res.Name + ".")
		case a.Post == apidef.Optional && a.Default != apidef.Unspecified:
			raw, err := json.Marshal(a.Default)
			if err != nil {
				return nil, nil, err
			}
			full[a.Name] = raw
		}
	}
	return given, full, nil
}

// own settles the owner: both names, the same value; only some callers may name another project.
func (e *endpoint) own(p *auth.Principal, given map[string]json.RawMessage) error {
	if _, ok := e.res.Attribute("project_id"); !ok {
		return nil
	}
	a, hasA := given["project_id"]
	b, hasB := given["tenant_id"]
	if hasA && hasB && !bytes.Equal(a, b) {
		return fault.HTTPBadRequest("project_id and tenant_id name two different projects.")
	}
	if hasB {
		a = b
	}
	owner := p.ProjectID
	if hasA || hasB {
		if string(a) == "null" && p.HasRole(auth.RoleAdmin) {
			return nil // what the type lets through belongs to all projects
		}
		owner = text(a)
		if owner == "" {
			return fault.HTTPBadRequest("project_id is empty.")
		}
		if owner != p.ProjectID && !p.HasRole(auth.RoleAdmin) && !p.HasRole(auth.RoleService) && !p.HasRole("advsvc") {
			return fault.HTTPBadRequest("project_id names another project than the caller's.")
		}
	}
	if owner == "" && e.res.Parent == "" {
		return fault.HTTPBadRequest("The request says no project: the caller has none and project_id was not given.")
	}
	raw, err := json.Marshal(owner)
	if err != nil {
		return err
	}
	given["project_id"], given["tenant_id"] = raw, raw
	return nil
}

// blame names the attribute in the fault of a type.
func blame(name string, err error) error {
	f := *fault.Of(err)
	f.Message = "Invalid input for " + name + ": " + f.Message
	return &f
}
