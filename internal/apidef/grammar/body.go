package grammar

import (
	"fmt"
	"strings"
	"unicode/utf16"

	"isospin/internal/apidef"
)

// field is one key of an object in the making; keys may come twice.
type field struct{ name, raw string }

func object(fields []field) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, f := range fields {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(quote(f.name) + ":" + f.raw)
	}
	b.WriteByte('}')
	return b.String()
}

// body is what a POST or PUT carries: mostly one fitting object, sometimes several, sometimes spoiled.
func (g *Gen) body(res *apidef.Resource, post bool) ([]byte, Class) {
	if g.chance(4) {
		return []byte(pick(g, g.bodies)), Hostile
	}
	fields := g.fields(res, post)
	class := Valid
	if g.chance(35) {
		fields, class = g.spoil(res, fields, post)
	}
	one := object(fields)
	switch n := g.rnd.IntN(100); {
	case n < 80:
		one = object([]field{{res.Name, one}})
	case n < 92 && post:
		items := []string{one}
		for range g.rnd.IntN(4) {
			items = append(items, object(g.fields(res, post)))
		}
		if g.chance(10) { // clients of old wrap each item
			for i := range items {
				items[i] = object([]field{{res.Name, items[i]}})
			}
		}
		one = object([]field{{res.Collection, "[" + strings.Join(items, ",") + "]"}})
		if res.NoBulk {
			class = max(class, Near)
		}
	default:
		one, class = g.wrapWrong(res, one), Hostile
	}
	return []byte(one), class
}

// wrapWrong puts the object where it does not belong.
func (g *Gen) wrapWrong(res *apidef.Resource, one string) string {
	right := object([]field{{res.Name, one}})
	switch g.rnd.IntN(12) {
	case 0:
		return one
	case 1:
		return object([]field{{"thing", one}})
	case 2:
		return object([]field{{res.Name, one}, {res.Collection, "[" + one + "]"}})
	case 3:
		return object([]field{{res.Name, one}, {res.Name, "null"}})
	case 4:
		return object([]field{{res.Name, "[" + one + "]"}})
	case 5:
		return object([]field{{res.Collection, pick(g, []string{"[]", "{}", "null", "[null]", "[[]]", `["x"]`, one})}})
	case 6:
		return "[" + right + "]"
	case 7:
		return right[:g.rnd.IntN(len(right))] // cut short
	case 8:
		return right + pick(g, []string{"}", " x", "\x00", right})
	case 9:
		return "\ufeff" + right
	case 10:
		var b strings.Builder // UTF-16, which JSON of old allowed
		for _, u := range utf16.Encode([]rune(right)) {
			b.WriteByte(byte(u))
			b.WriteByte(byte(u >> 8))
		}
		return b.String()
	}
	return object([]field{{res.Name, one}, {"extra", "1"}})
}

// fields are attributes that fit: all required ones, some of the others.
func (g *Gen) fields(res *apidef.Resource, post bool) []field {
	var out []field
	for i := range res.Attributes {
		a := &res.Attributes[i]
		access, odds := a.Put, 25
		if post {
			access, odds = a.Post, 20
		}
		switch {
		case access == apidef.Never || a.Name == "tenant_id" || a.Name == "project_id":
			continue
		case access == apidef.Required, g.chance(odds), post && a.Name == "cidr" && !g.chance(5):
			out = append(out, field{a.Name, g.attribute(res, a)})
		}
	}
	return g.agree(res, out)
}

func (g *Gen) attribute(res *apidef.Resource, a *apidef.Attribute) string {
	if a.Name == "name" && g.chance(80) {
		g.serial++
		return fmt.Sprintf(`"%s-%d"`, res.Name, g.serial)
	}
	return g.value(a.Name, a.Type.Schema(), 0)
}

// agree makes the values of a subnet belong together, for chance alone would seldom hit upon one that can exist.
func (g *Gen) agree(res *apidef.Resource, fields []field) []field {
	if res.ID() != "subnets" || g.chance(15) {
		return fields
	}
	version, cidr := "4", fmt.Sprintf(`"10.%d.%d.0/24"`, g.rnd.IntN(256), g.rnd.IntN(256))
	if g.chance(35) {
		version, cidr = "6", fmt.Sprintf(`"2001:db8:%x::/64"`, g.rnd.IntN(65536))
	}
	kept := fields[:0]
	for _, f := range fields {
		switch f.name {
		case "ip_version":
			f.raw = version
		case "cidr":
			f.raw = cidr
		case "gateway_ip", "allocation_pools", "subnetpool_id", "prefixlen", "use_default_subnetpool", "ipv6_ra_mode", "ipv6_address_mode", "segment_id":
			if !g.chance(10) {
				continue
			}
		}
		kept = append(kept, f)
	}
	return kept
}

// spoil changes one thing about fields that fit.
func (g *Gen) spoil(res *apidef.Resource, fields []field, post bool) ([]field, Class) {
	switch g.rnd.IntN(8) {
	case 0:
		return append(fields, field{pick(g, g.strangeNames), pick(g, g.values)}), Near
	case 1: // an attribute that may not be given here
		a := g.some(res)
		return append(fields, field{a.Name, g.value(a.Name, a.Type.Schema(), 0)}), Near
	case 2: // one that is needed is missing
		if len(fields) > 0 {
			i := g.rnd.IntN(len(fields))
			return append(fields[:i], fields[i+1:]...), Near
		}
	case 3:
		if len(fields) > 0 {
			f := pick(g, fields)
			return append(fields, field{f.name, pick(g, g.values)}), Hostile
		}
	case 4:
		owner := pick(g, []string{`""`, "null", `"` + g.uuid() + `"`, "5", `"*"`})
		return append(fields, field{"project_id", owner}, field{"tenant_id", owner}), Near
	case 5:
		return append(fields, field{"project_id", `"a"`}, field{"tenant_id", `"b"`}), Near
	}
	a := g.some(res)
	if a.FilterOnly || post && a.Post == apidef.Never || !post && a.Put == apidef.Never {
		return append(fields, field{a.Name, pick(g, g.values)}), Near
	}
	for i := range fields {
		if fields[i].name == a.Name {
			fields[i].raw = pick(g, g.values)
			return fields, Hostile
		}
	}
	return append(fields, field{a.Name, pick(g, g.values)}), Hostile
}
