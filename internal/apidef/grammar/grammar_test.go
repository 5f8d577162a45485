package grammar

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"isospin/internal/apidef"
	"isospin/internal/apidef/catalogue"
)

func registry(t testing.TB) *apidef.Registry {
	t.Helper()
	reg, err := catalogue.Build(catalogue.Served())
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

func TestSameSeedSameRequests(t *testing.T) {
	reg := registry(t)
	a, b, other := New(7, reg), New(7, reg), New(8, reg)
	same := true
	for i := range 500 {
		if i == 100 {
			a.Learn("networks", "n1")
			b.Learn("networks", "n1")
		}
		x, y := a.Next(), b.Next()
		if !reflect.DeepEqual(x, y) {
			t.Fatalf("request %d differs: %+v, %+v", i, x, y)
		}
		same = same && reflect.DeepEqual(x, other.Next())
	}
	if same {
		t.Error("another seed makes the same requests")
	}
}

func TestRequestsCanBeSent(t *testing.T) {
	g := New(1, registry(t))
	for range 8000 {
		r := g.Next()
		if _, err := http.NewRequest(r.Method, r.URL("http://127.0.0.1:1"), bytes.NewReader(r.Body)); err != nil {
			t.Fatalf("%s %s: %v", r.Method, clip(r.URL("")), err)
		}
	}
}

// TestValidBodiesFit decodes what calls itself valid by the registry: each attribute may be given and its value fits.
func TestValidBodiesFit(t *testing.T) {
	reg := registry(t)
	g := New(2, reg)
	judged, fits := 0, 0
	for range 8000 {
		r := g.Next()
		res, _ := reg.Resource(r.Collection)
		if r.Class != Valid || res == nil || r.Method != "POST" {
			continue
		}
		var body map[string]json.RawMessage
		if err := json.Unmarshal(r.Body, &body); err != nil {
			t.Fatalf("%s: a valid body is no JSON: %v", clip(string(r.Body)), err)
		}
		one, ok := body[res.Name]
		if !ok {
			continue
		}
		var given map[string]json.RawMessage
		if err := json.Unmarshal(one, &given); err != nil {
			t.Fatal(err)
		}
		judged++
		good := true
		for i := range res.Attributes {
			a := &res.Attributes[i]
			raw, there := given[a.Name]
			switch {
			case !there && a.Post == apidef.Required:
				t.Fatalf("%s lacks %s", clip(string(r.Body)), a.Name)
			case there && a.Post == apidef.Never:
				t.Fatalf("%s has %s, which may not be given", clip(string(r.Body)), a.Name)
			case there:
				if _, err := a.Type.Decode(raw); err != nil {
					good = false
				}
			}
		}
		if good {
			fits++
		}
	}
	if judged < 400 || fits*10 < judged*9 {
		t.Errorf("of %d bodies that call themselves valid %d fit", judged, fits)
	}
}

// TestEverythingComesUp counts the kinds of request that a run of moderate length must have.
func TestEverythingComesUp(t *testing.T) {
	reg := registry(t)
	g := New(3, reg)
	methods, classes, collections := map[string]int{}, map[Class]int{}, map[string]int{}
	seen := map[string]bool{}
	for range 8000 {
		r := g.Next()
		methods[r.Method]++
		classes[r.Class]++
		collections[r.Collection]++
		for _, mark := range []string{"1e400", `\ud800`, `"networks":[`, "sort_key=", "limit=", "marker=", "fields=", "nope", `"project_id"`, strings.Repeat("[", 5000)} {
			if bytes.Contains(r.Body, []byte(mark)) || strings.Contains(r.Query, mark) {
				seen[mark] = true
			}
		}
	}
	for _, m := range []string{"GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "BREW"} {
		if methods[m] == 0 {
			t.Errorf("no %s", m)
		}
	}
	for _, c := range []Class{Valid, Near, Hostile} {
		if classes[c] < 800 {
			t.Errorf("class %d comes up %d times", c, classes[c])
		}
	}
	for _, res := range reg.Resources() {
		if collections[res.ID()] < 8000/len(reg.Resources())/2 { // half of an even share
			t.Errorf("%s comes up %d times", res.ID(), collections[res.ID()])
		}
	}
	if len(seen) != 10 {
		t.Errorf("only these come up: %v", seen)
	}
}

func TestLearnedIDsAreUsed(t *testing.T) {
	g := New(4, registry(t))
	g.Learn("networks", "the-network")
	g.Learn("networks", "the-network")
	g.Learn("networks", "")
	inPath, inBody, inQuery := 0, 0, 0
	for range 15000 {
		r := g.Next()
		if strings.Contains(r.Path, "/networks/the-network") {
			inPath++
		}
		if bytes.Contains(r.Body, []byte(`"network_id":"the-network"`)) {
			inBody++
		}
		if v, err := url.ParseQuery(r.Query); err == nil && v.Get("network_id") == "the-network" {
			inQuery++
		}
	}
	if inPath < 100 || inBody < 100 || inQuery == 0 {
		t.Errorf("the id is used %d times in paths, %d in bodies, %d in queries", inPath, inBody, inQuery)
	}
	g.Forget("networks", "the-network")
	for range 2000 {
		if r := g.Next(); strings.Contains(r.Path, "the-network") || bytes.Contains(r.Body, []byte("the-network")) {
			t.Fatal("an id that is gone is used")
		}
	}
	for i := range maxLive + 50 {
		g.Learn("ports", strings.Repeat("p", i+1))
	}
	if len(g.live["ports"]) != maxLive {
		t.Errorf("%d ids are kept", len(g.live["ports"]))
	}
}

func clip(s string) string {
	if len(s) > 300 {
		return s[:300] + "…"
	}
	return s
}

func BenchmarkNext(b *testing.B) {
	g := New(5, registry(b))
	for b.Loop() {
		g.Next()
	}
}
