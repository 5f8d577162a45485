package conformance

import (
	"strings"
	"testing"

	"isospin/isospintest"
	"isospin/test/rig"
)

// TestDNSUsualDomain: in a cloud without a domain of its own names are taken and forgotten (behaviour.md, section 10).
func TestDNSUsualDomain(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		c.Run(t, rig.Vars{}, []rig.Step{
			{As: "M", Do: "POST /networks", Body: `{"network": {"dns_domain": "Example.COM."}}`, Want: "201", Save: "net=network.id", Has: "network.dns_domain = \"example.com.\""},
			{As: "M", Do: "PUT /networks/${net}", Body: `{"network": {"dns_domain": "example.com"}}`, Want: "400"},
			{As: "M", Do: "PUT /networks/${net}", Body: `{"network": {"dns_domain": "<project_id>.example.com."}}`, Want: "200", Has: "network.dns_domain = \"<project_id>.example.com.\""},
			{As: "M", Do: "PUT /networks/${net}", Body: `{"network": {"dns_domain": "<nobody>.example.com."}}`, Want: "400"},
			{As: "M", Do: "PUT /networks/${net}", Body: `{"network": {"dns_domain": ""}}`, Want: "200", Has: "network.dns_domain = \"\""},
			{As: "M", Do: "PUT /networks/${net}", Body: `{"network": {"dns_domain": null}}`, Want: "400"},
			{As: "M", Do: "POST /ports", Body: portOf(`, "dns_name": "web"`), Want: "201", Has: "port.dns_name = \"\"\nport.dns_assignment = []\nport.dns_domain = \"\""},
			{As: "M", Do: "POST /subnets", Body: subnetOf(`"ip_version": 4, "cidr": "10.0.0.0/24", "dns_publish_fixed_ip": true`), Want: "201", Save: "sub=subnet.id", Has: "subnet.dns_publish_fixed_ip = true"},
			{As: "M", Do: "PUT /subnets/${sub}", Body: `{"subnet": {"dns_publish_fixed_ip": false}}`, Want: "200", Has: "subnet.dns_publish_fixed_ip = false"},
			{As: "M", Do: "POST /subnets", Body: subnetOf(`"ip_version": 6, "cidr": "2001:db8::/64"`), Want: "201", Has: "subnet.dns_publish_fixed_ip = false"},
			{As: "M", Do: "POST /ports", Body: portOf(`, "dns_name": "web", "dns_domain": "x.org.", "fixed_ips": [{"ip_address": "10.0.0.5"}, {"ip_address": "2001:db8::5"}]`), Want: "201", Save: "p=port.id",
				Has: "port.dns_name = \"\"\nport.dns_assignment = [{\"ip_address\": \"10.0.0.5\", \"hostname\": \"host-10-0-0-5\", \"fqdn\": \"host-10-0-0-5.openstacklocal.\"}, " +
					"{\"ip_address\": \"2001:db8::5\", \"hostname\": \"host-2001-db8--5\", \"fqdn\": \"host-2001-db8--5.openstacklocal.\"}]"},
			{As: "M", Do: "PUT /ports/${p}", Body: `{"port": {"dns_name": "-web"}}`, Want: "400"},
			{As: "M", Do: "PUT /ports/${p}", Body: `{"port": {"dns_name": "<project_id>"}}`, Want: "400"},
			{As: "M", Do: "PUT /ports/${p}", Body: `{"port": {"dns_assignment": []}}`, Want: "400"},
			{As: "M", Do: "GET /ports/${p}?fields=dns_name", Want: "200", Has: "port = {\"dns_name\": \"\"}"},
			{As: "M", Do: "GET /ports/${p}?fields=dns_assignment", Want: "200", Has: "port.dns_assignment.# = 2\nport.id absent"},
			{As: "M", Do: "GET /ports?dns_name=web", Want: "400"},
			{As: "O", Do: "GET /ports/${p}", Want: "404"},
		})
	})
}

// TestDNSOwnDomain: with a domain of its own a cloud knows ports by their names.
func TestDNSOwnDomain(t *testing.T) {
	s := isospintest.Start(t, isospintest.Options{Config: map[string]string{"DEFAULT/dns_domain": "cloud.example"}})
	long := strings.Repeat("a", 63) + "." + strings.Repeat("b", 63) + "." + strings.Repeat("c", 63) + "."
	rig.Caller{TB: t, URL: s.URL}.Run(t, rig.Vars{}, []rig.Step{
		{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net=network.id"},
		{As: "M", Do: "POST /subnets", Body: subnetOf(`"ip_version": 4, "cidr": "10.0.0.0/24"`), Want: "201", Save: "sub=subnet.id"},
		{As: "M", Do: "POST /ports", Body: portOf(`, "dns_name": "Web", "dns_domain": "X.org.", "fixed_ips": [{"ip_address": "10.0.0.5"}]`), Want: "201", Save: "p=port.id",
			Has: "port.dns_name = \"web\"\nport.dns_domain = \"x.org.\"\nport.dns_assignment = [{\"ip_address\": \"10.0.0.5\", \"hostname\": \"web\", \"fqdn\": \"web.cloud.example.\"}]"},
		{As: "M", Do: "PUT /ports/${p}", Body: `{"port": {"dns_name": "web.cloud.example."}}`, Want: "200",
			Has: "port.dns_name = \"web.cloud.example.\"\nport.dns_assignment.0.fqdn = \"web.cloud.example.\"\nport.revision_number = 2"},
		{As: "M", Do: "PUT /ports/${p}", Body: `{"port": {"dns_name": "web.other.example."}}`, Want: "400 InvalidInput"},
		{As: "M", Do: "PUT /ports/${p}", Body: `{"port": {"dns_name": "cloud.example."}}`, Want: "400 InvalidInput"},
		{As: "M", Do: "PUT /ports/${p}", Body: `{"port": {"dns_name": "` + long + strings.Repeat("d", 48) + `"}}`, Want: "200"},
		{As: "M", Do: "PUT /ports/${p}", Body: `{"port": {"dns_name": "` + long + strings.Repeat("d", 49) + `"}}`, Want: "400 InvalidInput"},
		{As: "M", Do: "PUT /ports/${p}", Body: `{"port": {"dns_name": ""}}`, Want: "200", Has: "port.dns_name = \"\"\nport.dns_assignment.0.hostname = \"host-10-0-0-5\"\nport.dns_assignment.0.fqdn = \"host-10-0-0-5.cloud.example.\"\nport.dns_domain = \"x.org.\""},
		{As: "M", Do: "PUT /ports/${p}", Body: `{"port": {"dns_name": null}}`, Want: "400"},
	})
}
