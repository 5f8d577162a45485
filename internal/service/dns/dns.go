// Package dns keeps the names of ports: what a request may call a port, and the names and addresses under which it is known.
// assemble lists it among the guards of ports and those who compute attributes of ports. It publishes nothing: that is
// for who talks to a name service.
package dns

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
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

// assignment is a name and an address under which a port is known.
type assignment struct {
	IPAddress string `json:"ip_address"`
	Hostname  string `json:"hostname"`
	FQDN      string `json:"fqdn"`
}

// Splice adds dns_assignment. No statement.
func (p Ports) Splice(_ context.Context, _ store.Tx, page *rest.Page) error {
	if !page.Wants("dns_assignment") {
		return nil
	}
	for i := range page.Rows {
		raw, err := p.assignments(page, i)
		if err != nil {
			return err
		}
		page.Splice(i, "dns_assignment", raw)
	}
	return nil
}

func (p Ports) assignments(page *rest.Page, i int) ([]byte, error) {
	addresses, ok := page.Member(i, "fixed_ips")
	if !ok || bytes.Equal(addresses, []byte("[]")) {
		return []byte("[]"), nil
	}
	var fixed []model.FixedIP
	if err := json.Unmarshal(addresses, &fixed); err != nil {
		return nil, fmt.Errorf("dns: addresses of a port: %w", err)
	}
	name := ""
	if raw, ok := page.Member(i, "dns_name"); ok && p.named() {
		if err := json.Unmarshal(raw, &name); err != nil {
			return nil, fmt.Errorf("dns: name of a port: %w", err)
		}
	}
	out := make([]assignment, len(fixed))
	for i, f := range fixed {
		out[i] = p.assign(name, f.IPAddress)
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("dns: %w", err)
	}
	return raw, nil
}

func (p Ports) assign(name, ip string) assignment {
	a := assignment{IPAddress: ip, Hostname: name}
	if name == "" {
		a.Hostname = Host(ip)
	}
	a.FQDN = a.Hostname
	if p.domain != "" && !strings.HasSuffix(a.FQDN, ".") {
		a.FQDN += "." + p.domain
	}
	return a
}

// Host is how a port without a name is called, by its address.
func Host(ip string) string { return "host-" + strings.NewReplacer(".", "-", ":", "-").Replace(ip) }
