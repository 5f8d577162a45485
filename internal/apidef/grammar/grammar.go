// Package grammar makes up requests from the attribute registry: valid ones, ones that are nearly valid and hostile
// ones, for the tests that hold the API to its promises (no request is answered with a server error, none is lost).
// Tests and fuzzers call it; it sends nothing and is never part of a server.
package grammar

import (
	"math/rand/v2"
	"slices"
	"strings"

	"isospin/internal/apidef"
)

// Class says what a request means to be. It is a hint: a valid request may still meet a conflict, and one spoiled by
// chance may turn out harmless.
type Class uint8

// The classes.
const (
	Valid   Class = iota // by the registry's word it fits
	Near                 // one thing about it is off
	Hostile              // made to break a server
)

// Request is one request. Path and Query are escaped already and parse as parts of a URL.
type Request struct {
	Method, Path, Query string
	Header              map[string]string
	Body                []byte
	Class               Class
	Collection          string // the key of the resource that it is about; empty where there is none
}

// URL is the request's address below base ("http://127.0.0.1:9696").
func (r Request) URL(base string) string {
	if r.Query == "" {
		return base + r.Path
	}
	return base + r.Path + "?" + r.Query
}

// Gen makes requests, the same ones for the same seed and the same calls of Learn. It serves one goroutine.
type Gen struct {
	corpus

	rnd       *rand.Rand
	reg       *apidef.Registry
	resources []*apidef.Resource
	live      map[string][]string // key of a resource → ids that exist, as far as told
	serial    int
}

// New starts a generator over a registry that has at least one resource.
func New(seed uint64, reg *apidef.Registry) *Gen {
	return &Gen{corpus: newCorpus(), rnd: rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15)), reg: reg, resources: reg.Resources(), live: map[string][]string{}}
}

// maxLive bounds the ids kept for each collection, so that long runs stay small.
const maxLive = 500

// Learn tells of an object that exists, so that later requests can name it.
func (g *Gen) Learn(collection, id string) {
	ids := g.live[collection]
	if id == "" || slices.Contains(ids, id) {
		return
	}
	if len(ids) >= maxLive {
		ids = ids[1:]
	}
	g.live[collection] = append(ids, id)
}

// Forget tells that an object is gone.
func (g *Gen) Forget(collection, id string) {
	if i := slices.Index(g.live[collection], id); i >= 0 {
		g.live[collection] = slices.Delete(g.live[collection], i, i+1)
	}
}

// Next is the next request.
func (g *Gen) Next() Request {
	res := pick(g, g.resources)
	switch n := g.rnd.IntN(100); {
	case n < 30:
		return g.create(res)
	case n < 50:
		return g.list(res)
	case n < 60:
		return g.show(res)
	case n < 78:
		return g.update(res)
	case n < 84:
		return g.remove(res)
	case n < 88:
		return g.act(res)
	}
	return g.odd(res)
}

func pick[T any](g *Gen, from []T) T { return from[g.rnd.IntN(len(from))] }

// some is an attribute of a resource; of a stranger's where it has none, as what schedulers list.
func (g *Gen) some(res *apidef.Resource) apidef.Attribute {
	if len(res.Attributes) == 0 {
		res = g.resources[0]
	}
	return pick(g, res.Attributes)
}

// chance is true in n of 100 cases.
func (g *Gen) chance(n int) bool { return g.rnd.IntN(100) < n }

// collection is the path of the list, with live ids of parents where there are any.
func (g *Gen) collection(res *apidef.Resource) string {
	path := g.reg.Template(res)
	if parent, ok := g.reg.Resource(res.Parent); ok {
		path = g.member(parent) + "/" + res.Path
		return path
	}
	return "/v2.0" + path
}

func (g *Gen) member(res *apidef.Resource) string {
	return g.collection(res) + "/" + g.id(res.ID())
}

// id is a live id if there is one, and in one case of ten or where there is none one that nobody has.
func (g *Gen) id(key string) string {
	if ids := g.live[key]; len(ids) > 0 && !g.chance(10) {
		return pick(g, ids)
	}
	return g.uuid()
}

func (g *Gen) uuid() string {
	const hex = "0123456789abcdef"
	b := []byte("xxxxxxxx-xxxx-4xxx-axxx-xxxxxxxxxxxx")
	for i, c := range b {
		if c == 'x' {
			b[i] = hex[g.rnd.IntN(16)]
		}
	}
	return string(b)
}

func (g *Gen) create(res *apidef.Resource) Request {
	r := Request{Method: "POST", Path: g.collection(res), Collection: res.ID()}
	r.Body, r.Class = g.body(res, true)
	if res.NoCreate {
		r.Class = max(r.Class, Near)
	}
	return r
}

func (g *Gen) update(res *apidef.Resource) Request {
	r := Request{Method: "PUT", Path: g.member(res), Collection: res.ID()}
	r.Body, r.Class = g.body(res, false)
	if res.NoUpdate {
		r.Class = max(r.Class, Near)
	}
	if g.chance(8) {
		r.Header = map[string]string{"If-Match": pick(g, g.ifMatches)}
	}
	return r
}

func (g *Gen) show(res *apidef.Resource) Request {
	r := Request{Method: "GET", Path: g.member(res), Collection: res.ID()}
	if g.chance(30) {
		r.Query = "fields=" + g.some(res).Name
	}
	return r
}

func (g *Gen) remove(res *apidef.Resource) Request {
	r := Request{Method: "DELETE", Path: g.member(res), Collection: res.ID()}
	if g.chance(10) {
		r.Body, r.Class = []byte("{}"), Near
	}
	if g.chance(8) {
		r.Header = map[string]string{"If-Match": pick(g, g.ifMatches)}
	}
	return r
}

func (g *Gen) act(res *apidef.Resource) Request {
	r := Request{Method: "PUT", Path: g.member(res), Collection: res.ID(), Class: Near}
	if len(res.Actions) == 0 {
		r.Path += "/" + pick(g, []string{"tags", "no_such_action", "add_router_interface", "activate"})
		r.Body = []byte(pick(g, []string{"", "{}", `{"tags":["a"]}`, "null"}))
		return r
	}
	a := pick(g, res.Actions)
	r.Method, r.Path = a.Method, r.Path+"/"+a.Name
	switch {
	case g.chance(10):
		r.Method = pick(g, g.methods)
	case g.chance(15):
		r.Body, r.Class = []byte(pick(g, g.bodies)), Hostile
	case a.Input != nil:
		r.Body, r.Class = []byte(g.value(a.Name, a.Input.Schema(), 0)), Valid
	case g.chance(50):
		r.Body = []byte("{}")
	}
	return r
}

// odd is about methods and paths that lead nowhere, and about bodies where none belongs.
func (g *Gen) odd(res *apidef.Resource) Request {
	r := Request{Method: pick(g, g.methods), Path: g.collection(res), Collection: res.ID(), Class: Hostile}
	switch g.rnd.IntN(9) {
	case 0:
		r.Path = g.member(res)
	case 1:
		r.Path += "/" + pick(g, g.strangeIDs)
	case 2:
		r.Path = pick(g, g.paths)
	case 3:
		r.Path += pick(g, []string{"/", ".json", "//", "/.", ".xml"})
		r.Method = "GET"
	case 4:
		r.Path = strings.ReplaceAll(r.Path, "-", "_")
		r.Method, r.Class = "GET", Near
	case 5:
		r.Path = g.member(res) + "/" + pick(g, []string{"tags", "tags/a", "bindings", "nothing", "%2e%2e"})
	case 6:
		r.Method = pick(g, []string{"PUT", "DELETE", "PATCH"}) // on the collection
	case 7:
		r.Method, r.Body = "GET", []byte(pick(g, g.bodies))
	case 8:
		r.Method = "POST"
		r.Header = pick(g, g.headers)
		r.Body, _ = g.body(res, true)
	}
	if r.Method == "POST" && r.Body == nil {
		r.Body = []byte(pick(g, g.bodies))
	}
	return r
}
