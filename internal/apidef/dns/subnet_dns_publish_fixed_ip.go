package dns

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// SubnetDNSPublishFixedIP is the extension subnet-dns-publish-fixed-ip; facts from neutron-lib api/definitions/subnet_dns_publish_fixed_ip.py.
func SubnetDNSPublishFixedIP() apidef.Extension {
	return apidef.Extension{
		Alias: "subnet-dns-publish-fixed-ip", Name: "Publication of fixed addresses",
		Doc:      "Publishes the addresses of ports of a subnet.",
		Updated:  time.Date(2019, 5, 24, 10, 0, 0, 0, time.UTC),
		Requires: []string{"dns-domain-ports"},
		Extends: map[string][]apidef.Attribute{
			"subnets": {
				{Name: "dns_publish_fixed_ip", Doc: "Whether the addresses of ports are published in DNS.", Type: types.Bool(), Post: apidef.Optional, Put: apidef.Optional, Default: false},
			},
		},
	}
}
