package conformance

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"isospin/internal/apidef"
	"isospin/test/rig"
)

// fact is what the reference says of an attribute (tools/apifacts).
type fact struct {
	Post       bool `json:"allow_post"`
	Put        bool `json:"allow_put"`
	Visible    bool `json:"is_visible"`
	HasDefault bool `json:"has_default"`
	Default    any  `json:"default"`
	Filter     bool `json:"is_filter"`
	Sort       bool `json:"is_sort_key"`
}

// facts are the attributes of all collections of the reference.
func facts(t *testing.T) map[string]map[string]fact {
	t.Helper()
	b, err := os.ReadFile("../../internal/apidef/catalogue/testdata/facts.json")
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		Collections map[string]struct {
			Attributes map[string]fact `json:"attributes"`
		} `json:"collections"`
	}
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]fact{}
	for name, c := range f.Collections {
		out[name] = c.Attributes
		if w, ok := c.Attributes["tenant_id"]; ok {
			if _, own := c.Attributes["project_id"]; !own {
				out[name]["project_id"] = w
			}
		}
	}
	return out
}

// inspector compares a running server with the facts, attribute by attribute.
type inspector struct {
	t     *testing.T
	w     *realm
	facts map[string]map[string]fact
	n     map[string]int // comparisons made, by kind
}

func (i *inspector) is(kind, what string, got, want any, a rig.Answer) {
	i.t.Helper()
	i.n[kind]++
	if jsonOf(got) != jsonOf(want) {
		i.t.Errorf("%s: %s is %s, by the reference %s: %d %.300s", kind, what, jsonOf(got), jsonOf(want), a.Status, a.Body)
	}
}

// TestAttributesAsTheReferenceHasThem asks the server itself, for every collection of the registry, which attributes a create and an update
// take, what is shown, which defaults are put in place, and by what lists can be filtered and sorted.
func TestAttributesAsTheReferenceHasThem(t *testing.T) {
	i := &inspector{t: t, w: newRealms(t, "M")[0], facts: facts(t), n: map[string]int{}}
	for _, collection := range i.w.owned() {
		o := i.w.get(collection)
		attributes, known := i.facts[collection]
		if !known {
			t.Errorf("the reference has no collection %s", collection)
			continue
		}
		i.reads(o, attributes)
		i.writes(o, attributes)
	}
	t.Log(i.n)
	for kind, least := range map[string]int{"visible": 400, "post": 150, "put": 400, "default": 60, "filter": 400, "sort": 400} {
		if i.n[kind] < least {
			t.Errorf("only %d comparisons of the kind %s", i.n[kind], kind)
		}
	}
}

// names are the attributes of a collection that both the registry and the reference have, in the registry's order.
func (i *inspector) names(o *object, attributes map[string]fact) []string {
	var out []string
	for _, a := range o.res.Attributes {
		if _, ok := attributes[a.Name]; ok {
			out = append(out, a.Name)
		}
	}
	return out
}

// reads compares what is shown, filters and sort keys.
func (i *inspector) reads(o *object, attributes map[string]fact) {
	c := i.w.c
	var shown map[string]any
	if o.path != "" {
		shown = i.shown(o)
	}
	for _, name := range i.names(o, attributes) {
		w := attributes[name]
		where := o.res.ID() + "." + name
		if shown != nil && sometimes()[where] == "" {
			_, there := shown[name]
			i.is("visible", where, there, w.Visible, rig.Answer{})
		}
		if o.at == "" || special(o.res) {
			continue
		}
		a := c.Do("GET", o.at+"?"+url.Values{name: {value(shown[name])}}.Encode(), nil)
		i.is("filter", where, !strings.Contains(string(a.Body), "Invalid filter"), w.Filter, a)
		a = c.Do("GET", o.at+"?"+url.Values{"sort_key": {name}, "sort_dir": {"asc"}}.Encode(), nil)
		i.is("sort", where, a.Status == http.StatusOK, w.Sort, a)
	}
}

func (i *inspector) shown(o *object) map[string]any {
	a := i.w.c.Do("GET", o.path, nil)
	if a.Status != http.StatusOK {
		i.t.Fatalf("GET %s: %d %s", o.path, a.Status, a.Body)
	}
	return a.Under(o.res.Name)
}

// value is a filter's text for a value.
func value(v any) string {
	switch x := v.(type) {
	case string:
		return x
	case nil, map[string]any, []any:
		return "x"
	}
	return jsonOf(v)
}

// writes compares what a create and an update take, and what a create puts in place.
func (i *inspector) writes(o *object, attributes map[string]fact) {
	name := o.res.Name
	r := recipes()[o.res.ID()]
	as := r.as
	if as == "" || as == i.w.owner {
		as = "A"
	}
	c := i.w.c.Who(as)
	post := !o.res.NoCreate && r.find == nil
	put := !o.res.NoUpdate && o.path != ""
	var shown map[string]any
	if put {
		shown = i.shown(o)
	}
	for _, attribute := range i.names(o, attributes) {
		w := attributes[attribute]
		where := o.res.ID() + "." + attribute
		if post && !w.Post {
			given := i.w.attributes(o.res.ID())
			given[attribute] = shown[attribute]
			a := c.Do("POST", o.at, map[string]any{name: given})
			i.is("post", where, refused(a, attribute), true, a)
		}
		if put {
			a := c.Do("PUT", o.path, map[string]any{name: map[string]any{attribute: shown[attribute]}})
			switch {
			case !w.Put:
				i.is("put", where, refused(a, attribute), true, a)
			case attribute != "id":
				i.is("put", where, a.Status < 500 && !strings.Contains(string(a.Body), "cannot be set"), true, a)
			}
		}
	}
	if post {
		i.defaults(o, attributes, c)
	}
}

// refused tells whether an answer says that the attribute cannot be given.
func refused(a rig.Answer, attribute string) bool {
	return a.Status == http.StatusBadRequest && strings.Contains(string(a.Body), attribute)
}

// defaults compares a create that says as little as can be with one that gives each default.
func (i *inspector) defaults(o *object, attributes map[string]fact, c rig.Caller) {
	id := o.res.ID()
	given := i.w.attributes(id)
	if _, ok := o.res.Attribute("project_id"); ok {
		given["project_id"] = i.w.project()
	}
	parent := i.w.above(id)
	at := i.w.where(o.res, parent)
	a := c.Do("POST", at, map[string]any{o.res.Name: given})
	if a.Status != http.StatusCreated {
		i.t.Errorf("POST %s %s: %d %s", at, jsonOf(given), a.Status, a.Body)
		return
	}
	made := a.Under(o.res.Name)
	for _, name := range i.names(o, attributes) {
		w := attributes[name]
		where := id + "." + name
		if _, said := given[name]; said || !w.Post || !w.HasDefault || !w.Visible || w.Default == "__unspecified__" || decided()[where] != "" {
			continue
		}
		got, there := made[name]
		if !there && sometimes()[where] != "" {
			continue
		}
		i.is("default", where, got, w.Default, rig.Answer{})
	}
}

// sometimes are attributes that an object shows only in a case that the recipe's is not.
func sometimes() map[string]string {
	const policy, bare = "a rule is shown with its policy", "answers are bare (behaviour.md)"
	return map[string]string{
		"networks.segments": "of several segments", "networks.is_default": "external", "ports.trunk_details": "a trunk's parent",
		"agents.ha_chassis_priority": "as a router's agent", "bindings.project_id": bare, "quotas.project_id": bare,
		"default_security_group_rules.created_at": bare, "default_security_group_rules.updated_at": bare, "default_security_group_rules.revision_number": bare,
		"alias_bandwidth_limit_rules.tenant_id": policy, "alias_bandwidth_limit_rules.project_id": policy, "alias_dscp_marking_rules.tenant_id": policy,
		"alias_dscp_marking_rules.project_id": policy, "alias_minimum_bandwidth_rules.tenant_id": policy, "alias_minimum_bandwidth_rules.project_id": policy,
	}
}

// decided are attributes whose default the plugin turns into something else at once.
func decided() map[string]string {
	const chosen, same, configured = "the server chooses", "another form of another attribute", "an option"
	return map[string]string{
		"networks.mtu": chosen, "floatingips.floating_ip_address": chosen, "ndp_proxies.ip_address": chosen, "port_associations.fixed_ip": chosen,
		"ports.extra_dhcp_opts": "null is no options", "port_forwardings.external_port_range": same, "port_forwardings.internal_port_range": same,
		"routers.enable_default_route_bfd": configured, "routers.enable_default_route_ecmp": configured,
	}
}

// special are collections whose lists are no rows of their own.
func special(res *apidef.Resource) bool {
	return slices.Contains([]string{"quotas", "dhcp-agents", "l3-agents"}, res.ID())
}

// TestDefaultsGiven: a default that a create gives is the default that it leaves out.
func TestDefaultsGiven(t *testing.T) {
	w := newRealms(t, "M")[0]
	n := map[string]int{}
	for _, collection := range w.owned() {
		o, as := w.get(collection), recipes()[collection].as
		if as == "" {
			as = "A"
		}
		if !o.res.NoCreate && recipes()[collection].find == nil {
			defaultGiven(t, w, w.c.Who(as), o, n)
		}
	}
	if n["default"] < 60 {
		t.Errorf("only %v", n)
	}
}

// TestPresence gives every attribute of every collection as null, and as an empty text, list and object: what its type refuses is
// a 400 that names it and leaves the object as it was, all else is no server's error.
func TestPresence(t *testing.T) {
	w := newRealms(t, "M")[0]
	n := map[string]int{}
	for _, collection := range w.owned() {
		o := w.get(collection)
		as := recipes()[collection].as
		if as == "" {
			as = "A"
		}
		c := w.c.Who(as)
		for _, a := range o.res.Attributes {
			for _, v := range nothings() {
				presence(t, w, c, o, a, v, n)
			}
		}
	}
	t.Log(n)
	for kind, least := range map[string]int{"refused": 250 * len(nothings()), "taken": 60 * len(nothings())} {
		if n[kind] < least {
			t.Errorf("only %d of the kind %s", n[kind], kind)
		}
	}
}

func presence(t *testing.T, w *realm, c rig.Caller, o *object, a apidef.Attribute, v any, n map[string]int) {
	t.Helper()
	_, err := a.Type.Decode(json.RawMessage(jsonOf(v)))
	judge := func(what string, answer rig.Answer) {
		t.Helper()
		switch {
		case answer.Err != nil || answer.Status >= 500:
			t.Errorf("%s: %d %.300s %v", what, answer.Status, answer.Body, answer.Err)
		case err == nil:
			n["taken"]++
		case !refused(answer, a.Name):
			t.Errorf("%s: %d %.300s, though: %v", what, answer.Status, answer.Body, err)
		default:
			n["refused"]++
		}
	}
	name := o.res.Name
	if a.Post != apidef.Never && !o.res.NoCreate && recipes()[o.res.ID()].find == nil {
		given := w.attributes(o.res.ID())
		given[a.Name] = v
		judge("POST "+o.at+" "+jsonOf(given), c.Do("POST", w.where(o.res, w.above(o.res.ID())), map[string]any{name: given}))
	}
	if a.Put == apidef.Never || o.res.NoUpdate || o.path == "" {
		return
	}
	before := w.body(o)
	answer := c.Do("PUT", o.path, map[string]any{name: map[string]any{a.Name: v}})
	judge("PUT "+o.path+" "+a.Name+" "+jsonOf(v), answer)
	if after := w.body(o); answer.Status >= 400 && before != after {
		t.Errorf("PUT %s %s %s was refused and changed it: %s\n%s", o.path, a.Name, jsonOf(v), before, after)
	}
}

// defaultGiven compares a create that gives every default with one that leaves them out.
func defaultGiven(t *testing.T, w *realm, c rig.Caller, o *object, n map[string]int) {
	t.Helper()
	id := o.res.ID()
	plain := c.Do("POST", w.where(o.res, w.above(id)), map[string]any{o.res.Name: w.attributes(id)}).Under(o.res.Name)
	for _, a := range o.res.Attributes {
		if a.Post != apidef.Optional || !a.HasDefault() {
			continue
		}
		given := w.attributes(id)
		if _, said := given[a.Name]; said {
			continue
		}
		given[a.Name] = a.Default
		answer := c.Do("POST", w.where(o.res, w.above(id)), map[string]any{o.res.Name: given})
		got, want := answer.Under(o.res.Name)[a.Name], plain[a.Name]
		where := id + "." + a.Name
		if answer.Status != http.StatusCreated || jsonOf(got) != jsonOf(want) && decided()[where] == "" {
			t.Errorf("%s given as its default %s is %s, and %s without: %d %.300s", where, jsonOf(a.Default), jsonOf(got), jsonOf(want), answer.Status, answer.Body)
		}
		n["default"]++
	}
}
