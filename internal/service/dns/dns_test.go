package dns

import (
	"testing"

	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/service"
	"isospin/internal/store"
)

func TestAssignments(t *testing.T) {
	for _, c := range []struct{ domain, body, want string }{
		{"openstacklocal", `{"fixed_ips":[{"subnet_id":"s","ip_address":"10.0.0.5"}],"dns_name":"web"}`, `[{"ip_address":"10.0.0.5","hostname":"host-10-0-0-5","fqdn":"host-10-0-0-5.openstacklocal."}]`},
		{"Cloud.Example", `{"fixed_ips":[{"subnet_id":"s","ip_address":"10.0.0.5"}],"dns_name":"web"}`, `[{"ip_address":"10.0.0.5","hostname":"web","fqdn":"web.cloud.example."}]`},
		{"cloud.example.", `{"fixed_ips":[{"subnet_id":"s","ip_address":"10.0.0.5"}],"dns_name":"web.cloud.example."}`, `[{"ip_address":"10.0.0.5","hostname":"web.cloud.example.","fqdn":"web.cloud.example."}]`},
		{"", `{"fixed_ips":[{"subnet_id":"s","ip_address":"2001:db8::5"}],"dns_name":"web"}`, `[{"ip_address":"2001:db8::5","hostname":"host-2001-db8--5","fqdn":"host-2001-db8--5"}]`},
		{"cloud.example", `{"fixed_ips":[],"dns_name":"web"}`, `[]`},
		{"cloud.example", `{}`, `[]`},
	} {
		page := &rest.Page{Rows: []store.Row{{Body: []byte(c.body)}}, Wants: func(string) bool { return true }}
		if err := New(c.domain).Splice(t.Context(), nil, page); err != nil {
			t.Fatal(err)
		}
		if got, _ := page.Member(0, "dns_assignment"); string(got) != c.want {
			t.Errorf("%s %s: %s\nnot %s", c.domain, c.body, got, c.want)
		}
	}
	page := &rest.Page{Rows: []store.Row{{Body: []byte(`{"fixed_ips":7}`)}}, Wants: func(string) bool { return true }}
	if err := New("x").Splice(t.Context(), nil, page); err == nil {
		t.Error("a body that is none of a port is no error")
	}
	page.Wants = func(string) bool { return false }
	if err := New("x").Splice(t.Context(), nil, page); err != nil {
		t.Errorf("what nobody wants is read: %v", err)
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct {
		domain, name, kept string
		fine               bool
	}{
		{"openstacklocal", "web", "", true}, {"", "web", "", true}, {"cloud.example", "web", "web", true}, {"cloud.example", "a.b", "a.b", true},
		{"cloud.example", "web.cloud.example.", "web.cloud.example.", true}, {"cloud.example", "web.other.", "", false}, {"cloud.example", "cloud.example.", "", false},
		{"cloud.example", "xcloud.example.", "", false},
	} {
		p := model.Port{DNSName: c.name}
		err := New(c.domain).Guard(t.Context(), nil, service.Write[model.Port]{Op: service.Create, New: &p})
		if (err == nil) != c.fine || err == nil && p.DNSName != c.kept {
			t.Errorf("%q in %q: %q, %v", c.name, c.domain, p.DNSName, err)
		}
	}
}
