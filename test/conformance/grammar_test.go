package conformance

import (
	"net/http"
	"strings"
	"testing"

	"isospin/internal/apidef"
	"isospin/internal/apidef/catalogue"
	"isospin/internal/apidef/grammar"
	"isospin/isospintest"
	"isospin/test/rig"
)

// storm sends n requests that a grammar makes of the registry and fails the test for every server error, every request
// without an answer, and a server that is not as it should be afterwards.
func storm(t *testing.T, seed uint64, n int) {
	t.Helper()
	var log strings.Builder
	s := isospintest.Start(t, isospintest.Options{Log: &log})
	reg, err := catalogue.Build(catalogue.Served())
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	c := rig.Caller{TB: t, URL: s.URL, Client: client}.Who("A")
	g := grammar.New(seed, reg)
	statuses := map[int]int{}
	for i := range n {
		r := g.Next()
		who := c
		switch i % 8 {
		case 5:
			who = c.Who("M")
		case 6:
			who = c.Who("R")
		case 7:
			who = c.Who("O")
		}
		a := who.Raw(r.Method, strings.TrimPrefix(r.URL(""), s.URL), r.Body, r.Header)
		if a.Err != nil || a.Status >= 500 && a.Fault() != "NoNetworkAvailable" {
			t.Errorf("seed %d, request %d: %s %.300s %.500s\n\t%d %.300s %v", seed, i, r.Method, r.URL(""), r.Body, a.Status, a.Body, a.Err)
			if t.Failed() && statuses[500] > 20 {
				break
			}
		}
		statuses[a.Status]++
		if a.Status == http.StatusCreated {
			learn(g, reg.Resources(), r, a)
		}
		if r.Method == http.MethodDelete && a.Status == http.StatusNoContent {
			g.Forget(r.Collection, r.Path[strings.LastIndexByte(r.Path, '/')+1:])
		}
	}
	if statuses[200] == 0 || statuses[201] == 0 || statuses[204] == 0 || statuses[400] == 0 || statuses[404] == 0 {
		t.Errorf("the grammar reaches little: %v", statuses)
	}
	t.Log(statuses)
	if a := c.Do("GET", "/networks", nil); a.Status != 200 {
		t.Errorf("after it: %d %v", a.Status, a.Err)
	}
	if strings.Contains(log.String(), "panic") {
		t.Errorf("the log tells of a panic: %.2000s", log.String())
	}
}

// TestGrammar is the quick part of the storm.
func TestGrammar(t *testing.T) { storm(t, 1, 4000) }

// learn tells the grammar what a request has made.
func learn(g *grammar.Gen, resources []*apidef.Resource, r grammar.Request, a rig.Answer) {
	for _, res := range resources {
		if res.ID() != r.Collection {
			continue
		}
		if id, ok := a.Under(res.Name)["id"].(string); ok {
			g.Learn(r.Collection, id)
		}
		for _, item := range a.Items(res.Collection) {
			if id, ok := item["id"].(string); ok {
				g.Learn(r.Collection, id)
			}
		}
	}
}
