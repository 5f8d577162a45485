package conformance

import (
	"testing"

	"isospin/test/rig"
)

// TestQoSPolicies: who sees, makes and changes policies; defaults, sharing, tags (behaviour.md, section 15).
func TestQoSPolicies(t *testing.T) {
	m := rig.ProjectM
	quick(t).Run(t, rig.Vars{}, []rig.Step{
		{As: "M", Do: "POST /qos/policies", Body: `{"policy": {"name": "a"}}`, Want: "403 PolicyNotAuthorized"},
		{As: "A", Do: "POST /qos/policies", Body: `{"policy": {"name": "a", "project_id": "` + m + `"}}`, Want: "201", Save: "a=policy.id",
			Has: "policy.name = \"a\"\npolicy.rules = []\npolicy.shared = false\npolicy.is_default = false\npolicy.description = \"\"\npolicy.revision_number = 0\npolicy.tags = []\npolicy.tenant_id = \"" + m + "\"\npolicy.created_at present"},
		{As: "A", Do: "POST /qos/policies", Body: `{"policies": [{"name": "a"}]}`, Want: "400"},
		{As: "A", Do: "POST /qos/policies", Body: `{"policy": {"rules": []}}`, Want: "400"},
		{As: "A", Do: "POST /qos/policies", Body: `{"policy": {"name": 1}}`, Want: "400"},
		{As: "A", Do: "POST /qos/policies", Body: `{"policy": {"is_default": "maybe"}}`, Want: "400"},
		{As: "M", Do: "GET /qos/policies/${a}", Want: "200", Has: "policy.name = \"a\""},
		{As: "R", Do: "GET /qos/policies", Want: "200", Has: "policies.# = 1"},
		{As: "O", Do: "GET /qos/policies/${a}", Want: "404 QosPolicyNotFound"},
		{As: "O", Do: "GET /qos/policies", Want: "200", Has: "policies.# = 0"},
		{As: "O", Do: "PUT /qos/policies/${a}", Body: `{"policy": {"name": "x"}}`, Want: "404 QosPolicyNotFound"},
		{As: "M", Do: "PUT /qos/policies/${a}", Body: `{"policy": {"name": "x"}}`, Want: "403 PolicyNotAuthorized"},
		{As: "M", Do: "DELETE /qos/policies/${a}", Want: "403 PolicyNotAuthorized"},
		{As: "A", Do: "PUT /qos/policies/${a}", Body: `{"policy": {"name": "b", "description": "d"}}`, Want: "200", Has: "policy.name = \"b\"\npolicy.revision_number = 1"},
		{As: "A", Do: "PUT /qos/policies/${a}", Body: `{"policy": {"name": "b", "shared": false}}`, Want: "200", Has: "policy.revision_number = 1"},
		{As: "A", Do: "PUT /qos/policies/${a}", Body: `{"policy": {"name": "c"}}`, Header: "If-Match: revision_number=0", Want: "412 RevisionNumberConstraintFailed"},
		{As: "A", Do: "GET /qos/policies?name=b&is_default=false", Want: "200", Has: "policies.# = 1"},
		{As: "A", Do: "GET /qos/policies?rules=b", Want: "400"},
		{As: "A", Do: "PUT /policies/${a}/tags", Body: `{"tags": ["x"]}`, Want: "200"},
		{As: "M", Do: "GET /qos/policies?tags=x", Want: "200", Has: "policies.# = 1\npolicies.0.tags = [\"x\"]\npolicies.0.revision_number = 2"},
		// One default policy a project.
		{As: "A", Do: "PUT /qos/policies/${a}", Body: `{"policy": {"is_default": true}}`, Want: "200", Has: "policy.is_default = true"},
		{As: "A", Do: "POST /qos/policies", Body: `{"policy": {"is_default": true, "project_id": "` + m + `"}}`, Want: "409 QoSPolicyDefaultAlreadyExists"},
		{As: "A", Do: "POST /qos/policies", Body: `{"policy": {"is_default": true}}`, Want: "201", Save: "b=policy.id"},
		{As: "A", Do: "POST /qos/policies", Body: `{"policy": {"project_id": "` + m + `"}}`, Want: "201", Save: "c=policy.id"},
		{As: "A", Do: "PUT /qos/policies/${c}", Body: `{"policy": {"is_default": true}}`, Want: "409 QoSPolicyDefaultAlreadyExists"},
		{As: "A", Do: "GET /qos/policies?is_default=true", Want: "200", Has: "policies.# = 2"},
		{As: "A", Do: "PUT /qos/policies/${a}", Body: `{"policy": {"is_default": false}}`, Want: "200"},
		{As: "A", Do: "PUT /qos/policies/${c}", Body: `{"policy": {"is_default": true}}`, Want: "200"},
		{As: "A", Do: "PUT /qos/policies/${c}", Body: `{"policy": {"project_id": "` + m + `"}}`, Want: "400"},
		// Shared with all.
		{As: "O", Do: "GET /qos/policies/${b}", Want: "404 QosPolicyNotFound"},
		{As: "A", Do: "PUT /qos/policies/${b}", Body: `{"policy": {"shared": true}}`, Want: "200", Has: "policy.shared = true\npolicy.revision_number = 1"},
		{As: "O", Do: "GET /qos/policies/${b}", Want: "200", Has: "policy.shared = true"},
		{As: "O", Do: "GET /qos/policies?shared=true", Want: "200", Has: "policies.# = 1"},
		{As: "O", Do: "DELETE /qos/policies/${b}", Want: "403 PolicyNotAuthorized"},
		{As: "A", Do: "GET /rbac-policies?object_id=${b}", Want: "200", Has: "rbac_policies.# = 1\nrbac_policies.0.object_type = \"qos_policy\""},
		{As: "O", Do: "POST /networks", Body: `{"network": {"qos_policy_id": "${b}"}}`, Want: "201", Save: "net=network.id", Has: "network.qos_policy_id = \"${b}\""},
		{As: "A", Do: "PUT /qos/policies/${b}", Body: `{"policy": {"shared": false}}`, Want: "409 RbacPolicyInUse"},
		{As: "A", Do: "GET /rbac-policies?object_id=${b}", Want: "200", Save: "all=rbac_policies.0.id"},
		{As: "A", Do: "DELETE /rbac-policies/${all}", Want: "409 RbacPolicyInUse"},
		{As: "A", Do: "POST /rbac-policies", Body: `{"rbac_policy": {"object_type": "qos_policy", "object_id": "${b}", "action": "access_as_shared", "target_tenant": "` + rig.ProjectO + `"}}`, Want: "201", Save: "rbac=rbac_policy.id"},
		{As: "A", Do: "PUT /qos/policies/${b}", Body: `{"policy": {"shared": false}}`, Want: "200", Has: "policy.shared = false"},
		{As: "O", Do: "GET /qos/policies/${b}", Want: "200", Has: "policy.shared = true"},
		{As: "M", Do: "GET /qos/policies/${b}", Want: "404 QosPolicyNotFound"},
		{As: "A", Do: "DELETE /rbac-policies/${rbac}", Want: "409 RbacPolicyInUse"},
		{As: "O", Do: "PUT /networks/${net}", Body: `{"network": {"qos_policy_id": null}}`, Want: "200", Has: "network.qos_policy_id = null"},
		{As: "A", Do: "DELETE /rbac-policies/${rbac}", Want: "204"},
		{As: "O", Do: "PUT /networks/${net}", Body: `{"network": {"qos_policy_id": "${b}"}}`, Want: "404 QosPolicyNotFound"},
		{As: "M", Do: "POST /rbac-policies", Body: `{"rbac_policy": {"object_type": "qos_policy", "object_id": "` + nobody + `", "action": "access_as_shared", "target_tenant": "` + rig.ProjectO + `"}}`, Want: "404 QosPolicyNotFound"},
		{As: "A", Do: "DELETE /qos/policies/${b}", Want: "204"},
		{As: "A", Do: "DELETE /qos/policies/${b}", Want: "404 QosPolicyNotFound"},
		{As: "A", Do: "DELETE /qos/policies/nope", Want: "404 QosPolicyNotFound"},
		{As: "A", Do: "PUT /qos/policies", Body: `{"policy": {}}`, Want: "404"},
	})
}
