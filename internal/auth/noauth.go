package auth

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"unicode/utf8"
)

// NoAuth believes what the headers say: X-Project-Id (or X-Tenant-Id), X-User-Id and X-Roles, with the names
// and domains beside them. A request that gives no X-Roles is an admin's, as with Neutron's
// auth_strategy noauth. The zero value is ready for use.
type NoAuth struct{}

// maxProjectID is how many characters of a project's id rows hold, as project_id says in every definition.
const maxProjectID = 255

// Authenticate refuses a project alone that no database could hold: longer than the columns for projects, or not UTF-8.
func (NoAuth) Authenticate(r *http.Request) (*Principal, error) {
	h := r.Header
	p := &Principal{
		UserID:           first(h, "X-User-Id", "X-User"),
		UserName:         first(h, "X-User-Name"),
		UserDomainID:     first(h, "X-User-Domain-Id"),
		ProjectID:        first(h, "X-Project-Id", "X-Tenant-Id", "X-Tenant"),
		ProjectName:      first(h, "X-Project-Name", "X-Tenant-Name"),
		ProjectDomainID:  first(h, "X-Project-Domain-Id"),
		DomainID:         first(h, "X-Domain-Id"),
		SystemScope:      first(h, "Openstack-System-Scope"),
		ServiceUserID:    first(h, "X-Service-User-Id"),
		ServiceProjectID: first(h, "X-Service-Project-Id"),
		ServiceRoles:     split(first(h, "X-Service-Roles")),
	}
	if utf8.RuneCountInString(p.ProjectID) > maxProjectID || !utf8.ValidString(p.ProjectID) {
		return nil, Unauthenticated()
	}
	p.Roles = split(first(h, "X-Roles", "X-Role"))
	if len(p.Roles) == 0 {
		p.Roles = []string{RoleAdmin, RoleManager, RoleMember, RoleReader}
	}
	return p, nil
}

func first(h http.Header, names ...string) string {
	for _, n := range names {
		if v := h.Get(n); v != "" {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

func split(list string) []string {
	var out []string
	for s := range strings.SplitSeq(list, ",") {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// AllowNoAuth refuses to serve without authentication on an address that other machines can reach. The
// operator overrides it by saying so a second time, which the caller passes as confirmed. listen is a
// host:port as net.Listen takes it; a name must resolve to loopback addresses only.
func AllowNoAuth(listen string, confirmed bool) error {
	if confirmed {
		return nil
	}
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return fmt.Errorf("noauth: listen address %q: %w", listen, err)
	}
	if loopback(host) {
		return nil
	}
	return fmt.Errorf("noauth: %s is reachable from other machines, where everybody would be admin; listen on loopback or confirm it", listen)
}

func loopback(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.Unmap().IsLoopback()
	}
	if host == "" { // all addresses
		return false
	}
	ips, err := net.LookupIP(host)
	if err != nil || len(ips) == 0 {
		return false
	}
	for _, ip := range ips {
		if !ip.IsLoopback() {
			return false
		}
	}
	return true
}

var _ Authenticator = NoAuth{}
