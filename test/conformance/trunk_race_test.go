//go:build conformance

package conformance

import (
	"fmt"
	"testing"

	"isospin/test/rig"
)

// TestTrunkRaces: of those who want one port for a trunk one gets it, and what the database holds afterwards is exact.
func TestTrunkRaces(t *testing.T) {
	twoServers(t, nil, func(t *testing.T, _ string, c []rig.Caller, options map[string]string) {
		net := c[0].Make("/networks", "network", map[string]any{})["id"]
		port := func() string {
			return fmt.Sprint(c[0].Make("/ports", "port", map[string]any{"network_id": net})["id"])
		}
		shared := port()
		var parents []string
		for range 8 {
			parents = append(parents, port())
		}
		tagged := func(id int) []any {
			return []any{map[string]any{"port_id": shared, "segmentation_type": "vlan", "segmentation_id": id}}
		}
		var made tally
		together(8, func(i int) {
			made.add(t, c[i%2].Do("POST", "/trunks", map[string]any{"trunk": map[string]any{"port_id": parents[i], "sub_ports": tagged(i + 1)}}), "create")
		})
		if made.n["201"] != 1 || made.n["409 TrunkPortInUse"] != 7 {
			t.Errorf("one port for eight trunks: %v", made.n)
		}
		// As parent and inside at once, and deleted meanwhile.
		both := port()
		var mixed tally
		together(12, func(i int) {
			switch i % 3 {
			case 0:
				mixed.add(t, c[i%2].Do("POST", "/trunks", map[string]any{"trunk": map[string]any{"port_id": both}}), "parent")
			case 1:
				list := c[i%2].List("/trunks", "trunks")
				body := map[string]any{"sub_ports": []any{map[string]any{"port_id": both, "segmentation_type": "vlan", "segmentation_id": 100 + i}}}
				mixed.add(t, c[i%2].Do("PUT", "/trunks/"+fmt.Sprint(list[0]["id"])+"/add_subports", body), "inside")
			default:
				mixed.add(t, c[i%2].Do("DELETE", "/ports/"+both, nil), "delete")
			}
		})
		t.Log(mixed.n)
		rig.Exact(t, rig.Look(t, options))
		for _, trunk := range c[0].List("/trunks", "trunks") {
			if a := c[1].Do("DELETE", "/trunks/"+fmt.Sprint(trunk["id"]), nil); a.Status != 204 {
				t.Error(string(a.Body))
			}
		}
		rig.Exact(t, rig.Look(t, options))
	})
}

// TestSegmentRangeRaces: ranges that come, grow and go while networks do keep every pool exact, and no id is given out twice.
func TestSegmentRangeRaces(t *testing.T) {
	twoServers(t, map[string]string{"ml2_type_vlan/network_vlan_ranges": "physnet1:1:60", "ml2/tenant_network_types": "vlan"}, func(t *testing.T, _ string, c []rig.Caller, options map[string]string) {
		var nets, ranges tally
		together(8, func(i int) {
			who := c[i%2]
			for k := range 6 {
				if i < 6 {
					a := who.Who([]string{"M", "O"}[i%2]).Do("POST", "/networks", map[string]any{"network": map[string]any{}})
					nets.add(t, a, "network")
					if k%2 == 0 && a.Status == 201 {
						nets.add(t, who.Do("DELETE", "/networks/"+fmt.Sprint(a.Under("network")["id"]), nil), "network")
					}
					continue
				}
				low := 10*(i-6) + 10
				a := who.Do("POST", "/network-segment-ranges", map[string]any{"network_segment_range": map[string]any{"network_type": "vlan",
					"physical_network": "physnet1", "minimum": low, "maximum": low + 3, "shared": k%2 == 0, "project_id": rig.ProjectM}})
				ranges.add(t, a, "range")
				if a.Status != 201 {
					continue
				}
				path := "/network-segment-ranges/" + fmt.Sprint(a.Under("network_segment_range")["id"])
				ranges.add(t, who.Do("PUT", path, map[string]any{"network_segment_range": map[string]any{"maximum": low + 6}}), "range")
				ranges.add(t, who.Do("DELETE", path, nil), "range")
			}
		})
		t.Log(nets.n, ranges.n)
		if nets.n["201"] != 36 {
			t.Errorf("36 networks of 60 ids: %v", nets.n)
		}
		rig.Exact(t, rig.Look(t, options))
	})
}

// TestNamedIDRaces: networks that ask for ids by name, while the range that spans these ids shrinks, grows and goes, leave no
// id that is both free and in use.
func TestNamedIDRaces(t *testing.T) {
	twoServers(t, nil, func(t *testing.T, _ string, c []rig.Caller, options map[string]string) {
		st := rig.Look(t, options)
		var counts tally
		for round := range 12 {
			low := 1000 * (round + 1)
			path := "/network-segment-ranges/" + fmt.Sprint(c[0].Make("/network-segment-ranges", "network_segment_range",
				map[string]any{"network_type": "vxlan", "minimum": low, "maximum": low + 5, "shared": true})["id"])
			together(8, func(i int) {
				switch i {
				case 6:
					counts.add(t, c[0].Do("PUT", path, map[string]any{"network_segment_range": map[string]any{"minimum": low + 4}}), "shrink")
					counts.add(t, c[0].Do("PUT", path, map[string]any{"network_segment_range": map[string]any{"minimum": low}}), "grow")
				case 7:
					if round%2 == 0 {
						counts.add(t, c[1].Do("DELETE", path, nil), "delete")
					}
				default:
					counts.add(t, c[i%2].Do("POST", "/networks", map[string]any{"network": map[string]any{
						"provider:network_type": "vxlan", "provider:segmentation_id": low + i}}), "network")
				}
			})
			rig.Exact(t, st)
		}
		t.Log(counts.n)
	})
}

// TestNamedHandOver: an id that a network gives back and an address that a port gives back at the moment in which others ask
// for them by name are had by one and are not free.
func TestNamedHandOver(t *testing.T) {
	twoServers(t, map[string]string{"ml2_type_vxlan/vni_ranges": "1:8"}, func(t *testing.T, _ string, c []rig.Caller, options map[string]string) {
		st := rig.Look(t, options)
		net := c[0].Make("/networks", "network", map[string]any{"provider:network_type": "vxlan", "provider:segmentation_id": 8})["id"]
		c[0].Make("/subnets", "subnet", map[string]any{"network_id": net, "ip_version": 4, "cidr": "10.0.0.0/24"})
		for _, kind := range []struct {
			name  string
			attrs map[string]any
		}{
			{"network", map[string]any{"provider:network_type": "vxlan", "provider:segmentation_id": 1}},
			{"port", map[string]any{"network_id": net, "fixed_ips": []any{map[string]any{"ip_address": "10.0.0.5"}}}},
		} {
			path := "/" + kind.name + "s"
			var counts tally
			for range 12 {
				held := c[0].Make(path, kind.name, kind.attrs)["id"]
				next := make([]any, 4)
				together(5, func(i int) {
					if i == 4 {
						counts.add(t, c[1].Do("DELETE", fmt.Sprint(path, "/", held), nil), "give back")
						return
					}
					a := c[i%2].Do("POST", path, map[string]any{kind.name: kind.attrs})
					counts.add(t, a, "take")
					next[i] = a.Under(kind.name)["id"]
				})
				rig.Exact(t, st)
				for _, id := range next {
					if id != nil {
						counts.add(t, c[0].Do("DELETE", fmt.Sprint(path, "/", id), nil), "give back")
					}
				}
			}
			t.Log(kind.name, counts.n)
		}
		rig.Exact(t, st)
	})
}
