package dns

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// DNSIntegration is the extension dns-integration; facts from neutron-lib api/definitions/dns.py.
func DNSIntegration() apidef.Extension {
	return apidef.Extension{
		Alias: "dns-integration", Name: "DNS",
		Doc:      "Names for ports and floating addresses, and their publication.",
		Updated:  time.Date(2015, 8, 15, 18, 0, 0, 0, time.UTC),
		Requires: []string{"router"},
		Extends: map[string][]apidef.Attribute{
			"floatingips": {
				{Name: "dns_domain", Doc: "The domain under which the address is published.", Type: types.DNSDomain(), Post: apidef.Optional, Default: ""},
				{Name: "dns_name", Doc: "The name under which the address is published.", Type: types.FloatingDNSName(), Post: apidef.Optional, Default: ""},
			},
			"networks": {
				{Name: "dns_domain", Doc: "The domain of the ports of the network.", Type: types.DNSDomain(), Post: apidef.Optional, Put: apidef.Optional, Default: ""},
			},
			"ports": {
				{Name: "dns_assignment", Doc: "The names and addresses under which the port is known.", Type: types.ReadOnly(apidef.Schema{"type": "array", "items": apidef.Schema{"type": "object"}}), Computed: true},
				{Name: "dns_name", Doc: "The name of the port.", Type: types.DNSName(), Post: apidef.Optional, Put: apidef.Optional, Default: ""},
			},
		},
	}
}
