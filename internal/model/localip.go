package model

// OwnerLocalIP is the device_owner of ports that only hold a local address.
const OwnerLocalIP = "network:local_ip"

// LocalIP is an address that each host serves from a port of its own.
type LocalIP struct {
	Standard
	Name           string  `json:"name"`
	LocalPortID    string  `json:"local_port_id"`
	NetworkID      string  `json:"network_id"`
	LocalIPAddress *string `json:"local_ip_address"`
	IPMode         string  `json:"ip_mode"`
}

// LocalIPAssociation is a port that stands for a local address on its host. Its id joins the ids of the two.
type LocalIPAssociation struct {
	Standard
	LocalIPID      string  `json:"local_ip_id"`
	LocalIPAddress string  `json:"local_ip_address"`
	FixedPortID    string  `json:"fixed_port_id"`
	FixedIP        *string `json:"fixed_ip"`
	// Host is the port's, kept in step with it; "" while the port is on none.
	Host string `json:"host"`
}
