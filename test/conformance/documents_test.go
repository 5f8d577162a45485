package conformance

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"isospin/internal/apidef/catalogue"
	"isospin/internal/apidef/refdoc"
)

// verbs of each path of the document that the server serves of itself.
func documented(t *testing.T, raw []byte) map[string][]string {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for path, item := range doc.Paths {
		out[path] = []string{}
		for method := range item {
			if method != "parameters" {
				out[path] = append(out[path], strings.ToUpper(method))
			}
		}
	}
	return out
}

// TestOpenAPIServed: the running server describes itself; what it describes it does, and what it does not describe it refuses.
// That the document is valid is tested beside its generator.
func TestOpenAPIServed(t *testing.T) {
	c := quick(t)
	a := c.Do(http.MethodGet, "/openapi.json", nil)
	if a.Status != http.StatusOK || a.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("%d %s", a.Status, a.Header)
	}
	var aliases []string
	for _, x := range c.List("/extensions", "extensions") {
		aliases = append(aliases, fmt.Sprint(x["alias"]))
	}
	reg, err := catalogue.Build(aliases)
	if err != nil {
		t.Fatal(err)
	}
	want, err := refdoc.OpenAPI(reg)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != string(a.Body) {
		t.Error("the document is not that of the extensions that the server lists")
	}
	paths := documented(t, a.Body)
	for _, res := range reg.Resources() {
		if _, ok := paths["/v2.0"+reg.Template(res)]; !ok && !(res.NoList && res.NoCreate) {
			t.Errorf("%s is served and not described", res.ID())
		}
	}
	parameter := regexp.MustCompile(`\{[^}]*\}`)
	for path, verbs := range paths {
		live := parameter.ReplaceAllString(path, "5b9c5d1e-0d83-4d0c-a1ff-7d8b4a8f7d00")
		live = strings.ReplaceAll(live, "/extensions/5b9c5d1e-0d83-4d0c-a1ff-7d8b4a8f7d00", "/extensions/quotas")
		for _, verb := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
			var body any
			if verb == http.MethodPost || verb == http.MethodPut {
				body = `{}`
			}
			got := c.Raw(verb, live, bodyOf(body), nil)
			if got.Err != nil || got.Status >= 500 {
				t.Errorf("%s %s: %d %s %v", verb, live, got.Status, got.Body, got.Err)
				continue
			}
			refused := got.Status == http.StatusMethodNotAllowed || strings.Contains(string(got.Body), "nothing at this path") || strings.Contains(string(got.Body), "it cannot be")
			switch described := slices.Contains(verbs, verb); {
			case described && refused:
				t.Errorf("%s %s is described and refused: %d %s", verb, live, got.Status, got.Body)
			case !described && got.Status < 300:
				t.Errorf("%s %s is not described and answers %d", verb, live, got.Status)
			}
		}
	}
}

func bodyOf(v any) []byte {
	if text, ok := v.(string); ok {
		return []byte(text)
	}
	return nil
}
