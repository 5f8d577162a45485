package conformance

import (
	"fmt"
	"strings"
	"testing"

	"isospin/isospintest"
	"isospin/test/rig"
)

// TestSegmentRanges: ranges of ids that administrators set; neutron/services/network_segment_range/plugin.py.
func TestSegmentRanges(t *testing.T) {
	everywhereWith(t, isospintest.Options{Config: map[string]string{"ml2_type_vlan/network_vlan_ranges": "physnet1:100:103,bare",
		"ml2_type_vxlan/vni_ranges": "1:4", "ml2_type_gre/tunnel_id_ranges": "", "ml2_type_geneve/vni_ranges": "", "ml2/tenant_network_types": "vlan,vxlan"}},
		func(t *testing.T, c rig.Caller) { rangeSteps(t, c) })
}

func rangeSteps(t *testing.T, c rig.Caller) {
	t.Helper()
	body := func(rest string) string { return `{"network_segment_range": {"network_type": "vlan", ` + rest + `}}` }
	c.Run(t, rig.Vars{}, []rig.Step{
		{As: "A", Do: "GET /network-segment-ranges?network_type=vlan", Want: "200", Save: "default=network_segment_ranges.0.id",
			Has: "network_segment_ranges.# = 1\nnetwork_segment_ranges.0.default = true\nnetwork_segment_ranges.0.shared = true\nnetwork_segment_ranges.0.project_id = null\nnetwork_segment_ranges.0.tenant_id absent\nnetwork_segment_ranges.0.physical_network = \"physnet1\"\nnetwork_segment_ranges.0.minimum = 100\nnetwork_segment_ranges.0.maximum = 103\nnetwork_segment_ranges.0.available = [100, 101, 102, 103]\nnetwork_segment_ranges.0.used = {}\nnetwork_segment_ranges.0.name = \"\"\nnetwork_segment_ranges.0.tags = []"},
		{As: "A", Do: "GET /network-segment-ranges?network_type=vxlan", Want: "200", Has: "network_segment_ranges.# = 1\nnetwork_segment_ranges.0.physical_network = null"},
		{As: "M", Do: "GET /network-segment-ranges", Want: "200", Has: "network_segment_ranges = []"},
		{As: "M", Do: "GET /network-segment-ranges/${default}", Want: "404 NetworkSegmentRangeNotFound"},
		{As: "M", Do: "POST /network-segment-ranges", Body: body(`"physical_network": "physnet1", "minimum": 1, "maximum": 2`), Want: "403 PolicyNotAuthorized"},
		{As: "A", Do: "PUT /network-segment-ranges/${default}", Body: `{"network_segment_range": {"name": "x"}}`, Want: "400 NetworkSegmentRangeDefaultReadOnly"},
		{As: "A", Do: "DELETE /network-segment-ranges/${default}", Want: "400 NetworkSegmentRangeDefaultReadOnly"},
		// What is refused.
		{As: "A", Do: "POST /network-segment-ranges", Body: body(`"minimum": 1, "maximum": 2`), Want: "400 BadRequest"},
		{As: "A", Do: "POST /network-segment-ranges", Body: body(`"physical_network": "physnet1", "minimum": 5, "maximum": 2`), Want: "400 NetworkVlanRangeError"},
		{As: "A", Do: "POST /network-segment-ranges", Body: body(`"physical_network": "physnet1", "minimum": 5, "maximum": 4095`), Want: "400 NetworkVlanRangeError"},
		{As: "A", Do: "POST /network-segment-ranges", Body: body(`"physical_network": "physnet1", "minimum": 0, "maximum": 5`), Want: "400"},
		{As: "A", Do: "POST /network-segment-ranges", Body: body(`"physical_network": "physnet1", "minimum": 4`), Want: "400 HTTPBadRequest"},
		{As: "A", Do: "POST /network-segment-ranges", Body: body(`"physical_network": "physnet1", "minimum": 1, "maximum": 2, "default": true`), Want: "400"},
		{As: "A", Do: "POST /network-segment-ranges", Body: `{"network_segment_range": {"network_type": "flat", "minimum": 1, "maximum": 2}}`, Want: "400"},
		{As: "A", Do: "POST /network-segment-ranges", Body: `{"network_segment_range": {"minimum": 1, "maximum": 2}}`, Want: "400 NetworkSegmentRangeNetTypeNotSupported"},
		{As: "A", Do: "POST /network-segment-ranges", Body: `{"network_segment_range": {"network_type": "vxlan", "minimum": 1, "maximum": 16777216}}`, Want: "400 NetworkTunnelRangeError"},
		{As: "A", Do: "POST /network-segment-ranges", Body: `{"network_segment_range": {"network_type": "gre", "minimum": 4294967294, "maximum": 4294967295, "physical_network": "ignored"}}`, Want: "201", Save: "gre=network_segment_range.id", Has: "network_segment_range.physical_network = null\nnetwork_segment_range.available = [4294967294, 4294967295]"},
		{As: "A", Do: "DELETE /network-segment-ranges/${gre}", Want: "204"},
		// A range of one project, inside what all had.
		{As: "A", Do: "POST /network-segment-ranges", Body: body(`"physical_network": "physnet1", "minimum": 102, "maximum": 103, "shared": false, "project_id": "` + rig.ProjectM + `", "name": "m", "description": "d"`), Want: "201", Save: "mine=network_segment_range.id",
			Has: "network_segment_range.shared = false\nnetwork_segment_range.default = false\nnetwork_segment_range.project_id = \"" + rig.ProjectM + "\"\nnetwork_segment_range.description = \"d\"\nnetwork_segment_range.available = [102, 103]"},
		{As: "A", Do: "POST /network-segment-ranges", Body: body(`"physical_network": "physnet1", "minimum": 50, "maximum": 102`), Want: "409 NetworkSegmentRangeOverlaps"},
		{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "m1=network.id"},
		{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "m2=network.id"},
		{As: "A", Do: "GET /network-segment-ranges/${mine}", Want: "200", Has: "network_segment_range.available = []\nnetwork_segment_range.used = {\"102\": \"" + rig.ProjectM + "\", \"103\": \"" + rig.ProjectM + "\"}"},
		{As: "A", Do: "GET /network-segment-ranges/${default}?fields=available", Want: "200", Has: "network_segment_range.available = [100, 101]\nnetwork_segment_range.used absent"},
		// Then those of all; another project never gets the first one's.
		{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "m3=network.id"},
		{As: "O", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "o1=network.id"},
		{As: "A", Do: "DELETE /networks/${m1}", Want: "204"},
		{As: "O", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "o2=network.id"},
		{As: "A", Do: "GET /networks/${o2}", Want: "200", Has: `network.provider:network_type = "vxlan"`},
		{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "m4=network.id"},
		{As: "A", Do: "GET /networks/${m4}", Want: "200", Has: `network.provider:network_type = "vlan"`},
		// Changes.
		{As: "A", Do: "DELETE /network-segment-ranges/${mine}", Want: "409 NetworkSegmentRangeReferencedByProject"},
		{As: "A", Do: "PUT /network-segment-ranges/${mine}", Body: `{"network_segment_range": {"maximum": 102}}`, Want: "409 NetworkSegmentRangeReferencedByProject"},
		{As: "A", Do: "PUT /network-segment-ranges/${mine}", Body: `{"network_segment_range": {"maximum": 101}}`, Want: "400 NetworkVlanRangeError"},
		{As: "A", Do: "PUT /network-segment-ranges/${mine}", Body: `{"network_segment_range": {"name": "renamed"}}`, Want: "200", Has: "network_segment_range.name = \"renamed\"\nnetwork_segment_range.revision_number = 1"},
		{As: "A", Do: "PUT /network-segment-ranges/${mine}", Body: `{"network_segment_range": {"maximum": 105}}`, Want: "200", Has: "network_segment_range.available = [104, 105]"},
		{As: "A", Do: "PUT /network-segment-ranges/${mine}", Body: `{"network_segment_range": {"shared": true}}`, Want: "400"},
		{As: "A", Do: "POST /network-segment-ranges", Body: body(`"physical_network": "physnet1", "minimum": 200, "maximum": 201`), Want: "201", Save: "more=network_segment_range.id", Has: "network_segment_range.project_id = null\nnetwork_segment_range.shared = true"},
		{As: "A", Do: "PUT /network-segment-ranges/${more}", Body: `{"network_segment_range": {"minimum": 105}}`, Want: "409 NetworkSegmentRangeOverlaps"},
		{As: "O", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "o3=network.id"},
		{As: "A", Do: "GET /network-segment-ranges/${more}", Want: "200", Has: "network_segment_range.available.# = 1"},
		{As: "A", Do: "DELETE /networks/${o3}", Want: "204"},
		{As: "A", Do: "GET /network-segment-ranges/${more}", Want: "200", Has: "network_segment_range.available = [200, 201]"},
		{As: "A", Do: "DELETE /network-segment-ranges/${more}", Want: "204"},
		{As: "A", Do: "GET /network-segment-ranges/${more}", Want: "404 NetworkSegmentRangeNotFound"},
		// A physical network that the configuration does not know.
		{As: "A", Do: "POST /networks", Body: `{"network": {"provider:network_type": "vlan", "provider:physical_network": "late"}}`, Want: "400 InvalidInput"},
		{As: "A", Do: "POST /networks", Body: `{"network": {"provider:network_type": "vlan", "provider:physical_network": "bare"}}`, Want: "400 InvalidInput"},
		{As: "A", Do: "POST /network-segment-ranges", Body: body(`"physical_network": "late", "minimum": 7, "maximum": 7`), Want: "201", Save: "late=network_segment_range.id"},
		{As: "A", Do: "POST /networks", Body: `{"network": {"provider:network_type": "vlan", "provider:physical_network": "late"}}`, Want: "201", Save: "l=network.id", Has: "network.provider:segmentation_id = 7"},
		{As: "A", Do: "POST /networks", Body: `{"network": {"provider:network_type": "vlan", "provider:physical_network": "late"}}`, Want: "503 NoNetworkAvailable"},
		{As: "A", Do: "DELETE /networks/${l}", Want: "204"},
		{As: "A", Do: "PUT /network-segment-ranges/${late}/tags", Body: `{"tags": ["x"]}`, Want: "200"},
		{As: "A", Do: "GET /network-segment-ranges?tags=x&physical_network=late", Want: "200", Has: "network_segment_ranges.# = 1"},
		{As: "A", Do: "DELETE /network-segment-ranges/${late}", Want: "204"},
		{As: "A", Do: "POST /network-segment-ranges", Body: `{"network_segment_ranges": [{"network_type": "vxlan", "minimum": 10, "maximum": 11}, {"network_type": "vxlan", "minimum": 11, "maximum": 12}]}`, Want: "409 NetworkSegmentRangeOverlaps"},
		{As: "A", Do: "GET /network-segment-ranges?default=true", Want: "400"},
	})
}

// TestSegmentListsCost: lists make the same number of statements however long they are, and a long range is cut short.
func TestSegmentListsCost(t *testing.T) {
	c := roomy(t)
	list := map[string]int{}
	for round, n := range []int{1, 20} {
		for i := range n {
			net := c.Make("/networks", "network", map[string]any{})["id"]
			parent := c.Make("/ports", "port", map[string]any{"network_id": net})["id"]
			sub := c.Make("/ports", "port", map[string]any{"network_id": net})["id"]
			c.Make("/trunks", "trunk", map[string]any{"port_id": parent, "sub_ports": []any{map[string]any{"port_id": sub, "segmentation_type": "vlan", "segmentation_id": 5}}})
			c.Make("/network-segment-ranges", "network_segment_range", map[string]any{"network_type": "vlan", "physical_network": "p", "minimum": 100*round + 2*i + 1, "maximum": 100*round + 2*i + 2})
		}
		for _, path := range []string{"/trunks", "/segments", "/network-segment-ranges", "/ports", "/networks"} {
			a := c.Do("GET", path, nil)
			if a.Status != 200 {
				t.Errorf("%s: %d", path, a.Status)
			}
			got := statements(t, a)
			if got > 8 || round > 0 && got > list[path] {
				t.Errorf("GET %s: %d statements, and %d when there was little", path, got, list[path])
			}
			list[path] = got
		}
	}
	t.Log(list)
	for _, r := range c.List("/network-segment-ranges?network_type=vxlan", "network_segment_ranges") {
		if free, ok := r["available"].([]any); !ok || len(free) != 4094 {
			t.Errorf("a long range lists %d free ids", len(free))
		}
		if used := fmt.Sprint(r["used"]); strings.Count(used, rig.ProjectA) != 21 {
			t.Errorf("21 networks, and in use are %s", used)
		}
	}
}
