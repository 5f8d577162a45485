package conformance

import (
	"fmt"
	"testing"

	"isospin/test/rig"
)

// statements reads how many SQL statements the server has made.
// statements are those that were made for an answer, as it says itself.
func statements(t *testing.T, a rig.Answer) int {
	t.Helper()
	var n int
	if _, err := fmt.Sscanf(a.Header.Get("Server-Timing"), `sql;desc="%d statements"`, &n); err != nil {
		t.Fatalf("the answer %d %.300s %v does not count its statements: %v", a.Status, a.Body, a.Err, err)
	}
	return n
}

// TestStatements: a list makes no more than 8 statements at any length, a port create the same number however many ports
// there are.
func TestStatements(t *testing.T) {
	c := roomy(t)
	m := c.Who("M")
	list := map[string]int{}
	create := 0
	for round, n := range []int{1, 30} {
		var id any
		for range n {
			net := m.Make("/networks", "network", map[string]any{})
			id = net["id"]
			m.Make("/subnets", "subnet", map[string]any{"network_id": id, "ip_version": 4, "cidr": "10.0.0.0/16"})
			m.Make("/security-groups", "security_group", map[string]any{"name": "g"})
			for range 3 {
				m.Make("/ports", "port", map[string]any{"network_id": id})
			}
		}
		for _, who := range []string{"A", "M", "R"} {
			for _, path := range []string{"/networks", "/subnets", "/ports", "/security-groups", "/security-group-rules", "/ports?limit=5", "/networks?name=x", "/ports?fixed_ips=ip_address=10.0.0.9"} {
				c := c.Who(who)
				c.Do("GET", path, nil) // a project's first list of groups makes its default one
				a := c.Do("GET", path, nil)
				if a.Status != 200 {
					t.Errorf("%s: %d", path, a.Status)
				}
				got := statements(t, a)
				if got > 8 {
					t.Errorf("GET %s as %s: %d statements", path, who, got)
				}
				if round > 0 && got > list[who+path] {
					t.Errorf("GET %s as %s: %d statements, and %d when there was little", path, who, got, list[who+path])
				}
				list[who+path] = got
			}
		}
		got := statements(t, m.Do("POST", "/ports", map[string]any{"port": map[string]any{"network_id": id}}))
		if round > 0 && got != create {
			t.Errorf("a port create makes %d statements, and %d when there was little", got, create)
		}
		create = got
	}
	var table []string
	for k, v := range list {
		table = append(table, fmt.Sprintf("%s %d", k, v))
	}
	t.Logf("port create %d; lists %v", create, table)
}
