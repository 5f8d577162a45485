//go:build integration

package identity

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// cloudEnv is the environment that `isospin up` tells people to export.
func (w *world) cloudEnv(cloud string) []string {
	return append(os.Environ(), "OS_CLIENT_CONFIG_FILE="+filepath.Join(w.dir, "clouds.yaml"), "OS_CLOUD="+cloud, "PYTHONUNBUFFERED=1")
}

// openstack runs the commands in one client process and returns its output; each must succeed.
func (w *world) openstack(cloud string, commands ...string) string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/usr/bin/openstack")
	cmd.Env = w.cloudEnv(cloud)
	cmd.Stdin = strings.NewReader(strings.Join(commands, "\n") + "\n")
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("openstack as %s: %v\n%s", cloud, err, out)
	}
	return string(out)
}

func wants(t *testing.T, cloud, out string, texts ...string) {
	t.Helper()
	for _, s := range texts {
		if !strings.Contains(out, s) {
			t.Errorf("%s: %q is missing in\n%s", cloud, s, out)
		}
	}
}

// TestOpenstackclient needs Debian's python3-openstackclient.
func TestOpenstackclient(t *testing.T) {
	w := newWorld(t)
	w.clock.Advance(time.Since(w.clock.Now())) // the client compares a token's end with the real time
	for _, cloud := range []string{"isospin-demo", "isospin-reader", "isospin-service"} {
		out := w.openstack(cloud, "token issue -f json", "catalog list", "project list")
		wants(t, cloud, out, `"project_id"`, `"expires"`, "isospin-identity", w.url)
	}
	out := w.openstack("isospin",
		"token issue -f json", "project list", "user list", "role list", "domain list", "role assignment list", "catalog list",
		"domain create acme", "project create --domain acme --tag x p1", "user create --domain acme --password sesame --email a@example.org ann",
		"role add --user ann --user-domain acme --project p1 --project-domain acme member", "role assignment list --names --user ann --user-domain acme",
		"user list --project p1", "user show --domain acme ann", "project set --domain acme --description text p1", "project show --domain acme p1",
		"role create auditor", "role show auditor", "role delete auditor", "role assignment list --system all --names",
		"endpoint list", "service list", "region list", "user set --domain acme --password other ann",
		"role remove --user ann --user-domain acme --project p1 --project-domain acme member",
		"user delete --domain acme ann", "project delete --domain acme p1", "domain set --disable acme", "domain delete acme")
	wants(t, "isospin", out, "isospin-service", "manager", "Default", "acme", "ann@acme", "p1@acme", "text", "auditor", "admin@Default", "RegionOne", "isospin-identity")
	for _, bad := range []string{"HTTP 4", "HTTP 5", "No user", "No project", "Could not", "rror"} {
		if i := strings.Index(out, bad); i >= 0 {
			t.Errorf("something went wrong: %s\n%s", out[max(0, i-200):min(len(out), i+200)], out)
		}
	}
	if n := len(w.s.state.Load().snap.Domains); n != 1 {
		t.Errorf("%d domains are left", n)
	}
}

// TestOpenstacksdk needs Debian's python3-openstacksdk, which comes with the client.
func TestOpenstacksdk(t *testing.T) {
	w := newWorld(t)
	w.clock.Advance(time.Since(w.clock.Now()))
	script := `
import openstack
c = openstack.connect()
print("project", c.current_project.name)
print("network", c.session.get_endpoint(service_type="network", interface="public"))
for p in c.identity.user_projects(c.current_user_id) if hasattr(c.identity, "user_projects") else []:
    print("mine", p.name)
print("roles", sorted(c.session.auth.get_access(c.session).role_names))
`
	for cloud, project := range map[string]string{"isospin": "admin", "isospin-demo": "demo", "isospin-reader": "demo", "isospin-service": "service"} {
		cmd := exec.CommandContext(t.Context(), "/usr/bin/python3", "-c", script)
		cmd.Env = w.cloudEnv(cloud)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", cloud, err, out)
		}
		wants(t, cloud, string(out), "project "+project, fmt.Sprintf("network %s", w.url), "roles [")
	}
}
