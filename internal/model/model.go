// Package model holds the domain's values: networks, subnets, ports, segments, bindings, security groups, agents.
// A value's JSON is the body that the API shows and the store keeps, so field tags are API names. Server-side
// packages share these values; the host wing never sees them, it reads documents. Nothing here does I/O.
package model

import (
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// Standard is what every resource with standard attributes carries.
type Standard struct {
	ID          string   `json:"id"`
	ProjectID   string   `json:"project_id"`
	TenantID    string   `json:"tenant_id"` // the older name of ProjectID, always the same value
	Description string   `json:"description"`
	CreatedAt   string   `json:"created_at"`
	UpdatedAt   string   `json:"updated_at"`
	Revision    int64    `json:"revision_number"`
	Tags        []string `json:"tags"`
}

// Std gives code that serves every resource alike its standard part.
func (s *Standard) Std() *Standard { return s }

// Own sets both names of the owner.
func (s *Standard) Own(project string) { s.ProjectID, s.TenantID = project, project }

// Stamp formats a moment as created_at and updated_at show it: whole seconds, UTC (behaviour.md, section 7).
func Stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

// Resource statuses.
const (
	StatusActive = "ACTIVE"
	StatusDown   = "DOWN"
	StatusBuild  = "BUILD"
	StatusError  = "ERROR"
)

// Ext holds attributes of extensions that are not in the tree: alias to JSON, stored and passed on as they are.
type Ext map[string]json.RawMessage

// Network types that the type drivers in the tree own.
const (
	TypeLocal  = "local"
	TypeFlat   = "flat"
	TypeVLAN   = "vlan"
	TypeVXLAN  = "vxlan"
	TypeGRE    = "gre"
	TypeGeneve = "geneve"
)

// ProviderAttributes are the provider extension's view of a network with one segment.
type ProviderAttributes struct {
	NetworkType     *string `json:"provider:network_type"` // nil for a network without segments
	PhysicalNetwork *string `json:"provider:physical_network"`
	SegmentationID  *int64  `json:"provider:segmentation_id"`
}

// Network is one layer 2 broadcast domain.
type Network struct {
	Standard
	Name         string `json:"name"`
	AdminStateUp bool   `json:"admin_state_up"`
	Status       string `json:"status"`
	MTU          int64  `json:"mtu"`
	External     bool   `json:"router:external"`
	// IsDefault marks the external network of topologies that projects get by themselves; nil on networks that are not external.
	IsDefault *bool `json:"is_default,omitempty"`
	// HA makes the network the one over which the project's highly available routers speak; it is never shown.
	HA bool `json:"ha,omitempty"`
	// Shared is what a request said; the answer's value depends on the caller and is spliced.
	Shared              *bool `json:"shared,omitempty"`
	PortSecurityEnabled bool  `json:"port_security_enabled"`
	// ProviderAttributes is nil for a network of several segments, which shows Segments instead.
	*ProviderAttributes
	Segments []ProviderAttributes `json:"segments,omitempty"`
	// L2Adjacency is false for a network whose subnets are on its segments: hosts of different segments reach each other by routers.
	L2Adjacency bool `json:"l2_adjacency"`
	// VLANTransparent and QinQ are nil where the cloud does not offer them.
	VLANTransparent       *bool    `json:"vlan_transparent,omitempty"`
	QinQ                  *bool    `json:"qinq,omitempty"`
	PVLAN                 bool     `json:"pvlan"`
	DNSDomain             string   `json:"dns_domain"`
	AvailabilityZoneHints []string `json:"availability_zone_hints"`
	AvailabilityZones     []string `json:"availability_zones"`
	QoSPolicyID           *string  `json:"qos_policy_id"`
	Ext                   Ext      `json:"ext,omitempty"`
}

// Segment is one way in which a network is carried: a row of its own, several for a multi-segment network.
type Segment struct {
	ID              string `json:"id"`
	NetworkID       string `json:"network_id"`
	NetworkType     string `json:"network_type"`
	PhysicalNetwork string `json:"physical_network,omitempty"`
	SegmentationID  int64  `json:"segmentation_id,omitempty"`
	Index           int64  `json:"segment_index"`
	// Dynamic segments were reserved for a level of a hierarchical binding and go with its last use.
	Dynamic bool `json:"is_dynamic,omitempty"`
	// ProjectID is the project whose ranges an id shall come out of first; for reservations alone.
	ProjectID string `json:"-"`
	// Host limits a dynamic segment to bindings of one host ("" for all).
	Host string `json:"segment_host,omitempty"`
}

// AllocationPool is a range of addresses that may be handed out, both ends included.
type AllocationPool struct {
	Start string `json:"start"`
	End   string `json:"end"`
}

// HostRoute is a static route that a subnet's hosts learn.
type HostRoute struct {
	Destination string `json:"destination"`
	Nexthop     string `json:"nexthop"`
}

// Subnet is one prefix on a network.
type Subnet struct {
	Standard
	Name            string           `json:"name"`
	NetworkID       string           `json:"network_id"`
	IPVersion       int64            `json:"ip_version"`
	CIDR            *string          `json:"cidr"`
	SubnetPoolID    *string          `json:"subnetpool_id"`
	GatewayIP       *string          `json:"gateway_ip"`
	AllocationPools []AllocationPool `json:"allocation_pools"`
	EnableDHCP      bool             `json:"enable_dhcp"`
	DNSNameservers  []string         `json:"dns_nameservers"`
	HostRoutes      []HostRoute      `json:"host_routes"`
	IPv6RAMode      *string          `json:"ipv6_ra_mode"`
	IPv6AddressMode *string          `json:"ipv6_address_mode"`
	PrefixLen       *int64           `json:"prefixlen,omitempty"`
	ServiceTypes    []string         `json:"service_types"`
	// DNSPublishFixedIP asks for the publication of the addresses of ports.
	DNSPublishFixedIP bool    `json:"dns_publish_fixed_ip"`
	SegmentID         *string `json:"segment_id"`
	Ext               Ext     `json:"ext,omitempty"`
}

// FixedIP is one address of a port.
type FixedIP struct {
	SubnetID  string `json:"subnet_id"`
	IPAddress string `json:"ip_address"`
}

// AddressPair is an address that a port may use besides its own.
type AddressPair struct {
	IPAddress  string `json:"ip_address"`
	MACAddress string `json:"mac_address"`
}

// DHCPOption is one extra DHCP option of a port.
type DHCPOption struct {
	Name      string  `json:"opt_name"`
	Value     *string `json:"opt_value"`
	IPVersion int64   `json:"ip_version"`
}

// VIF types that a binding can end in.
const (
	VIFUnbound       = "unbound"
	VIFBindingFailed = "binding_failed"
	VIFOVS           = "ovs"
	VIFBridge        = "bridge"
	// What no switch of software carries.
	VIFHardwareVEB     = "hw_veb"
	VIFHostdevPhysical = "hostdev_physical"
	VIFMacvtap         = "macvtap"
)

// Kinds of ports on networks with private VLANs.
const (
	PVLANIsolated    = "isolated"
	PVLANPromiscuous = "promiscuous"
	PVLANCommunity   = "community"
)

// Kinds of interfaces that guests want (binding:vnic_type): of software, and of hardware handed to them.
const (
	VNICNormal            = "normal"
	VNICDirect            = "direct"
	VNICMacvtap           = "macvtap"
	VNICDirectPhysical    = "direct-physical"
	VNICAcceleratorDirect = "accelerator-direct"
)

// Port is one attachment to a network.
type Port struct {
	Standard
	Name                string         `json:"name"`
	NetworkID           string         `json:"network_id"`
	MACAddress          string         `json:"mac_address"`
	AdminStateUp        bool           `json:"admin_state_up"`
	Status              string         `json:"status"`
	DeviceID            string         `json:"device_id"`
	DeviceOwner         string         `json:"device_owner"`
	FixedIPs            []FixedIP      `json:"fixed_ips"`
	SecurityGroups      []string       `json:"security_groups"`
	AllowedAddressPairs []AddressPair  `json:"allowed_address_pairs"`
	ExtraDHCPOpts       []DHCPOption   `json:"extra_dhcp_opts"`
	PortSecurityEnabled bool           `json:"port_security_enabled"`
	HostID              string         `json:"binding:host_id"`
	VNICType            string         `json:"binding:vnic_type"`
	Profile             map[string]any `json:"binding:profile"`
	VIFType             string         `json:"binding:vif_type"`
	VIFDetails          map[string]any `json:"binding:vif_details"`
	// PropagateUplinkStatus lets an SR-IOV port follow its uplink; stored and handed on.
	PropagateUplinkStatus bool    `json:"propagate_uplink_status"`
	DataPlaneStatus       *string `json:"data_plane_status"`
	DNSName               string  `json:"dns_name"`
	DNSDomain             string  `json:"dns_domain"`
	DeviceProfile         *string `json:"device_profile"`
	HardwareOffloadType   *string `json:"hardware_offload_type"`
	NUMAAffinityPolicy    *string `json:"numa_affinity_policy"`
	// Trusted is nil where nobody said whether a virtual function may change its own settings.
	Trusted *bool `json:"trusted"`
	// Hints are what a backend may do better, as the API has them; nil: none.
	Hints map[string]any `json:"hints"`
	// PVLANType is nil on networks without private VLANs; PVLANCommunity is named by the type community.
	PVLANType      *string `json:"pvlan_type"`
	PVLANCommunity *string `json:"pvlan_community"`
	QoSPolicyID    *string `json:"qos_policy_id"`
	// What follows is null in a stored body, and computed where there is something to show: the policy of the port's network, and
	// what Placement must set aside for the rules in force.
	QoSNetworkPolicyID *string         `json:"qos_network_policy_id"`
	ResourceRequest    json.RawMessage `json:"resource_request"`
	// IPAllocation is when the port gets its addresses.
	IPAllocation string `json:"ip_allocation"`
	// TrunkDetails are there for a port that carries a trunk; TrunkID, a column, for that and for those inside.
	TrunkDetails *TrunkDetails `json:"trunk_details,omitempty"`
	TrunkID      string        `json:"-"`
	// Wiring is the wiring generation: it grows with every change of host, segment, MAC, addresses or admin
	// state. It is a column and not part of the body.
	Wiring int64 `json:"-"`
	// Bindings are those to hosts where the port is not in force. They are a column and not part of the body.
	Bindings []PortBinding `json:"-"`
	Ext      Ext           `json:"ext,omitempty"`
}

// Clone copies p so that no slice or map is shared.
func (p *Port) Clone() Port {
	q := *p
	q.Tags = slices.Clone(p.Tags)
	q.FixedIPs = slices.Clone(p.FixedIPs)
	q.SecurityGroups = slices.Clone(p.SecurityGroups)
	q.AllowedAddressPairs = slices.Clone(p.AllowedAddressPairs)
	q.ExtraDHCPOpts = slices.Clone(p.ExtraDHCPOpts)
	q.Profile = maps.Clone(p.Profile)
	q.VIFDetails = maps.Clone(p.VIFDetails)
	q.Bindings = slices.Clone(p.Bindings)
	q.Hints = maps.Clone(p.Hints)
	q.Ext = maps.Clone(p.Ext)
	return q
}

// Statuses of a binding: one is in force, the others wait.
const (
	BindingActive   = "ACTIVE"
	BindingInactive = "INACTIVE"
)

// PortBinding is what one host is told about a port; a port that moves has one for either end.
type PortBinding struct {
	Host       string         `json:"host"`
	VIFType    string         `json:"vif_type"`
	VIFDetails map[string]any `json:"vif_details"`
	VNICType   string         `json:"vnic_type"`
	Profile    map[string]any `json:"profile"`
	Status     string         `json:"status"`
}

// Binding is the port's binding in force; ok is false for a port on no host.
func (p *Port) Binding() (b PortBinding, ok bool) {
	return PortBinding{Host: p.HostID, VIFType: p.VIFType, VIFDetails: p.VIFDetails, VNICType: p.VNICType, Profile: p.Profile,
		Status: BindingActive}, p.HostID != ""
}

// BindingLevel is one step of a port's binding: which driver bound which segment, from level 0 (the network's own
// segment) down to the one that the host carries.
type BindingLevel struct {
	PortID    string
	Host      string
	Level     int64
	Driver    string
	SegmentID string
}
