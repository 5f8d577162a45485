package refdoc

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"isospin/internal/apidef"
)

// Markdown is the reference for people: one section a resource with its requests and attributes, then the extensions.
func Markdown(reg *apidef.Registry) []byte {
	var b strings.Builder
	b.WriteString("# Networking API v2.0\n\n")
	b.WriteString("Generated from the attribute registry by `tools/apidoc`; do not edit. `openapi.json` beside it says the same for tools.\n\n")
	b.WriteString("Columns: **C** may be given on create (**R**: must), **U** on update, **F** filter, **S** sort key, **A** needs a right of its own to set.\n")
	b.WriteString("An attribute in *italics* is only accepted or only filtered by, and never shown. Times are UTC. Default `…`: the server chooses.\n\n")
	for _, res := range reg.Resources() {
		fmt.Fprintf(&b, "- [%s](#%s)\n", res.ID(), anchor(res.ID()))
	}
	for _, res := range reg.Resources() {
		section(&b, reg, res)
	}
	b.WriteString("\n## Extensions\n\n| alias | name | what it does | requires |\n|---|---|---|---|\n")
	for _, e := range reg.Extensions() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", e.Alias, cell(e.Name), cell(e.Doc), codes(e.Requires))
	}
	return []byte(b.String())
}

func section(b *strings.Builder, reg *apidef.Registry, res *apidef.Resource) {
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n", res.ID(), res.Doc)
	collection := "/v2.0" + reg.Template(res)
	member := collection + "/{" + res.Name + "_id}"
	if !res.NoList {
		fmt.Fprintf(b, "    GET    %s\n", collection)
	}
	if !res.NoCreate {
		many := "one or several"
		if res.NoBulk {
			many = "one"
		}
		fmt.Fprintf(b, "    POST   %s    %s\n", collection, many)
	}
	if !res.NoShow {
		fmt.Fprintf(b, "    GET    %s\n", member)
	}
	if !res.NoUpdate {
		fmt.Fprintf(b, "    PUT    %s\n", member)
	}
	if !res.NoDelete {
		fmt.Fprintf(b, "    DELETE %s\n", member)
	}
	for _, a := range res.Actions {
		fmt.Fprintf(b, "    %-6s %s/%s    %s\n", a.Method, member, a.Name, a.Doc)
	}
	b.WriteString("\n| attribute | type | C | U | F | S | A | default | meaning | extension |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for i := range res.Attributes {
		row(b, &res.Attributes[i])
	}
}

func row(b *strings.Builder, a *apidef.Attribute) {
	name := "`" + a.Name + "`"
	if !a.Visible() {
		name = "*" + name + "*"
	}
	access := func(x apidef.Access) string { return []string{"", "x", "R"}[x] }
	mark := func(on bool) string {
		if on {
			return "x"
		}
		return ""
	}
	value := ""
	switch {
	case a.HasDefault():
		raw, err := json.Marshal(a.Default)
		if err != nil {
			raw = []byte("?")
		}
		value = "`" + string(raw) + "`"
	case a.Post == apidef.Optional:
		value = "…"
	}
	alias := a.Alias
	if alias == "core" {
		alias = ""
	}
	fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", name, cell(typeText(a.Type.Schema())),
		access(a.Post), access(a.Put), mark(a.Filter), mark(a.Sort), mark(a.Guarded), cell(value), cell(a.Doc), alias)
}

// typeText is a schema in a few words.
func typeText(s apidef.Schema) string {
	null := ""
	kind := ""
	switch t := s["type"].(type) {
	case string:
		kind = t
	case []any:
		for _, k := range t {
			if k == "null" {
				null = " or null"
			} else if kind == "" {
				kind = fmt.Sprint(k)
			}
		}
	}
	if enum, ok := s["enum"].([]any); ok && len(enum) > 0 {
		var vs []string
		for _, v := range enum {
			if v != nil {
				vs = append(vs, fmt.Sprint(v))
			}
		}
		return strings.Join(vs, ", ") + null
	}
	switch kind {
	case "string":
		return stringText(s) + null
	case "integer":
		low, high := s["minimum"], s["maximum"]
		switch {
		case low != nil && high != nil:
			return fmt.Sprintf("%v to %v%s", low, high, null)
		case low != nil:
			return fmt.Sprintf("at least %v%s", low, null)
		}
	case "array":
		if items, ok := s["items"].(apidef.Schema); ok {
			return "list of " + typeText(items) + null
		}
		return "list" + null
	case "object":
		if props, ok := s["properties"].(apidef.Schema); ok && len(props) > 0 {
			var keys []string
			for k := range props {
				keys = append(keys, k)
			}
			sort.Strings(keys)
			return "{" + strings.Join(keys, ", ") + "}" + null
		}
	case "":
		if alternatives, ok := s["anyOf"].([]any); ok && len(alternatives) > 0 {
			if first, ok := alternatives[0].(apidef.Schema); ok {
				return typeText(first) + null
			}
		}
		return "any"
	}
	return kind + null
}

func stringText(s apidef.Schema) string {
	switch {
	case s["pattern"] != nil:
		return fmt.Sprintf("text like `%v`", s["pattern"])
	case s["format"] != nil:
		return fmt.Sprint(s["format"])
	case s["maxLength"] != nil:
		return fmt.Sprintf("text up to %v", s["maxLength"])
	}
	return "text"
}

func cell(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "|", "\\|"), "\n", " ")
}

func codes(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return "`" + strings.Join(words, "`, `") + "`"
}

func anchor(id string) string {
	return strings.NewReplacer("/", "", " ", "-").Replace(strings.ToLower(id))
}
