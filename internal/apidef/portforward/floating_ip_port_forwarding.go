package portforward

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// FloatingIPPortForwarding is the extension floating-ip-port-forwarding; facts from neutron-lib api/definitions/floating_ip_port_forwarding.py.
func FloatingIPPortForwarding() apidef.Extension {
	return apidef.Extension{
		Alias: "floating-ip-port-forwarding", Name: "Port forwarding",
		Doc:      "Passes single ports of a floating address on.",
		Updated:  time.Date(2018, 1, 19, 10, 0, 0, 0, time.UTC),
		Requires: []string{"router"},
		Resources: []apidef.Resource{
			portForwardings(),
		},
	}
}

func portForwardings() apidef.Resource {
	return apidef.Resource{
		Name: "port_forwarding", Collection: "port_forwardings", Path: "port_forwardings", Parent: "floatingips",
		Doc: "A port of a floating address that leads to a port inside.",
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID(), Filter: true, Sort: true},
			{Name: "project_id", Doc: "The project that owns the object.", Type: types.String(255), Post: apidef.Optional, Default: apidef.Unspecified, Hidden: true, PolicyKey: true},
			{Name: "external_port", Doc: "The port outside.", Type: types.Range(1, 65535), Post: apidef.Required, Put: apidef.Optional, Filter: true, Sort: true},
			{Name: "internal_ip_address", Doc: "The address inside.", Type: types.IPAddress(), Post: apidef.Required, Put: apidef.Optional},
			{Name: "internal_port", Doc: "The port inside.", Type: types.Range(1, 65535), Post: apidef.Required, Put: apidef.Optional},
			{Name: "internal_port_id", Doc: "The port of the network that holds the address inside.", Type: types.UUID(), Post: apidef.Required, Put: apidef.Optional, Filter: true, Sort: true},
			{Name: "protocol", Doc: "The protocol that is passed on.", Type: types.Protocol("dccp", "icmp", "ipv6-icmp", "sctp", "tcp", "udp"), Post: apidef.Required, Put: apidef.Optional, Filter: true, Sort: true},
		},
	}
}
