//go:build conformance

package conformance

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"isospin/test/rig"
)

// TestParallelPorts: 250 ports are made on one network at once, over as many connections, where there is room for hardly more. None
// fails, so that no client has to try again; no two have the same address or MAC; and the three addresses that are left can be
// had, and no fourth.
func TestParallelPorts(t *testing.T) {
	const n = 250
	for _, kind := range []string{"sqlite", "postgres", "mariadb"} {
		t.Run(kind, func(t *testing.T) {
			options := databases.Fresh(t, kind)
			unlimited(options)
			p := rig.StartProcess(t, options)
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: n}}
			t.Cleanup(client.CloseIdleConnections)
			c := rig.Caller{TB: t, URL: p.URL, Client: client}.Who("M")
			net := c.Make("/networks", "network", map[string]any{})["id"]
			c.Make("/subnets", "subnet", map[string]any{"network_id": net, "ip_version": 4, "cidr": "10.0.0.0/24"})
			body := map[string]any{"port": map[string]any{"network_id": net}}
			var counts tally
			var mu sync.Mutex
			seen := map[string]int{}
			began := time.Now()
			together(n, func(int) {
				a := c.Do("POST", "/ports", body)
				counts.add(t, a, "port")
				if a.Status != http.StatusCreated {
					return
				}
				port := a.Under("port")
				mu.Lock()
				defer mu.Unlock()
				seen[fmt.Sprint(port["mac_address"])]++
				for _, f := range port["fixed_ips"].([]any) { //nolint:errcheck // a test may panic
					seen[fmt.Sprint(f.(map[string]any)["ip_address"])]++ //nolint:errcheck // a test may panic
				}
			})
			t.Logf("%d ports at once: %s", n, time.Since(began).Round(time.Millisecond))
			if counts.n["201"] != n {
				t.Errorf("%v", counts.n)
			}
			if len(seen) != 2*n {
				t.Errorf("%d different addresses and MACs of %d ports", len(seen), n)
			}
			counts = tally{}
			for range 4 {
				counts.add(t, c.Do("POST", "/ports", body), "port")
			}
			if counts.n["201"] != 3 || counts.n["409 IpAddressGenerationFailure"] != 1 {
				t.Errorf("the last addresses: %v", counts.n)
			}
			rig.Exact(t, rig.Look(t, options))
		})
	}
}
