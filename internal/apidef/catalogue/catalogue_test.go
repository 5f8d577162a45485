package catalogue

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"isospin/internal/apidef"
)

// The facts are made by tools/apifacts from a running Neutron's merged attribute maps.
type factAttribute struct {
	IntroducedBy string         `json:"introduced_by"`
	Post         bool           `json:"allow_post"`
	Put          bool           `json:"allow_put"`
	Visible      bool           `json:"is_visible"`
	HasDefault   bool           `json:"has_default"`
	Default      any            `json:"default"`
	Filter       bool           `json:"is_filter"`
	Sort         bool           `json:"is_sort_key"`
	Policy       bool           `json:"required_by_policy"`
	Guarded      bool           `json:"enforce_policy"`
	Validate     map[string]any `json:"validate"`
	Convert      any            `json:"convert_to"`
	Redefined    []struct {
		Alias   string `json:"alias"`
		Applied bool   `json:"applied"`
	} `json:"redefined_by"`
}

type factCollection struct {
	Path         string                   `json:"path"`
	Resource     *string                  `json:"resource"`
	IntroducedBy string                   `json:"introduced_by"`
	Unsupported  []string                 `json:"unsupported"`
	Actions      map[string]string        `json:"member_actions"`
	Attributes   map[string]factAttribute `json:"attributes"`
}

type factExtension struct {
	Alias    string   `json:"alias"`
	Updated  string   `json:"updated"`
	Requires []string `json:"requires"`
}

type facts struct {
	Extensions  []factExtension           `json:"extensions"`
	Collections map[string]factCollection `json:"collections"`
}

func load(t *testing.T) facts {
	t.Helper()
	b, err := os.ReadFile("testdata/facts.json")
	if err != nil {
		t.Fatal(err)
	}
	var f facts
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

func everything(t *testing.T) *apidef.Registry {
	t.Helper()
	reg, err := apidef.Build(InTree(), func(string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

func TestServedBuilds(t *testing.T) {
	reg, err := Build(Served())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(reg.Extensions()), len(Served()); got != want {
		t.Errorf("%d extensions are advertised, %d are served: an alias has no definition", got, want)
	}
	for _, collection := range []string{"networks", "subnets", "ports", "security_groups", "security_group_rules", "agents", "availability_zones"} {
		if _, ok := reg.Resource(collection); !ok {
			t.Errorf("%s is not defined", collection)
		}
	}
}

func TestAttributesAgreeWithTheReference(t *testing.T) {
	f, reg := load(t), everything(t)
	for _, res := range reg.Resources() {
		want, ok := f.Collections[res.ID()]
		if !ok {
			t.Errorf("%s: the reference has no such collection", res.ID())
			continue
		}
		for i := range res.Attributes {
			a := &res.Attributes[i]
			w, ok := want.Attributes[a.Name]
			if !ok && a.Name == "project_id" {
				w, ok = want.Attributes["tenant_id"]
			}
			if !ok {
				if res.ID() != "quotas" {
					t.Errorf("%s.%s: the reference has no such attribute", res.ID(), a.Name)
				}
				continue
			}
			compare(t, res.ID()+"."+a.Name, a, w)
		}
		for name, w := range want.Attributes {
			if _, ok := res.Attribute(name); !ok && (w.IntroducedBy == "core" || reg.Enabled(w.IntroducedBy)) {
				t.Errorf("%s.%s of %s is missing", res.ID(), name, w.IntroducedBy)
			}
		}
	}
}

func compare(t *testing.T, where string, a *apidef.Attribute, w factAttribute) {
	t.Helper()
	owner := a.Name == "tenant_id" || a.Name == "project_id"
	post := apidef.Never
	switch {
	case w.Post && !w.HasDefault && !owner:
		post = apidef.Required
	case w.Post:
		post = apidef.Optional
	}
	put := apidef.Never
	if w.Put {
		put = apidef.Optional
	}
	type flags struct {
		Post, Put                              apidef.Access
		Visible, Filter, Sort, Policy, Guarded bool
	}
	got := flags{a.Post, a.Put, a.Visible(), a.Filter, a.Sort, a.PolicyKey, a.Guarded}
	want := flags{post, put, w.Visible, w.Filter, w.Sort, w.Policy, w.Guarded}
	if got != want {
		t.Errorf("%s: %+v, the reference has %+v", where, got, want)
	}
	if !w.Post || owner {
		return // a default never comes to bear, or is the caller's project
	}
	var value any = "__unspecified__"
	if a.Default != apidef.Unspecified {
		raw, err := json.Marshal(a.Default)
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		if err := json.Unmarshal(raw, &value); err != nil {
			t.Fatalf("%s: %v", where, err)
		}
	}
	if !reflect.DeepEqual(value, w.Default) {
		t.Errorf("%s: the default is %v, the reference has %v", where, value, w.Default)
	}
}

func TestResourcesAgreeWithTheReference(t *testing.T) {
	f, reg := load(t), everything(t)
	ids := regexp.MustCompile(`/\{project_id\}$`)
	for _, res := range reg.Resources() {
		want := f.Collections[res.ID()]
		if got := "/v2.0" + reg.Template(res); got != ids.ReplaceAllString(want.Path, "") {
			t.Errorf("%s: the path is %s, the reference has %s", res.ID(), got, want.Path)
		}
		if want.Resource != nil && *want.Resource != res.Name {
			t.Errorf("%s: the name is %s, the reference has %s", res.ID(), res.Name, *want.Resource)
		}
		if res.Key == "" && strings.Contains(res.Collection, "-") {
			t.Errorf("%s: a list key in bodies has underscores", res.ID())
		}
		for op, off := range map[string]bool{"create": res.NoCreate, "update": res.NoUpdate, "delete": res.NoDelete} {
			if slices.Contains(want.Unsupported, op) && !off {
				t.Errorf("%s: %s is not supported by the reference", res.ID(), op)
			}
		}
		for name, method := range want.Actions {
			if a, ok := res.Action(name); !ok || a.Method != method {
				t.Errorf("%s: the action %s %s is missing", res.ID(), method, name)
			}
		}
		if found, ok := reg.ByPath(regexp.MustCompile(`/\{[^}]*\}`).ReplaceAllString(reg.Template(res), "")); !ok || found != res {
			t.Errorf("%s is not found by its path", res.ID())
		}
	}
}

func TestExtensionsAgreeWithTheReference(t *testing.T) {
	f, reg := load(t), everything(t)
	want := map[string]factExtension{}
	for _, e := range f.Extensions {
		want[e.Alias] = e
	}
	for _, e := range reg.Extensions() {
		w, ok := want[e.Alias]
		if !ok {
			t.Errorf("%s: the reference has no such extension", e.Alias)
			continue
		}
		// Three dates of the reference are no dates, and one has an odd zone.
		date := strings.NewReplacer("2024-23-07", "2024-07-23", "2014-06-1T", "2014-06-01T", "2017-041-06", "2017-04-06").Replace(w.Updated)
		updated, err := time.Parse("2006-01-02T15:04:05", date[:19])
		if err != nil || !updated.Equal(e.Updated) {
			t.Errorf("%s: updated %v, the reference has %s", e.Alias, e.Updated, w.Updated)
		}
		for _, r := range w.Requires {
			if !slices.Contains(e.Requires, r) {
				t.Errorf("%s: requires %s in the reference", e.Alias, r)
			}
		}
	}
}

// TestDefaultsAreCanonical proves that what a create puts in place would be accepted and stays as it is.
func TestDefaultsAreCanonical(t *testing.T) {
	for _, res := range everything(t).Resources() {
		for i := range res.Attributes {
			a := &res.Attributes[i]
			if !a.HasDefault() || a.Default == nil {
				continue
			}
			if got, err := a.Type.Decode(a.Fallback); err != nil || string(got) != string(a.Fallback) {
				t.Errorf("%s.%s: the default %s decodes to %s, %v", res.ID(), a.Name, a.Fallback, got, err)
			}
		}
	}
}

func TestSchemasMarshal(t *testing.T) {
	for _, res := range everything(t).Resources() {
		for i := range res.Attributes {
			if _, err := json.Marshal(res.Attributes[i].Type.Schema()); err != nil {
				t.Errorf("%s.%s: %v", res.ID(), res.Attributes[i].Name, err)
			}
		}
	}
}

func TestLimitsReachTheTypes(t *testing.T) {
	for limit, fits := range map[int]bool{1: false, 2: true} {
		reg, err := apidef.Build(Tree(Limits{AddressPairs: limit}), func(string) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		ports, _ := reg.Resource("ports")
		pairs, _ := ports.Attribute("allowed_address_pairs")
		_, err = pairs.Type.Decode([]byte(`[{"ip_address":"10.0.0.1"},{"ip_address":"10.0.0.2"}]`))
		if (err == nil) != fits {
			t.Errorf("two pairs with a limit of %d: %v", limit, err)
		}
	}
}
