// Package refdoc writes the reference of the API out of the registry: Markdown for people and OpenAPI 3.1 for tools.
// The generator in tools/apidoc and the staleness test call it; it reads no file and keeps nothing.
package refdoc

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"isospin/internal/apidef"
)

// object is a JSON object under construction.
type object = map[string]any

// OpenAPI is the document that describes every request of the registry, as indented JSON with a last line break.
func OpenAPI(reg *apidef.Registry) ([]byte, error) {
	doc := object{
		"openapi":           "3.1.0",
		"info":              object{"title": "Isospin Networking API", "version": "v2.0", "description": "OpenStack Networking API v2.0 as Isospin serves it.", "license": object{"name": "Apache-2.0", "identifier": "Apache-2.0"}},
		"servers":           []any{object{"url": "http://127.0.0.1:9696"}},
		"security":          []any{object{"token": []any{}}},
		"jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
	}
	paths, schemas, tags := object{}, object{"NeutronError": faultSchema()}, []any{}
	for _, res := range reg.Resources() {
		tags = append(tags, object{"name": res.ID(), "description": res.Doc})
		operations(reg, res, paths)
		schemas[schemaName(res)] = shape(res, (*apidef.Attribute).Visible, nil)
		if !res.NoCreate {
			schemas[schemaName(res)+"Create"] = shape(res, func(a *apidef.Attribute) bool { return a.Post != apidef.Never }, required)
		}
		if !res.NoUpdate {
			schemas[schemaName(res)+"Update"] = shape(res, func(a *apidef.Attribute) bool { return a.Put != apidef.Never }, nil)
		}
	}
	discovery(paths)
	doc["paths"], doc["tags"] = paths, tags
	doc["components"] = object{
		"schemas":         schemas,
		"securitySchemes": object{"token": object{"type": "apiKey", "in": "header", "name": "X-Auth-Token"}},
		"responses":       object{"Fault": answer("What went wrong; clients test the type.", object{"$ref": "#/components/schemas/NeutronError"})},
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(doc); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func faultSchema() object {
	word := object{"type": "string"}
	return object{"type": "object", "required": []any{"NeutronError"}, "properties": object{"NeutronError": object{
		"type": "object", "required": []any{"type", "message", "detail"}, "properties": object{"type": word, "message": word, "detail": word},
	}}}
}

// schemaName is a name for components: "SecurityGroupRule".
func schemaName(res *apidef.Resource) string {
	var b strings.Builder
	for _, w := range strings.FieldsFunc(res.ID()+"/"+res.Name, func(r rune) bool { return r == '_' || r == '-' || r == '/' }) {
		b.WriteString(strings.ToUpper(w[:1]) + w[1:])
	}
	name := b.String()
	if res.Key == "" || !strings.Contains(res.Key, "/") { // the collection adds nothing to the name
		name = ""
		for _, w := range strings.FieldsFunc(res.Name, func(r rune) bool { return r == '_' || r == '-' }) {
			name += strings.ToUpper(w[:1]) + w[1:]
		}
		if res.Parent != "" {
			name = strings.ToUpper(res.Parent[:1]) + strings.ReplaceAll(res.Parent[1:], "_", "") + name
		}
	}
	return name
}

func required(a *apidef.Attribute) bool { return a.Post == apidef.Required }

// shape is the schema of the attributes that keep chooses; must, if any, tells which are required.
func shape(res *apidef.Resource, keep, must func(*apidef.Attribute) bool) object {
	properties, need := object{}, []any{}
	for i := range res.Attributes {
		a := &res.Attributes[i]
		if !keep(a) {
			continue
		}
		s := a.Type.Schema()
		if s["description"] == nil {
			s["description"] = a.Doc
		}
		if must != nil && a.HasDefault() {
			s["default"] = a.Default
		}
		if must != nil && must(a) {
			need = append(need, a.Name)
		}
		properties[a.Name] = s
	}
	out := object{"type": "object", "description": res.Doc, "properties": properties}
	if len(need) > 0 {
		out["required"] = need
	}
	return out
}

func ref(res *apidef.Resource, suffix string) object {
	return object{"$ref": "#/components/schemas/" + schemaName(res) + suffix}
}

func wrapped(key string, s any) object {
	return object{"type": "object", "required": []any{key}, "properties": object{key: s}}
}

func listed(res *apidef.Resource, suffix string) object {
	return wrapped(res.Collection, object{"type": "array", "items": ref(res, suffix)})
}

func content(s any) object { return object{"application/json": object{"schema": s}} }

func answer(doc string, s any) object { return object{"description": doc, "content": content(s)} }

func responses(code int, doc string, s any) object {
	out := object{"default": object{"$ref": "#/components/responses/Fault"}}
	if s == nil {
		out[strconv.Itoa(code)] = object{"description": doc}
	} else {
		out[strconv.Itoa(code)] = answer(doc, s)
	}
	return out
}

// operations adds the paths of a resource: its list, its members and their actions.
func operations(reg *apidef.Registry, res *apidef.Resource, paths object) {
	collection := "/v2.0" + reg.Template(res)
	member := collection + "/{" + res.Name + "_id}"
	id := strings.NewReplacer("/", "_", "-", "_").Replace(res.ID())
	op := func(name, summary string, body any, answers object, params ...any) object {
		o := object{"operationId": name, "summary": summary, "tags": []any{res.ID()}, "responses": answers}
		if body != nil {
			o["requestBody"] = object{"required": true, "content": content(body)}
		}
		if len(params) > 0 {
			o["parameters"] = params
		}
		return o
	}
	one := wrapped(res.Name, ref(res, ""))
	many, single := object{}, object{}
	if !res.NoList {
		many["get"] = op("list_"+id, "Lists "+res.Collection+".", nil, responses(http.StatusOK, "Those that the caller may see.", listed(res, "")), queries(res)...)
	}
	if !res.NoCreate {
		body := any(wrapped(res.Name, ref(res, "Create")))
		made := any(one)
		if !res.NoBulk {
			body, made = object{"oneOf": []any{body, listed(res, "Create")}}, object{"oneOf": []any{one, listed(res, "")}}
		}
		many["post"] = op("create_"+id, "Creates one, or several at once where a list is given.", body, responses(http.StatusCreated, "What was made.", made))
	}
	fields := query("fields", "The attributes to show; may be given several times.", object{"type": "array", "items": object{"type": "string"}})
	if !res.NoShow {
		single["get"] = op("show_"+id, "Shows one.", nil, responses(http.StatusOK, "The one asked for.", one), fields)
	}
	match := object{"name": "If-Match", "in": "header", "description": "revision_number=N: only if it still has that revision.", "schema": object{"type": "string"}}
	if !res.NoUpdate {
		single["put"] = op("update_"+id, "Changes the attributes given.", wrapped(res.Name, ref(res, "Update")), responses(http.StatusOK, "What it has become.", one), match)
	}
	if !res.NoDelete {
		single["delete"] = op("delete_"+id, "Deletes one.", nil, responses(http.StatusNoContent, "It is gone.", nil), match)
	}
	above := parameters(member, "{"+res.Name+"_id}")
	self := pathParameter(res.Name + "_id")
	place(paths, collection, many, above)
	place(paths, member, single, append(slices.Clone(above), self))
	if res.Taggable && reg.Enabled("standard-attr-tag") {
		tagged(paths, member, id, append(slices.Clone(above), self), op, reg.Enabled("tag-creation"))
	}
	for _, a := range res.Actions {
		var body any
		if a.Input != nil {
			body = a.Input.Schema()
		}
		var out any = object{"type": "object"}
		if a.Output != nil {
			out = a.Output.Schema()
		}
		paths[member+"/"+a.Name] = object{
			strings.ToLower(a.Method): op(a.Name+"_"+id, a.Doc, body, responses(http.StatusOK, "What came of it.", out)),
			"parameters":              append(slices.Clone(above), self),
		}
	}
}

func pathParameter(name string) object {
	return object{"name": name, "in": "path", "required": true, "schema": object{"type": "string"}}
}

// parameters are those of the path in braces, except the last.
func parameters(path, last string) []any {
	var out []any
	for _, part := range strings.Split(path, "/") {
		if strings.HasPrefix(part, "{") && part != last {
			out = append(out, pathParameter(strings.Trim(part, "{}")))
		}
	}
	return out
}

func query(name, doc string, s any) object {
	return object{"name": name, "in": "query", "description": doc, "schema": s}
}

// queries are the parameters of a list: its filters, then what all lists have.
func queries(res *apidef.Resource) []any {
	var out, sorts []any
	for i := range res.Attributes {
		a := &res.Attributes[i]
		if a.Sort {
			sorts = append(sorts, a.Name)
		}
		if a.Filter {
			out = append(out, query(a.Name, "Only those with one of these values: "+a.Doc, object{"type": "array", "items": object{"type": "string"}}))
		}
	}
	out = append(out,
		query("fields", "The attributes to show; may be given several times.", object{"type": "array", "items": object{"type": "string"}}),
		query("limit", "At most so many.", object{"type": "integer", "minimum": 0}),
		query("marker", "Only those behind this id.", object{"type": "string"}),
		query("page_reverse", "The page before the marker.", object{"type": "boolean"}))
	if len(sorts) > 0 {
		out = append(out,
			query("sort_key", "An attribute to sort by; each has its sort_dir.", object{"type": "array", "items": object{"type": "string", "enum": sorts}}),
			query("sort_dir", "The direction for each sort_key.", object{"type": "array", "items": object{"type": "string", "enum": []any{"asc", "desc"}}}))
	}
	return out
}
