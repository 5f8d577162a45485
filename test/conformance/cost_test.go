package conformance

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"isospin/test/rig"
)

// statements reads how many SQL statements the server has made.
func statements(t *testing.T, c rig.Caller) int {
	t.Helper()
	for line := range strings.Lines(string(c.Raw("GET", "/metrics", nil, nil).Body)) {
		if n, ok := strings.CutPrefix(line, "isospin_store_statements "); ok {
			f, err := strconv.ParseFloat(strings.TrimSpace(n), 64)
			if err != nil {
				t.Fatal(err)
			}
			return int(f)
		}
	}
	t.Fatal("the metrics lack the statements")
	return 0
}

// cost is how many statements a request makes: the least of several, since the server has work of its own between them.
func cost(t *testing.T, c rig.Caller, do func()) int {
	t.Helper()
	least := 1 << 30
	for range 5 {
		before := statements(t, c)
		do()
		least = min(least, statements(t, c)-before)
	}
	return least
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
				got := cost(t, c, func() {
					if a := c.Do("GET", path, nil); a.Status != 200 {
						t.Errorf("%s: %d", path, a.Status)
					}
				})
				if got > 8 {
					t.Errorf("GET %s as %s: %d statements", path, who, got)
				}
				if round > 0 && got > list[who+path] {
					t.Errorf("GET %s as %s: %d statements, and %d when there was little", path, who, got, list[who+path])
				}
				list[who+path] = got
			}
		}
		got := cost(t, c, func() { m.Make("/ports", "port", map[string]any{"network_id": id}) })
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
