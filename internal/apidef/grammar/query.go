package grammar

import (
	"fmt"
	"net/url"
	"strings"

	"isospin/internal/apidef"
)

// list is a GET of a collection with filters, fields, an order and a page, each of them sometimes off.
func (g *Gen) list(res *apidef.Resource) Request {
	r := Request{Method: "GET", Path: g.collection(res), Collection: res.ID()}
	var parts []string
	add := func(name, value string, c Class) {
		parts = append(parts, url.QueryEscape(name)+"="+url.QueryEscape(value))
		r.Class = max(r.Class, c)
	}
	for range pick(g, []int{0, 0, 1, 1, 2, 4}) {
		g.filter(res, add)
	}
	if g.chance(25) {
		for range 1 + g.rnd.IntN(3) {
			if g.chance(80) {
				add("fields", g.some(res).Name, Valid)
			} else {
				add("fields", pick(g, g.texts), Near)
			}
		}
	}
	if g.chance(25) {
		g.order(res, add)
	}
	if g.chance(40) {
		g.page(res, add)
	}
	if g.chance(6) {
		parts = append(parts, pick(g, g.queries))
		r.Class = Hostile
	}
	r.Query = strings.Join(parts, "&")
	return r
}

func (g *Gen) filter(res *apidef.Resource, add func(name, value string, c Class)) {
	a := g.some(res)
	switch {
	case g.chance(8):
		add(pick(g, g.strangeNames), pick(g, g.texts), Near)
	case !a.Filter:
		add(a.Name, "x", Near)
	case g.chance(15):
		add(a.Name, pick(g, g.texts), Hostile)
	case a.Name == "id":
		add("id", g.id(res.ID()), Valid)
	case a.Name == "fixed_ips":
		add(a.Name, pick(g, []string{"ip_address=10.0.0.5", "subnet_id=" + g.id("subnets"), "ip_address_substr=10.", "nope=x", "10.0.0.5"}), Near)
	default:
		kind, _ := kindOf(a.Type.Schema())
		switch kind {
		case "array", "object":
			add(a.Name, g.id(g.refers(a.Name)), Valid)
		case "integer":
			add(a.Name, fmt.Sprint(g.rnd.IntN(5000)), Valid)
		default:
			add(a.Name, strings.Trim(g.value(a.Name, a.Type.Schema(), 0), `"`), Valid)
		}
	}
}

func (g *Gen) order(res *apidef.Resource, add func(name, value string, c Class)) {
	for range 1 + g.rnd.IntN(2) {
		a := g.some(res)
		class := Near
		if a.Sort {
			class = Valid
		}
		add("sort_key", a.Name, class)
		if !g.chance(10) {
			add("sort_dir", pick(g, []string{"asc", "desc", "asc", "desc", "sideways", ""}), Near)
		}
	}
}

func (g *Gen) page(res *apidef.Resource, add func(name, value string, c Class)) {
	add("limit", pick(g, []string{"1", "2", "5", "1000", "0", "-1", "x", "", "1.5", "99999999999999999999", "2147483648"}), Near)
	if g.chance(50) {
		add("marker", pick(g, []string{g.id(res.ID()), g.id(res.ID()), g.uuid(), "x", "", "\x00"}), Near)
	}
	if g.chance(30) {
		add("page_reverse", pick(g, []string{"True", "False", "true", "1", "maybe", ""}), Near)
	}
}
