// Package dns defines names of ports and addresses. The catalogue lists it; it holds data only.
package dns

import "isospin/internal/apidef"

// All are the extensions of this package, in the order in which their attributes are shown.
func All() []apidef.Extension {
	return []apidef.Extension{DNSIntegration(), DNSDomainPorts(), DNSIntegrationDomainKeywords(), SubnetDNSPublishFixedIP()}
}
