package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// bench is one measurement: its parameters, and how many calls failed.
type bench struct {
	url, token, project, host                string
	networks, ports, others, inFlight, lists int
	keep                                     bool
	client                                   *http.Client
	out, trouble                             io.Writer
	failed                                   int64
}

// result is a phase's line.
type result struct {
	Phase     string  `json:"phase"`
	N         int     `json:"n"`
	Failed    int64   `json:"failed"`
	InFlight  int     `json:"c"`
	OpsPerS   float64 `json:"ops_per_s"`
	WallS     float64 `json:"wall_s"`
	P50Ms     float64 `json:"p50_ms"`
	P95Ms     float64 `json:"p95_ms"`
	P99Ms     float64 `json:"p99_ms"`
	BytesMean int64   `json:"bytes_mean"`
}

// call sends one request and decodes the answer into out, if any; a status of 400 or more is an error. It
// gives the answer's length.
func (b *bench) call(method, path string, body, out any) (int, error) {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return 0, err
		}
		content = bytes.NewReader(text)
	}
	req, err := http.NewRequest(method, b.url+path, content)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	if b.token != "" {
		req.Header.Set("X-Auth-Token", b.token)
	} else {
		for k, v := range map[string]string{"X-Project-Id": b.project, "X-Tenant-Id": b.project, "X-User-Id": b.project, "X-Roles": "admin,member,reader"} {
			req.Header.Set(k, v)
		}
	}
	resp, err := b.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	if resp.StatusCode >= 400 {
		return len(data), fmt.Errorf("%s %s: %d %.200s", method, path, resp.StatusCode, data)
	}
	if out != nil {
		return len(data), json.Unmarshal(data, out)
	}
	return len(data), nil
}

// make creates a resource and gives its ID. Without authentication Neutron wants the owner in the body.
func (b *bench) make(collection, resource string, body map[string]any) (string, int, error) {
	if b.token == "" {
		body["project_id"] = b.project
	}
	var answer map[string]struct {
		ID string `json:"id"`
	}
	n, err := b.call(http.MethodPost, "/v2.0/"+collection, map[string]any{resource: body}, &answer)
	return answer[resource].ID, n, err
}

// phase makes n calls of f, c of them in flight, and prints its line.
func (b *bench) phase(name string, n, c int, f func(i int) (int, error)) {
	if n == 0 {
		return
	}
	var (
		took               = make([]time.Duration, n)
		next, failed, size atomic.Int64
		once               sync.Once
		all                sync.WaitGroup
	)
	start := time.Now()
	for range min(c, n) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				begun := time.Now()
				length, err := f(i)
				took[i] = time.Since(begun)
				size.Add(int64(length))
				if err != nil {
					failed.Add(1)
					once.Do(func() { _, _ = fmt.Fprintln(b.trouble, name, err) })
				}
			}
		})
	}
	all.Wait()
	wall := time.Since(start).Seconds()
	slices.Sort(took)
	quantile := func(p float64) float64 { return float64(took[int(p*float64(n-1))].Microseconds()) / 1000 }
	b.failed += failed.Load()
	_ = json.NewEncoder(b.out).Encode(result{
		Phase: name, N: n, Failed: failed.Load(), InFlight: c, OpsPerS: float64(n) / wall, WallS: wall,
		P50Ms: quantile(.5), P95Ms: quantile(.95), P99Ms: quantile(.99), BytesMean: size.Load() / int64(n),
	})
}

// run goes through the phases.
func (b *bench) run() {
	networks, ports := make([]string, b.networks), make([]string, b.ports)
	b.phase("network-create", b.networks, b.inFlight, func(i int) (n int, err error) {
		networks[i], n, err = b.make("networks", "network", map[string]any{"name": fmt.Sprintf("bench-%d", i)})
		return n, err
	})
	b.phase("subnet-create", b.networks, b.inFlight, func(i int) (int, error) {
		_, n, err := b.make("subnets", "subnet", map[string]any{
			"network_id": networks[i], "ip_version": 4, "cidr": fmt.Sprintf("10.%d.0.0/16", i%250)})
		return n, err
	})
	b.phase("port-create", b.ports, b.inFlight, func(i int) (n int, err error) {
		port := map[string]any{"network_id": networks[i%b.networks], "name": fmt.Sprintf("bench-%d", i)}
		if b.host != "" {
			port["binding:host_id"] = b.host
			port["device_owner"] = "compute:nova"
			port["device_id"] = fmt.Sprintf("00000000-0000-4000-8000-%012d", i)
		}
		ports[i], n, err = b.make("ports", "port", port)
		return n, err
	})
	get := func(path string) func(int) (int, error) {
		return func(int) (int, error) { return b.call(http.MethodGet, path, nil, nil) }
	}
	b.phase("port-show", min(b.ports, 1000), b.inFlight, func(i int) (int, error) {
		return b.call(http.MethodGet, "/v2.0/ports/"+ports[i], nil, nil)
	})
	b.phase("port-update", min(b.ports, 1000), b.inFlight, func(i int) (int, error) {
		return b.call(http.MethodPut, "/v2.0/ports/"+ports[i], map[string]any{"port": map[string]any{"name": "renamed"}}, nil)
	})
	b.phase("port-list-all", b.lists, 1, get("/v2.0/ports"))
	b.phase("port-list-page100", b.lists, 1, get("/v2.0/ports?limit=100&sort_key=id&sort_dir=asc"))
	b.phase("port-list-network", b.lists*5, b.inFlight, func(i int) (int, error) {
		return b.call(http.MethodGet, "/v2.0/ports?network_id="+networks[i%b.networks], nil, nil)
	})
	b.phase("port-list-fields", b.lists, 1, get("/v2.0/ports?fields=id&fields=fixed_ips"))
	b.phase("network-list-all", b.lists, 1, get("/v2.0/networks"))
	b.phase("network-update", b.networks, b.inFlight, func(i int) (int, error) {
		return b.call(http.MethodPut, "/v2.0/networks/"+networks[i], map[string]any{"network": map[string]any{"name": "renamed"}}, nil)
	})
	b.above()
	if b.keep {
		return
	}
	b.phase("port-delete", b.ports, b.inFlight, func(i int) (int, error) {
		return b.call(http.MethodDelete, "/v2.0/ports/"+ports[i], nil, nil)
	})
	b.phase("network-delete", b.networks, b.inFlight, func(i int) (int, error) {
		return b.call(http.MethodDelete, "/v2.0/networks/"+networks[i], nil, nil)
	})
}
