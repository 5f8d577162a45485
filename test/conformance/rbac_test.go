package conformance

import (
	"testing"

	"isospin/test/rig"
)

// TestRBACNetworks: behaviour.md, section 8.
func TestRBACNetworks(t *testing.T) {
	o := rig.ProjectO
	quick(t).Run(t, rig.Vars{}, []rig.Step{
		{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net=network.id", Has: "network.shared = false"},
		{As: "O", Do: "GET /networks/${net}", Want: "404 NetworkNotFound"},
		{As: "O", Do: "POST /rbac-policies", Body: `{"rbac_policy": {"object_type": "network", "object_id": "${net}", "action": "access_as_shared", "target_tenant": "` + o + `"}}`, Want: "404 NetworkNotFound"},
		{As: "M", Do: "POST /rbac-policies", Body: `{"rbac_policy": {"object_type": "network", "object_id": "${net}", "action": "access_as_shared", "target_tenant": "*"}}`, Want: "403 PolicyNotAuthorized"},
		{As: "R", Do: "POST /rbac-policies", Body: `{"rbac_policy": {"object_type": "network", "object_id": "${net}", "action": "access_as_shared", "target_tenant": "` + o + `"}}`, Want: "403 PolicyNotAuthorized"},
		{As: "M", Do: "POST /rbac-policies", Body: `{"rbac_policy": {"object_type": "network", "object_id": "${net}", "action": "access_as_shared", "target_tenant": "x"}}`, Want: "400"},
		{As: "M", Do: "POST /rbac-policies", Body: `{"rbac_policy": {"object_type": "network", "object_id": "${net}", "action": "fly", "target_tenant": "` + o + `"}}`, Want: "400"},
		{As: "M", Do: "POST /rbac-policies", Body: `{"rbac_policy": {"object_type": "unicorn", "object_id": "${net}", "action": "access_as_shared", "target_tenant": "` + o + `"}}`, Want: "400"},
		{As: "M", Do: "POST /rbac-policies", Body: `{"rbac_policy": {"object_type": "network", "object_id": "${net}", "action": "access_as_shared"}}`, Want: "400"},
		{As: "M", Do: "POST /rbac-policies", Body: `{"rbac_policy": {"object_type": "network", "object_id": "00000000-0000-4000-8000-00000000dead", "action": "access_as_shared", "target_tenant": "` + o + `"}}`, Want: "404 NetworkNotFound"},
		{As: "M", Do: "POST /rbac-policies", Body: `{"rbac_policy": {"object_type": "network", "object_id": "${net}", "action": "access_as_shared", "target_tenant": "` + o + `"}}`, Want: "201", Save: "rbac=rbac_policy.id",
			Has: "rbac_policy.object_type = \"network\"\nrbac_policy.target_tenant = \"" + o + "\"\nrbac_policy.project_id = \"" + rig.ProjectM + "\"\nrbac_policy.tenant_id = \"" + rig.ProjectM + "\""},
		{As: "M", Do: "POST /rbac-policies", Body: `{"rbac_policy": {"object_type": "network", "object_id": "${net}", "action": "access_as_shared", "target_tenant": "` + o + `"}}`, Want: "409 DuplicateRbacPolicy"},
		{As: "O", Do: "GET /networks/${net}", Want: "200", Has: "network.shared = true"},
		{As: "M", Do: "GET /networks/${net}", Want: "200", Has: "network.shared = false"},
		{As: "A", Do: "GET /networks/${net}", Want: "200", Has: "network.shared = false"},
		{As: "O", Do: "GET /networks?shared=true", Want: "200", Has: "networks.# = 1"},
		{As: "S", Do: "GET /networks/${net}", Want: "200"},
		{As: "O", Do: "GET /rbac-policies", Want: "200", Has: "rbac_policies.# = 0"},
		{As: "O", Do: "GET /rbac-policies/${rbac}", Want: "404 RbacPolicyNotFound"},
		{As: "O", Do: "DELETE /rbac-policies/${rbac}", Want: "404 RbacPolicyNotFound"},
		{As: "M", Do: "GET /rbac-policies?action=access_as_shared&target_tenant=" + o + "&object_id=${net}", Want: "200", Has: "rbac_policies.# = 1\nrbac_policies.0.id = \"${rbac}\""},
		{As: "M", Do: "GET /rbac-policies/${rbac}", Want: "200", Has: "rbac_policy.action = \"access_as_shared\""},
		{As: "O", Do: "POST /rbac-policies", Body: `{"rbac_policy": {"object_type": "network", "object_id": "${net}", "action": "access_as_shared", "target_tenant": "` + rig.ProjectS + `"}}`, Want: "400"},
		{As: "O", Do: "PUT /networks/${net}", Body: `{"network": {"name": "x"}}`, Want: "403 PolicyNotAuthorized"},
		{As: "O", Do: "POST /ports", Body: `{"port": {"network_id": "${net}"}}`, Want: "201", Save: "port=port.id"},
		// In use.
		{As: "M", Do: "DELETE /rbac-policies/${rbac}", Want: "409 RbacPolicyInUse"},
		{As: "M", Do: "PUT /rbac-policies/${rbac}", Body: `{"rbac_policy": {"target_tenant": "` + rig.ProjectS + `"}}`, Want: "409 RbacPolicyInUse"},
		{As: "M", Do: "PUT /rbac-policies/${rbac}", Body: `{"rbac_policy": {"target_tenant": "*"}}`, Want: "403 PolicyNotAuthorized"},
		{As: "M", Do: "PUT /rbac-policies/${rbac}", Body: `{"rbac_policy": {"action": "access_as_external"}}`, Want: "400"},
		{As: "M", Do: "PUT /rbac-policies/${rbac}", Body: `{"rbac_policy": {}}`, Want: "200"},
		{As: "A", Do: "POST /rbac-policies", Body: `{"rbac_policy": {"object_type": "network", "object_id": "${net}", "action": "access_as_shared", "target_tenant": "*"}}`, Want: "201", Save: "all=rbac_policy.id"},
		{As: "S", Do: "GET /networks/${net}", Want: "200", Has: "network.shared = true"},
		{As: "M", Do: "DELETE /rbac-policies/${rbac}", Want: "204"},
		{As: "A", Do: "DELETE /rbac-policies/${all}", Want: "409 RbacPolicyInUse"},
		{As: "A", Do: "PUT /networks/${net}", Body: `{"network": {"shared": false}}`, Want: "409 InvalidSharedSetting"},
		{As: "A", Do: "PUT /rbac-policies/${all}", Body: `{"rbac_policy": {"target_tenant": "` + o + `"}}`, Want: "200", Has: "rbac_policy.target_tenant = \"" + o + "\""},
		{As: "O", Do: "DELETE /ports/${port}", Want: "204"},
		{As: "A", Do: "DELETE /rbac-policies/${all}", Want: "204"},
		{As: "O", Do: "GET /networks/${net}", Want: "404 NetworkNotFound"},
		// Policies go with their object; shared makes one.
		{As: "A", Do: "POST /networks", Body: `{"network": {"shared": true}}`, Want: "201", Save: "pub=network.id"},
		{As: "A", Do: "GET /rbac-policies?object_id=${pub}", Want: "200", Has: "rbac_policies.# = 1\nrbac_policies.0.target_tenant = \"*\"\nrbac_policies.0.action = \"access_as_shared\""},
		{As: "A", Do: "DELETE /networks/${pub}", Want: "204"},
		{As: "A", Do: "GET /rbac-policies?object_id=${pub}", Want: "200", Has: "rbac_policies.# = 0"},
		{As: "A", Do: "GET /quotas/" + rig.ProjectM + "/details", Want: "200", Has: "quota.rbac_policy.used = 0"},
	})
}

// TestRBACExternal: a network may be external for one project.
func TestRBACExternal(t *testing.T) {
	o := rig.ProjectO
	quick(t).Run(t, rig.Vars{}, []rig.Step{
		{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net=network.id", Has: "network.router:external = false"},
		{As: "M", Do: "POST /rbac-policies", Body: `{"rbac_policy": {"object_type": "network", "object_id": "${net}", "action": "access_as_external", "target_tenant": "` + o + `"}}`, Want: "201", Save: "rbac=rbac_policy.id"},
		{As: "O", Do: "GET /networks/${net}", Want: "200", Has: "network.router:external = true\nnetwork.shared = false"},
		{As: "O", Do: "GET /networks", Want: "200", Has: "networks.# = 1"},
		{As: "O", Do: "POST /ports", Body: `{"port": {"network_id": "${net}"}}`, Want: "403"},
		{As: "M", Do: "GET /networks/${net}", Want: "200", Has: "network.router:external = true"},
		{As: "M", Do: "DELETE /rbac-policies/${rbac}", Want: "204"},
		{As: "O", Do: "GET /networks/${net}", Want: "404 NetworkNotFound"},
		{As: "O", Do: "GET /networks", Want: "200", Has: "networks.# = 0"},
		{As: "A", Do: "POST /networks", Body: `{"network": {"router:external": true}}`, Want: "201", Save: "ext=network.id"},
		{As: "O", Do: "GET /networks/${ext}", Want: "200", Has: "network.shared = false"},
		{As: "A", Do: "PUT /networks/${ext}", Body: `{"network": {"router:external": false}}`, Want: "200"},
		{As: "O", Do: "GET /networks/${ext}", Want: "404 NetworkNotFound"},
		{As: "A", Do: "GET /rbac-policies?object_id=${ext}", Want: "200", Has: "rbac_policies.# = 0"},
	})
}

// TestRBACGroups: security groups may be shared; shared says so to whom they are.
func TestRBACGroups(t *testing.T) {
	o := rig.ProjectO
	quick(t).Run(t, rig.Vars{}, []rig.Step{
		{As: "M", Do: "POST /security-groups", Body: `{"security_group": {"name": "g"}}`, Want: "201", Save: "g=security_group.id", Has: "security_group.shared = false"},
		{As: "O", Do: "GET /security-groups/${g}", Want: "404 SecurityGroupNotFound"},
		{As: "M", Do: "POST /rbac-policies", Body: `{"rbac_policy": {"object_type": "security_group", "object_id": "${g}", "action": "access_as_external", "target_tenant": "` + o + `"}}`, Want: "400"},
		{As: "M", Do: "POST /rbac-policies", Body: `{"rbac_policy": {"object_type": "security_group", "object_id": "${g}", "action": "access_as_shared", "target_tenant": "` + o + `"}}`, Want: "201", Save: "rbac=rbac_policy.id"},
		{As: "O", Do: "GET /security-groups/${g}", Want: "200", Has: "security_group.shared = true"},
		{As: "M", Do: "GET /security-groups/${g}", Want: "200", Has: "security_group.shared = false"},
		{As: "O", Do: "GET /security-groups?shared=true", Want: "200", Has: "security_groups.# = 1\nsecurity_groups.0.id = \"${g}\""},
		{As: "O", Do: "GET /security-groups?shared=false&name=g", Want: "200", Has: "security_groups.# = 0"},
		{As: "O", Do: "GET /security-groups?shared=maybe", Want: "400"},
		{As: "O", Do: "POST /security-group-rules", Body: `{"security_group_rule": {"security_group_id": "${g}", "direction": "ingress"}}`, Want: "403"},
		{As: "O", Do: "DELETE /security-groups/${g}", Want: "403"},
		{As: "O", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net=network.id"},
		{As: "O", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "security_groups": ["${g}"]}}`, Want: "201", Save: "port=port.id"},
		{As: "M", Do: "DELETE /rbac-policies/${rbac}", Want: "409 RbacPolicyInUse"},
		{As: "O", Do: "PUT /ports/${port}", Body: `{"port": {"security_groups": []}}`, Want: "200"},
		{As: "M", Do: "DELETE /rbac-policies/${rbac}", Want: "204"},
		{As: "O", Do: "GET /security-groups/${g}", Want: "404 SecurityGroupNotFound"},
		{As: "O", Do: "PUT /ports/${port}", Body: `{"port": {"security_groups": ["${g}"]}}`, Want: "404 SecurityGroupNotFound"},
	})
}

// TestRBACPools: subnet pools and address scopes may be shared with one project.
func TestRBACPools(t *testing.T) {
	o := rig.ProjectO
	quick(t).Run(t, rig.Vars{}, []rig.Step{
		{As: "M", Do: "POST /address-scopes", Body: `{"address_scope": {"name": "s", "ip_version": 4}}`, Want: "201", Save: "s=address_scope.id"},
		{As: "M", Do: "POST /subnetpools", Body: `{"subnetpool": {"name": "p", "prefixes": ["10.0.0.0/8"], "address_scope_id": "${s}"}}`, Want: "201", Save: "p=subnetpool.id"},
		{As: "O", Do: "GET /subnetpools/${p}", Want: "404 SubnetPoolNotFound"},
		{As: "O", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net=network.id"},
		{As: "M", Do: "POST /rbac-policies", Body: `{"rbac_policy": {"object_type": "subnetpool", "object_id": "${p}", "action": "access_as_shared", "target_tenant": "` + o + `"}}`, Want: "201", Save: "rp=rbac_policy.id"},
		{As: "M", Do: "POST /rbac-policies", Body: `{"rbac_policy": {"object_type": "address_scope", "object_id": "${s}", "action": "access_as_shared", "target_tenant": "` + o + `"}}`, Want: "201", Save: "rs=rbac_policy.id"},
		{As: "M", Do: "POST /rbac-policies", Body: `{"rbac_policy": {"object_type": "address_scope", "object_id": "${p}", "action": "access_as_shared", "target_tenant": "` + o + `"}}`, Want: "404 AddressScopeNotFound"},
		{As: "M", Do: "POST /rbac-policies", Body: `{"rbac_policy": {"object_type": "bgpvpn", "object_id": "${p}", "action": "access_as_shared", "target_tenant": "` + o + `"}}`, Want: "400"},
		{As: "O", Do: "GET /subnetpools/${p}", Want: "200", Has: "subnetpool.shared = true"},
		{As: "O", Do: "GET /address-scopes/${s}", Want: "200", Has: "address_scope.shared = true"},
		{As: "O", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net}", "ip_version": 4, "subnetpool_id": "${p}", "prefixlen": 24}}`, Want: "201", Save: "sub=subnet.id"},
		{As: "M", Do: "DELETE /rbac-policies/${rp}", Want: "409 RbacPolicyInUse"},
		{As: "M", Do: "DELETE /rbac-policies/${rs}", Want: "204"},
		{As: "O", Do: "DELETE /subnets/${sub}", Want: "204"},
		{As: "M", Do: "DELETE /rbac-policies/${rp}", Want: "204"},
		{As: "O", Do: "GET /subnetpools/${p}", Want: "404 SubnetPoolNotFound"},
		{As: "A", Do: "GET /quotas/" + rig.ProjectM + "/details", Want: "200", Has: "quota.subnetpool.used = 1\nquota.subnetpool.limit = -1"},
	})
}
