package model

import "slices"

// StatusNotApplicable is the status of a port that no agent wires, such as the one that holds a floating IP's address.
const StatusNotApplicable = "N/A"

// FloatingIP is an address of an external network that leads to an address of a port inside.
type FloatingIP struct {
	Standard
	FloatingNetworkID string `json:"floating_network_id"`
	FloatingIPAddress string `json:"floating_ip_address"`
	// PortID, FixedIPAddress and RouterID are null while the floating IP leads nowhere. One whose ports are forwarded has a RouterID alone.
	PortID         *string `json:"port_id"`
	FixedIPAddress *string `json:"fixed_ip_address"`
	RouterID       *string `json:"router_id"`
	Status         string  `json:"status"`
	QoSPolicyID    *string `json:"qos_policy_id"`
	DNSName        string  `json:"dns_name"`
	DNSDomain      string  `json:"dns_domain"`
	// FloatingPortID is the port that holds the address on the external network; the API does not show it.
	FloatingPortID string `json:"floating_port_id"`
}

// Clone copies f so that nothing is shared.
func (f *FloatingIP) Clone() FloatingIP {
	q := *f
	q.Tags = slices.Clone(f.Tags)
	q.PortID, q.FixedIPAddress, q.RouterID, q.QoSPolicyID = copyOf(f.PortID), copyOf(f.FixedIPAddress), copyOf(f.RouterID), copyOf(f.QoSPolicyID)
	return q
}

func copyOf(s *string) *string {
	if s == nil {
		return nil
	}
	t := *s
	return &t
}

// PortForwarding passes ports of a floating IP on to ports of an address inside. Its project is the floating IP's. Of a single
// port both the number and the range are shown, of several the range alone.
type PortForwarding struct {
	ID                string  `json:"id"`
	ProjectID         string  `json:"project_id"`
	FloatingIPID      string  `json:"floatingip_id"`
	Protocol          string  `json:"protocol"`
	InternalPortID    string  `json:"internal_port_id"`
	InternalIPAddress string  `json:"internal_ip_address"`
	InternalPort      *int64  `json:"internal_port"`
	InternalPortRange *string `json:"internal_port_range"`
	ExternalPort      *int64  `json:"external_port"`
	ExternalPortRange *string `json:"external_port_range"`
	Description       string  `json:"description"`
}

// Conntrack has the packets of a protocol to a port looked at by a helper of connection tracking. Its project is the router's.
type Conntrack struct {
	ID        string `json:"id"`
	ProjectID string `json:"project_id"`
	RouterID  string `json:"router_id"`
	Protocol  string `json:"protocol"`
	Port      int64  `json:"port"`
	Helper    string `json:"helper"`
}

// NDPProxy is an IPv6 address of a port inside that a router answers for on its external network.
type NDPProxy struct {
	Standard
	Name      string `json:"name"`
	RouterID  string `json:"router_id"`
	PortID    string `json:"port_id"`
	IPAddress string `json:"ip_address"`
}
