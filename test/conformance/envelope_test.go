package conformance

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"isospin/test/rig"
)

// TestVersions: behaviour.md, section 1.
func TestVersions(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		a := c.Do("GET", "/", nil)
		var versions struct {
			Versions []struct {
				ID, Status string
				Links      []struct{ Rel, Href string }
			}
		}
		if err := json.Unmarshal(a.Body, &versions); err != nil || len(versions.Versions) != 1 {
			t.Fatalf("%s: %v", a.Body, err)
		}
		v := versions.Versions[0]
		if v.ID != "v2.0" || v.Status != "CURRENT" || v.Links[0].Href != c.URL+"/v2.0/" || v.Links[0].Rel != "self" {
			t.Errorf("%+v", v)
		}
		if id := a.Header.Get("X-Openstack-Request-Id"); !strings.HasPrefix(id, "req-") || len(id) != 40 {
			t.Errorf("request id %q", id)
		}
		var index struct {
			Resources []struct {
				Name, Collection string
				Links            []struct{ Rel, Href string }
			}
		}
		if err := json.Unmarshal(c.Do("GET", "/v2.0/", nil).Body, &index); err != nil {
			t.Fatal(err)
		}
		for _, r := range index.Resources {
			switch r.Name {
			case "network", "subnet", "subnetpool", "port":
			default:
				t.Errorf("GET /v2.0/ lists %s", r.Name)
			}
			if r.Collection != r.Name+"s" || r.Links[0].Href != c.URL+"/v2.0/"+r.Collection {
				t.Errorf("%+v", r)
			}
		}
		if len(index.Resources) < 3 {
			t.Errorf("%+v", index)
		}
	})
}

// TestExtensions: items have exactly these members, an unknown alias is plain text.
func TestExtensions(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		c = c.Who("R")
		list := c.List("/extensions", "extensions")
		have := map[string]bool{}
		for _, x := range list {
			have[x["alias"].(string)] = true //nolint:errcheck // a test may panic
			for _, k := range []string{"alias", "name", "description", "updated", "links"} {
				if _, ok := x[k]; !ok || len(x) != 5 {
					t.Errorf("%v", x)
				}
			}
		}
		for _, alias := range []string{"provider", "binding", "security-group", "external-net", "net-mtu", "port-security", "extra_dhcp_opt",
			"allowed-address-pairs", "multi-provider", "standard-attr-revisions", "pagination", "sorting", "project-id", "filter-validation"} {
			if !have[alias] {
				t.Errorf("%s is not among the extensions", alias)
			}
			if x := c.Get("/extensions/"+alias, "extension"); x["alias"] != alias {
				t.Errorf("%v", x)
			}
		}
		a := c.Do("GET", "/extensions/nope", nil)
		if a.Status != 404 || strings.HasPrefix(strings.TrimSpace(string(a.Body)), "{") || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/plain") {
			t.Errorf("%d %s %s", a.Status, a.Header, a.Body)
		}
	})
}

// TestVerbs: behaviour.md, section 2.
func TestVerbs(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		c.Run(t, rig.Vars{}, []rig.Step{
			{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net=network.id",
				Has: "network.name = \"\"\nnetwork.admin_state_up = true\nnetwork.status = \"ACTIVE\"\nnetwork.shared = false\nnetwork.subnets = []\nnetwork.revision_number = 1\nnetwork.mtu = 1450\nnetwork.description = \"\"\nnetwork.project_id = \"" + rig.ProjectM + "\"\nnetwork.tenant_id = \"" + rig.ProjectM + "\"\nnetwork.port_security_enabled = true\nnetwork.router:external = false"},
			{As: "M", Do: "PUT /networks/${net}", Body: `{"network": {}}`, Want: "200", Has: "network.revision_number = 1"},
			{As: "M", Do: "PUT /networks/${net}", Body: `{"network": {"name": ""}}`, Want: "200", Has: "network.revision_number = 1"},
			{As: "M", Do: "PUT /networks/${net}", Body: `{"network": {"name": "x"}}`, Want: "200", Has: "network.revision_number = 2\nnetwork.name = \"x\""},
			{As: "M", Do: "PUT /networks/${net}", Body: `{"network": {"name": null}}`, Want: "400 HTTPBadRequest"},
			{As: "M", Do: "PUT /networks/${net}", Body: `{"network": {"status": "ACTIVE"}}`, Want: "400 HTTPBadRequest"},
			{As: "M", Do: "PUT /networks/${net}", Body: `{"network": {"id": "${net}"}}`, Want: "400 HTTPBadRequest"},
			{As: "M", Do: "PUT /networks/${net}", Body: `{"network": {"project_id": "` + rig.ProjectM + `"}}`, Want: "400 HTTPBadRequest"},
			{As: "M", Do: "POST /networks", Body: `{"network": {"id": "${net}"}}`, Want: "400 HTTPBadRequest"},
			{As: "M", Do: "POST /networks", Body: `{"network": {"nope": 1}}`, Want: "400 HTTPBadRequest"},
			{As: "M", Do: "POST /networks", Body: `{"network": {"admin_state_up": "no"}}`, Want: "201", Has: "network.admin_state_up = false\nnetwork.status = \"ACTIVE\""},
			{As: "M", Do: "POST /networks", Body: `{"network": {"admin_state_up": "maybe"}}`, Want: "400 InvalidInput"},
			{As: "M", Do: "POST /networks", Body: ``, Want: "400 HTTPBadRequest"},
			{As: "M", Do: "POST /networks", Body: `{"port": {}}`, Want: "400 HTTPBadRequest"},
			{As: "M", Do: "POST /networks", Body: `[]`, Want: "400 HTTPBadRequest"},
			{As: "M", Do: "POST /networks", Body: `{`, Want: "400 HTTPBadRequest"},
			{As: "M", Do: "POST /security-groups", Body: `{`, Want: "400 MalformedRequestBody"},
			{As: "M", Do: "PUT /networks/${net}", Body: ``, Want: "400 HTTPBadRequest"},
			{As: "M", Do: "PUT /networks", Body: `{"network": {}}`, Want: "404 NetworkNotFound"},
			{As: "M", Do: "DELETE /networks", Want: "404 NetworkNotFound"},
			{As: "M", Do: "DELETE /security-groups", Want: "404 SecurityGroupNotFound"},
			{As: "M", Do: "PATCH /networks/${net}", Body: `{}`, Want: "405"},
			{As: "M", Do: "HEAD /networks", Want: "405"},
			{As: "M", Do: "POST /networks/${net}", Body: `{"network": {}}`, Want: "405"},
			{As: "M", Do: "GET /nope", Want: "404"},
			{As: "M", Do: "GET /networks/${net}/nope", Want: "404"},
			{As: "M", Do: "GET /networks/", Want: "200", Has: "networks.# = 2"},
			{As: "M", Do: "GET /networks.json", Want: "200", Has: "networks.# = 2"},
			{As: "M", Do: "GET /networks/${net}.json", Want: "200", Has: "network.id = \"${net}\""},
			{As: "M", Do: "GET /security_groups", Want: "200", Has: "security_groups.# = 1"},
			{As: "M", Do: "DELETE /networks/${net}", Body: `{}`, Want: "400"},
			{As: "M", Do: "DELETE /networks/${net}", Want: "204"},
			{As: "M", Do: "DELETE /networks/${net}", Want: "404 NetworkNotFound"},
			{As: "M", Do: "GET /networks/${net}", Want: "404 NetworkNotFound"},
			{As: "M", Do: "PUT /networks/${net}", Body: `{"network": {"name": "x"}}`, Want: "404 NetworkNotFound"},
			{As: "M", Do: "POST /networks", Body: `{"network": {"project_id": "p", "tenant_id": "q"}}`, Want: "400"},
			{As: "M", Do: "POST /networks", Body: `{"network": {"project_id": "` + rig.ProjectO + `"}}`, Want: "400"},
			{As: "A", Do: "POST /networks", Body: `{"network": {"tenant_id": "` + rig.ProjectM + `"}}`, Want: "201", Has: "network.project_id = \"" + rig.ProjectM + "\""},
			{As: "A", Do: "POST /networks", Body: `{"network": {"tenant_id": ""}}`, Want: "400"},
			{As: "R", Do: "POST /networks", Body: `{"network": {}}`, Want: "403 PolicyNotAuthorized"},
		})
	})
}

// TestBulk: behaviour.md, section 3.
func TestBulk(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		c.Run(t, rig.Vars{}, []rig.Step{
			{As: "M", Do: "POST /networks", Body: `{"networks": [{"name": "a"}, {"network": {"name": "b"}}, {"name": "c"}]}`, Want: "201",
				Has: "networks.# = 3\nnetworks.0.name = \"a\"\nnetworks.1.name = \"b\"\nnetworks.2.name = \"c\"", Save: "net=networks.0.id"},
			{As: "M", Do: "POST /networks", Body: `{"networks": [{"name": "d"}, {"nope": "b"}]}`, Want: "400"},
			{As: "M", Do: "POST /networks", Body: `{"networks": [{"name": "d"}, {"shared": true}]}`, Want: "403 PolicyNotAuthorized"},
			{As: "M", Do: "POST /networks", Body: `{"networks": []}`, Want: "400"},
			{As: "M", Do: "POST /networks", Body: `{"networks": {}}`, Want: "400"},
			{As: "M", Do: "POST /networks", Body: `{"networks": [1]}`, Want: "400"},
			{As: "M", Do: "PUT /networks/${net}", Body: `{"networks": [{"name": "x"}]}`, Want: "400"},
			{As: "M", Do: "GET /networks", Want: "200", Has: "networks.# = 3"},
			{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net}", "ip_version": 4, "cidr": "10.0.0.0/29"}}`, Want: "201", Save: "sub=subnet.id"},
			// Six hosts less the gateway: five addresses. The sixth port fails, and all with it.
			{As: "M", Do: "POST /ports", Body: `{"ports": [{"network_id": "${net}"}, {"network_id": "${net}"}, {"network_id": "${net}"}, {"network_id": "${net}"}, {"network_id": "${net}"}, {"network_id": "${net}"}]}`, Want: "409 IpAddressGenerationFailure"},
			{As: "M", Do: "GET /ports", Want: "200", Has: "ports.# = 0"},
			{As: "M", Do: "POST /ports", Body: `{"ports": [{"network_id": "${net}"}, {"network_id": "${net}"}, {"network_id": "${net}"}, {"network_id": "${net}"}, {"network_id": "${net}"}]}`, Want: "201", Has: "ports.# = 5"},
			{As: "M", Do: "POST /security-groups", Body: `{"security_groups": [{"name": "a"}, {"name": "b"}]}`, Want: "201", Save: "g=security_groups.0.id h=security_groups.1.id"},
			{As: "M", Do: "POST /security-group-rules", Body: `{"security_group_rules": [{"security_group_id": "${g}", "direction": "ingress", "protocol": "tcp"}, {"security_group_id": "${g}", "direction": "ingress", "protocol": "6"}]}`, Want: "409 DuplicateSecurityGroupRuleInPost"},
			{As: "M", Do: "POST /security-group-rules", Body: `{"security_group_rules": [{"security_group_id": "${g}", "direction": "ingress", "protocol": "tcp"}, {"security_group_id": "${h}", "direction": "ingress", "protocol": "tcp"}]}`, Want: "400 SecurityGroupNotSingleGroupRules"},
			{As: "M", Do: "POST /security-group-rules", Body: `{"security_group_rules": [{"security_group_id": "${g}", "direction": "ingress", "protocol": "tcp"}, {"security_group_id": "${g}", "direction": "ingress", "protocol": "udp"}]}`, Want: "201", Has: "security_group_rules.# = 2"},
		})
	})
}

// TestMethodsTellNothing: upstream-faults.md: an unknown method skips Neutron's policy filter.
func TestMethodsTellNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		n := c.Make("/networks", "network", map[string]any{"name": "secret", "shared": true, "provider:network_type": "vlan", "provider:physical_network": "physnet1", "provider:segmentation_id": 77})
		for _, method := range []string{"OPTIONS", "TRACE", "BREW", "HEAD", "PATCH", "PROPFIND"} {
			for _, path := range []string{"/networks", "/networks/" + n["id"].(string), "/ports", "/security-groups", "/extensions", "/"} {
				for _, who := range []string{"M", "A"} {
					a := c.Who(who).Do(method, path, nil)
					ok := a.Status == http.StatusMethodNotAllowed || path == "/" && method == "HEAD"
					if a.Err != nil || !ok || strings.Contains(string(a.Body), "secret") || strings.Contains(string(a.Body), "77") {
						t.Errorf("%s %s as %s: %d %s %v", method, path, who, a.Status, a.Body, a.Err)
					}
				}
			}
		}
	})
}

// TestRevisions: behaviour.md, section 7.
func TestRevisions(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		c.Run(t, rig.Vars{}, []rig.Step{
			{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net=network.id"},
			{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${net}", "ip_version": 4, "cidr": "10.0.0.0/24"}}`, Want: "201", Save: "sub=subnet.id", Has: "subnet.revision_number = 0"},
			{As: "M", Do: "GET /networks/${net}", Want: "200", Has: "network.revision_number = 2\nnetwork.subnets = [\"${sub}\"]"},
			{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}"}}`, Want: "201", Save: "port=port.id", Has: "port.revision_number = 1"},
			{As: "M", Do: "GET /networks/${net}", Want: "200", Has: "network.revision_number = 2"},
			{As: "M", Do: "PUT /ports/${port}", Body: `{"port": {"name": "x"}}`, Header: "If-Match: revision_number=7", Want: "412 RevisionNumberConstraintFailed"},
			{As: "M", Do: "PUT /ports/${port}", Body: `{"port": {"name": "x"}}`, Header: "If-Match: revision_number=x", Want: "400"},
			{As: "M", Do: "PUT /ports/${port}", Body: `{"port": {"name": "x"}}`, Header: "If-Match: \"abc\"", Want: "200", Has: "port.revision_number = 2"},
			{As: "M", Do: "PUT /ports/${port}", Body: `{"port": {"name": "y"}}`, Header: "If-Match: revision_number=2", Want: "200", Has: "port.revision_number = 3"},
			{As: "M", Do: "DELETE /ports/${port}", Header: "If-Match: revision_number=2", Want: "412 RevisionNumberConstraintFailed"},
			{As: "M", Do: "POST /security-groups", Body: `{"security_group": {"name": "g"}}`, Want: "201", Save: "g=security_group.id", Has: "security_group.revision_number = 1"},
			{As: "M", Do: "POST /security-group-rules", Body: `{"security_group_rule": {"security_group_id": "${g}", "direction": "ingress"}}`, Want: "201", Save: "rule=security_group_rule.id", Has: "security_group_rule.revision_number = 0"},
			{As: "M", Do: "GET /security-groups/${g}", Want: "200", Has: "security_group.revision_number = 2\nsecurity_group.security_group_rules.# = 3"},
			{As: "M", Do: "DELETE /security-group-rules/${rule}", Want: "204"},
			{As: "M", Do: "GET /security-groups/${g}", Want: "200", Has: "security_group.revision_number = 3"},
		})
	})
}
