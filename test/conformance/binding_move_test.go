//go:build conformance

package conformance

import (
	"testing"

	"isospin/test/rig"
)

// TestBindingMove: a live migration as Nova asks for it, and two servers that are asked to activate at once.
func TestBindingMove(t *testing.T) {
	twoServers(t, nil, func(t *testing.T, _ string, c []rig.Caller, options map[string]string) {
		v := rig.Vars{}
		c[0].Run(t, v, []rig.Step{
			{As: "A", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net=network.id"},
			{As: "A", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "device_owner": "compute:nova", "binding:host_id": "stage1"}}`, Want: "201", Save: "port=port.id", Has: `port.binding:vif_type = "ovs"`},
			{As: "S", Do: "POST /ports/${port}/bindings", Body: `{"binding": {"host": "stage2", "vnic_type": "normal", "profile": {"migrating_to": "stage2"}}}`, Want: "201",
				Has: "binding.status = \"INACTIVE\"\nbinding.vif_type = \"ovs\"\nbinding.host = \"stage2\"\nbinding.vif_details.bridge_name = \"br-int\"\nbinding.profile = {\"migrating_to\": \"stage2\"}"},
			{As: "S", Do: "POST /ports/${port}/bindings", Body: `{"binding": {"host": "stage2"}}`, Want: "409 PortBindingAlreadyExists"},
			{As: "A", Do: "GET /ports/${port}/bindings", Want: "200", Has: "bindings.# = 2\nbindings.0.host = \"stage1\"\nbindings.0.status = \"ACTIVE\""},
			{As: "A", Do: "GET /ports/${port}/bindings?status=INACTIVE&fields=host", Want: "200", Has: `bindings = [{"host": "stage2"}]`},
			{As: "A", Do: "GET /ports/${port}", Want: "200", Has: "port.binding:host_id = \"stage1\"\nport.revision_number = 1"},
			{As: "A", Do: "PUT /ports/${port}", Body: `{"port": {"name": "moves"}}`, Want: "200"},
		})
		var counts tally
		together(8, func(i int) {
			counts.add(t, c[i%2].Who("S").Do("PUT", "/ports/"+v["port"]+"/bindings/stage2/activate", nil), "activate")
		})
		if counts.n["200"] != 1 || counts.n["409 PortBindingAlreadyActive"] != 7 {
			t.Errorf("%v", counts.n)
		}
		c[1].Run(t, v, []rig.Step{
			{As: "A", Do: "GET /ports/${port}/bindings/stage1", Want: "200", Has: "binding.status = \"INACTIVE\"\nbinding.vif_type = \"unbound\""},
			{As: "A", Do: "GET /ports/${port}", Want: "200", Has: "port.binding:host_id = \"stage2\"\nport.binding:profile = {\"migrating_to\": \"stage2\"}\nport.name = \"moves\""},
			{As: "S", Do: "PUT /ports/${port}/bindings/stage1", Body: `{"binding": {"host": "stage3"}}`, Want: "200", Has: "binding.host = \"stage3\"\nbinding.vif_type = \"ovs\""},
			{As: "S", Do: "DELETE /ports/${port}/bindings/stage3", Want: "204"},
			{As: "A", Do: "GET /ports/${port}/bindings", Want: "200", Has: "bindings.# = 1"},
		})
		rig.Exact(t, rig.Look(t, options))
		if a := c[0].Do("DELETE", "/ports/"+v["port"], nil); a.Status != 204 {
			t.Error(string(a.Body))
		}
		rig.Exact(t, rig.Look(t, options))
	})
}
