package types

import (
	"strings"

	"isospin/internal/apidef"
)

// maxFQDN is the length of a full domain name with its last dot (FQDN_FIELD_SIZE less what the wire form takes).
const maxFQDN = 253

// keyword tells whether a label stands for something of the caller (DNS_LABEL_KEYWORDS in neutron-lib's constants).
func keyword(label string) bool {
	switch label {
	case "<project_id>", "<project_name>", "<user_id>", "<user_name>":
		return true
	}
	return false
}

// labels judges a domain name without its last dot; in domains keywords may stand for labels.
func labels(name string, domain bool) error {
	parts := strings.Split(name, ".")
	for _, l := range parts {
		switch {
		case domain && keyword(l):
			continue
		case l == "":
			return invalid("the name %s has an empty label", quoted(name))
		case len(l) > 63:
			return invalid("the label %s has %d characters, 63 are allowed", quoted(l), len(l))
		case l[0] == '-' || l[len(l)-1] == '-':
			return invalid("the label %s begins or ends with a hyphen", quoted(l))
		}
		for i := range len(l) {
			if c := l[i]; c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
				return invalid("the label %s has other characters than letters, digits and hyphens", quoted(l))
			}
		}
	}
	if last := parts[len(parts)-1]; len(parts) > 1 && digits([]byte(last)) == len(last) {
		return invalid("the last label of %s is a number", quoted(name))
	}
	return nil
}

// dnsText is a domain name in lower case; dot says whether a dot at the end is wanted ('.'), refused ('-') or free.
func dnsText(dot byte, max int) apidef.Type {
	return texted(func(s string) (string, error) {
		name := strings.ToLower(s)
		bare := strings.TrimSuffix(name, ".")
		switch {
		case name == "":
			return "", nil
		case len(name) > max:
			return "", invalid("the name %s has %d characters, %d are allowed", quoted(s), len(name), max)
		case dot == '.' && bare == name:
			return "", invalid("the domain %s does not end with a dot", quoted(s))
		case dot == '-' && bare != name:
			return "", invalid("the name %s ends with a dot, but has to be relative", quoted(s))
		}
		return name, labels(bare, dot == '.')
	}, apidef.Schema{"maxLength": max, "format": "hostname"})
}

// DNSName is the name of a port: empty, or labels with or without the last dot (type:dns_host_name). Whether it fits
// the domain of the deployment is for the DNS service to judge.
func DNSName() apidef.Type { return dnsText(0, maxFQDN) }

// DNSDomain is empty or a domain that ends with a dot (type:dns_domain_name).
func DNSDomain() apidef.Type { return dnsText('.', maxFQDN) }

// FloatingDNSName is empty or a relative name (type:fip_dns_host_name).
func FloatingDNSName() apidef.Type { return dnsText('-', maxFQDN-1) }
