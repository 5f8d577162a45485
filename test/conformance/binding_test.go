package conformance

import (
	"testing"

	"isospin/test/rig"
)

// TestBindingFaults: what is refused of /ports/{id}/bindings, behaviour.md, section 11; nothing of it is a server error.
func TestBindingFaults(t *testing.T) {
	quick(t).Run(t, rig.Vars{}, []rig.Step{
		{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net=network.id"},
		{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}"}}`, Want: "201", Save: "plain=port.id"},
		{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "device_owner": "compute:nova"}}`, Want: "201", Save: "port=port.id"},
		{As: "A", Do: "GET /ports/${port}/bindings", Want: "200", Has: "bindings = []"},
		{As: "S", Do: "GET /ports/${port}/bindings", Want: "200", Has: "bindings = []"},
		{As: "M", Do: "GET /ports/${port}/bindings", Want: "200", Has: "bindings = []"},
		{As: "O", Do: "GET /ports/${port}/bindings", Want: "404 PortNotFound"},
		{As: "A", Do: "GET /ports/5b9c5d1e-0d83-4d0c-a1ff-7d8b4a8f7d00/bindings", Want: "404 PortNotFound"},
		{As: "A", Do: "GET /ports/${port}/bindings?nope=1", Want: "400"},
		{As: "A", Do: "GET /ports/${port}/bindings?host=h1&fields=host", Want: "200", Has: "bindings = []"},
		{As: "A", Do: "GET /ports/${port}/bindings?sort_key=host&sort_dir=asc", Want: "400"},
		{As: "A", Do: "POST /ports/${port}/bindings", Body: `{"binding": {"host": "h1"}}`, Want: "409 PortBindingError"},
		{As: "S", Do: "POST /ports/${port}/bindings", Body: `{"binding": {"host": "h1"}}`, Want: "409 PortBindingError"},
		{As: "A", Do: "POST /ports/5b9c5d1e-0d83-4d0c-a1ff-7d8b4a8f7d00/bindings", Body: `{"binding": {"host": "h1"}}`, Want: "404 PortNotFound"},
		{As: "A", Do: "POST /ports/${plain}/bindings", Body: `{"binding": {"host": "h1"}}`, Want: "400 BadRequest"},
		{As: "A", Do: "POST /ports/${port}/bindings", Body: `{"binding": {}}`, Want: "400"},
		{As: "A", Do: "POST /ports/${port}/bindings", Body: `{"binding": {"host": ""}}`, Want: "400"},
		{As: "A", Do: "POST /ports/${port}/bindings", Body: `{"binding": {"host": "h1", "status": "ACTIVE"}}`, Want: "400"},
		{As: "A", Do: "POST /ports/${port}/bindings", Body: `{"binding": {"host": "h1", "vnic_type": "nope"}}`, Want: "400"},
		{As: "A", Do: "POST /ports/${port}/bindings", Body: `{"binding": {"host": "h1", "profile": 5}}`, Want: "400"},
		{As: "A", Do: "POST /ports/${port}/bindings", Body: `{"binding": {"host": "h1", "profile": null}}`, Want: "409 PortBindingError"},
		{As: "A", Do: "POST /ports/${port}/bindings", Body: `[]`, Want: "400"},
		{As: "A", Do: "POST /ports/${port}/bindings", Body: ``, Want: "400"},
		{As: "M", Do: "POST /ports/${port}/bindings", Body: `{"binding": {"host": "h1"}}`, Want: "403 PolicyNotAuthorized"},
		{As: "O", Do: "POST /ports/${port}/bindings", Body: `{"binding": {"host": "h1"}}`, Want: "404 PortNotFound"},
		{As: "A", Do: "GET /ports/${port}/bindings/h1", Want: "404 PortBindingNotFound"},
		{As: "M", Do: "GET /ports/${port}/bindings/h1", Want: "404 PortBindingNotFound"},
		{As: "A", Do: "PUT /ports/${port}/bindings/h1", Body: `{"binding": {"host": "h2"}}`, Want: "404 PortBindingNotFound"},
		{As: "A", Do: "PUT /ports/${port}/bindings/h1/activate", Want: "404 PortBindingNotFound"},
		{As: "A", Do: "PUT /ports/${port}/bindings/h1/activate", Body: `{}`, Want: "400"},
		{As: "A", Do: "POST /ports/${port}/bindings/h1/activate", Want: "405"},
		{As: "A", Do: "PUT /ports/${port}/bindings/h1/nope", Want: "404"},
		{As: "M", Do: "PUT /ports/${port}/bindings/h1/activate", Want: "403 PolicyNotAuthorized"},
		{As: "A", Do: "DELETE /ports/${port}/bindings/h1", Want: "404 PortBindingNotFound"},
		{As: "A", Do: "DELETE /ports/${port}/bindings", Want: "404"},
		{As: "A", Do: "PATCH /ports/${port}/bindings", Want: "405"},
		// A host where the port could not be bound has its binding all the same.
		{As: "A", Do: "PUT /ports/${port}", Body: `{"port": {"binding:host_id": "nowhere"}}`, Want: "200"},
		{As: "A", Do: "GET /ports/${port}/bindings/nowhere", Want: "200", Has: "binding.status = \"ACTIVE\"\nbinding.vif_type = \"binding_failed\"\nbinding.vnic_type = \"normal\"\nbinding.profile = {}\nbinding.project_id absent"},
		{As: "A", Do: "PUT /ports/${port}/bindings/nowhere/activate", Want: "409 PortBindingAlreadyActive"},
		{As: "A", Do: "POST /ports/${port}/bindings", Body: `{"binding": {"host": "nowhere"}}`, Want: "409 PortBindingAlreadyExists"},
		{As: "A", Do: "DELETE /ports/${port}/bindings/nowhere", Want: "204"},
		{As: "A", Do: "GET /ports/${port}", Want: "200", Has: "port.binding:host_id = \"\"\nport.binding:vif_type = \"unbound\""},
	})
}
