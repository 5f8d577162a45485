package model

import (
	"encoding/json"
	"slices"
)

// Owners of the ports that routers have (device_owner; neutron-lib's constants).
const (
	OwnerRouterInterface  = "network:router_interface"
	OwnerRouterReplicated = "network:ha_router_replicated_interface"
	OwnerRouterDVR        = "network:router_interface_distributed"
	OwnerRouterSNAT       = "network:router_centralized_snat"
	OwnerRouterGateway    = "network:router_gateway"
	OwnerRouterHA         = "network:router_ha_interface"
	OwnerFloatingIP       = "network:floatingip"
)

// RouterInterfaceOwner tells whether a port with this owner joins a project's subnet to a router.
func RouterInterfaceOwner(owner string) bool {
	switch owner {
	case OwnerRouterInterface, OwnerRouterReplicated, OwnerRouterDVR:
		return true
	}
	return false
}

// GatewayInfo is one way out of a router.
type GatewayInfo struct {
	NetworkID        string    `json:"network_id"`
	ExternalFixedIPs []FixedIP `json:"external_fixed_ips"`
	EnableSNAT       bool      `json:"enable_snat"`
	QoSPolicyID      *string   `json:"qos_policy_id,omitempty"`
}

// Router joins subnets, and them with the outside.
type Router struct {
	Standard
	Name         string `json:"name"`
	AdminStateUp bool   `json:"admin_state_up"`
	Status       string `json:"status"`
	// ExternalGatewayInfo is the first of ExternalGateways; null without any.
	ExternalGatewayInfo    *GatewayInfo  `json:"external_gateway_info"`
	ExternalGateways       []GatewayInfo `json:"external_gateways"`
	EnableSNAT             bool          `json:"enable_snat"`
	Routes                 []HostRoute   `json:"routes"`
	Distributed            bool          `json:"distributed"`
	HA                     bool          `json:"ha"`
	FlavorID               *string       `json:"flavor_id"`
	AvailabilityZoneHints  []string      `json:"availability_zone_hints"`
	AvailabilityZones      []string      `json:"availability_zones"`
	EnableDefaultRouteBFD  bool          `json:"enable_default_route_bfd"`
	EnableDefaultRouteECMP bool          `json:"enable_default_route_ecmp"`
	EnableNDPProxy         bool          `json:"enable_ndp_proxy"`
	EVPNVNI                *int64        `json:"evpn_vni"`
	// GatewayPorts are the ports of ExternalGateways, in their order. A column and not part of the body.
	GatewayPorts []string `json:"-"`
	// VRID is the router's number on its project's network of highly available routers; 0: it has none. A column.
	VRID int64 `json:"-"`
}

// Clone copies r so that no slice is shared.
func (r *Router) Clone() Router {
	q := *r
	q.Tags = slices.Clone(r.Tags)
	q.Routes = slices.Clone(r.Routes)
	q.AvailabilityZoneHints = slices.Clone(r.AvailabilityZoneHints)
	q.AvailabilityZones = slices.Clone(r.AvailabilityZones)
	q.GatewayPorts = slices.Clone(r.GatewayPorts)
	q.ExternalGateways = slices.Clone(r.ExternalGateways)
	for i := range q.ExternalGateways {
		q.ExternalGateways[i].ExternalFixedIPs = slices.Clone(r.ExternalGateways[i].ExternalFixedIPs)
	}
	q.Lead()
	return q
}

// Lead makes ExternalGatewayInfo and EnableSNAT agree with ExternalGateways.
func (r *Router) Lead() {
	r.ExternalGatewayInfo = nil
	if r.ExternalGateways == nil {
		r.ExternalGateways = []GatewayInfo{}
	}
	if len(r.ExternalGateways) > 0 {
		first := r.ExternalGateways[0]
		r.ExternalGatewayInfo, r.EnableSNAT = &first, first.EnableSNAT
	}
}

// GatewayPort is the port of the first gateway; "" without one.
func (r *Router) GatewayPort() string {
	if len(r.GatewayPorts) == 0 {
		return ""
	}
	return r.GatewayPorts[0]
}

// InterfaceInfo is what add_router_interface and remove_router_interface answer. The owner has both of its names: clients
// of any age find theirs (behaviour.md, section 13).
type InterfaceInfo struct {
	ID        string   `json:"id"`
	TenantID  string   `json:"tenant_id"`
	ProjectID string   `json:"project_id"`
	PortID    string   `json:"port_id"`
	NetworkID string   `json:"network_id"`
	SubnetID  string   `json:"subnet_id"`
	SubnetIDs []string `json:"subnet_ids"`
}

// MarshalGatewayPorts writes GatewayPorts as the store keeps them.
func (r *Router) MarshalGatewayPorts() string {
	if len(r.GatewayPorts) == 0 {
		return ""
	}
	raw, err := json.Marshal(r.GatewayPorts)
	if err != nil {
		return "" // a list of texts always encodes
	}
	return string(raw)
}
