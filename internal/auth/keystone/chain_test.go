package keystone_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"

	"isospin/isospintest"
)

// chained are two servers: the built-in identity of one is the Keystone of the other.
type chained struct {
	t        *testing.T
	identity *isospintest.Server
	server   *isospintest.Server
}

func chain(t *testing.T, more map[string]string) *chained {
	t.Helper()
	id := isospintest.Start(t, isospintest.Options{Auth: "dev"})
	options := map[string]string{
		"DEFAULT/bind_host": "127.0.0.1", "keystone_authtoken/auth_url": id.URL + "/identity/v3", "keystone_authtoken/username": "isospin-service",
		"keystone_authtoken/password": id.Password(t, "isospin-service"), "keystone_authtoken/project_name": "service",
	}
	for name, v := range more {
		options[name] = v
	}
	return &chained{t, id, isospintest.Start(t, isospintest.Options{Auth: "keystone", Config: options})}
}

func (c *chained) token(user, project string) string {
	c.t.Helper()
	cloud := map[string]string{"admin": "isospin", "demo": "isospin-demo", "reader": "isospin-reader", "isospin-service": "isospin-service"}[user]
	p, err := openstack.AuthenticatedClient(c.t.Context(), gophercloud.AuthOptions{IdentityEndpoint: c.identity.URL + "/identity/v3", Username: user,
		Password: c.identity.Password(c.t, cloud), DomainID: "default", Scope: &gophercloud.AuthScope{ProjectName: project, DomainID: "default"}})
	if err != nil {
		c.t.Fatal(err)
	}
	return p.TokenID
}

func (c *chained) do(token, method, path, body string) (int, http.Header, map[string]any) {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.server.URL+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("X-Auth-Token", token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }() // it was read
	var out map[string]any
	if resp.StatusCode != http.StatusNoContent {
		if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
			c.t.Fatal(err)
		}
	}
	return resp.StatusCode, resp.Header, out
}

// TestServerOnKeystone goes through a whole server.
func TestServerOnKeystone(t *testing.T) {
	c := chain(t, nil)
	demo, reader, admin := c.token("demo", "demo"), c.token("reader", "demo"), c.token("admin", "admin")
	for _, x := range []struct {
		who, token, method, path, body string
		want                           int
	}{
		{"demo", demo, "POST", "/v2.0/networks", `{"network": {"name": "n"}}`, 201},
		{"reader", reader, "POST", "/v2.0/networks", `{"network": {"name": "n"}}`, 403},
		{"reader", reader, "GET", "/v2.0/networks?name=n", "", 200},
		{"a stranger", "gAAAAAstranger", "GET", "/v2.0/networks", "", 401},
		{"admin", admin, "GET", "/isospin/status", "", 200},
		{"demo", demo, "GET", "/isospin/status", "", 403},
		{"a stranger", "gAAAAAstranger", "GET", "/isospin/status", "", 401},
	} {
		status, header, body := c.do(x.token, x.method, x.path, x.body)
		if status != x.want {
			t.Errorf("%s %s %s: %d %v, want %d", x.who, x.method, x.path, status, body, x.want)
		}
		if want := `Keystone uri="` + c.identity.URL + `/identity/v3"`; status == 401 && header.Get("WWW-Authenticate") != want {
			t.Errorf("challenge %q, want %q", header.Get("WWW-Authenticate"), want)
		}
	}
	if _, _, body := c.do(reader, "GET", "/v2.0/networks?fields=name", ""); len(body["networks"].([]any)) != 1 {
		t.Errorf("the reader lists %v", body)
	}
	// The server has no identity of its own.
	if status, _, _ := c.do(demo, "GET", "/identity/v3", ""); status != 404 {
		t.Errorf("an identity answers: %d", status)
	}
}

// TestPolicyReloadInAServer changes policy.yaml under a running server: a rule of an operation, one of an attribute that had none.
func TestPolicyReloadInAServer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("")
	c := chain(t, map[string]string{"oslo_policy/policy_file": file})
	demo := c.token("demo", "demo")
	if status, _, body := c.do(demo, "POST", "/v2.0/networks", `{"network": {"name": "n"}}`); status != 201 {
		t.Fatalf("%d %v", status, body)
	}
	write("create_network: \"!\"\nget_network:mtu: \"rule:admin_only\"\n")
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(20 * time.Second)
	for {
		status, _, body := c.do(demo, "POST", "/v2.0/networks", `{"network": {"name": "n"}}`)
		if status == 403 {
			break
		}
		if status != 201 {
			t.Fatalf("%d %v", status, body)
		}
		select {
		case <-limit:
			t.Fatal("the new rule is not in force")
		case <-tick.C:
		}
	}
	_, _, body := c.do(demo, "GET", "/v2.0/networks", "")
	for _, n := range body["networks"].([]any) {
		if _, shown := n.(map[string]any)["mtu"]; shown {
			t.Errorf("a member still sees what the new rule hides: %v", n)
			break
		}
	}
}
