package refdoc

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"isospin/internal/apidef"
	"isospin/internal/apidef/catalogue"
)

func served(t *testing.T) *apidef.Registry {
	t.Helper()
	reg, err := catalogue.Build(catalogue.Served())
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

func TestCheckedInReferenceIsFresh(t *testing.T) {
	reg := served(t)
	openapi, err := OpenAPI(reg)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string][]byte{"api.md": Markdown(reg), "openapi.json": openapi} {
		got, err := os.ReadFile("../../../docs/reference/" + path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("docs/reference/%s is stale: go generate ./internal/apidef/refdoc", path)
		}
	}
}

func TestOpenAPIHoldsTogether(t *testing.T) {
	reg, err := apidef.Build(catalogue.InTree(), func(string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	raw, err := OpenAPI(reg)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths      map[string]map[string]json.RawMessage
		Components struct{ Schemas map[string]json.RawMessage }
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for path, item := range doc.Paths {
		for method, op := range item {
			var o struct{ OperationID string }
			if method == "parameters" {
				continue
			}
			if err := json.Unmarshal(op, &o); err != nil || o.OperationID == "" || seen[o.OperationID] {
				t.Errorf("%s %s: the operation has no id of its own (%q, %v)", method, path, o.OperationID, err)
			}
			seen[o.OperationID] = true
		}
		for _, part := range strings.Split(path, "/") {
			if strings.HasPrefix(part, "{") && !strings.Contains(string(item["parameters"]), `"`+strings.Trim(part, "{}")+`"`) {
				t.Errorf("%s: the parameter %s is not declared", path, part)
			}
		}
	}
	for _, part := range strings.Split(string(raw), `"#/components/schemas/`)[1:] {
		name, _, _ := strings.Cut(part, `"`)
		if doc.Components.Schemas[name] == nil {
			t.Errorf("the schema %s is referred to and not defined", name)
		}
	}
	shapes := 0
	for _, res := range reg.Resources() {
		shapes++
		if !res.NoCreate {
			shapes++
		}
		if !res.NoUpdate {
			shapes++
		}
	}
	if got := len(doc.Components.Schemas) - 1; got != shapes {
		t.Errorf("%d schemas for %d shapes: two resources share a name", got, shapes)
	}
}

// TestOpenAPIIsValid: a library that knows OpenAPI 3.1 takes the document, of what is served and of everything.
func TestOpenAPIIsValid(t *testing.T) {
	all, err := apidef.Build(catalogue.InTree(), func(string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	for name, reg := range map[string]*apidef.Registry{"served": served(t), "everything": all} {
		raw, err := OpenAPI(reg)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := openapi3.NewLoader().LoadFromData(raw)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := doc.Validate(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, res := range reg.Resources() {
			collection := "/v2.0" + reg.Template(res)
			for _, want := range []struct {
				method, path string
				off          bool
			}{
				{http.MethodGet, collection, res.NoList}, {http.MethodPost, collection, res.NoCreate},
				{http.MethodGet, collection + "/{" + res.Name + "_id}", res.NoShow},
				{http.MethodPut, collection + "/{" + res.Name + "_id}", res.NoUpdate},
				{http.MethodDelete, collection + "/{" + res.Name + "_id}", res.NoDelete},
			} {
				item := doc.Paths.Value(want.path)
				if has := item != nil && item.GetOperation(want.method) != nil; has == want.off {
					t.Errorf("%s: %s %s is there: %v", name, want.method, want.path, has)
				}
			}
		}
	}
}

func TestMarkdownNamesEveryAttribute(t *testing.T) {
	reg := served(t)
	text := string(Markdown(reg))
	for _, res := range reg.Resources() {
		_, section, ok := strings.Cut(text, "\n## "+res.ID()+"\n")
		if !ok {
			t.Errorf("%s has no section", res.ID())
			continue
		}
		section, _, _ = strings.Cut(section, "\n## ")
		for i := range res.Attributes {
			if !strings.Contains(section, "`"+res.Attributes[i].Name+"`") {
				t.Errorf("%s.%s is not told", res.ID(), res.Attributes[i].Name)
			}
		}
	}
}
