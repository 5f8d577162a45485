package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// api keeps just enough of what is made to answer; it refuses one port.
type api struct {
	mu     sync.Mutex
	made   int
	live   map[string]bool
	refuse int
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.Header.Get("X-Project-Id") != "p" {
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	path := strings.TrimPrefix(r.URL.Path, "/v2.0/")
	switch r.Method {
	case http.MethodPost:
		a.made++
		if a.made == a.refuse {
			http.Error(w, "no", http.StatusConflict)
			return
		}
		id := fmt.Sprint(a.made)
		a.live[path+"/"+id] = true
		_ = json.NewEncoder(w).Encode(map[string]any{strings.ReplaceAll(strings.TrimSuffix(path, "s"), "-", "_"): map[string]string{"id": id}})
	case http.MethodDelete:
		delete(a.live, path)
	}
}

func measure(t *testing.T, a *api) (b *bench, results []result, trouble string) {
	t.Helper()
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	var out, bad bytes.Buffer
	b = &bench{url: server.URL, project: "p", networks: 2, ports: 5, others: 3, inFlight: 3, lists: 2, client: server.Client(), out: &out, trouble: &bad}
	b.run()
	for d := json.NewDecoder(&out); d.More(); {
		var r result
		if err := d.Decode(&r); err != nil {
			t.Fatal(err)
		}
		results = append(results, r)
	}
	return b, results, bad.String()
}

func TestRun(t *testing.T) {
	a := &api{live: map[string]bool{}}
	b, results, trouble := measure(t, a)
	if b.failed != 0 || trouble != "" {
		t.Fatalf("%d failed: %s", b.failed, trouble)
	}
	var names []string
	for _, r := range results {
		names = append(names, fmt.Sprintf("%s:%d", r.Phase, r.N))
		if r.OpsPerS <= 0 || r.P50Ms > r.P99Ms {
			t.Errorf("strange figures: %+v", r)
		}
	}
	want := "network-create:2 subnet-create:2 port-create:5 port-show:5 port-update:5 port-list-all:2 port-list-page100:2 " +
		"port-list-network:10 port-list-fields:2 network-list-all:2 network-update:2 group-create:3 rule-create:3 router-create:3 router-interface-add:3 " +
		"router-update:3 floatingip-create:3 floatingip-update:3 group-list-all:2 router-list-all:2 floatingip-list-all:2 floatingip-delete:3 " +
		"router-interface-remove:3 router-delete:3 rule-delete:3 group-delete:3 port-delete:5 network-delete:2"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("phases: %s", got)
	}
	for left := range a.live { // subnets go with their networks, which this API does not know; the networks of routers stay
		if kind, _, _ := strings.Cut(left, "/"); kind != "subnets" && kind != "networks" && kind != "ports" {
			t.Errorf("%s is left", left)
		}
	}
}

func TestFailuresAreCounted(t *testing.T) {
	b, results, trouble := measure(t, &api{live: map[string]bool{}, refuse: 6})
	if b.failed != 1 || results[2].Failed != 1 || !strings.Contains(trouble, "port-create POST /v2.0/ports: 409") {
		t.Errorf("%d failed, %+v, %s", b.failed, results[2], trouble)
	}
}
