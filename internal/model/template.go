package model

// RemoteParent as the remote group of a template means the new group itself (behaviour.md, section 12).
const RemoteParent = "PARENT"

// SecurityGroupTemplate is a rule that new security groups begin with. Its standard attributes are not shown.
type SecurityGroupTemplate struct {
	ID                   string  `json:"id"`
	ProjectID            string  `json:"project_id,omitempty"`
	TenantID             string  `json:"tenant_id,omitempty"`
	Description          string  `json:"description"`
	CreatedAt            string  `json:"created_at,omitempty"`
	UpdatedAt            string  `json:"updated_at,omitempty"`
	Revision             int64   `json:"revision_number,omitempty"`
	Direction            string  `json:"direction"`
	Ethertype            string  `json:"ethertype"`
	Protocol             *string `json:"protocol"`
	PortRangeMin         *int64  `json:"port_range_min"`
	PortRangeMax         *int64  `json:"port_range_max"`
	RemoteIPPrefix       *string `json:"remote_ip_prefix"`
	RemoteGroupID        *string `json:"remote_group_id"`
	RemoteAddressGroupID *string `json:"remote_address_group_id"`
	InDefault            bool    `json:"used_in_default_sg"`
	InOthers             bool    `json:"used_in_non_default_sg"`
}

// AddressGroup is a set of addresses that security group rules can name.
type AddressGroup struct {
	Standard
	Name      string   `json:"name"`
	Addresses []string `json:"addresses"`
}
