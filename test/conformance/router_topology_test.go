package conformance

import (
	"testing"

	"isospin/test/rig"
)

// TestTopologiesByThemselves: behaviour.md, section 15.
func TestTopologiesByThemselves(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		v := rig.Vars{}
		m, o := rig.ProjectM, rig.ProjectO
		c.Run(t, v, []rig.Step{
			{As: "M", Do: "GET /auto-allocated-topology/" + m, Want: "409 AutoAllocationFailure"},
			{As: "M", Do: "GET /auto-allocated-topology/" + m + "?fields=dry-run", Want: "409 AutoAllocationFailure"},
			{As: "A", Do: "POST /networks", Body: `{"network": {"is_default": true}}`, Want: "201", Save: "inner=network.id", Has: "network.is_default absent"},
			{As: "M", Do: "POST /networks", Body: `{"network": {"is_default": true}}`, Want: "403 PolicyNotAuthorized"},
			{As: "A", Do: "POST /networks", Body: `{"network": {"router:external": true}}`, Want: "201", Save: "other=network.id", Has: "network.is_default = false"},
			{As: "A", Do: "POST /networks", Body: `{"network": {"router:external": true, "is_default": true}}`, Want: "201", Save: "ext=network.id", Has: "network.is_default = true"},
			{As: "A", Do: "POST /networks", Body: `{"network": {"router:external": true, "is_default": true}}`, Want: "409 DefaultExternalNetworkExists"},
			{As: "A", Do: "PUT /networks/${other}", Body: `{"network": {"is_default": true}}`, Want: "409 DefaultExternalNetworkExists"},
			{As: "A", Do: "PUT /networks/${ext}", Body: `{"network": {"name": "out"}}`, Want: "200", Has: "network.is_default = true"},
			{As: "A", Do: "GET /networks?is_default=true", Want: "200", Has: "networks.# = 1\nnetworks.0.id = \"${ext}\""},
			{As: "A", Do: "GET /rbac-policies?object_id=${ext}&action=access_as_external", Want: "200", Save: "rbac=rbac_policies.0.id"},
			{As: "A", Do: "DELETE /rbac-policies/${rbac}", Want: "409 RbacPolicyInUse"},
			{As: "A", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${ext}", "ip_version": 4, "cidr": "203.0.113.0/24"}}`, Want: "201"},
			{As: "M", Do: "GET /auto-allocated-topology/" + m, Want: "409 AutoAllocationFailure"},
			{As: "A", Do: "POST /subnetpools", Body: `{"subnetpool": {"name": "p4", "prefixes": ["10.0.0.0/16"], "default_prefixlen": 26, "is_default": true, "shared": true}}`, Want: "201"},
			{As: "A", Do: "POST /subnetpools", Body: `{"subnetpool": {"name": "p6", "prefixes": ["2001:db8::/48"], "is_default": true, "shared": true}}`, Want: "201"},
			{As: "M", Do: "GET /auto-allocated-topology/" + m + "?fields=dry-run", Want: "200", Has: "auto_allocated_topology.id = \"dry-run=pass\"\nauto_allocated_topology.tenant_id = \"" + m + "\""},
			{As: "M", Do: "GET /networks?name=auto_allocated_network", Want: "200", Has: "networks = []"},
			{As: "M", Do: "GET /auto-allocated-topology/" + m + "?fields=unicorn", Want: "400 BadRequest"},
			{As: "M", Do: "GET /auto-allocated-topology/" + o, Want: "403"},
			{As: "M", Do: "GET /auto-allocated-topology", Want: "404"},
			{As: "M", Do: "POST /auto-allocated-topology", Body: `{}`, Want: "404"},
			{As: "M", Do: "PUT /auto-allocated-topology/" + m, Body: `{}`, Want: "405"},
			{As: "M", Do: "GET /auto-allocated-topology/None", Want: "200", Save: "net=auto_allocated_topology.id"},
			{As: "M", Do: "GET /auto-allocated-topology/" + m, Want: "200", Has: "auto_allocated_topology.id = \"${net}\"\nauto_allocated_topology.project_id = \"" + m + "\""},
			{As: "M", Do: "GET /networks/${net}", Want: "200", Has: "network.subnets.# = 2\nnetwork.name = \"auto_allocated_network\"\nnetwork.admin_state_up = true\nnetwork.project_id = \"" + m + "\""},
			{As: "M", Do: "GET /routers?name=auto_allocated_router", Want: "200", Save: "r=routers.0.id", Has: "routers.# = 1\nrouters.0.external_gateway_info.network_id = \"${ext}\"\nrouters.0.project_id = \"" + m + "\""},
			{As: "M", Do: "GET /ports?device_id=${r}", Want: "200", Has: "ports.# = 2"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}"}}`, Want: "201", Save: "port=port.id"},
			{As: "M", Do: "DELETE /auto-allocated-topology/" + m, Want: "409 NetworkInUse"},
			{As: "M", Do: "GET /auto-allocated-topology/" + m, Want: "200", Has: "auto_allocated_topology.id = \"${net}\""},
			{As: "M", Do: "DELETE /ports/${port}", Want: "204"},
			{As: "M", Do: "DELETE /auto-allocated-topology/" + o, Want: "403"},
			{As: "M", Do: "DELETE /auto-allocated-topology/" + m, Want: "204"},
			{As: "M", Do: "DELETE /auto-allocated-topology/" + m, Want: "204"},
			{As: "M", Do: "GET /routers", Want: "200", Has: "routers = []"},
			{As: "M", Do: "GET /networks/${net}", Want: "404 NetworkNotFound"},
			// An administrator for a project; what goes by itself is forgotten.
			{As: "A", Do: "GET /auto-allocated-topology/" + o, Want: "200", Save: "onet=auto_allocated_topology.id"},
			{As: "O", Do: "GET /networks/${onet}", Want: "200", Has: "network.project_id = \"" + o + "\""},
			{As: "O", Do: "GET /routers", Want: "200", Save: "or=routers.0.id"},
			{As: "O", Do: "GET /ports?device_id=${or}", Want: "200", Save: "op=ports.0.id"},
			{As: "O", Do: "PUT /routers/${or}/remove_router_interface", Body: `{"port_id": "${op}"}`, Want: "200"},
			{As: "O", Do: "GET /ports?device_id=${or}", Want: "200", Save: "op=ports.0.id"},
			{As: "O", Do: "PUT /routers/${or}/remove_router_interface", Body: `{"port_id": "${op}"}`, Want: "200"},
			{As: "O", Do: "DELETE /routers/${or}", Want: "204"},
			{As: "O", Do: "GET /auto-allocated-topology/" + o, Want: "200", Has: "auto_allocated_topology.id = \"${onet}\""},
			{As: "O", Do: "DELETE /networks/${onet}", Want: "204"},
			{As: "O", Do: "GET /auto-allocated-topology/" + o, Want: "200", Save: "onet2=auto_allocated_topology.id"},
			{As: "O", Do: "GET /networks/${onet2}", Want: "200"},
			{As: "O", Do: "DELETE /auto-allocated-topology/None", Want: "204"},
			{As: "A", Do: "PUT /networks/${ext}", Body: `{"network": {"is_default": false}}`, Want: "200", Has: "network.is_default = false"},
			{As: "A", Do: "PUT /networks/${other}", Body: `{"network": {"is_default": true}}`, Want: "200", Has: "network.is_default = true"},
			{As: "A", Do: "PUT /networks/${other}", Body: `{"network": {"router:external": false}}`, Want: "200", Has: "network.is_default absent"},
		})
	})
}

// TestExternalForSome: a network that is external for one project; who has a gateway there keeps it (neutron/db/external_net_db.py).
func TestExternalForSome(t *testing.T) {
	v := rig.Vars{}
	o := rig.ProjectO
	quick(t).Run(t, v, []rig.Step{
		{As: "A", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "ext=network.id"},
		{As: "A", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${ext}", "ip_version": 4, "cidr": "203.0.113.0/24"}}`, Want: "201"},
		{As: "O", Do: "POST /routers", Body: `{"router": {"external_gateway_info": {"network_id": "${ext}"}}}`, Want: "404 NetworkNotFound"},
		{As: "A", Do: "POST /rbac-policies", Body: `{"rbac_policy": {"object_type": "network", "object_id": "${ext}", "action": "access_as_external", "target_tenant": "` + o + `"}}`, Want: "201", Save: "rbac=rbac_policy.id"},
		{As: "M", Do: "POST /routers", Body: `{"router": {"external_gateway_info": {"network_id": "${ext}"}}}`, Want: "404 NetworkNotFound"},
		{As: "O", Do: "POST /routers", Body: `{"router": {"external_gateway_info": {"network_id": "${ext}"}}}`, Want: "201", Save: "r=router.id"},
		{As: "A", Do: "DELETE /rbac-policies/${rbac}", Want: "409 RbacPolicyInUse"},
		{As: "A", Do: "PUT /rbac-policies/${rbac}", Body: `{"rbac_policy": {"target_tenant": "` + rig.ProjectM + `"}}`, Want: "409 RbacPolicyInUse"},
		{As: "A", Do: "PUT /networks/${ext}", Body: `{"network": {"router:external": false}}`, Want: "409 ExternalNetworkInUse"},
		{As: "A", Do: "POST /rbac-policies", Body: `{"rbac_policy": {"object_type": "network", "object_id": "${ext}", "action": "access_as_external", "target_tenant": "*"}}`, Want: "201", Save: "all=rbac_policy.id"},
		{As: "A", Do: "DELETE /rbac-policies/${rbac}", Want: "204"},
		{As: "A", Do: "DELETE /rbac-policies/${all}", Want: "409 RbacPolicyInUse"},
		{As: "O", Do: "PUT /routers/${r}", Body: `{"router": {"external_gateway_info": null}}`, Want: "200"},
		{As: "A", Do: "DELETE /rbac-policies/${all}", Want: "204"},
		// External for nobody any more.
		{As: "A", Do: "GET /networks/${ext}", Want: "200", Has: "network.router:external = false"},
		{As: "A", Do: "PUT /routers/${r}", Body: `{"router": {"external_gateway_info": {"network_id": "${ext}"}}}`, Want: "400 BadRequest"},
	})
}

// TestRouterTags: routers have tags as other resources have.
func TestRouterTags(t *testing.T) {
	v := rig.Vars{}
	quick(t).Run(t, v, []rig.Step{
		{As: "M", Do: "POST /routers", Body: `{"router": {}}`, Want: "201", Save: "r=router.id"},
		{As: "M", Do: "PUT /routers/${r}/tags", Body: `{"tags": ["a", "b"]}`, Want: "200"},
		{As: "M", Do: "GET /routers/${r}", Want: "200", Has: "router.tags = [\"a\", \"b\"]\nrouter.revision_number = 2"},
		{As: "M", Do: "GET /routers?tags=a,b", Want: "200", Has: "routers.# = 1"},
		{As: "M", Do: "GET /routers?not-tags=a", Want: "200", Has: "routers.# = 0"},
		{As: "M", Do: "DELETE /routers/${r}", Want: "204"},
	})
}
