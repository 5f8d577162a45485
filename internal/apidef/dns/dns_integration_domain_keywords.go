package dns

import (
	"time"

	"isospin/internal/apidef"
)

// DNSIntegrationDomainKeywords is the extension dns-integration-domain-keywords; facts from neutron-lib api/definitions/dns_domain_keywords.py.
func DNSIntegrationDomainKeywords() apidef.Extension {
	return apidef.Extension{
		Alias: "dns-integration-domain-keywords", Name: "Keywords in DNS domains",
		Doc:      "Puts the project or user into DNS domains.",
		Updated:  time.Date(2020, 6, 15, 18, 0, 0, 0, time.UTC),
		Requires: []string{"dns-integration"},
	}
}
