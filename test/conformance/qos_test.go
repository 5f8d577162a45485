package conformance

import (
	"fmt"
	"testing"

	"isospin/test/rig"
)

// TestQoSPolicies: who sees, makes and changes policies; defaults, sharing, tags (behaviour.md, section 15).
func TestQoSPolicies(t *testing.T) {
	m := rig.ProjectM
	everywhere(t, func(t *testing.T, c rig.Caller) {
		c.Run(t, rig.Vars{}, []rig.Step{
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
			{As: "A", Do: "POST /qos/policies", Body: `{"policy": {"is_default": true}}`, Want: "201", Save: "b=policy.id", Has: "policy.revision_number = 1"},
			{As: "A", Do: "POST /qos/policies", Body: `{"policy": {"project_id": "` + m + `"}}`, Want: "201", Save: "c=policy.id"},
			{As: "A", Do: "PUT /qos/policies/${c}", Body: `{"policy": {"is_default": true}}`, Want: "409 QoSPolicyDefaultAlreadyExists"},
			{As: "A", Do: "GET /qos/policies?is_default=true", Want: "200", Has: "policies.# = 2"},
			{As: "A", Do: "PUT /qos/policies/${a}", Body: `{"policy": {"is_default": false}}`, Want: "200"},
			{As: "A", Do: "PUT /qos/policies/${c}", Body: `{"policy": {"is_default": true}}`, Want: "200"},
			{As: "A", Do: "PUT /qos/policies/${c}", Body: `{"policy": {"project_id": "` + m + `"}}`, Want: "400"},
			// Shared with all.
			{As: "O", Do: "GET /qos/policies/${b}", Want: "404 QosPolicyNotFound"},
			{As: "A", Do: "PUT /qos/policies/${b}", Body: `{"policy": {"shared": true}}`, Want: "200", Has: "policy.shared = true\npolicy.revision_number = 2"},
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
	})
}

// TestQoSRules: rules of every type below their policy and by themselves.
func TestQoSRules(t *testing.T) {
	rule := func(kind, rest string) string { return `{"` + kind + `_rule": {` + rest + `}}` }
	p := "/qos/policies/${p}"
	everywhere(t, func(t *testing.T, c rig.Caller) {
		c.Run(t, rig.Vars{}, []rig.Step{
			{As: "A", Do: "POST /qos/policies", Body: `{"policy": {"project_id": "` + rig.ProjectM + `"}}`, Want: "201", Save: "p=policy.id"},
			{As: "A", Do: "POST /qos/policies", Body: `{"policy": {"project_id": "` + rig.ProjectM + `"}}`, Want: "201", Save: "q=policy.id"},
			{As: "A", Do: "POST " + p + "/bandwidth_limit_rules", Body: rule("bandwidth_limit", `"max_kbps": "1000"`), Want: "201", Save: "bw=bandwidth_limit_rule.id",
				Has: "bandwidth_limit_rule.max_kbps = 1000\nbandwidth_limit_rule.max_burst_kbps = 0\nbandwidth_limit_rule.direction = \"egress\"\nbandwidth_limit_rule.qos_policy_id absent\nbandwidth_limit_rule.type absent\nbandwidth_limit_rule.tenant_id absent"},
			{As: "A", Do: "POST " + p + "/bandwidth_limit_rules", Body: rule("bandwidth_limit", `"max_kbps": 10`), Want: "409 QoSRulesConflict"},
			{As: "A", Do: "POST " + p + "/bandwidth_limit_rules", Body: rule("bandwidth_limit", `"max_kbps": 10, "direction": "ingress", "max_burst_kbps": 5`), Want: "201", Save: "bwin=bandwidth_limit_rule.id"},
			{As: "A", Do: "PUT " + p + "/bandwidth_limit_rules/${bwin}", Body: rule("bandwidth_limit", `"direction": "egress"`), Want: "409 QoSRulesConflict"},
			{As: "A", Do: "POST " + p + "/bandwidth_limit_rules", Body: rule("bandwidth_limit", ``), Want: "400"},
			{As: "A", Do: "POST " + p + "/bandwidth_limit_rules", Body: rule("bandwidth_limit", `"max_kbps": -1`), Want: "400"},
			{As: "A", Do: "POST " + p + "/bandwidth_limit_rules", Body: rule("bandwidth_limit", `"max_kbps": 2147483648`), Want: "400"},
			{As: "A", Do: "POST " + p + "/bandwidth_limit_rules", Body: rule("bandwidth_limit", `"max_kbps": 1, "direction": "any"`), Want: "400"},
			{As: "A", Do: "POST " + p + "/bandwidth_limit_rules", Body: rule("bandwidth_limit", `"max_kbps": 1, "min_kbps": 1`), Want: "400"},
			{As: "A", Do: "POST " + p + "/bandwidth_limit_rules", Body: rule("bandwidth_limit", `"max_kbps": 1, "qos_policy_id": "${q}"`), Want: "400"},
			{As: "M", Do: "POST " + p + "/bandwidth_limit_rules", Body: rule("bandwidth_limit", `"max_kbps": 1`), Want: "403 PolicyNotAuthorized"},
			{As: "O", Do: "POST " + p + "/bandwidth_limit_rules", Body: rule("bandwidth_limit", `"max_kbps": 1`), Want: "404 QosPolicyNotFound"},
			{As: "A", Do: "POST /qos/policies/" + nobody + "/bandwidth_limit_rules", Body: rule("bandwidth_limit", `"max_kbps": 1`), Want: "404 QosPolicyNotFound"},
			{As: "A", Do: "PUT " + p + "/bandwidth_limit_rules/${bw}", Body: rule("bandwidth_limit", `"max_burst_kbps": 200`), Want: "200", Has: "bandwidth_limit_rule.max_kbps = 1000\nbandwidth_limit_rule.max_burst_kbps = 200"},
			{As: "A", Do: "PUT /qos/policies/${q}/bandwidth_limit_rules/${bw}", Body: rule("bandwidth_limit", `"max_kbps": 2`), Want: "404 QosRuleNotFound"},
			{As: "A", Do: "DELETE /qos/policies/${q}/bandwidth_limit_rules/${bw}", Want: "404 QosRuleNotFound"},
			{As: "A", Do: "GET /qos/policies/${q}/bandwidth_limit_rules/${bw}", Want: "404 QosRuleNotFound"},
			{As: "A", Do: "GET " + p + "/dscp_marking_rules/${bw}", Want: "404 QosRuleNotFound"},
			{As: "A", Do: "DELETE " + p + "/dscp_marking_rules/${bw}", Want: "404 QosRuleNotFound"},
			// Marks.
			{As: "A", Do: "POST " + p + "/dscp_marking_rules", Body: rule("dscp_marking", `"dscp_mark": 7`), Want: "400"},
			{As: "A", Do: "POST " + p + "/dscp_marking_rules", Body: rule("dscp_marking", `"dscp_mark": "26"`), Want: "201", Save: "dscp=dscp_marking_rule.id", Has: `dscp_marking_rule = {"id": "${dscp}", "dscp_mark": 26}`},
			{As: "A", Do: "POST " + p + "/dscp_marking_rules", Body: rule("dscp_marking", `"dscp_mark": 8`), Want: "409 QoSRulesConflict"},
			// Guarantees and limits, in either direction.
			{As: "A", Do: "POST " + p + "/minimum_bandwidth_rules", Body: rule("minimum_bandwidth", `"min_kbps": 11`), Want: "409 QoSRuleParameterConflict"},
			{As: "A", Do: "POST " + p + "/minimum_bandwidth_rules", Body: rule("minimum_bandwidth", `"min_kbps": 10`), Want: "201", Save: "min=minimum_bandwidth_rule.id"},
			{As: "A", Do: "PUT " + p + "/bandwidth_limit_rules/${bw}", Body: rule("bandwidth_limit", `"max_kbps": 9`), Want: "409 QoSRuleParameterConflict"},
			{As: "A", Do: "PUT " + p + "/bandwidth_limit_rules/${bw}", Body: rule("bandwidth_limit", `"max_kbps": 10`), Want: "200"},
			{As: "A", Do: "POST " + p + "/minimum-packet-rate-rules", Body: rule("minimum_packet_rate", `"min_kpps": 1, "direction": "any"`), Want: "201", Save: "pps=minimum_packet_rate_rule.id"},
			{As: "A", Do: "POST " + p + "/minimum_packet_rate_rules", Body: rule("minimum_packet_rate", `"min_kpps": 1, "direction": "ingress"`), Want: "409 QoSRuleParameterConflict"},
			{As: "A", Do: "PUT " + p + "/minimum_packet_rate_rules/${pps}", Body: rule("minimum_packet_rate", `"direction": "ingress", "min_kpps": 7`), Want: "200"},
			{As: "A", Do: "POST " + p + "/minimum_packet_rate_rules", Body: rule("minimum_packet_rate", `"min_kpps": 1`), Want: "201"},
			{As: "A", Do: "POST " + p + "/packet_rate_limit_rules", Body: rule("packet_rate_limit", `"max_kpps": 5`), Want: "201", Save: "rate=packet_rate_limit_rule.id", Has: "packet_rate_limit_rule.max_burst_kpps = 0\npacket_rate_limit_rule.direction = \"egress\""},
			{As: "A", Do: "GET " + p + "/packet-rate-limit-rules", Want: "200", Has: "packet_rate_limit_rules.# = 1"},
			// What the policy shows of them, and its revision.
			{As: "M", Do: "GET " + p, Want: "200", Has: "policy.rules.# = 7\npolicy.revision_number = 10\npolicy.rules.2 = {\"id\": \"${dscp}\", \"type\": \"dscp_marking\", \"dscp_mark\": 26, \"qos_policy_id\": \"${p}\"}\n" +
				`policy.rules.0 = {"id": "${bw}", "type": "bandwidth_limit", "qos_policy_id": "${p}", "max_kbps": 10, "max_burst_kbps": 200, "direction": "egress"}`},
			{As: "M", Do: "GET /qos/policies", Want: "200", Has: "policies.# = 2"},
			{As: "A", Do: "PUT " + p + "/bandwidth_limit_rules/${bw}", Body: rule("bandwidth_limit", `"max_kbps": 10`), Want: "200"},
			{As: "M", Do: "GET " + p, Want: "200", Has: "policy.revision_number = 10"},
			{As: "M", Do: "GET " + p + "/bandwidth_limit_rules", Want: "200", Has: "bandwidth_limit_rules.# = 2"},
			{As: "M", Do: "GET " + p + "/bandwidth_limit_rules?max_kbps=10&max_burst_kbps=200", Want: "200", Has: "bandwidth_limit_rules.# = 1"},
			{As: "M", Do: "GET " + p + "/minimum_bandwidth_rules?direction=egress", Want: "200", Has: "minimum_bandwidth_rules.# = 1"},
			{As: "M", Do: "GET " + p + "/bandwidth_limit_rules?fields=id&sort_key=max_kbps&sort_dir=asc", Want: "200", Has: "bandwidth_limit_rules.# = 2\nbandwidth_limit_rules.0.max_kbps absent"},
			{As: "M", Do: "GET " + p + "/bandwidth_limit_rules?limit=1", Want: "200", Has: "bandwidth_limit_rules.# = 1\nbandwidth_limit_rules_links.# = 2"},
			{As: "O", Do: "GET " + p + "/bandwidth_limit_rules", Want: "404 QosPolicyNotFound"},
			{As: "O", Do: "GET " + p + "/bandwidth_limit_rules/${bw}", Want: "404 QosPolicyNotFound"},
			// By themselves.
			{As: "M", Do: "GET /qos/alias_bandwidth_limit_rules/${bw}", Want: "200", Has: "alias_bandwidth_limit_rule.max_kbps = 10\nalias_bandwidth_limit_rule.id = \"${bw}\"\nalias_bandwidth_limit_rule.qos_policy_id absent"},
			{As: "M", Do: "GET /qos/alias-dscp-marking-rules/${dscp}", Want: "200"},
			{As: "M", Do: "GET /qos/alias-minimum-bandwidth-rules/${min}", Want: "200"},
			{As: "M", Do: "GET /qos/alias-minimum-packet-rate-rules/${pps}", Want: "200", Has: "alias_minimum_packet_rate_rule.min_kpps = 7"},
			{As: "M", Do: "GET /qos/alias-minimum-bandwidth-rules/${bw}", Want: "404 QosRuleNotFound"},
			{As: "M", Do: "GET /qos/alias-packet-rate-limit-rules/${rate}", Want: "404"},
			{As: "O", Do: "GET /qos/alias-bandwidth-limit-rules/${bw}", Want: "404 QosRuleNotFound"},
			{As: "O", Do: "DELETE /qos/alias-bandwidth-limit-rules/${bw}", Want: "404 QosRuleNotFound"},
			{As: "M", Do: "DELETE /qos/alias-bandwidth-limit-rules/${bw}", Want: "403 PolicyNotAuthorized"},
			{As: "M", Do: "PUT /qos/alias-bandwidth-limit-rules/${bw}", Body: rule("alias_bandwidth_limit", `"max_kbps": 77`), Want: "403 PolicyNotAuthorized"},
			{As: "A", Do: "PUT /qos/alias-bandwidth-limit-rules/${bw}", Body: rule("alias_bandwidth_limit", `"max_kbps": 77`), Want: "200", Has: "alias_bandwidth_limit_rule.max_kbps = 77"},
			{As: "A", Do: "PUT /qos/alias-bandwidth-limit-rules/${bw}", Body: rule("alias_bandwidth_limit", `"max_kbps": 7`), Want: "409 QoSRuleParameterConflict"},
			{As: "A", Do: "PUT /qos/alias-bandwidth-limit-rules/" + nobody, Body: rule("alias_bandwidth_limit", `"max_kbps": 7`), Want: "404 QosRuleNotFound"},
			{As: "A", Do: "POST /qos/alias-bandwidth-limit-rules", Body: rule("alias_bandwidth_limit", `"max_kbps": 7`), Want: "400"},
			{As: "M", Do: "GET /qos/alias-bandwidth-limit-rules", Want: "200", Has: "alias_bandwidth_limit_rules.# = 2"},
			{As: "O", Do: "GET /qos/alias-bandwidth-limit-rules", Want: "200", Has: "alias_bandwidth_limit_rules.# = 0"},
			{As: "A", Do: "DELETE /qos/alias-minimum-packet-rate-rules/${pps}", Want: "204"},
			{As: "A", Do: "DELETE " + p + "/dscp_marking_rules/${dscp}", Want: "204"},
			{As: "A", Do: "DELETE " + p + "/dscp_marking_rules/${dscp}", Want: "404 QosRuleNotFound"},
			{As: "M", Do: "GET " + p, Want: "200", Has: "policy.rules.# = 5\npolicy.revision_number = 13"},
			// Several at once: all or none.
			{As: "A", Do: "POST /qos/policies/${q}/bandwidth_limit_rules", Body: `{"bandwidth_limit_rules": [{"max_kbps": 1}, {"max_kbps": 2}]}`, Want: "409 QoSRulesConflict"},
			{As: "A", Do: "GET /qos/policies/${q}", Want: "200", Has: "policy.rules = []\npolicy.revision_number = 0"},
			{As: "A", Do: "POST /qos/policies/${q}/bandwidth_limit_rules", Body: `{"bandwidth_limit_rules": [{"max_kbps": 1}, {"max_kbps": 2, "direction": "ingress"}]}`, Want: "201", Has: "bandwidth_limit_rules.# = 2"},
			{As: "A", Do: "DELETE " + p, Want: "204"},
			{As: "A", Do: "GET /qos/alias-bandwidth-limit-rules/${bw}", Want: "404 QosRuleNotFound"},
		})
	})
}

// TestQoSManagers: managers of a project make policies and rules for it (behaviour.md, section 5).
func TestQoSManagers(t *testing.T) { everywhere(t, qosManagers) }

func qosManagers(t *testing.T, c rig.Caller) {
	t.Helper()
	boss := c.As(rig.ProjectM, "manager,member,reader")
	p := boss.Make("/qos/policies", "policy", map[string]any{"name": "p"})
	path := fmt.Sprintf("/qos/policies/%v", p["id"])
	boss.Make(path+"/dscp_marking_rules", "dscp_marking_rule", map[string]any{"dscp_mark": 8})
	if a := boss.Do("POST", "/qos/policies", map[string]any{"policy": map[string]any{"project_id": rig.ProjectO}}); a.Status != 400 {
		t.Errorf("a policy for another project: %d %s", a.Status, a.Body)
	}
	other := c.As(rig.ProjectO, "manager,member,reader")
	if a := other.Do("POST", path+"/dscp_marking_rules", map[string]any{"dscp_marking_rule": map[string]any{"dscp_mark": 8}}); a.Fault() != "QosPolicyNotFound" {
		t.Errorf("a rule of another project's policy: %d %s", a.Status, a.Body)
	}
	// A shared policy can be seen with its rules, but its rules are its owner's.
	c.Make("/rbac-policies", "rbac_policy", map[string]any{"object_type": "qos_policy", "object_id": p["id"], "action": "access_as_shared", "target_tenant": rig.ProjectO})
	if a := other.Do("GET", path, nil); a.Status != 200 || len(a.Under("policy")["rules"].([]any)) != 1 { //nolint:errcheck // a test may panic
		t.Errorf("a shared policy: %d %s", a.Status, a.Body)
	}
	if a := other.Do("POST", path+"/bandwidth_limit_rules", map[string]any{"bandwidth_limit_rule": map[string]any{"max_kbps": 8}}); a.Status != 403 {
		t.Errorf("a rule of a shared policy: %d %s", a.Status, a.Body)
	}
	if got := other.List(path+"/dscp_marking_rules", "dscp_marking_rules"); len(got) != 0 {
		t.Errorf("rules of a shared policy: %v", got)
	}
}

// TestQoSRuleTypes: what the drivers keep.
func TestQoSRuleTypes(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		c.Run(t, rig.Vars{}, []rig.Step{
			{As: "M", Do: "GET /qos/rule-types", Want: "200", Has: `rule_types = [{"type": "bandwidth_limit"}, {"type": "dscp_marking"}]`},
			{As: "M", Do: "GET /qos/rule_types?all_supported=True", Want: "200", Has: "rule_types.# = 5"},
			{As: "M", Do: "GET /qos/rule-types?all_rules=true&fields=type", Want: "200", Has: "rule_types.# = 5\nrule_types.2 = {\"type\": \"minimum_bandwidth\"}"},
			{As: "M", Do: "GET /qos/rule-types?all_supported=false", Want: "200", Has: "rule_types.# = 2"},
			{As: "M", Do: "GET /qos/rule-types?all_rules=maybe", Want: "400"},
			{As: "M", Do: "GET /qos/rule-types?type=dscp_marking", Want: "400"},
			{As: "M", Do: "GET /qos/rule-types/dscp_marking", Want: "403 NotAuthorized"},
			{As: "A", Do: "GET /qos/rule-types/unicorn", Want: "404"},
			{As: "A", Do: "GET /qos/rule-types/bandwidth_limit", Want: "200", Has: "rule_type.type = \"bandwidth_limit\"\nrule_type.drivers.# = 2\nrule_type.drivers.0.name = \"openvswitch\"\n" +
				`rule_type.drivers.0.supported_parameters = [{"parameter_name": "max_kbps", "parameter_type": "range", "parameter_values": {"start": 0, "end": 2147483647}},` +
				` {"parameter_name": "max_burst_kbps", "parameter_type": "range", "parameter_values": {"start": 0, "end": 2147483647}},` +
				` {"parameter_name": "direction", "parameter_type": "choices", "parameter_values": ["ingress", "egress"]}]`},
			{As: "A", Do: "GET /qos/rule-types/minimum_packet_rate", Want: "200", Has: "rule_type.drivers.# = 1"},
			{As: "A", Do: "POST /qos/rule-types", Body: `{"rule_type": {}}`, Want: "400"},
			{As: "A", Do: "PUT /qos/rule-types/dscp_marking", Body: `{"rule_type": {}}`, Want: "400"},
			{As: "A", Do: "DELETE /qos/rule-types/dscp_marking", Want: "400"},
		})
	})
}
