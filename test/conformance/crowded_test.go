//go:build conformance

package conformance

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"isospin/isospintest"
	"isospin/test/rig"
)

// TestCrowdedSubnet: a port costs as much in a subnet where 60,000 addresses are taken as in one where 10 are. Creates in
// both take turns, so that what else the machine does meets both alike.
func TestCrowdedSubnet(t *testing.T) {
	s := isospintest.Start(t, isospintest.Options{Config: map[string]string{"quotas/quota_port": "-1"}})
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
	defer client.CloseIdleConnections()
	c := rig.Caller{TB: t, URL: s.URL, Client: client}.Who("M")
	var nets []string
	for range 2 {
		n := c.Make("/networks", "network", map[string]any{})["id"].(string) //nolint:errcheck // a test may panic
		c.Make("/subnets", "subnet", map[string]any{"network_id": n, "ip_version": 4, "cidr": "10.0.0.0/16"})
		nets = append(nets, n)
	}
	const bulk = 500
	body := `{"ports": [` + strings.TrimSuffix(strings.Repeat(`{"network_id": "`+nets[1]+`"},`, bulk), ",") + `]}`
	for range 60000 / bulk {
		if a := c.Do("POST", "/ports", body); a.Status != 201 {
			t.Fatalf("%d %.300s", a.Status, a.Body)
		}
	}
	one := func(net string) time.Duration {
		began := time.Now()
		if a := c.Do("POST", "/ports", `{"port": {"network_id": "`+net+`"}}`); a.Status != 201 {
			t.Fatalf("%d %.300s", a.Status, a.Body)
		}
		return time.Since(began)
	}
	var took [2][]time.Duration
	for i := range 1000 {
		for k := range 2 {
			took[(i+k)%2] = append(took[(i+k)%2], one(nets[(i+k)%2]))
		}
	}
	for k := range took {
		slices.Sort(took[k])
	}
	few, many := took[0][500], took[1][500]
	t.Logf("p50 of a create: %s with few addresses in use, %s with 60,000: %.2f", few, many, float64(many)/float64(few))
	if float64(many) > 1.2*float64(few) {
		t.Errorf("a create takes %s with few addresses in use and %s with 60,000", few, many)
	}
}
