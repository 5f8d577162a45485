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
		{"x", `{"fixed_ips":[{"subnet_id":"s","ip_address":"10.0.0.5"},{"subnet_id":"s","ip_address":"10.0.0.6"}],"dns_name":""}`, `[{"ip_address":"10.0.0.5","hostname":"host-10-0-0-5","fqdn":"host-10-0-0-5.x."},{"ip_address":"10.0.0.6","hostname":"host-10-0-0-6","fqdn":"host-10-0-0-6.x."}]`},
	} {
		page := &rest.Page{Rows: []store.Row{{Body: []byte(c.body)}}, Wants: func(string) bool { return true }}
		if err := New(c.domain).Splice(t.Context(), nil, page); err != nil {
			t.Fatal(err)
		}
		if got, _ := page.Member(0, "dns_assignment"); string(got) != c.want {
			t.Errorf("%s %s: %s\nnot %s", c.domain, c.body, got, c.want)
		}
	}
	page := &rest.Page{Rows: []store.Row{{Body: []byte(`{"fixed_ips":[]}`)}}, Wants: func(string) bool { return false }}
	if err := New("x").Splice(t.Context(), nil, page); err != nil {
		t.Fatal(err)
	}
	if _, there := page.Member(0, "dns_assignment"); there {
		t.Error("what nobody wants is there")
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

// BenchmarkSplice is what dns_assignment adds to one port of a list.
func BenchmarkSplice(b *testing.B) {
	body := []byte(`{"id":"644a6ed9-6f5d-4f1e-9d6e-0123456789ab","project_id":"b0000000000000000000000000000000","tenant_id":"b0000000000000000000000000000000","description":"","created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z","revision_number":1,"tags":[],"name":"","network_id":"0a2aa19b-31ef-4916-81dd-094839f3a6b8","mac_address":"fa:16:3e:00:00:0a","admin_state_up":true,"status":"DOWN","device_id":"","device_owner":"","fixed_ips":[{"subnet_id":"47a7ff2b-28b4-4fae-b5d6-fc29ac232e56","ip_address":"10.0.0.9"}],"security_groups":["1784b3b2-cef2-433c-aab1-bdabeb862cda"],"allowed_address_pairs":[],"extra_dhcp_opts":[],"port_security_enabled":true,"binding:host_id":"","binding:vnic_type":"normal","binding:profile":{},"binding:vif_type":"unbound","binding:vif_details":{},"propagate_uplink_status":true,"data_plane_status":null,"dns_name":"","dns_domain":""}`)
	names := New("openstacklocal")
	b.ReportAllocs()
	for b.Loop() {
		page := &rest.Page{Rows: []store.Row{{Body: body}}, Wants: func(string) bool { return true }}
		if err := names.Splice(b.Context(), nil, page); err != nil {
			b.Fatal(err)
		}
	}
}
