package conformance

import (
	"fmt"
	"testing"

	"isospin/internal/model"
	"isospin/internal/service/ml2"
	"isospin/isospintest"
	"isospin/test/rig"
)

// TestSegments: the collection, and what comes and goes with it; behaviour.md, section 8.
func TestSegments(t *testing.T) {
	everywhereWith(t, isospintest.Options{}, func(t *testing.T, c rig.Caller) { segmentSteps(t, c) })
}

func segmentSteps(t *testing.T, c rig.Caller) {
	t.Helper()
	c.Run(t, rig.Vars{}, []rig.Step{
		{As: "M", Do: "POST /networks", Body: `{"network": {"name": "n"}}`, Want: "201", Save: "plain=network.id", Has: "network.l2_adjacency = true"},
		{As: "A", Do: "POST /networks", Body: `{"network": {"provider:network_type": "vlan", "provider:physical_network": "physnet1", "provider:segmentation_id": 100}}`, Want: "201", Save: "net=network.id", Has: "network.revision_number = 1"},
		{As: "A", Do: "GET /segments?network_id=${net}", Want: "200", Save: "one=segments.0.id",
			Has: "segments.# = 1\nsegments.0.name = null\nsegments.0.network_type = \"vlan\"\nsegments.0.physical_network = \"physnet1\"\nsegments.0.segmentation_id = 100\nsegments.0.description = null\nsegments.0.revision_number = 0\nsegments.0.created_at present\nsegments.0.tags absent\nsegments.0.project_id absent\nsegments.0.tenant_id absent"},
		{As: "A", Do: "GET /segments?network_id=${plain}", Want: "200", Has: "segments.0.physical_network = null\nsegments.0.network_type = \"vxlan\"\nsegments.0.segmentation_id present"},
		{As: "M", Do: "GET /segments", Want: "200", Has: "segments = []"},
		{As: "M", Do: "GET /segments/${one}", Want: "404 SegmentNotFound"},
		{As: "M", Do: "POST /segments", Body: `{"segment": {"network_id": "${plain}", "network_type": "vxlan"}}`, Want: "403 PolicyNotAuthorized"},
		{As: "M", Do: "DELETE /segments/${one}", Want: "404 SegmentNotFound"},
		{As: "A", Do: "POST /segments", Body: `{"segment": {"network_type": "vlan"}}`, Want: "400 HTTPBadRequest"},
		{As: "A", Do: "POST /segments", Body: `{"segment": {"network_id": "${net}"}}`, Want: "400 HTTPBadRequest"},
		{As: "A", Do: "POST /segments", Body: `{"segment": {"network_id": "5b9c5d1e-0d83-4d0c-a1ff-7d8b4a8f7d00", "network_type": "vlan"}}`, Want: "404 NetworkNotFound"},
		{As: "A", Do: "POST /segments", Body: `{"segment": {"network_id": "${net}", "network_type": "token-ring"}}`, Want: "400 InvalidInput"},
		{As: "A", Do: "POST /segments", Body: `{"segment": {"network_id": "${net}", "network_type": "vlan", "physical_network": "nowhere", "segmentation_id": 5}}`, Want: "400 InvalidInput"},
		{As: "A", Do: "POST /segments", Body: `{"segment": {"network_id": "${net}", "network_type": "vlan", "physical_network": "physnet1", "segmentation_id": 4095}}`, Want: "400 InvalidInput"},
		{As: "A", Do: "POST /segments", Body: `{"segment": {"network_id": "${net}", "network_type": "vlan", "physical_network": "physnet1", "segmentation_id": 100}}`, Want: "409 VlanIdInUse"},
		{As: "A", Do: "POST /segments", Body: `{"segment": {"network_id": "${net}", "network_type": "vlan", "segmentation_id": 5}}`, Want: "400 InvalidInput"},
		{As: "A", Do: "POST /segments", Body: `{"segment": {"network_id": "${net}", "network_type": "flat"}}`, Want: "400 InvalidInput"},
		{As: "A", Do: "POST /segments", Body: `{"segment": {"network_id": "${net}", "network_type": "vxlan"}}`, Want: "400 InvalidInput"}, // carries less than the network's MTU
		{As: "A", Do: "POST /segments", Body: `{"segments": [{"network_id": "${net}", "network_type": "vlan"}]}`, Want: "400"},
		{As: "A", Do: "POST /segments", Body: `{"segment": {"network_id": "${net}", "network_type": "vlan", "physical_network": "physnet1", "name": "x", "hosts": []}}`, Want: "400"},
		{As: "A", Do: "GET /networks/${net}", Want: "200", Has: "network.provider:segmentation_id = 100\nnetwork.revision_number = 1"},
		// A second segment.
		{As: "A", Do: "POST /segments", Body: `{"segment": {"network_id": "${net}", "network_type": "vlan", "physical_network": "public", "segmentation_id": 7, "name": "two", "description": "d"}}`, Want: "201", Save: "two=segment.id",
			Has: "segment.name = \"two\"\nsegment.description = \"d\"\nsegment.network_id = \"${net}\"\nsegment.segmentation_id = 7"},
		{As: "A", Do: "GET /networks/${net}", Want: "200", Has: "network.segments.# = 2\nnetwork.segments.1.provider:physical_network = \"public\"\nnetwork.provider:network_type absent\nnetwork.revision_number = 2"},
		{As: "M", Do: "GET /networks/${plain}", Want: "200", Has: "network.segments absent"},
		{As: "A", Do: "POST /segments", Body: `{"segment": {"network_id": "${net}", "network_type": "vlan", "physical_network": "public"}}`, Want: "201", Save: "three=segment.id", Has: "segment.segmentation_id present\nsegment.name = null\nsegment.description = \"\""},
		{As: "A", Do: "GET /segments?network_id=${net}&sort_key=segmentation_id&sort_dir=asc&limit=1", Want: "200", Has: "segments.# = 1"},
		{As: "A", Do: "GET /segments?name=two", Want: "200", Has: "segments.# = 1\nsegments.0.id = \"${two}\""},
		{As: "A", Do: "GET /segments?physical_network=public", Want: "200", Has: "segments.# = 2"},
		{As: "A", Do: "GET /segments?network_type=vxlan", Want: "200", Has: "segments.# = 1"},
		{As: "A", Do: "GET /segments?segmentation_id=7", Want: "400"},
		{As: "A", Do: "GET /segments?revision_number=0&fields=id", Want: "200"},
		{As: "A", Do: "PUT /segments/${two}", Body: `{"segment": {"name": null, "description": "e"}}`, Want: "200", Has: "segment.name = null\nsegment.description = \"e\"\nsegment.revision_number = 1"},
		{As: "A", Do: "PUT /segments/${two}", Body: `{"segment": {"segmentation_id": 8}}`, Want: "400"},
		{As: "A", Do: "PUT /segments/${two}", Body: `{"segment": {"name": "` + string(make([]byte, 0)) + `", "network_id": "${net}"}}`, Want: "400"},
		{As: "A", Do: "PUT /segments/5b9c5d1e-0d83-4d0c-a1ff-7d8b4a8f7d00", Body: `{"segment": {"name": "x"}}`, Want: "404 SegmentNotFound"},
		{As: "A", Do: "DELETE /segments/${two}", Want: "204"},
		{As: "A", Do: "DELETE /segments/${two}", Want: "404 SegmentNotFound"},
		{As: "A", Do: "DELETE /segments/${three}", Want: "204"},
		{As: "A", Do: "GET /networks/${net}", Want: "200", Has: "network.segments absent\nnetwork.provider:segmentation_id = 100"},
		// A VLAN that changes is the same segment.
		{As: "A", Do: "PUT /networks/${net}", Body: `{"network": {"provider:segmentation_id": 101}}`, Want: "200"},
		{As: "A", Do: "GET /segments/${one}", Want: "200", Has: "segment.segmentation_id = 101\nsegment.revision_number = 1"},
		// Its last one.
		{As: "A", Do: "DELETE /segments/${one}", Want: "204"},
		{As: "A", Do: "GET /networks/${net}", Want: "200", Has: "network.provider:network_type = null\nnetwork.provider:physical_network = null\nnetwork.provider:segmentation_id = null\nnetwork.segments absent"},
		{As: "A", Do: "PUT /networks/${net}", Body: `{"network": {"provider:segmentation_id": 102}}`, Want: "400 InvalidInput"},
		{As: "A", Do: "PUT /networks/${net}", Body: `{"network": {"name": "bare"}}`, Want: "200"},
		{As: "A", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "binding:host_id": "h1"}}`, Want: "201", Has: `port.binding:vif_type = "binding_failed"`},
		{As: "A", Do: "POST /segments", Body: `{"segment": {"network_id": "${net}", "network_type": "vlan", "physical_network": "physnet1", "segmentation_id": 100}}`, Want: "201"},
		{As: "A", Do: "GET /networks/${net}", Want: "200", Has: "network.provider:segmentation_id = 100"},
	})
}

// TestSubnetsOnSegments: all of a network's subnets are on segments or none is; what a network says of itself then.
func TestSubnetsOnSegments(t *testing.T) {
	everywhereWith(t, isospintest.Options{}, func(t *testing.T, c rig.Caller) { subnetSteps(t, c) })
}

func subnetSteps(t *testing.T, c rig.Caller) {
	t.Helper()
	vlan := func(id int) string {
		return fmt.Sprintf(`{"network": {"provider:network_type": "vlan", "provider:physical_network": "physnet1", "provider:segmentation_id": %d}}`, id)
	}
	sub := func(net, rest string) string {
		return `{"subnet": {"network_id": "${` + net + `}", "ip_version": 4, ` + rest + `}}`
	}
	c.Run(t, rig.Vars{}, []rig.Step{
		{As: "A", Do: "POST /networks", Body: vlan(100), Want: "201", Save: "net=network.id"},
		{As: "A", Do: "POST /networks", Body: vlan(101), Want: "201", Save: "other=network.id"},
		{As: "A", Do: "GET /segments?network_id=${net}", Want: "200", Save: "one=segments.0.id"},
		{As: "A", Do: "GET /segments?network_id=${other}", Want: "200", Save: "far=segments.0.id"},
		{As: "A", Do: "POST /segments", Body: `{"segment": {"network_id": "${net}", "network_type": "vlan", "physical_network": "public", "segmentation_id": 7}}`, Want: "201", Save: "two=segment.id"},
		{As: "A", Do: "POST /subnets", Body: sub("net", `"cidr": "10.0.0.0/24", "segment_id": "nope"`), Want: "400"},
		{As: "A", Do: "POST /subnets", Body: sub("net", `"cidr": "10.0.0.0/24", "segment_id": "5b9c5d1e-0d83-4d0c-a1ff-7d8b4a8f7d00"`), Want: "404 SegmentNotFound"},
		{As: "A", Do: "POST /subnets", Body: sub("net", `"cidr": "10.0.0.0/24", "segment_id": "${far}"`), Want: "400 NetworkIdsDontMatch"},
		{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "mine=network.id"},
		{As: "M", Do: "POST /subnets", Body: sub("mine", `"cidr": "10.0.0.0/24", "segment_id": "${far}"`), Want: "404 SegmentNotFound"},
		{As: "A", Do: "POST /subnets", Body: sub("net", `"cidr": "10.0.0.0/24", "segment_id": "${one}"`), Want: "201", Save: "sub1=subnet.id", Has: "subnet.segment_id = \"${one}\"\nsubnet.host_routes = []"},
		{As: "A", Do: "GET /networks/${net}", Want: "200", Has: "network.l2_adjacency = false"},
		{As: "A", Do: "POST /subnets", Body: sub("net", `"cidr": "10.0.1.0/24"`), Want: "400 SubnetsNotAllAssociatedWithSegments"},
		{As: "A", Do: "POST /subnets", Body: sub("net", `"cidr": "10.9.0.0/24", "service_types": ["network:routed"]`), Want: "201", Save: "routed=subnet.id", Has: "subnet.segment_id = null"},
		{As: "A", Do: "POST /subnets", Body: sub("net", `"cidr": "10.0.1.0/24", "segment_id": "${two}", "host_routes": [{"destination": "192.168.0.0/16", "nexthop": "10.0.1.9"}]`), Want: "201", Save: "sub2=subnet.id",
			Has: `subnet.host_routes = [{"destination": "192.168.0.0/16", "nexthop": "10.0.1.9"}, {"destination": "10.0.0.0/24", "nexthop": "10.0.1.1"}, {"destination": "10.9.0.0/24", "nexthop": "10.0.1.1"}]`},
		{As: "A", Do: "GET /subnets/${sub1}", Want: "200", Has: `subnet.host_routes = [{"destination": "10.0.1.0/24", "nexthop": "10.0.0.1"}, {"destination": "10.9.0.0/24", "nexthop": "10.0.0.1"}]`},
		{As: "A", Do: "PUT /subnets/${sub2}", Body: `{"subnet": {"gateway_ip": null}}`, Want: "200", Has: `subnet.host_routes = [{"destination": "192.168.0.0/16", "nexthop": "10.0.1.9"}]`},
		{As: "A", Do: "PUT /subnets/${sub2}", Body: `{"subnet": {"gateway_ip": "10.0.1.1", "host_routes": []}}`, Want: "200", Has: "subnet.host_routes.# = 2"},
		{As: "A", Do: "PUT /subnets/${sub2}", Body: `{"subnet": {"host_routes": [{"destination": "10.0.0.0/8", "nexthop": "10.0.1.5"}]}}`, Want: "200", Has: "subnet.host_routes.# = 1"},
		{As: "A", Do: "GET /subnets?segment_id=${two}", Want: "200", Has: "subnets.# = 1\nsubnets.0.id = \"${sub2}\""},
		{As: "A", Do: "PUT /subnets/${sub1}", Body: `{"subnet": {"segment_id": "${two}"}}`, Want: "400"},
		{As: "A", Do: "PUT /subnets/${sub1}", Body: `{"subnet": {"segment_id": "${one}", "name": "same"}}`, Want: "200"},
		{As: "A", Do: "DELETE /segments/${two}", Want: "409 SegmentInUse"},
		{As: "A", Do: "DELETE /subnets/${routed}", Want: "204"},
		{As: "A", Do: "GET /subnets/${sub1}", Want: "200", Has: "subnet.host_routes.# = 2"}, // that it went is told by subnets on segments alone
		{As: "A", Do: "DELETE /subnets/${sub2}", Want: "204"},
		{As: "A", Do: "GET /subnets/${sub1}", Want: "200", Has: "subnet.host_routes.# = 1"},
		{As: "A", Do: "PUT /subnets/${sub1}", Body: `{"subnet": {"segment_id": null}}`, Want: "400 SubnetSegmentAssociationChangeNotAllowed"},
		{As: "A", Do: "DELETE /segments/${two}", Want: "204"},
		{As: "A", Do: "DELETE /subnets/${sub1}", Want: "204"},
		{As: "A", Do: "GET /networks/${net}", Want: "200", Has: "network.l2_adjacency = true"},
		// A network that becomes a routed one.
		{As: "A", Do: "POST /subnets", Body: sub("other", `"cidr": "10.0.0.0/24"`), Want: "201", Save: "sub=subnet.id", Has: "subnet.segment_id = null"},
		{As: "A", Do: "PUT /subnets/${sub}", Body: `{"subnet": {"segment_id": "5b9c5d1e-0d83-4d0c-a1ff-7d8b4a8f7d00"}}`, Want: "404 SegmentNotFound"},
		{As: "A", Do: "PUT /subnets/${sub}", Body: `{"subnet": {"segment_id": "${one}"}}`, Want: "400 NetworkIdsDontMatch"},
		{As: "A", Do: "POST /subnets", Body: sub("other", `"cidr": "10.0.1.0/24"`), Want: "201", Save: "more=subnet.id"},
		{As: "A", Do: "PUT /subnets/${sub}", Body: `{"subnet": {"segment_id": "${far}"}}`, Want: "400 SubnetsNotAllAssociatedWithSegments"},
		{As: "A", Do: "DELETE /subnets/${more}", Want: "204"},
		{As: "A", Do: "POST /segments", Body: `{"segment": {"network_id": "${other}", "network_type": "vlan", "physical_network": "public", "segmentation_id": 7}}`, Want: "201", Save: "extra=segment.id"},
		{As: "A", Do: "PUT /subnets/${sub}", Body: `{"subnet": {"segment_id": "${far}"}}`, Want: "400 NoUpdateSubnetWhenMultipleSegmentsOnNetwork"},
		{As: "A", Do: "DELETE /segments/${extra}", Want: "204"},
		{As: "A", Do: "PUT /subnets/${sub}", Body: `{"subnet": {"segment_id": "${far}"}}`, Want: "200", Has: "subnet.segment_id = \"${far}\""},
		{As: "A", Do: "GET /networks/${other}", Want: "200", Has: "network.l2_adjacency = false"},
		{As: "M", Do: "GET /networks?l2_adjacency=false", Want: "400"},
	})
}

// racks is a driver whose hosts reach the physical network of the same last letter: rack-a reaches physnet-a.
type racks struct{}

func (racks) Name() string { return "racks" }

func (racks) Reaches(h model.Host, s model.Segment) bool {
	if len(h.Name) < 6 || h.Name[:5] != "rack-" {
		return false
	}
	for _, letter := range h.Name[5:] {
		if s.PhysicalNetwork == "physnet-"+string(letter) {
			return true
		}
	}
	return false
}

func (d racks) Bind(r ml2.BindRequest) (ml2.Binding, bool) {
	for _, s := range r.Segments {
		if d.Reaches(r.Host, s) {
			return ml2.Binding{Segment: s, VIFType: "ovs", VIFDetails: map[string]any{"physical": s.PhysicalNetwork}}, true
		}
	}
	return ml2.Binding{}, false
}

// inRacks is servers on whose hosts racks binds.
func inRacks() isospintest.Options {
	return isospintest.Options{Drivers: []ml2.MechanismDriver{racks{}},
		Config: map[string]string{"ml2_type_vlan/network_vlan_ranges": "physnet-a:1:100,physnet-b:1:100,physnet-c:1:100"}}
}

// TestRoutedNetworks: addresses follow the segments that a port's host reaches.
func TestRoutedNetworks(t *testing.T) {
	everywhereWith(t, inRacks(), func(t *testing.T, c rig.Caller) { routedSteps(t, c) })
}

func routedSteps(t *testing.T, c rig.Caller) {
	t.Helper()
	port := func(rest string) string { return `{"port": {"network_id": "${net}"` + rest + `}}` }
	c.Run(t, rig.Vars{}, []rig.Step{
		{As: "A", Do: "POST /networks", Body: `{"network": {"shared": true, "segments": [{"provider:network_type": "vlan", "provider:physical_network": "physnet-a", "provider:segmentation_id": 1},
			{"provider:network_type": "vlan", "provider:physical_network": "physnet-b", "provider:segmentation_id": 1}, {"provider:network_type": "vlan", "provider:physical_network": "physnet-c", "provider:segmentation_id": 1}]}}`, Want: "201", Save: "net=network.id"},
		{As: "A", Do: "GET /segments?physical_network=physnet-a", Want: "200", Save: "sa=segments.0.id"},
		{As: "A", Do: "GET /segments?physical_network=physnet-b", Want: "200", Save: "sb=segments.0.id"},
		{As: "A", Do: "GET /segments?physical_network=physnet-c", Want: "200", Save: "sc=segments.0.id"},
		{As: "M", Do: "POST /ports", Body: port(""), Want: "201", Save: "early=port.id", Has: "port.fixed_ips = []\nport.ip_allocation = \"immediate\""},
		{As: "A", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net}", "ip_version": 4, "cidr": "10.1.0.0/24", "segment_id": "${sa}", "enable_dhcp": false}}`, Want: "201", Save: "a=subnet.id"},
		{As: "A", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net}", "ip_version": 4, "cidr": "10.2.0.0/24", "segment_id": "${sb}", "enable_dhcp": false}}`, Want: "201", Save: "b=subnet.id"},
		// Without a host a port waits.
		{As: "M", Do: "POST /ports", Body: port(""), Want: "201", Save: "port=port.id", Has: "port.fixed_ips = []\nport.ip_allocation = \"deferred\""},
		{As: "M", Do: "GET /ports?ip_allocation=deferred", Want: "200", Has: "ports.# = 1\nports.0.id = \"${port}\""},
		{As: "A", Do: "PUT /ports/${port}", Body: `{"port": {"binding:host_id": "rack-x"}}`, Want: "409 HostNotConnectedToAnySegment"},
		{As: "A", Do: "PUT /ports/${port}", Body: `{"port": {"binding:host_id": "rack-c"}}`, Want: "409 HostNotConnectedToAnySegment"},
		{As: "A", Do: "GET /ports/${port}", Want: "200", Has: "port.binding:host_id = \"\"\nport.fixed_ips = []"},
		{As: "A", Do: "PUT /ports/${port}", Body: `{"port": {"binding:host_id": "rack-b"}}`, Want: "200", Has: "port.fixed_ips.# = 1\nport.fixed_ips.0.subnet_id = \"${b}\"\nport.ip_allocation = \"deferred\"\nport.binding:vif_type = \"ovs\"\nport.binding:vif_details.physical = \"physnet-b\""},
		{As: "A", Do: "DELETE /segments/${sb}", Want: "409 SegmentInUse"},
		{As: "A", Do: "PUT /ports/${port}", Body: `{"port": {"binding:host_id": "rack-a"}}`, Want: "409 HostNotCompatibleWithFixedIps"},
		{As: "A", Do: "PUT /ports/${port}", Body: `{"port": {"binding:host_id": "rack-a", "fixed_ips": [{"subnet_id": "${a}"}]}}`, Want: "200", Has: "port.fixed_ips.0.subnet_id = \"${a}\"\nport.fixed_ips.# = 1\nport.binding:vif_details.physical = \"physnet-a\""},
		{As: "A", Do: "PUT /ports/${port}", Body: `{"port": {"binding:host_id": ""}}`, Want: "200", Has: "port.fixed_ips.# = 1"},
		{As: "A", Do: "PUT /ports/${port}", Body: `{"port": {"binding:host_id": "rack-ab"}}`, Want: "200", Has: "port.fixed_ips.0.subnet_id = \"${a}\"\nport.binding:vif_details.physical = \"physnet-a\""},
		// With a host.
		{As: "A", Do: "POST /ports", Body: port(`, "binding:host_id": "rack-a"`), Want: "201", Has: "port.fixed_ips.0.subnet_id = \"${a}\"\nport.ip_allocation = \"immediate\"\nport.binding:vif_type = \"ovs\""},
		{As: "A", Do: "POST /ports", Body: port(`, "binding:host_id": "rack-x"`), Want: "409 HostNotConnectedToAnySegment"},
		{As: "A", Do: "POST /ports", Body: port(`, "binding:host_id": "rack-a", "fixed_ips": [{"subnet_id": "${b}"}]`), Want: "400 InvalidInput"},
		{As: "A", Do: "POST /ports", Body: port(`, "binding:host_id": "rack-a", "fixed_ips": [{"ip_address": "10.2.0.77"}]`), Want: "400 InvalidIpForNetwork"},
		{As: "A", Do: "POST /ports", Body: port(`, "binding:host_id": "rack-ab"`), Want: "201", Has: "port.fixed_ips.# = 1"},
		{As: "A", Do: "POST /ports", Body: port(`, "binding:host_id": "rack-ab", "fixed_ips": [{"subnet_id": "${a}"}, {"subnet_id": "${b}"}]`), Want: "400 FixedIpsSubnetsNotOnSameSegment"},
		{As: "A", Do: "POST /ports", Body: port(`, "binding:host_id": "rack-ba", "fixed_ips": [{"subnet_id": "${b}"}]`), Want: "201", Has: "port.binding:vif_details.physical = \"physnet-b\""},
		// With addresses.
		{As: "A", Do: "POST /ports", Body: port(`, "fixed_ips": [{"subnet_id": "${a}"}]`), Want: "201", Save: "fixed=port.id", Has: "port.fixed_ips.# = 1\nport.ip_allocation = \"immediate\""},
		{As: "A", Do: "PUT /ports/${fixed}", Body: `{"port": {"binding:host_id": "rack-b"}}`, Want: "409 HostNotCompatibleWithFixedIps"},
		{As: "A", Do: "PUT /ports/${fixed}", Body: `{"port": {"binding:host_id": "rack-x"}}`, Want: "409 HostNotConnectedToAnySegment"},
		{As: "A", Do: "PUT /ports/${fixed}", Body: `{"port": {"binding:host_id": "rack-a"}}`, Want: "200"},
		{As: "A", Do: "POST /ports", Body: port(`, "fixed_ips": [{"subnet_id": "${a}"}, {"subnet_id": "${b}"}]`), Want: "400 FixedIpsSubnetsNotOnSameSegment"},
		{As: "M", Do: "POST /ports", Body: port(`, "fixed_ips": []`), Want: "201", Save: "none=port.id", Has: "port.fixed_ips = []\nport.ip_allocation = \"none\""},
		{As: "A", Do: "PUT /ports/${none}", Body: `{"port": {"binding:host_id": "rack-b"}}`, Want: "200", Has: "port.fixed_ips = []"},
		{As: "A", Do: "PUT /ports/${early}", Body: `{"port": {"binding:host_id": "rack-b"}}`, Want: "200", Has: "port.fixed_ips = []"},
		// Addresses that hosts make themselves come on their segment alone.
		{As: "A", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net}", "ip_version": 6, "cidr": "2001:db8:a::/64", "segment_id": "${sa}", "ipv6_ra_mode": "slaac", "ipv6_address_mode": "slaac"}}`, Want: "201", Save: "auto=subnet.id"},
		{As: "A", Do: "GET /ports/${fixed}", Want: "200", Has: "port.fixed_ips.# = 2"},
		{As: "A", Do: "GET /ports/${none}", Want: "200", Has: "port.fixed_ips = []"},
		{As: "A", Do: "POST /ports", Body: port(`, "binding:host_id": "rack-b"`), Want: "201", Has: "port.fixed_ips.# = 1\nport.fixed_ips.0.subnet_id = \"${b}\""},
		{As: "A", Do: "POST /ports", Body: port(`, "binding:host_id": "rack-a"`), Want: "201", Has: "port.fixed_ips.# = 2"},
		{As: "A", Do: "DELETE /subnets/${auto}", Want: "204"},
		{As: "A", Do: "GET /ports/${fixed}", Want: "200", Has: "port.fixed_ips.# = 1"},
	})
}

// TestTrunksOnHosts: subports are where the port is that carries them.
func TestTrunksOnHosts(t *testing.T) {
	everywhereWith(t, inRacks(), func(t *testing.T, c rig.Caller) { hostedSteps(t, c) })
}

func hostedSteps(t *testing.T, c rig.Caller) {
	t.Helper()
	c.Run(t, rig.Vars{}, []rig.Step{
		{As: "A", Do: "POST /networks", Body: `{"network": {"provider:network_type": "vlan", "provider:physical_network": "physnet-a"}}`, Want: "201", Save: "net=network.id"},
		{As: "A", Do: "POST /networks", Body: `{"network": {"provider:network_type": "vlan", "provider:physical_network": "physnet-b"}}`, Want: "201", Save: "other=network.id"},
		{As: "A", Do: "POST /ports", Body: `{"port": {"network_id": "${net}"}}`, Want: "201", Save: "parent=port.id"},
		{As: "A", Do: "POST /ports", Body: `{"port": {"network_id": "${net}"}}`, Want: "201", Save: "sub=port.id"},
		{As: "A", Do: "POST /ports", Body: `{"port": {"network_id": "${other}"}}`, Want: "201", Save: "far=port.id"},
		{As: "A", Do: "POST /trunks", Body: `{"trunk": {"port_id": "${parent}", "sub_ports": [{"port_id": "${sub}", "segmentation_type": "vlan", "segmentation_id": 5}]}}`, Want: "201", Save: "t=trunk.id"},
		{As: "A", Do: "PUT /ports/${parent}", Body: `{"port": {"binding:host_id": "rack-a"}}`, Want: "200", Has: `port.binding:vif_type = "ovs"`},
		{As: "A", Do: "GET /ports/${sub}", Want: "200", Has: "port.binding:host_id = \"rack-a\"\nport.binding:vif_type = \"ovs\"\nport.device_owner = \"trunk:subport\""},
		{As: "A", Do: "GET /trunks/${t}", Want: "200", Has: `trunk.status = "DOWN"`},
		{As: "A", Do: "PUT /trunks/${t}/add_subports", Body: `{"sub_ports": [{"port_id": "${far}", "segmentation_type": "vlan", "segmentation_id": 6}]}`, Want: "200"},
		{As: "A", Do: "GET /ports/${far}", Want: "200", Has: "port.binding:host_id = \"rack-a\"\nport.binding:vif_type = \"binding_failed\"\nport.device_owner = \"trunk:subport\""},
		{As: "A", Do: "PUT /trunks/${t}/remove_subports", Body: `{"sub_ports": [{"port_id": "${far}"}]}`, Want: "200"},
		{As: "A", Do: "GET /ports/${far}", Want: "200", Has: "port.binding:host_id = \"\"\nport.binding:vif_type = \"unbound\"\nport.device_owner = \"\""},
		{As: "A", Do: "DELETE /trunks/${t}", Want: "409 TrunkInUse"},
		{As: "A", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "binding:host_id": "rack-a"}}`, Want: "201", Save: "bound=port.id"},
		{As: "A", Do: "POST /trunks", Body: `{"trunk": {"port_id": "${bound}"}}`, Want: "409 ParentPortInUse"},
		{As: "A", Do: "PUT /ports/${parent}", Body: `{"port": {"binding:host_id": "rack-ba"}}`, Want: "200"},
		{As: "A", Do: "GET /ports/${sub}", Want: "200", Has: "port.binding:host_id = \"rack-ba\""},
		{As: "A", Do: "PUT /ports/${parent}", Body: `{"port": {"binding:host_id": ""}}`, Want: "200", Has: "port.trunk_details.sub_ports.# = 1"},
		{As: "A", Do: "GET /ports/${sub}", Want: "200", Has: "port.binding:host_id = \"\"\nport.binding:vif_type = \"unbound\""},
		{As: "A", Do: "DELETE /trunks/${t}", Want: "204"},
		{As: "A", Do: "GET /ports/${sub}", Want: "200", Has: "port.device_owner = \"\""},
		{As: "A", Do: "DELETE /ports/${sub}", Want: "204"},
	})
}
