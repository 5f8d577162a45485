package apidef

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

type anyType struct{}

func (anyType) Decode(raw json.RawMessage) (json.RawMessage, error) { return raw, nil }
func (anyType) Filter(text string) (string, error)                  { return text, nil }
func (anyType) Schema() Schema                                      { return Schema{} }

func attr(name string) Attribute { return Attribute{Name: name, Doc: "A test.", Type: anyType{}} }

func ext(alias string, change func(*Extension)) Extension {
	e := Extension{Alias: alias, Name: alias, Doc: "A test.", Updated: time.Unix(0, 0)}
	if change != nil {
		change(&e)
	}
	return e
}

func noun(name string, change func(*Resource)) Resource {
	r := Resource{Name: name, Collection: name + "s", Path: name + "s", Doc: "A test.", Attributes: []Attribute{attr("id"), attr("tenant_id"), attr("name")}}
	if change != nil {
		change(&r)
	}
	return r
}

func base(more ...Extension) []Extension {
	core := ext("core", func(e *Extension) {
		e.Core = true
		e.Resources = []Resource{noun("net", func(r *Resource) { r.Standard, r.Taggable = true, true }), noun("rule", nil)}
	})
	return append([]Extension{core}, more...)
}

func all(string) bool { return true }

func names(r *Resource) string {
	var out []string
	for _, a := range r.Attributes {
		out = append(out, a.Name)
	}
	return strings.Join(out, " ")
}

func TestBuildJoinsInOrder(t *testing.T) {
	reg, err := Build(base(
		ext("z", func(e *Extension) { e.Extends = map[string][]Attribute{"nets": {attr("z1"), attr("z2")}} }),
		ext("std", func(e *Extension) { e.Standard = []Attribute{attr("created_at"), attr("name")} }),
		ext("tag", func(e *Extension) { e.Tagged = []Attribute{attr("tags")} }),
		ext("a", func(e *Extension) {
			e.Requires = []string{"z"}
			e.Extends = map[string][]Attribute{"nets": {attr("a1")}}
			e.Overrides = map[string][]Attribute{"nets": {{Name: "z2", Doc: "Changed.", Type: anyType{}, Filter: true}, {Name: "tags", Doc: "Changed.", Type: anyType{}, Post: Optional}}}
			e.Actions = map[string][]Action{"nets": {{Name: "act", Method: "PUT"}}}
			e.Resources = []Resource{noun("sub", func(r *Resource) { r.Parent = "nets" }), noun("policy", func(r *Resource) { r.Prefix, r.Path = "/qos", "fine-policies" })}
		}),
		ext("off", func(e *Extension) { e.Extends = map[string][]Attribute{"nets": {attr("off")}} }),
	), func(alias string) bool { return alias != "off" })
	if err != nil {
		t.Fatal(err)
	}
	net, _ := reg.Resource("nets")
	if got, want := names(net), "id tenant_id project_id name z1 z2 a1 created_at tags"; got != want {
		t.Errorf("attributes are %q, want %q", got, want)
	}
	if a, ok := net.Attribute("z2"); !ok || !a.Filter {
		t.Error("the override of z2 is lost")
	}
	if a, ok := net.Attribute("tags"); !ok || a.Post != Optional {
		t.Error("the override of a standard attribute is lost")
	}
	if _, ok := net.Attribute("off"); ok {
		t.Error("an attribute of an extension that is off is there")
	}
	if rule, _ := reg.Resource("rules"); names(rule) != "id tenant_id project_id name" {
		t.Errorf("a plain resource has %q", names(rule))
	}
	if _, ok := net.Action("act"); !ok {
		t.Error("the action is lost")
	}
	var aliases []string
	for _, e := range reg.Extensions() {
		aliases = append(aliases, e.Alias)
	}
	if !slices.Equal(aliases, []string{"a", "std", "tag", "z"}) {
		t.Errorf("advertised are %v", aliases)
	}
	for path, want := range map[string]string{"nets": "nets", "/nets/": "nets", "nets/subs": "subs", "qos/fine-policies": "policys", "qos/fine_policies": "policys"} {
		if r, ok := reg.ByPath(path); !ok || r.Collection != want {
			t.Errorf("the path %s does not lead to %s", path, want)
		}
	}
	sub, _ := reg.Resource("subs")
	if got := reg.Template(sub); got != "/nets/{net_id}/subs" {
		t.Errorf("the template is %s", got)
	}
	if len(reg.Children("nets")) != 1 || len(reg.Resources()) != 4 {
		t.Error("children or resources are not those defined")
	}
}

func TestBuildDoesNotChangeTheDefinitions(t *testing.T) {
	defs := base(ext("z", func(e *Extension) { e.Extends = map[string][]Attribute{"nets": {attr("z1")}} }))
	before := len(defs[0].Resources[0].Attributes)
	for range 2 {
		if _, err := Build(defs, all); err != nil {
			t.Fatal(err)
		}
	}
	if len(defs[0].Resources[0].Attributes) != before {
		t.Error("Build added to the definition that it was given")
	}
}

func TestBuildRefuses(t *testing.T) {
	onNets := func(field func(*Extension, map[string][]Attribute), as ...Attribute) Extension {
		return ext("x", func(e *Extension) { field(e, map[string][]Attribute{"nets": as}) })
	}
	extends := func(e *Extension, m map[string][]Attribute) { e.Extends = m }
	overrides := func(e *Extension, m map[string][]Attribute) { e.Overrides = m }
	nouns := func(rs ...Resource) Extension { return ext("x", func(e *Extension) { e.Resources = rs }) }
	for _, c := range []struct {
		what string
		exts []Extension
		want string
	}{
		{"an alias twice", []Extension{ext("x", nil), ext("x", nil)}, "defined twice"},
		{"an empty alias", []Extension{ext("", nil)}, "empty"},
		{"a missing requirement", []Extension{ext("x", func(e *Extension) { e.Requires = []string{"nope"} })}, `requires "nope"`},
		{"no date", []Extension{{Alias: "x", Name: "x", Doc: "x"}}, "no name, description or date"},
		{"a collection twice", []Extension{nouns(noun("net", nil))}, "defined twice"},
		{"a path twice", []Extension{nouns(noun("other", func(r *Resource) { r.Path = "nets" }))}, "is taken"},
		{"an unknown parent", []Extension{nouns(noun("sub", func(r *Resource) { r.Parent = "nope" }))}, "not defined"},
		{"a nameless noun", []Extension{nouns(noun("sub", func(r *Resource) { r.Doc = "" }))}, "lacks"},
		{"an unknown target", []Extension{ext("x", func(e *Extension) { e.Extends = map[string][]Attribute{"nope": {attr("a")}} })}, "nothing enabled defines"},
		{"an attribute twice", []Extension{onNets(extends, attr("name"))}, "nets.name is defined twice"},
		{"an override of nothing", []Extension{onNets(overrides, attr("nope"))}, "does not exist"},
		{"no type", []Extension{onNets(extends, Attribute{Name: "a", Doc: "x"})}, "has no type"},
		{"no doc", []Extension{onNets(extends, Attribute{Name: "a", Type: anyType{}})}, "has no description"},
		{"a required attribute with a default", []Extension{onNets(extends, Attribute{Name: "a", Doc: "x", Type: anyType{}, Post: Required, Default: 1})}, "can never use"},
		{"a filter that is none", []Extension{onNets(extends, Attribute{Name: "a", Doc: "x", Type: anyType{}, FilterOnly: true})}, "only as a filter"},
		{"a required update", []Extension{onNets(extends, Attribute{Name: "a", Doc: "x", Type: anyType{}, Put: Required})}, "partial"},
		{"an action twice", []Extension{ext("x", func(e *Extension) {
			e.Actions = map[string][]Action{"nets": {{Name: "a", Method: "PUT"}, {Name: "a", Method: "PUT"}}}
		})}, `action "a"`},
	} {
		if _, err := Build(base(c.exts...), all); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want a refusal with %q", c.what, err, c.want)
		}
	}
}

func TestOptionalTargetsMayBeOff(t *testing.T) {
	exts := base(
		ext("router", func(e *Extension) { e.Resources = []Resource{noun("router", nil)} }),
		ext("x", func(e *Extension) {
			e.Optional = []string{"router"}
			e.Extends = map[string][]Attribute{"routers": {attr("flavour")}}
		}),
	)
	reg, err := Build(exts, func(alias string) bool { return alias != "router" })
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := reg.Resource("routers"); ok || reg.Enabled("router") || !reg.Enabled("x") {
		t.Error("an extension that is off is in the registry")
	}
	if reg, err = Build(exts, all); err != nil {
		t.Fatal(err)
	}
	if r, _ := reg.Resource("routers"); r == nil || !strings.HasSuffix(names(r), "flavour") {
		t.Error("an optional target that is on is not extended")
	}
}

func TestBuildDerives(t *testing.T) {
	reg, err := Build(base(ext("x", func(e *Extension) {
		e.Extends = map[string][]Attribute{"nets": {{Name: "n", Doc: "x", Type: typed{Schema{"type": []any{"null", "integer"}}}, Post: Optional, Default: 4}, {Name: "u", Doc: "x", Type: typed{Schema{"type": "array"}}, Post: Optional, Default: Unspecified}}}
		e.Resources = []Resource{noun("quota", func(r *Resource) { r.PerQuota = &Attribute{Doc: "x", Type: anyType{}} }), noun("thing", func(r *Resource) { r.Quota = true })}
	})), all)
	if err != nil {
		t.Fatal(err)
	}
	nets, _ := reg.Resource("nets")
	if n, _ := nets.Attribute("n"); n.JSONType != "integer" || string(n.Fallback) != "4" || n.Alias != "x" {
		t.Errorf("n has %q, %s, %q", n.JSONType, n.Fallback, n.Alias)
	}
	if u, _ := nets.Attribute("u"); u.JSONType != "array" || u.Fallback != nil {
		t.Errorf("u has %q, %s", u.JSONType, u.Fallback)
	}
	if quotas, _ := reg.Resource("quotas"); !strings.HasSuffix(names(quotas), " thing") {
		t.Errorf("quotas have %s", names(quotas))
	}
}

type typed struct{ s Schema }

func (typed) Decode(raw json.RawMessage) (json.RawMessage, error) { return raw, nil }
func (typed) Filter(text string) (string, error)                  { return text, nil }
func (t typed) Schema() Schema                                    { return t.s }

func TestDefaults(t *testing.T) {
	for _, c := range []struct {
		a    Attribute
		want bool
	}{
		{Attribute{Post: Optional}, true},
		{Attribute{Post: Optional, Default: ""}, true},
		{Attribute{Post: Optional, Default: Unspecified}, false},
		{Attribute{Post: Optional, Default: []any{}}, true},
		{Attribute{Post: Required}, false},
		{Attribute{}, false},
	} {
		if got := c.a.HasDefault(); got != c.want {
			t.Errorf("%+v: HasDefault is %v", c.a, got)
		}
	}
}
