package availability

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// NetworkIPAvailability is the extension network-ip-availability; facts from neutron-lib api/definitions/network_ip_availability.py.
func NetworkIPAvailability() apidef.Extension {
	return apidef.Extension{
		Alias: "network-ip-availability", Name: "Free addresses",
		Doc:     "Counts the addresses of networks.",
		Updated: time.Date(2015, 9, 24, 0, 0, 0, 0, time.UTC),
		Resources: []apidef.Resource{
			networkIpAvailabilities(),
		},
	}
}

func networkIpAvailabilities() apidef.Resource {
	return apidef.Resource{
		Name: "network_ip_availability", Collection: "network_ip_availabilities", Path: "network-ip-availabilities",
		Doc:    "How many addresses of a network are free.",
		NoBulk: true, NoCreate: true, NoUpdate: true, NoDelete: true,
		Attributes: []apidef.Attribute{
			{Name: "tenant_id", Doc: "The project that owns the object, by its older name; project_id always has the same value.", Type: types.String(255), Filter: true},
			{Name: "ip_version", Doc: "The version of IP; a filter alone.", Type: types.ReadOnly(apidef.Schema{"type": "integer"}), FilterOnly: true, Filter: true},
			{Name: "network_id", Doc: "The network.", Type: types.UUID(), Filter: true, Sort: true},
			{Name: "network_name", Doc: "The name of the network.", Type: types.ReadOnly(apidef.Schema{"type": "string"}), Filter: true},
			{Name: "subnet_ip_availability", Doc: "Counts for each subnet.", Type: types.ReadOnly(apidef.Schema{"type": "array", "items": apidef.Schema{"type": "object"}})},
			{Name: "total_ips", Doc: "How many addresses there are.", Type: types.ReadOnly(apidef.Schema{"type": "integer"})},
			{Name: "used_ips", Doc: "How many addresses are in use.", Type: types.ReadOnly(apidef.Schema{"type": "integer"})},
		},
	}
}
