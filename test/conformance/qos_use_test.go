package conformance

import (
	"testing"

	"isospin/internal/model"
	"isospin/internal/service/ml2"
	"isospin/internal/service/qos"
	"isospin/isospintest"
	"isospin/test/rig"
)

// TestQoSUse: policies of networks and ports (behaviour.md, section 15; neutron/core_extensions/qos.py).
func TestQoSUse(t *testing.T) {
	m := rig.ProjectM
	policy := func(project string) string { return `{"policy": {"project_id": "` + project + `"}}` }
	everywhere(t, func(t *testing.T, c rig.Caller) {
		c.Run(t, rig.Vars{}, []rig.Step{
			{As: "A", Do: "POST /qos/policies", Body: policy(m), Want: "201", Save: "p=policy.id"},
			{As: "A", Do: "POST /qos/policies", Body: policy(m), Want: "201", Save: "q=policy.id"},
			{As: "A", Do: "POST /qos/policies", Body: policy(rig.ProjectA), Want: "201", Save: "hidden=policy.id"},
			{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "plain=network.id", Has: "network.qos_policy_id = null"},
			{As: "M", Do: "POST /networks", Body: `{"network": {"qos_policy_id": "${p}"}}`, Want: "201", Save: "net=network.id", Has: "network.qos_policy_id = \"${p}\""},
			{As: "M", Do: "POST /networks", Body: `{"network": {"qos_policy_id": "` + nobody + `"}}`, Want: "404 QosPolicyNotFound"},
			{As: "M", Do: "POST /networks", Body: `{"network": {"qos_policy_id": "${hidden}"}}`, Want: "404 QosPolicyNotFound"},
			{As: "M", Do: "POST /networks", Body: `{"network": {"qos_policy_id": "x"}}`, Want: "400"},
			{As: "M", Do: "PUT /networks/${plain}", Body: `{"network": {"qos_policy_id": "${hidden}"}}`, Want: "404 QosPolicyNotFound"},
			{As: "M", Do: "GET /networks?qos_policy_id=${p}", Want: "400"},
			// A port's policy counts before its network's.
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}"}}`, Want: "201", Save: "port=port.id", Has: "port.qos_policy_id = null\nport.qos_network_policy_id = \"${p}\"\nport.resource_request absent"},
			{As: "A", Do: "GET /ports/${port}", Want: "200", Has: "port.qos_network_policy_id = \"${p}\"\nport.resource_request = null"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${plain}", "qos_policy_id": "${q}"}}`, Want: "201", Save: "own=port.id", Has: "port.qos_policy_id = \"${q}\"\nport.qos_network_policy_id = null"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${plain}", "qos_policy_id": "${hidden}"}}`, Want: "404 QosPolicyNotFound"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${plain}", "qos_network_policy_id": "${q}"}}`, Want: "400"},
			{As: "M", Do: "PUT /ports/${port}", Body: `{"port": {"qos_policy_id": "${q}"}}`, Want: "200", Has: "port.qos_policy_id = \"${q}\"\nport.qos_network_policy_id = \"${p}\"\nport.revision_number = 2"},
			{As: "M", Do: "PUT /ports/${port}", Body: `{"port": {"qos_policy_id": "${q}"}}`, Want: "200", Has: "port.revision_number = 2"},
			{As: "M", Do: "GET /ports?fields=id&fields=qos_network_policy_id&sort_key=id&sort_dir=asc", Want: "200", Has: "ports.# = 2"},
			{As: "M", Do: "GET /ports?fields=qos_network_policy_id&id=${own}", Want: "200", Has: `ports = [{"qos_network_policy_id": null}]`},
			{As: "M", Do: "GET /ports?fields=qos_network_policy_id&id=${port}", Want: "200", Has: `ports = [{"qos_network_policy_id": "${p}"}]`},
			// In use.
			{As: "A", Do: "DELETE /qos/policies/${p}", Want: "409 QosPolicyInUse"},
			{As: "A", Do: "DELETE /qos/policies/${q}", Want: "409 QosPolicyInUse"},
			{As: "M", Do: "PUT /ports/${port}", Body: `{"port": {"qos_policy_id": null}}`, Want: "200", Has: "port.qos_policy_id = null"},
			{As: "M", Do: "DELETE /ports/${own}", Want: "204"},
			{As: "A", Do: "DELETE /qos/policies/${q}", Want: "204"},
			// What an administrator gave is not taken away by those who cannot use it.
			{As: "A", Do: "PUT /ports/${port}", Body: `{"port": {"qos_policy_id": "${hidden}"}}`, Want: "200"},
			{As: "M", Do: "PUT /ports/${port}", Body: `{"port": {"qos_policy_id": null}}`, Want: "403 PolicyRemoveAuthorizationError"},
			{As: "M", Do: "PUT /ports/${port}", Body: `{"port": {"qos_policy_id": "${p}"}}`, Want: "403 PolicyRemoveAuthorizationError"},
			{As: "M", Do: "PUT /ports/${port}", Body: `{"port": {"name": "n"}}`, Want: "200", Has: "port.qos_policy_id = \"${hidden}\""},
			{As: "A", Do: "PUT /networks/${plain}", Body: `{"network": {"qos_policy_id": "${hidden}"}}`, Want: "200"},
			{As: "M", Do: "PUT /networks/${plain}", Body: `{"network": {"qos_policy_id": null}}`, Want: "403 PolicyRemoveAuthorizationError"},
			{As: "A", Do: "PUT /networks/${plain}", Body: `{"network": {"qos_policy_id": null}}`, Want: "200", Has: "network.qos_policy_id = null"},
			{As: "M", Do: "DELETE /ports/${port}", Want: "204"},
			{As: "A", Do: "DELETE /qos/policies/${hidden}", Want: "204"},
			// The default policy of a project is that of its new networks.
			{As: "A", Do: "PUT /qos/policies/${p}", Body: `{"policy": {"is_default": true}}`, Want: "200"},
			{As: "M", Do: "GET /networks/${plain}", Want: "200", Has: "network.qos_policy_id = null"},
			{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Has: "network.qos_policy_id = \"${p}\""},
			{As: "M", Do: "POST /networks", Body: `{"network": {"qos_policy_id": null}}`, Want: "201", Has: "network.qos_policy_id = \"${p}\""},
			{As: "A", Do: "POST /networks", Body: `{"network": {"project_id": "` + m + `"}}`, Want: "201", Has: "network.qos_policy_id = \"${p}\""},
			{As: "O", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Has: "network.qos_policy_id = null"},
			{As: "A", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Has: "network.qos_policy_id = null"},
			{As: "M", Do: "DELETE /networks/${net}", Want: "204"},
		})
	})
}

// TestQoSGuarantees: what Placement must set aside, and what drivers cannot keep (neutron/services/qos/qos_plugin.py).
func TestQoSGuarantees(t *testing.T) {
	flat := `"provider:network_type": "flat", "provider:physical_network": "phys-net.1"`
	p, bw := "/qos/policies/${p}", "/minimum_bandwidth_rules"
	everywhere(t, func(t *testing.T, c rig.Caller) {
		c.Run(t, rig.Vars{}, []rig.Step{
			{As: "A", Do: "POST /qos/policies", Body: `{"policy": {"shared": true}}`, Want: "201", Save: "p=policy.id"},
			{As: "A", Do: "POST " + p + bw, Body: `{"minimum_bandwidth_rule": {"min_kbps": 1000}}`, Want: "201", Save: "out=minimum_bandwidth_rule.id"},
			{As: "A", Do: "POST /networks", Body: `{"network": {"qos_policy_id": "${p}", "provider:network_type": "vxlan"}}`, Want: "409 QosRuleNotSupportedByNetwork"},
			{As: "A", Do: "POST /networks", Body: `{"network": {"provider:network_type": "vxlan", "shared": true}}`, Want: "201", Save: "tunnel=network.id"},
			{As: "A", Do: "PUT /networks/${tunnel}", Body: `{"network": {"qos_policy_id": "${p}"}}`, Want: "409 QosRuleNotSupportedByNetwork"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${tunnel}", "qos_policy_id": "${p}"}}`, Want: "409 QosRuleNotSupported"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${tunnel}"}}`, Want: "201", Save: "port=port.id"},
			{As: "M", Do: "PUT /ports/${port}", Body: `{"port": {"qos_policy_id": "${p}"}}`, Want: "409 QosRuleNotSupported"},
			{As: "A", Do: "POST /networks", Body: `{"network": {"qos_policy_id": "${p}", ` + flat + `}}`, Want: "201", Save: "flat=network.id"},
			{As: "A", Do: "POST /ports", Body: `{"port": {"network_id": "${flat}", "binding:vnic_type": "direct"}}`, Want: "201", Save: "direct=port.id",
				Has: `port.resource_request.request_groups.# = 1` + "\n" + `port.resource_request.request_groups.0.required = ["CUSTOM_PHYSNET_PHYS_NET_1", "CUSTOM_VNIC_TYPE_DIRECT"]` + "\n" +
					`port.resource_request.request_groups.0.resources = {"NET_BW_EGR_KILOBIT_PER_SEC": 1000}` + "\nport.resource_request.same_subtree.# = 1"},
			{As: "A", Do: "POST /ports", Body: `{"port": {"network_id": "${flat}", "binding:vnic_type": "macvtap"}}`, Want: "409 QosRuleNotSupported"},
			{As: "A", Do: "POST " + p + bw, Body: `{"minimum_bandwidth_rule": {"min_kbps": 10, "direction": "ingress"}}`, Want: "201", Save: "in=minimum_bandwidth_rule.id"},
			{As: "A", Do: "POST " + p + "/minimum_packet_rate_rules", Body: `{"minimum_packet_rate_rule": {"min_kpps": 3, "direction": "any"}}`, Want: "201"},
			{As: "A", Do: "GET /ports?id=${direct}", Want: "200", Has: `ports.0.resource_request.request_groups.0.resources = {"NET_BW_EGR_KILOBIT_PER_SEC": 1000, "NET_BW_IGR_KILOBIT_PER_SEC": 10}` + "\n" +
				`ports.0.resource_request.request_groups.1.resources = {"NET_PACKET_RATE_KILOPACKET_PER_SEC": 3}` + "\n" + `ports.0.resource_request.request_groups.1.required = ["CUSTOM_VNIC_TYPE_DIRECT"]` + "\nports.0.resource_request.same_subtree.# = 2"},
			{As: "M", Do: "GET /ports", Want: "200", Has: "ports.0.resource_request absent"},
			// The policy of the port alone: packets only, since there is no physical network to take bandwidth of.
			{As: "A", Do: "POST /qos/policies", Body: `{"policy": {}}`, Want: "201", Save: "pps=policy.id"},
			{As: "A", Do: "PUT /ports/${port}", Body: `{"port": {"qos_policy_id": "${pps}"}}`, Want: "200", Has: "port.resource_request = null"},
			{As: "A", Do: "POST /qos/policies/${pps}" + bw, Body: `{"minimum_bandwidth_rule": {"min_kbps": 1}}`, Want: "409 QosRuleNotSupported"},
			{As: "A", Do: "GET /qos/policies/${pps}", Want: "200", Has: "policy.rules = []"},
			{As: "A", Do: "POST /qos/policies/${pps}/minimum_packet_rate_rules", Body: `{"minimum_packet_rate_rule": {"min_kpps": 3}}`, Want: "201", Save: "r=minimum_packet_rate_rule.id"},
			{As: "A", Do: "GET /ports/${port}", Want: "200", Has: `port.resource_request.request_groups.# = 1` + "\n" + `port.resource_request.request_groups.0.resources = {"NET_PACKET_RATE_EGR_KILOPACKET_PER_SEC": 3}` + "\n" + `port.resource_request.request_groups.0.required = ["CUSTOM_VNIC_TYPE_NORMAL"]`},
			// Under a server nothing changes that was set aside for it; limits do.
			{As: "A", Do: "PUT /ports/${port}", Body: `{"port": {"device_owner": "compute:nova", "device_id": "s1"}}`, Want: "200"},
			{As: "A", Do: "PUT /qos/policies/${pps}/minimum_packet_rate_rules/${r}", Body: `{"minimum_packet_rate_rule": {"min_kpps": 4}}`, Want: "501 NotImplementedError", Has: "NotImplementedError.type = \"NotImplementedError\"\nNeutronError absent"},
			{As: "A", Do: "DELETE /qos/alias-minimum-packet-rate-rules/${r}", Want: "501 NotImplementedError"},
			{As: "A", Do: "POST /qos/policies/${pps}/minimum_packet_rate_rules", Body: `{"minimum_packet_rate_rule": {"min_kpps": 4, "direction": "ingress"}}`, Want: "501 NotImplementedError"},
			{As: "A", Do: "POST /qos/policies/${pps}/packet_rate_limit_rules", Body: `{"packet_rate_limit_rule": {"max_kpps": 4}}`, Want: "201"},
			{As: "A", Do: "GET /qos/policies/${pps}", Want: "200", Has: "policy.rules.# = 2\npolicy.rules.0.min_kpps = 3\npolicy.revision_number = 2"},
			{As: "A", Do: "PUT /qos/policies/${pps}/minimum_packet_rate_rules/${r}", Body: `{"minimum_packet_rate_rule": {"min_kpps": 3}}`, Want: "200"},
			// A network's policy concerns its ports that have none.
			{As: "A", Do: "PUT /networks/${flat}", Body: `{"network": {"qos_policy_id": null}}`, Want: "200"},
			{As: "A", Do: "GET /ports/${direct}", Want: "200", Has: "port.resource_request = null\nport.qos_network_policy_id = null"},
			{As: "A", Do: "POST /ports", Body: `{"port": {"network_id": "${flat}", "binding:vnic_type": "macvtap"}}`, Want: "201"},
			{As: "A", Do: "PUT /networks/${flat}", Body: `{"network": {"qos_policy_id": "${p}"}}`, Want: "409 QosRuleNotSupported"},
		})
	})
}

// keeper is a mechanism driver from outside the tree, whose hosts mark packets.
type keeper struct{ ml2.MechanismDriver }

func (keeper) Name() string { return "keeper" }

func (keeper) Bind(ml2.BindRequest) (ml2.Binding, bool) { return ml2.Binding{}, false }

func (keeper) QoS() qos.Driver {
	return qos.Driver{Name: "keeper", VNICTypes: []string{"smart-nic"}, Rules: map[string][]qos.Parameter{model.QoSDSCPMarking: {{Name: "dscp_mark", Choices: []any{int64(8)}}}}}
}

// TestQoSKeeper: what a driver from outside the tree keeps counts as what the tree's do.
func TestQoSKeeper(t *testing.T) {
	s := isospintest.Start(t, isospintest.Options{Drivers: []ml2.MechanismDriver{keeper{}}})
	rig.Caller{TB: t, URL: s.URL}.Who("A").Run(t, rig.Vars{}, []rig.Step{
		{As: "A", Do: "GET /qos/rule-types", Want: "200", Has: `rule_types = [{"type": "dscp_marking"}]`},
		{As: "A", Do: "GET /qos/rule-types/dscp_marking", Want: "200", Has: "rule_type.drivers.2.name = \"keeper\"\nrule_type.drivers.2.supported_parameters.0.parameter_values = [8]"},
		{As: "A", Do: "POST /qos/policies", Body: `{"policy": {}}`, Want: "201", Save: "p=policy.id"},
		{As: "A", Do: "POST /qos/policies/${p}/dscp_marking_rules", Body: `{"dscp_marking_rule": {"dscp_mark": 8}}`, Want: "201", Save: "r=dscp_marking_rule.id"},
		{As: "A", Do: "POST /networks", Body: `{"network": {"qos_policy_id": "${p}"}}`, Want: "201", Save: "net=network.id"},
		{As: "A", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "binding:vnic_type": "smart-nic"}}`, Want: "201"},
		{As: "A", Do: "PUT /qos/policies/${p}/dscp_marking_rules/${r}", Body: `{"dscp_marking_rule": {"dscp_mark": 10}}`, Want: "409 QosRuleNotSupported"},
		{As: "A", Do: "POST /qos/policies/${p}/bandwidth_limit_rules", Body: `{"bandwidth_limit_rule": {"max_kbps": 10}}`, Want: "409 QosRuleNotSupported"},
	})
}
