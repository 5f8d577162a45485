package dns

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// DNSDomainPorts is the extension dns-domain-ports; facts from neutron-lib api/definitions/dns_domain_ports.py.
func DNSDomainPorts() apidef.Extension {
	return apidef.Extension{
		Alias: "dns-domain-ports", Name: "DNS domains of ports",
		Doc:      "A DNS domain for a single port.",
		Updated:  time.Date(2017, 4, 24, 10, 0, 0, 0, time.UTC),
		Requires: []string{"dns-integration"},
		Extends: map[string][]apidef.Attribute{
			"ports": {
				{Name: "dns_domain", Doc: "The domain under which the port is published.", Type: types.DNSDomain(), Post: apidef.Optional, Put: apidef.Optional, Default: ""},
			},
		},
	}
}
