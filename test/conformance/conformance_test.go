//go:build conformance

package conformance

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"isospin/internal/service/ml2"
	"isospin/test/rig"
)

// databases are started by the tests that ask for them and end with the test binary.
var databases = &rig.Databases{}

func TestMain(m *testing.M) {
	rig.Main(m, func() []ml2.MechanismDriver { return drivers() }, databases.Stop)
}

// unlimited switches the quotas off, which are not what these tests are about.
func unlimited(options map[string]string) {
	for _, name := range []string{"network", "subnet", "port", "security_group", "security_group_rule"} {
		options["quotas/quota_"+name] = "-1"
	}
}

// pair is two servers on one database, and the options of both.
func pair(t *testing.T, kind string, options map[string]string) ([]rig.Caller, []*rig.Process, map[string]string) {
	t.Helper()
	all := databases.Fresh(t, kind)
	unlimited(all)
	for k, v := range options {
		all[k] = v
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 128}}
	var callers []rig.Caller
	var servers []*rig.Process
	for range 2 {
		p := rig.StartProcess(t, all)
		servers = append(servers, p)
		callers = append(callers, rig.Caller{TB: t, URL: p.URL, Client: client}.Who("A"))
	}
	t.Cleanup(client.CloseIdleConnections)
	return callers, servers, all
}

// together calls f so often at once, with the number of each call.
func together(n int, f func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	wg.Wait()
}

// tally counts answers by status and type; a server error or no answer at all fails the test.
type tally struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *tally) add(t *testing.T, a rig.Answer, what string) {
	t.Helper()
	if a.Err != nil || a.Status >= 500 && a.Fault() != "NoNetworkAvailable" {
		t.Errorf("%s: %d %s %v", what, a.Status, a.Body, a.Err)
	}
	key := fmt.Sprint(a.Status)
	if f := a.Fault(); f != "" {
		key += " " + f
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[key]++
}

func twoServers(t *testing.T, options map[string]string, f func(t *testing.T, kind string, c []rig.Caller, options map[string]string)) {
	for _, kind := range []string{"postgres", "mariadb"} {
		t.Run(kind, func(t *testing.T) {
			c, _, all := pair(t, kind, options)
			f(t, kind, c, all)
		})
	}
}

// TestPoolsUnderLoad: networks of four types come and go in parallel through two servers; every pool is exact afterwards, and
// of the last VLAN there is one.
func TestPoolsUnderLoad(t *testing.T) {
	options := map[string]string{
		"ml2_type_vlan/network_vlan_ranges": "physnet1:100:119", "ml2_type_vxlan/vni_ranges": "1:30", "ml2_type_gre/tunnel_id_ranges": "1:30",
		"ml2_type_geneve/vni_ranges": "1:30",
	}
	twoServers(t, options, func(t *testing.T, _ string, c []rig.Caller, options map[string]string) {
		st := rig.Look(t, options)
		var counts tally
		together(8, func(i int) {
			c := c[i%2]
			var mine []string
			for n := range 60 {
				kind := []string{"vlan", "vxlan", "gre", "geneve"}[(i+n)%4]
				a := c.Do("POST", "/networks", map[string]any{"network": map[string]any{"provider:network_type": kind}})
				counts.add(t, a, "create "+kind)
				if a.Status == 201 {
					mine = append(mine, a.Under("network")["id"].(string)) //nolint:errcheck // a test may panic
				}
				if len(mine) > 8 || n > 50 && len(mine) > 0 {
					counts.add(t, c.Do("DELETE", "/networks/"+mine[0], nil), "delete")
					mine = mine[1:]
				}
			}
			for _, id := range mine {
				counts.add(t, c.Do("DELETE", "/networks/"+id, nil), "delete")
			}
		})
		t.Log(counts.n)
		rig.Exact(t, st)
		for pool, want := range map[string]uint64{"segment:vlan:physnet1": 20, "segment:vxlan:": 30, "segment:gre:": 30, "segment:geneve:": 30} {
			if n := rig.FreeOf(t, st, pool); n != want {
				t.Errorf("%s has %d free ids, not %d", pool, n, want)
			}
		}
		lastVLAN(t, c)
		rig.Exact(t, st)
	})
}

// lastVLAN: 19 of 20 are gone; of 8 who want the last, without and with its id, one gets it.
func lastVLAN(t *testing.T, c []rig.Caller) {
	t.Helper()
	vlan := func(id int) map[string]any {
		n := map[string]any{"provider:network_type": "vlan", "provider:physical_network": "physnet1"}
		if id > 0 {
			n["provider:segmentation_id"] = id
		}
		return map[string]any{"network": n}
	}
	for id := range 19 {
		if a := c[0].Do("POST", "/networks", vlan(100+id)); a.Status != 201 {
			t.Fatal(string(a.Body))
		}
	}
	for _, byID := range []int{0, 119} {
		var got atomic.Value
		var counts tally
		together(8, func(i int) {
			a := c[i%2].Do("POST", "/networks", vlan(byID))
			counts.add(t, a, "last VLAN")
			if a.Status == 201 {
				got.Store(a.Under("network")["id"])
			}
		})
		refusal := "503 NoNetworkAvailable"
		if byID > 0 {
			refusal = "409 VlanIdInUse"
		}
		if counts.n["201"] != 1 || counts.n[refusal] != 7 {
			t.Errorf("the last VLAN, asked for as %d: %v", byID, counts.n)
		}
		if a := c[0].Do("DELETE", fmt.Sprintf("/networks/%v", got.Load()), nil); a.Status != 204 {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	}
}

// TestLastAddresses: 64 ports at once want the 13 addresses of a /28.
func TestLastAddresses(t *testing.T) {
	twoServers(t, nil, func(t *testing.T, _ string, c []rig.Caller, options map[string]string) {
		st := rig.Look(t, options)
		n := c[0].Make("/networks", "network", map[string]any{})
		s := c[0].Make("/subnets", "subnet", map[string]any{"network_id": n["id"], "ip_version": 4, "cidr": "10.0.0.0/28"})
		for range 2 {
			var counts tally
			var mu sync.Mutex
			addresses, ports := map[any]bool{}, []string{}
			together(64, func(i int) {
				a := c[i%2].Do("POST", "/ports", map[string]any{"port": map[string]any{"network_id": n["id"]}})
				counts.add(t, a, "port")
				if a.Status != 201 {
					return
				}
				p := a.Under("port")
				mu.Lock()
				defer mu.Unlock()
				ports = append(ports, p["id"].(string))                                    //nolint:errcheck // a test may panic
				addresses[p["fixed_ips"].([]any)[0].(map[string]any)["ip_address"]] = true //nolint:errcheck // a test may panic
			})
			if counts.n["201"] != 13 || counts.n["409 IpAddressGenerationFailure"] != 51 || len(addresses) != 13 {
				t.Errorf("%v, addresses %v", counts.n, addresses)
			}
			if free := rig.FreeOf(t, st, fmt.Sprintf("subnet:%v", s["id"])); free != 0 {
				t.Errorf("%d addresses are free", free)
			}
			rig.Exact(t, st)
			together(len(ports), func(i int) { counts.add(t, c[i%2].Do("DELETE", "/ports/"+ports[i], nil), "delete") })
			if free := rig.FreeOf(t, st, fmt.Sprintf("subnet:%v", s["id"])); free != 13 {
				t.Errorf("%d addresses are free", free)
			}
		}
		// One address by name: one gets it.
		var counts tally
		together(16, func(i int) {
			counts.add(t, c[i%2].Do("POST", "/ports", map[string]any{"port": map[string]any{"network_id": n["id"], "fixed_ips": []any{map[string]any{"ip_address": "10.0.0.9"}}}}), "port")
		})
		if counts.n["201"] != 1 || counts.n["409 IpAddressAlreadyAllocated"] != 15 {
			t.Errorf("%v", counts.n)
		}
		rig.Exact(t, st)
	})
}

// TestNoOrphans: a network goes while ports and subnets come on it, a group while ports and rules use it, a subnet while
// ports take its addresses and its pools are cut anew.
func TestNoOrphans(t *testing.T) {
	twoServers(t, nil, func(t *testing.T, _ string, c []rig.Caller, options map[string]string) {
		st := rig.Look(t, options)
		var counts tally
		for range 12 {
			n := c[0].Make("/networks", "network", map[string]any{})["id"].(string)                                                      //nolint:errcheck // a test may panic
			s := c[0].Make("/subnets", "subnet", map[string]any{"network_id": n, "ip_version": 4, "cidr": "10.0.0.0/24"})["id"].(string) //nolint:errcheck // a test may panic
			g := c[0].Make("/security-groups", "security_group", map[string]any{"name": "g"})["id"].(string)                             //nolint:errcheck // a test may panic
			h := c[0].Make("/security-groups", "security_group", map[string]any{"name": "h"})["id"].(string)                             //nolint:errcheck // a test may panic
			together(12, func(i int) {
				c := c[i%2]
				var a rig.Answer
				switch i % 6 {
				case 0:
					a = c.Do("DELETE", "/networks/"+n, nil)
				case 1:
					a = c.Do("POST", "/ports", map[string]any{"port": map[string]any{"network_id": n, "security_groups": []string{g}}})
				case 2:
					a = c.Do("POST", "/subnets", map[string]any{"subnet": map[string]any{"network_id": n, "ip_version": 4, "cidr": fmt.Sprintf("10.%d.0.0/24", i+1)}})
				case 3:
					a = c.Do("DELETE", "/security-groups/"+g, nil)
				case 4:
					a = c.Do("POST", "/security-group-rules", map[string]any{"security_group_rule": map[string]any{"security_group_id": h, "direction": "ingress", "remote_group_id": g, "protocol": "tcp", "port_range_min": i, "port_range_max": i}})
				case 5:
					a = c.Do("PUT", "/subnets/"+s, map[string]any{"subnet": map[string]any{"allocation_pools": []any{map[string]any{"start": "10.0.0.50", "end": "10.0.0.60"}}}})
				}
				counts.add(t, a, fmt.Sprint("case ", i%6))
			})
			rig.Exact(t, st)
		}
		t.Log(counts.n)
	})
}

// TestEqualAtOnce: equal rules, the default group's first use, equal MACs.
func TestEqualAtOnce(t *testing.T) {
	twoServers(t, nil, func(t *testing.T, _ string, c []rig.Caller, options map[string]string) {
		st := rig.Look(t, options)
		for round := range 5 {
			project := fmt.Sprintf("%032x", round+1)
			var counts tally
			together(16, func(i int) {
				c := c[i%2].As(project, "member,reader")
				switch i % 4 {
				case 0:
					counts.add(t, c.Do("GET", "/security-groups", nil), "list")
				case 1:
					counts.add(t, c.Do("POST", "/networks", `{"network": {}}`), "network")
				case 2:
					counts.add(t, c.Do("POST", "/security-groups", `{"security_group": {"name": "x"}}`), "group")
				case 3:
					counts.add(t, c.Do("GET", "/security-group-rules", nil), "rules")
				}
			})
			own := c[0].As(project, "member,reader")
			groups := own.List("/security-groups?name=default", "security_groups")
			if len(groups) != 1 || len(groups[0]["security_group_rules"].([]any)) != 4 { //nolint:errcheck // a test may panic
				t.Errorf("default groups: %v", groups)
				continue
			}
			counts = tally{}
			together(16, func(i int) {
				counts.add(t, c[i%2].As(project, "member,reader").Do("POST", "/security-group-rules", map[string]any{"security_group_rule": map[string]any{
					"security_group_id": groups[0]["id"], "direction": "ingress", "protocol": []string{"tcp", "6"}[i/8]}}), "rule")
			})
			if counts.n["201"] != 1 || counts.n["409 SecurityGroupRuleExists"] != 15 {
				t.Errorf("equal rules: %v", counts.n)
			}
			n := own.List("/networks", "networks")[0]["id"]
			counts = tally{}
			together(16, func(i int) {
				counts.add(t, c[i%2].As(project, "member,reader").Do("POST", "/ports", map[string]any{"port": map[string]any{"network_id": n, "mac_address": "fa:16:3e:00:00:01"}}), "port")
			})
			if counts.n["201"] != 1 || counts.n["409 MacAddressInUse"] != 15 {
				t.Errorf("equal MACs: %v", counts.n)
			}
		}
		rig.Exact(t, st)
	})
}
