package model

// SecurityGroup is a named set of rules; its rules are rows of their own.
type SecurityGroup struct {
	Standard
	Name     string `json:"name"`
	Stateful bool   `json:"stateful"`
	Ext      Ext    `json:"ext,omitempty"`
}

// Rule directions and ethertypes.
const (
	Ingress = "ingress"
	Egress  = "egress"
	IPv4    = "IPv4"
	IPv6    = "IPv6"
)

// SecurityGroupRule allows one kind of traffic to or from the ports of its group.
type SecurityGroupRule struct {
	Standard
	SecurityGroupID      string  `json:"security_group_id"`
	Direction            string  `json:"direction"`
	Ethertype            string  `json:"ethertype"`
	Protocol             *string `json:"protocol"`
	PortRangeMin         *int64  `json:"port_range_min"`
	PortRangeMax         *int64  `json:"port_range_max"`
	RemoteIPPrefix       *string `json:"remote_ip_prefix"`
	NormalizedCIDR       *string `json:"normalized_cidr"`
	RemoteGroupID        *string `json:"remote_group_id"`
	RemoteAddressGroupID *string `json:"remote_address_group_id"`
	BelongsToDefaultSG   *bool   `json:"belongs_to_default_sg,omitempty"`
}
