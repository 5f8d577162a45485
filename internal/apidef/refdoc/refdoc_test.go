package refdoc

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

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
