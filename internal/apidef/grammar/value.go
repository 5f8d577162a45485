package grammar

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"isospin/internal/apidef"
)

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(b)
}

// value is JSON that fits a schema; name tells which objects an id or a list of ids may mean.
func (g *Gen) value(name string, s apidef.Schema, depth int) string {
	if alternatives, ok := s["anyOf"].([]any); ok && len(alternatives) > 0 {
		if one, ok := pick(g, alternatives).(apidef.Schema); ok {
			return g.value(name, one, depth)
		}
	}
	kind, null := kindOf(s)
	if null && g.chance(15) {
		return "null"
	}
	if enum, ok := s["enum"].([]any); ok && len(enum) > 0 {
		raw, err := json.Marshal(pick(g, enum))
		if err == nil {
			return string(raw)
		}
	}
	switch kind {
	case "string":
		return quote(g.text(name, s))
	case "integer":
		return g.integer(s)
	case "boolean":
		return pick(g, []string{"true", "false", "true", "false", `"yes"`, `"0"`, "1"})
	case "array":
		items, _ := s["items"].(apidef.Schema)
		return g.array(name, s, items, depth)
	case "object":
		return g.object(s, depth)
	}
	return pick(g, []string{`"x"`, "1", "{}", "[]", "null", "true"})
}

// kindOf is the JSON type that a schema names, and whether null fits as well.
func kindOf(s apidef.Schema) (kind string, null bool) {
	switch t := s["type"].(type) {
	case string:
		return t, false
	case []any:
		for _, k := range t {
			if k == "null" {
				null = true
			} else if kind == "" {
				kind = fmt.Sprint(k)
			}
		}
	}
	return kind, null
}

func (g *Gen) array(name string, s, items apidef.Schema, depth int) string {
	n := pick(g, []int{0, 1, 1, 1, 2, 3})
	if most, ok := s["maxItems"].(int); ok && g.chance(5) {
		n = most
	}
	if depth > 3 {
		n = 0
	}
	var out []string
	for range n {
		v := g.value(name, items, depth+1)
		if s["uniqueItems"] != true || !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return "[" + strings.Join(out, ",") + "]"
}

func (g *Gen) object(s apidef.Schema, depth int) string {
	properties, _ := s["properties"].(apidef.Schema)
	required, _ := s["required"].([]any)
	var names []string
	for k := range properties {
		names = append(names, k)
	}
	slices.Sort(names)
	var out []field
	for _, k := range names {
		p, ok := properties[k].(apidef.Schema)
		if ok && (slices.Contains(required, any(k)) || g.chance(50)) {
			out = append(out, field{k, g.value(k, p, depth+1)})
		}
	}
	return object(out)
}

func (g *Gen) integer(s apidef.Schema) string {
	low, high := bound(s["minimum"], -1<<40), bound(s["maximum"], 1<<40)
	v := low
	switch {
	case g.chance(20):
	case g.chance(20):
		v = high
	case high > low:
		v += int64(g.rnd.Uint64N(uint64(min(high-low, 5000)))) // small ones are the likelier to be of use
	}
	if g.chance(10) {
		return quote(strconv.FormatInt(v, 10))
	}
	return strconv.FormatInt(v, 10)
}

func bound(v any, otherwise int64) int64 {
	switch n := v.(type) {
	case int64:
		return n
	case int:
		return int64(n)
	}
	return otherwise
}

func (g *Gen) text(name string, s apidef.Schema) string {
	if key := g.refers(name); key != "" && (s["format"] == "uuid" || s["maxLength"] == 36) {
		return g.id(key)
	}
	switch s["format"] {
	case "uuid":
		return g.uuid()
	case "mac":
		return fmt.Sprintf("fa:16:3e:%02x:%02x:%02x", g.rnd.IntN(256), g.rnd.IntN(256), g.rnd.IntN(256))
	case "ip":
		if g.chance(30) {
			return fmt.Sprintf("2001:db8::%x", 1+g.rnd.IntN(65535))
		}
		return fmt.Sprintf("10.%d.%d.%d", g.rnd.IntN(256), g.rnd.IntN(256), g.rnd.IntN(256))
	case "cidr":
		if g.chance(30) {
			return fmt.Sprintf("2001:db8:%x::/%d", g.rnd.IntN(65536), 48+g.rnd.IntN(81))
		}
		return fmt.Sprintf("10.%d.%d.0/%d", g.rnd.IntN(256), g.rnd.IntN(256), 24+g.rnd.IntN(9))
	case "hostname":
		return pick(g, []string{"", "vm", "vm-1.example.org.", "example.org.", "a.b"})
	case "date-time":
		return "2026-01-31T12:00:00Z"
	}
	if examples, ok := s["examples"].([]any); ok && len(examples) > 0 && g.chance(90) {
		return fmt.Sprint(pick(g, examples))
	}
	if words := g.known[name]; len(words) > 0 && g.chance(90) {
		return pick(g, words)
	}
	most := int(bound(s["maxLength"], 300))
	n := g.rnd.IntN(min(most, 24) + 1)
	if g.chance(5) {
		n = most
	}
	var b strings.Builder
	for range n {
		b.WriteRune(pick(g, g.letters))
	}
	return b.String()
}

// refers tells which resource the ids under a name belong to; empty: none that is known.
func (g *Gen) refers(name string) string {
	switch name {
	case "remote_group_id", "security_groups":
		name = "security_group"
	case "ports":
		name = "port"
	case "subnets":
		name = "subnet"
	default:
		bare, ok := strings.CutSuffix(name, "_id")
		if !ok {
			return ""
		}
		name = bare
	}
	for _, r := range g.resources {
		if r.Name == name && r.Parent == "" {
			return r.ID()
		}
	}
	return ""
}
