// Package dns keeps the names of ports: what a request may call a port, and the names and addresses under which it is known.
// assemble lists it among the guards of ports and those who compute attributes of ports. It publishes nothing: that is
// for who talks to a name service.
package dns

import (
	"bytes"
	"context"
	"strings"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/service"
	"isospin/internal/store"
)

// usual is the domain of a cloud that has none of its own: there ports are called by their addresses alone
// (DNS_DOMAIN_DEFAULT in neutron-lib's constants).
const usual = "openstacklocal."

// maxName is the length of a whole name with its last dot (FQDN_FIELD_SIZE in neutron-lib's db/constants.py).
const maxName = 255

// Ports takes part in the writes and lists of ports. It keeps nothing.
type Ports struct{ domain string }

// New takes the domain of the cloud, `dns_domain`.
func New(domain string) Ports {
	if domain != "" && !strings.HasSuffix(domain, ".") {
		domain += "."
	}
	return Ports{domain: strings.ToLower(domain)}
}

var (
	_ service.Guard[model.Port] = Ports{}
	_ rest.Splicer              = Ports{}
)

// named tells whether ports can have names of their own at all.
func (p Ports) named() bool { return p.domain != "" && p.domain != usual }

// Guard judges a port's name. In a cloud without a domain of its own names are taken and forgotten
// (neutron/plugins/ml2/extensions/dns_integration.py).
func (p Ports) Guard(_ context.Context, _ store.WriteTx, w service.Write[model.Port]) error {
	if w.Op == service.Delete {
		return nil
	}
	if !p.named() {
		w.New.DNSName, w.New.DNSDomain = "", ""
		return nil
	}
	if w.Op == service.Update && w.Old.DNSName == w.New.DNSName {
		return nil
	}
	name := w.New.DNSName
	switch full := strings.HasSuffix(name, "."); {
	case name == "":
	case full && (!strings.HasSuffix(name, "."+p.domain)):
		return fault.BadInput("dns_name '%s' is a whole name, which has to end with .%s, the domain of this cloud.", name, p.domain)
	case !full && len(name)+1+len(p.domain) > maxName:
		return fault.BadInput("dns_name with the domain %s has %d characters, %d are allowed.", p.domain, len(name)+1+len(p.domain), maxName)
	}
	return nil
}

// Splice adds dns_assignment: the names and addresses under which a port is known. No statement.
func (p Ports) Splice(_ context.Context, _ store.Tx, page *rest.Page) error {
	if !page.Wants("dns_assignment") {
		return nil
	}
	for i := range page.Rows {
		addresses := addressesIn(page.Rows[i].Body)
		name := []byte{}
		if p.named() {
			raw, _ := page.Member(i, "dns_name")
			name = bytes.Trim(raw, `"`)
		}
		page.Splice(i, "dns_assignment", p.assignments(addresses, name))
	}
	return nil
}

// addressesIn finds fixed_ips in a port's body without reading what stands before: in texts quotes are escaped, so that the first hit is
// the member, and addresses hold no bracket.
func addressesIn(body []byte) []byte {
	_, rest, _ := bytes.Cut(body, []byte(`"fixed_ips":[`))
	addresses, _, _ := bytes.Cut(rest, []byte{']'})
	return addresses
}

// assignments writes the list by hand, out of the body's own text: neither addresses nor names hold what JSON escapes, and lists
// of ports are long.
func (p Ports) assignments(addresses, name []byte) []byte {
	key := []byte(`"ip_address":"`)
	out := append(make([]byte, 0, 96+len(addresses)), '[')
	for {
		i := bytes.Index(addresses, key)
		if i < 0 {
			return append(out, ']')
		}
		ip, rest, ok := bytes.Cut(addresses[i+len(key):], []byte{'"'})
		if !ok {
			return append(out, ']')
		}
		addresses = rest
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, `{"ip_address":"`...), ip...), `","hostname":"`...)
		out = append(appendName(out, name, ip), `","fqdn":"`...)
		out = appendName(out, name, ip)
		if p.domain != "" && out[len(out)-1] != '.' {
			out = append(append(out, '.'), p.domain...)
		}
		out = append(out, `"}`...)
	}
}

// appendName writes what a port is called, by its address where it has no name.
func appendName(to, name, ip []byte) []byte {
	if len(name) > 0 {
		return append(to, name...)
	}
	to = append(to, "host-"...)
	for _, c := range ip {
		if c == '.' || c == ':' {
			c = '-'
		}
		to = append(to, c)
	}
	return to
}

// Host is how a port without a name is called, by its address.
func Host(ip string) string { return string(appendName(nil, nil, []byte(ip))) }
