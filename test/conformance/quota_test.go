package conformance

import (
	"fmt"
	"sync/atomic"
	"testing"

	"isospin/isospintest"
	"isospin/test/rig"
)

// roomy is a server in memory whose projects may have as much as they want.
func roomy(t testing.TB) rig.Caller {
	t.Helper()
	options := map[string]string{}
	for _, kind := range []string{"network", "subnet", "port", "security_group", "security_group_rule", "rbac_policy"} {
		options["quotas/quota_"+kind] = "-1"
	}
	s := isospintest.Start(t, isospintest.Options{Config: options})
	return rig.Caller{TB: t, URL: s.URL}.Who("A")
}

// TestQuotas: behaviour.md, section 15.
func TestQuotas(t *testing.T) {
	q := "/quotas/" + rig.ProjectM
	quick(t).Run(t, rig.Vars{}, []rig.Step{
		{As: "A", Do: "GET " + q, Want: "200", Has: "quota.network = 100\nquota.port = 500\nquota.security_group = 10\nquota.rbac_policy = 10\nquota.subnetpool = -1\nquota.project_id absent"},
		{As: "A", Do: "GET " + q + "/default", Want: "200", Has: "quota.port = 500\nquota.project_id absent"},
		{As: "A", Do: "GET " + q + "/details", Want: "200", Has: "quota.network.limit = 100\nquota.network.used = 0\nquota.network.reserved = 0"},
		{As: "A", Do: "GET /quotas", Want: "200", Has: "quotas.# = 0"},
		{As: "A", Do: "GET /quotas/tenant", Want: "200", Has: "tenant.tenant_id = \"" + rig.ProjectA + "\""},
		{As: "A", Do: "GET /quotas/project", Want: "200", Has: "project.project_id = \"" + rig.ProjectA + "\""},
		{As: "A", Do: "GET /quotas/nobody", Want: "200", Has: "quota.network = 100"},
		{As: "M", Do: "GET " + q, Want: "403"},
		{As: "M", Do: "GET " + q + "/details", Want: "403"},
		{As: "M", Do: "GET /quotas", Want: "403"},
		{As: "M", Do: "PUT " + q, Body: `{"quota": {"network": 5}}`, Want: "403"},
		{As: "M", Do: "DELETE " + q, Want: "403"},
		{As: "A", Do: "DELETE " + q, Want: "404 TenantQuotaNotFound"},
		{As: "A", Do: "PUT " + q, Body: `{"quota": {"network": "2", "subnet": -1}}`, Want: "200", Has: "quota.network = 2\nquota.subnet = -1\nquota.port = 500"},
		{As: "A", Do: "GET " + q + "/default", Want: "200", Has: "quota.network = 100"},
		{As: "A", Do: "GET /quotas", Want: "200", Has: "quotas.# = 1\nquotas.0.project_id = \"" + rig.ProjectM + "\"\nquotas.0.tenant_id = \"" + rig.ProjectM + "\"\nquotas.0.network = 2"},
		{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "one=network.id"},
		{As: "M", Do: "POST /networks", Body: `{"networks": [{}, {}]}`, Want: "409 OverQuota"},
		{As: "A", Do: "GET " + q + "/details", Want: "200", Has: "quota.network.used = 1\nquota.security_group.used = 1\nquota.security_group_rule.used = 4"},
		{As: "M", Do: "POST /networks", Body: `{"network": {"mtu": 999999}}`, Want: "400"},
		{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "two=network.id"},
		{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "409 OverQuota"},
		{As: "O", Do: "POST /networks", Body: `{"network": {}}`, Want: "201"},
		{As: "A", Do: "POST /networks", Body: `{"network": {"project_id": "` + rig.ProjectM + `"}}`, Want: "409 OverQuota"},
		{As: "M", Do: "DELETE /networks/${two}", Want: "204"},
		{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201"},
		{As: "A", Do: "PUT " + q, Body: `{"quota": {"network": 1}}`, Want: "400 InvalidInput"},
		{As: "A", Do: "PUT " + q, Body: `{"quota": {"network": 1, "check_limit": true}}`, Want: "400 InvalidInput"},
		{As: "A", Do: "PUT " + q, Body: `{"quota": {"network": 1, "force": true}}`, Want: "200", Has: "quota.network = 1"},
		{As: "A", Do: "PUT " + q, Body: `{"quota": {"network": 1, "force": "maybe"}}`, Want: "400"},
		{As: "A", Do: "PUT " + q, Body: `{"quota": {"network": -2}}`, Want: "400"},
		{As: "A", Do: "PUT " + q, Body: `{"quota": {"network": null}}`, Want: "400"},
		{As: "A", Do: "PUT " + q, Body: `{"quota": {"network": 2147483648}}`, Want: "400"},
		{As: "A", Do: "PUT " + q, Body: `{"quota": {"unicorn": 1}}`, Want: "400"},
		{As: "A", Do: "PUT " + q, Body: `{"quota": {}}`, Want: "200"},
		{As: "A", Do: "PUT " + q, Body: `{}`, Want: "400"},
		{As: "A", Do: "PUT " + q, Want: "400"},
		{As: "A", Do: "PUT " + q, Body: `[1]`, Want: "400"},
		{As: "A", Do: "POST /quotas", Body: `{"quota": {}}`, Want: "400"},
		{As: "A", Do: "PATCH " + q, Want: "405"},
		{As: "A", Do: "PUT " + q + "/default", Body: `{}`, Want: "405"},
		{As: "A", Do: "GET " + q + "/unicorns", Want: "404"},
		{As: "A", Do: "DELETE " + q, Want: "204"},
		{As: "A", Do: "DELETE " + q, Want: "404 TenantQuotaNotFound"},
		{As: "A", Do: "GET " + q, Want: "200", Has: "quota.network = 100"},
		{As: "A", Do: "PUT " + q, Body: `{"quota": {"security_group_rule": 5}}`, Want: "200"},
		{As: "M", Do: "POST /security-groups", Body: `{"security_group": {"name": "g"}}`, Want: "409 OverQuota"},
		{As: "A", Do: "PUT " + q, Body: `{"quota": {"security_group_rule": 6}}`, Want: "200"},
		{As: "M", Do: "POST /security-groups", Body: `{"security_group": {"name": "g"}}`, Want: "201", Save: "g=security_group.id"},
		{As: "M", Do: "POST /security-group-rules", Body: `{"security_group_rule": {"security_group_id": "${g}", "direction": "ingress"}}`, Want: "409 OverQuota"},
		{As: "M", Do: "DELETE /security-groups/${g}", Want: "204"},
		{As: "A", Do: "GET " + q + "/details", Want: "200", Has: "quota.security_group.used = 1\nquota.security_group_rule.used = 4"},
		{As: "M", Do: "POST /subnets", Body: `{"subnet": {"network_id": "${one}", "ip_version": 4, "cidr": "10.0.0.0/24"}}`, Want: "201"},
		{As: "M", Do: "POST /ports", Body: `{"ports": [{"network_id": "${one}"}, {"network_id": "${one}"}]}`, Want: "201", Save: "p=ports.0.id\np2=ports.1.id"},
		{As: "A", Do: "GET " + q + "/details", Want: "200", Has: "quota.subnet.used = 1\nquota.port.used = 2"},
		{As: "M", Do: "DELETE /ports/${p}", Want: "204"},
		{As: "M", Do: "DELETE /ports/${p2}", Want: "204"},
		{As: "M", Do: "DELETE /networks/${one}", Want: "204"},
		{As: "A", Do: "GET " + q + "/details", Want: "200", Has: "quota.subnet.used = 0\nquota.port.used = 0\nquota.network.used = 1"},
	})
}

// TestQuotaAtOnce: of many creates at once as many succeed as the limit has room for.
func TestQuotaAtOnce(t *testing.T) {
	c := quick(t)
	m := c.Who("M")
	if a := c.Do("PUT", "/quotas/"+rig.ProjectM, `{"quota": {"port": 20}}`); a.Status != 200 {
		t.Fatal(string(a.Body))
	}
	n := m.Make("/networks", "network", map[string]any{})["id"]
	var made, refused atomic.Int64
	done := make(chan struct{})
	for range 48 {
		go func() {
			defer func() { done <- struct{}{} }()
			switch a := m.Do("POST", "/ports", map[string]any{"port": map[string]any{"network_id": n}}); {
			case a.Status == 201:
				made.Add(1)
			case a.Fault() == "OverQuota":
				refused.Add(1)
			default:
				t.Errorf("%d %s %v", a.Status, a.Body, a.Err)
			}
		}()
	}
	for range 48 {
		<-done
	}
	used := c.Get("/quotas/"+rig.ProjectM+"/details", "quota")["port"]
	if made.Load() != 20 || refused.Load() != 28 || fmt.Sprint(used) != "map[limit:20 reserved:0 used:20]" {
		t.Errorf("%d made, %d refused, %v", made.Load(), refused.Load(), used)
	}
}
