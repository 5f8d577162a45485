// Package catalogue lists every definition of the API that Isospin knows. Assemble builds the registry from it; tests
// and generators read it. It decides nothing: which extensions are on is for the one who builds.
package catalogue

import (
	"slices"

	"isospin/internal/apidef"
	"isospin/internal/apidef/agents"
	"isospin/internal/apidef/autoalloc"
	"isospin/internal/apidef/availability"
	"isospin/internal/apidef/behaviour"
	"isospin/internal/apidef/binding"
	"isospin/internal/apidef/core"
	"isospin/internal/apidef/dns"
	"isospin/internal/apidef/eventlog"
	"isospin/internal/apidef/flavor"
	"isospin/internal/apidef/fwaas"
	"isospin/internal/apidef/l3"
	"isospin/internal/apidef/localip"
	"isospin/internal/apidef/metering"
	"isospin/internal/apidef/netext"
	"isospin/internal/apidef/portext"
	"isospin/internal/apidef/portforward"
	"isospin/internal/apidef/portsecurity"
	"isospin/internal/apidef/provider"
	"isospin/internal/apidef/qos"
	"isospin/internal/apidef/quota"
	"isospin/internal/apidef/rbac"
	"isospin/internal/apidef/secgroup"
	"isospin/internal/apidef/segments"
	"isospin/internal/apidef/standardattr"
	"isospin/internal/apidef/subnetpool"
	"isospin/internal/apidef/trunk"
	"isospin/internal/apidef/vpnaas"
)

// Limits are the bounds of types that an operator sets.
type Limits struct {
	AddressPairs int // max_allowed_address_pair
}

// InTree are all definitions with the limits that Neutron has unless told otherwise.
func InTree() []apidef.Extension { return Tree(Limits{AddressPairs: 10}) }

// Tree are all definitions, core first, in the order in which attributes are shown.
func Tree(l Limits) []apidef.Extension {
	return slices.Concat(
		[]apidef.Extension{core.Core()},
		provider.All(), netext.All(), portsecurity.All(), portext.All(l.AddressPairs), binding.All(), secgroup.All(), agents.All(),
		subnetpool.All(), l3.All(), portforward.All(), qos.All(), trunk.All(), dns.All(), rbac.All(), segments.All(), quota.All(),
		metering.All(), flavor.All(), availability.All(), autoalloc.All(), localip.All(), eventlog.All(), fwaas.All(), vpnaas.All(),
		standardattr.All(), behaviour.All(),
	)
}

// Served are the aliases that the services of this version answer for.
func Served() []string {
	return []string{
		"provider", "multi-provider",
		"external-net", "subnet-external-network", "net-mtu", "net-mtu-writable", "subnet-service-types",
		"port-security", "allowed-address-pairs", "aap-reject-multicast", "extra_dhcp_opt",
		"uplink-status-propagation", "uplink-status-propagation-updatable", "data-plane-status",
		"port-mac-address-regenerate", "port-mac-override",
		"port-device-profile", "port-hardware-offload-type", "port-hints", "port-hint-ovs-tx-steering", "port-trusted-vif",
		"port-numa-affinity-policy", "port-numa-affinity-policy-socket", "vlan-transparent", "qinq", "pvlan",
		"security-groups-default-statefulness",
		"dns-integration", "dns-domain-ports", "dns-integration-domain-keywords", "subnet-dns-publish-fixed-ip",
		"binding", "binding-extended",
		"security-group", "stateful-security-group", "security-groups-normalized-cidr",
		"security-groups-rules-belongs-to-default-sg", "port-security-groups-filtering",
		"address-group", "security-groups-remote-address-group", "security-groups-default-rules",
		"subnet_allocation", "default-subnetpools", "subnetpool-prefix-ops", "subnet_onboard", "address-scope",
		"agent", "agent-resources-synced", "agent_sort_key",
		"availability_zone", "availability_zone_filter", "network_availability_zone", "dhcp_agent_scheduler",
		"quotas", "quota_details", "quota-check-limit", "quota-check-limit-default",
		"rbac-policies", "rbac-security-groups", "rbac-address-scope", "rbac-subnetpool", "rbac-address-group", "security-groups-shared-filtering", "network-ip-availability",
		"network-ip-availability-details",
		"flavors", "service-type", "metering", "metering_source_and_destination_fields", "logging", "local_ip",
		"qos", "qos-bw-limit-direction", "qos-bw-minimum-ingress", "qos-default", "qos-port-network-policy", "qos-pps", "qos-pps-minimum",
		"qos-rules-alias", "qos-pps-minimum-rule-alias", "qos-rule-type-details", "qos-rule-type-filter",
		"port-resource-request", "port-resource-request-groups",
		"router", "ext-gw-mode", "router-enable-snat", "extraroute", "extraroute-atomic", "external-gateway-multihoming",
		"enable-default-route-bfd", "enable-default-route-ecmp", "dvr", "l3-ha", "network_ha", "router-admin-state-down-before-update",
		"l3-port-ip-change-not-allowed", "router_availability_zone", "l3_agent_scheduler", "l3-agent-scheduler-ha-chassis-priority",
		"fip-port-details", "floatingip-pools", "qos-fip", "floating-ip-port-forwarding", "floating-ip-port-forwarding-description",
		"floating-ip-port-forwarding-detail", "floating-ip-port-forwarding-port-ranges", "expose-port-forwarding-in-fip",
		"l3-conntrack-helper", "expose-l3-conntrack-helper", "l3-ndp-proxy", "l3-ext-ndp-proxy",
		"l3-flavors", "qos-gateway-ip", "evpn", "auto-allocated-topology",
		"trunk", "trunk-details", "segment", "standard-attr-segment", "subnet-segmentid-writable", "segments-peer-subnet-host-routes",
		"ip_allocation", "l2_adjacency", "network-segment-range",
		"standard-attr-tag", "tag-creation", "tag-ports-during-bulk-creation",
		"standard-attr-description", "standard-attr-timestamp", "standard-attr-revisions", "revision-if-match",
		"pagination", "sorting", "filter-validation", "empty-string-filtering", "project-id", "ip-substring-filtering",
	}
}

// Build is the registry of the extensions named.
func Build(aliases []string) (*apidef.Registry, error) {
	return apidef.Build(InTree(), func(alias string) bool { return slices.Contains(aliases, alias) })
}
