package model

// Statuses of a trunk beside those of other resources: some of its subports cannot be bound.
const StatusDegraded = "DEGRADED"

// OwnerSubport is the device_owner of a port inside a trunk that is on a host.
const OwnerSubport = "trunk:subport"

// Trunk is a port that carries several networks, told apart by tags.
type Trunk struct {
	Standard
	Name         string    `json:"name"`
	AdminStateUp bool      `json:"admin_state_up"`
	PortID       string    `json:"port_id"`
	Status       string    `json:"status"`
	SubPorts     []SubPort `json:"sub_ports"`
}

// SubPort is a port inside a trunk, and its tag there.
type SubPort struct {
	PortID           string `json:"port_id"`
	SegmentationType string `json:"segmentation_type"`
	SegmentationID   int64  `json:"segmentation_id"`
}

// TrunkDetails are what a port that carries a trunk shows of it. Whoever changes them makes them anew: copies of a port share them.
type TrunkDetails struct {
	TrunkID  string          `json:"trunk_id"`
	SubPorts []SubPortDetail `json:"sub_ports"`
}

// SubPortDetail is a SubPort with its port's MAC.
type SubPortDetail struct {
	SubPort
	MACAddress string `json:"mac_address"`
}
