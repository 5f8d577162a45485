//go:build integration

package keystone_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"

	"isospin/internal/auth"
	"isospin/internal/auth/keystone"
	"isospin/internal/auth/keystone/keystonetest"
	"isospin/internal/clock"
	"isospin/internal/config"
	"isospin/internal/telemetry"
	"isospin/isospintest"
)

const secret = "a user's secret"

// real is a cloud: Debian's Keystone, and Isospin with auth_strategy keystone in its catalogue.
type real struct {
	*keystonetest.Keystone
	isospin *isospintest.Server
	log     *log
	users   map[string]string // ids by name
	project map[string]string // ids by name
	tokens  map[string]string // by user, for all tests that spoil none
}

// log is Isospin's.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// cacheTime is that of the Isospin whose memory is to be short.
const cacheTime = 3 * time.Second

// TestRealKeystone needs Debian's keystone, python3-pymysql, python3-waitress, mariadb-server and python3-openstackclient.
func TestRealKeystone(t *testing.T) {
	k, err := keystonetest.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Stop(); err != nil {
			t.Error(err)
		}
	})
	c := &real{Keystone: k, users: map[string]string{}, project: map[string]string{}, tokens: map[string]string{}, log: &log{}}
	for _, u := range []struct{ name, project, roles string }{
		{"neutron", "service", "service"}, {"nova", "service", "service"}, {"ann", "p1", "member"}, {"bob", "p1", "reader"}, {"eve", "p2", "member"},
		{"nobody", "p1", "other"},
	} {
		if c.users[u.name], err = k.User(t.Context(), u.name, secret, u.project, u.roles); err != nil {
			t.Fatal(err)
		}
		if c.project[u.project], err = k.Project(t.Context(), u.project); err != nil {
			t.Fatal(err)
		}
	}
	c.isospin = c.serve(t, nil)
	if err := k.Register(t.Context(), "network", "isospin", c.isospin.URL); err != nil {
		t.Fatal(err)
	}
	t.Run("scopes", c.scopes)
	t.Run("the stand-in answers the same", c.standIn)
	t.Run("verdicts", c.verdicts)
	t.Run("openstackclient", c.client)
	t.Run("access rules", c.accessRules)
	t.Run("service tokens", c.serviceTokens)
	t.Run("revocation", c.revocation)
	t.Run("away", c.away)
	if said := c.log.String(); strings.Contains(said, "gAAAA") || strings.Contains(said, secret) {
		t.Errorf("a secret is in the log:\n%s", said)
	}
}

// serve starts an Isospin that asks this Keystone.
func (c *real) serve(t *testing.T, more map[string]string) *isospintest.Server {
	t.Helper()
	options := map[string]string{"DEFAULT/bind_host": "127.0.0.1", "keystone_authtoken/http_connect_timeout": "60"} // the machine may be busy
	for name, v := range c.Authtoken("neutron", secret) {
		options["keystone_authtoken/"+name] = v
	}
	for name, v := range more {
		options[name] = v
	}
	return isospintest.Start(t, isospintest.Options{Auth: "keystone", Config: options, Log: c.log})
}

// login takes a new token of a user in a project.
func (c *real) login(t *testing.T, user, project string) string {
	t.Helper()
	p, err := c.As(t.Context(), keystonetest.InProject(user, secret, project))
	if err != nil {
		t.Fatal(err)
	}
	return p.TokenID
}

// token is a token of a user in a project, the same for all.
func (c *real) token(t *testing.T, user, project string) string {
	t.Helper()
	if c.tokens[user] == "" {
		c.tokens[user] = c.login(t, user, project)
	}
	return c.tokens[user]
}

// ask sends a request to Isospin and gives status, challenge and body.
func ask(t *testing.T, url, method, path, token, service string, body any) (status int, challenge string, answer map[string]any) {
	t.Helper()
	var in io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		in = bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, url+path, in)
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]string{"X-Auth-Token": token, "X-Service-Token": service} {
		if v != "" {
			r.Header.Set(name, v)
		}
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &answer); err != nil {
			t.Fatalf("%v: %s", err, raw)
		}
	}
	return resp.StatusCode, resp.Header.Get("WWW-Authenticate"), answer
}

// is compares the status of a GET of the networks.
func (c *real) is(t *testing.T, s *isospintest.Server, want int, token, service string) {
	t.Helper()
	status, challenge, body := ask(t, s.URL, "GET", "/v2.0/networks", token, service, nil)
	if status != want {
		t.Errorf("%d %v, want %d", status, body, want)
	}
	if uri := `Keystone uri="` + c.URL + `"`; (challenge == uri) != (status == 401) {
		t.Errorf("%d with the challenge %q", status, challenge)
	}
}

// scopes compares principals with what Keystone was told.
func (c *real) scopes(t *testing.T) {
	ctx := t.Context()
	if err := c.Grant(ctx, c.users["ann"], "reader", roles.AssignOpts{DomainID: "default"}); err != nil {
		t.Fatal(err)
	}
	a, err := keystone.New(keystone.Config{Clock: clock.System{}, Log: telemetry.Discard(), Registry: telemetry.NewRegistry(),
		Authtoken: config.Authtoken{URL: c.URL, Username: "neutron", Password: secret, ProjectName: "service", Timeout: 10 * time.Second, CacheSeconds: 300}})
	if err != nil {
		t.Fatal(err)
	}
	ann := auth.Principal{UserID: c.users["ann"], UserName: "ann", UserDomainID: "default"}
	in := func(change func(*auth.Principal)) auth.Principal { p := ann; change(&p); return p }
	password := func(o gophercloud.AuthOptions) gophercloud.AuthOptions {
		o.Username, o.Password, o.DomainID = "ann", secret, "default"
		return o
	}
	for name, x := range map[string]struct {
		options gophercloud.AuthOptions
		want    auth.Principal
	}{
		"project": {keystonetest.InProject("ann", secret, "p1"), in(func(p *auth.Principal) {
			p.ProjectID, p.ProjectName, p.ProjectDomainID, p.Roles = c.project["p1"], "p1", "default", []string{"member", "reader"}
		})},
		"domain": {password(gophercloud.AuthOptions{Scope: &gophercloud.AuthScope{DomainID: "default"}}), in(func(p *auth.Principal) {
			p.DomainID, p.Roles = "default", []string{"reader"}
		})},
		"unscoped": {password(gophercloud.AuthOptions{}), ann},
	} {
		provider, err := c.As(ctx, x.options)
		if err != nil {
			t.Fatal(err)
		}
		c.compare(t, name, a, provider.TokenID, x.want)
	}
	admin, err := c.As(ctx, gophercloud.AuthOptions{Username: "admin", Password: c.AdminPassword, DomainID: "default", Scope: &gophercloud.AuthScope{System: true}})
	if err != nil {
		t.Fatal(err)
	}
	id, err := tokens.Get(ctx, c.Admin(), admin.TokenID).ExtractUser()
	if err != nil {
		t.Fatal(err)
	}
	c.compare(t, "system", a, admin.TokenID, auth.Principal{UserID: id.ID, UserName: "admin", UserDomainID: "default", SystemScope: "all",
		Roles: []string{"admin", "member", "reader"}})
}

func (c *real) compare(t *testing.T, name string, a *keystone.Authenticator, token string, want auth.Principal) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Auth-Token", token)
	p, err := a.Authenticate(r)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	sorted := cmp.Transformer("sorted", func(list []string) map[string]bool {
		m := map[string]bool{}
		for _, s := range list {
			m[s] = true
		}
		return m
	})
	if diff := cmp.Diff(&want, p, sorted); diff != "" {
		t.Errorf("%s: %s", name, diff)
	}
}

// standIn asks the stand-in and the real one the same and compares the statuses: the unit tests are worth as much as it is.
func (c *real) standIn(t *testing.T) {
	fake := keystonetest.NewFake(t, time.Now)
	serviceToken := fake.Issue(keystonetest.Of("nova", "service", time.Now(), "service"))
	member := fake.Issue(keystonetest.Of("ann", "p1", time.Now(), "member"))
	both := [2]map[string]string{
		{"": "", "service": c.token(t, "nova", "service"), "member": c.token(t, "ann", "p1"), "other": c.token(t, "eve", "p2"), "wrong": "gAAAAAwrong"},
		{"": "", "service": serviceToken, "member": member, "other": fake.Issue(keystonetest.Of("eve", "p2", time.Now(), "member")), "wrong": "gAAAAAwrong"},
	}
	for i, x := range []struct{ asker, subject, query string }{
		{"service", "member", ""}, {"service", "member", "?nocatalog"}, {"service", "member", "?nocatalog&allow_expired=1"},
		{"service", "wrong", "?nocatalog"}, {"service", "", "?nocatalog"}, {"", "member", ""}, {"wrong", "member", ""}, {"other", "member", ""},
	} {
		var got [2]int
		for side, url := range []string{c.URL, fake.URL + "/v3"} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/auth/tokens"+x.query, nil)
			if err != nil {
				t.Fatal(err)
			}
			if v := both[side][x.asker]; v != "" {
				r.Header.Set("X-Auth-Token", v)
			}
			if v := both[side][x.subject]; v != "" {
				r.Header.Set("X-Subject-Token", v)
			}
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			var body struct {
				Token *struct {
					User struct{ Name string }
				}
				Error *struct{ Code int }
			}
			if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
				t.Fatal(err)
			}
			if err := resp.Body.Close(); err != nil {
				t.Fatal(err)
			}
			got[side] = resp.StatusCode
			if (body.Token != nil) != (resp.StatusCode == 200) || (body.Error != nil) != (resp.StatusCode != 200) || body.Error != nil && body.Error.Code != resp.StatusCode {
				t.Errorf("%d: %s answers %d with %+v", i, url, resp.StatusCode, body)
			}
		}
		if got[0] != got[1] {
			t.Errorf("%s about %q%s: Keystone answers %d, the stand-in %d", x.asker, x.subject, x.query, got[0], got[1])
		}
	}
}

// network is Isospin's API for a user of gophercloud, found through the catalogue.
func (c *real) network(t *testing.T, user, project string) *gophercloud.ServiceClient {
	t.Helper()
	p, err := c.As(t.Context(), keystonetest.InProject(user, secret, project))
	if err != nil {
		t.Fatal(err)
	}
	n, err := openstack.NewNetworkV2(p, gophercloud.EndpointOpts{Region: "RegionOne"})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// verdicts: what member, reader, service, admin, a stranger and a role that means nothing may do with a member's network.
func (c *real) verdicts(t *testing.T) {
	ctx := t.Context()
	made, err := networks.Create(ctx, c.network(t, "ann", "p1"), networks.CreateOpts{Name: "anns"}).Extract()
	if err != nil || made.ProjectID != c.project["p1"] {
		t.Fatalf("%+v, %v", made, err)
	}
	admin, err := c.As(ctx, keystonetest.InProject("admin", c.AdminPassword, "admin"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{"ann": c.token(t, "ann", "p1"), "bob": c.token(t, "bob", "p1"), "eve": c.token(t, "eve", "p2"),
		"nova": c.token(t, "nova", "service"), "nobody": c.token(t, "nobody", "p1"), "admin": admin.TokenID}
	object := func(name string, attributes map[string]any) map[string]any { return map[string]any{name: attributes} }
	path := "/v2.0/networks/" + made.ID
	for _, x := range []struct {
		who, method, path string
		body              any
		want              int
	}{
		{"ann", "GET", path, nil, 200}, {"bob", "GET", path, nil, 200}, {"eve", "GET", path, nil, 404}, {"nova", "GET", path, nil, 200},
		{"nobody", "GET", path, nil, 404}, {"admin", "GET", path, nil, 200},
		{"bob", "POST", "/v2.0/networks", object("network", map[string]any{"name": "bobs"}), 403},
		{"nobody", "POST", "/v2.0/networks", object("network", map[string]any{"name": "x"}), 403},
		{"nova", "POST", "/v2.0/networks", object("network", map[string]any{"name": "novas"}), 403},
		{"ann", "POST", "/v2.0/networks", object("network", map[string]any{"name": "x", "shared": true}), 403},
		{"ann", "POST", "/v2.0/networks", object("network", map[string]any{"name": "x", "project_id": c.project["p2"]}), 400},
		{"bob", "PUT", path, object("network", map[string]any{"name": "y"}), 403},
		{"eve", "PUT", path, object("network", map[string]any{"name": "y"}), 404},
		{"ann", "PUT", path, object("network", map[string]any{"name": "still anns"}), 200},
		{"ann", "POST", "/v2.0/ports", object("port", map[string]any{"network_id": made.ID, "binding:host_id": "h"}), 403},
		{"eve", "POST", "/v2.0/ports", object("port", map[string]any{"network_id": made.ID}), 404},
		{"nova", "POST", "/v2.0/ports", object("port", map[string]any{"network_id": made.ID, "project_id": c.project["p1"], "binding:host_id": "h",
			"binding:profile": map[string]any{"a": "b"}, "device_owner": "compute:nova"}), 201},
		{"ann", "GET", "/v2.0/agents", nil, 200}, {"admin", "GET", "/v2.0/agents", nil, 200},
		{"bob", "DELETE", path, nil, 403}, {"eve", "DELETE", path, nil, 404},
		{"admin", "POST", "/v2.0/networks", object("network", map[string]any{"name": "eves", "project_id": c.project["p2"]}), 201},
	} {
		status, _, body := ask(t, c.isospin.URL, x.method, x.path, all[x.who], "", x.body)
		if status != x.want {
			t.Errorf("%s %s %s: %d %v, want %d", x.who, x.method, x.path, status, body, x.want)
		}
	}
	for who, want := range map[string]string{"ann": "still anns", "bob": "still anns", "eve": "eves", "nobody": ""} {
		_, _, body := ask(t, c.isospin.URL, "GET", "/v2.0/networks?fields=name", all[who], "", nil)
		var names []string
		list, ok := body["networks"].([]any)
		if !ok {
			t.Fatalf("%s lists %v", who, body)
		}
		for _, n := range list {
			names = append(names, fmt.Sprint(n.(map[string]any)["name"]))
		}
		if got := strings.Join(names, ","); got != want {
			t.Errorf("%s lists %q, want %q", who, got, want)
		}
	}
}

// client walks through with the client that people use, in one process.
func (c *real) client(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/usr/bin/openstack")
	cmd.Env = append(os.Environ(), c.Env("ann", secret, "p1")...)
	cmd.Stdin = strings.NewReader(strings.Join([]string{
		"network create -f value -c name -c status -c project_id walk", "subnet create -f value -c cidr --network walk --subnet-range 10.9.0.0/24 walk",
		"port create -f value -c status --network walk walk", "network list -f value -c Name", "port delete walk", "network delete walk", "network create --share no",
	}, "\n") + "\n")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, text := range []string{"walk", "ACTIVE", c.project["p1"], "10.9.0.0/24", "DOWN", "403"} {
		if !strings.Contains(string(out), text) {
			t.Errorf("no %q in\n%s", text, out)
		}
	}
}

// accessRules: an application credential may do what it was made for.
func (c *real) accessRules(t *testing.T) {
	ctx := t.Context()
	ann, err := c.As(ctx, keystonetest.InProject("ann", secret, "p1"))
	if err != nil {
		t.Fatal(err)
	}
	own, err := openstack.NewIdentityV3(ann, gophercloud.EndpointOpts{Region: "RegionOne"})
	if err != nil {
		t.Fatal(err)
	}
	made, err := applicationcredentials.Create(ctx, own, c.users["ann"], applicationcredentials.CreateOpts{Name: "readonly", Secret: "s",
		AccessRules: []applicationcredentials.AccessRule{{Service: "network", Method: "GET", Path: "/v2.0/networks"}}}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.As(ctx, gophercloud.AuthOptions{ApplicationCredentialID: made.ID, ApplicationCredentialSecret: "s"})
	if err != nil {
		t.Fatal(err)
	}
	c.is(t, c.isospin, 200, p.TokenID, "")
	for _, x := range []struct{ method, path string }{{"GET", "/v2.0/ports"}, {"POST", "/v2.0/networks"}} {
		if status, _, body := ask(t, c.isospin.URL, x.method, x.path, p.TokenID, "", map[string]any{"network": map[string]any{}}); status != 401 {
			t.Errorf("%s %s: %d %v", x.method, x.path, status, body)
		}
	}
}

func (c *real) serviceTokens(t *testing.T) {
	strict := c.serve(t, map[string]string{"keystone_authtoken/service_token_roles_required": "true"})
	ann, nova, eve := c.token(t, "ann", "p1"), c.token(t, "nova", "service"), c.token(t, "eve", "p2")
	for _, x := range []struct {
		user, service     string
		usual, ifRequired int
	}{{ann, nova, 200, 200}, {ann, eve, 200, 401}, {ann, "gAAAAAwrong", 401, 401}, {"gAAAAAwrong", nova, 401, 401}, {"", nova, 401, 401}} {
		c.is(t, c.isospin, x.usual, x.user, x.service)
		c.is(t, strict, x.ifRequired, x.user, x.service)
	}
}

// gone waits until a token that was good is refused: at most for the cache time, and a question to a busy Keystone.
func (c *real) gone(t *testing.T, s *isospintest.Server, token string) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	limit := time.Now().Add(cacheTime)
	for {
		asked := time.Now()
		status, challenge, _ := ask(t, s.URL, "GET", "/v2.0/networks", token, "", nil)
		switch {
		case status == 401:
			if challenge != `Keystone uri="`+c.URL+`"` {
				t.Errorf("challenge %q", challenge)
			}
			return
		case status != 200:
			t.Fatalf("%d", status)
		case asked.After(limit):
			t.Fatal("the token still counts after the cache time")
		}
		<-tick.C
	}
}

func (c *real) revocation(t *testing.T) {
	short := c.serve(t, map[string]string{"keystone_authtoken/token_cache_time": fmt.Sprint(int(cacheTime.Seconds()))})
	token := c.login(t, "ann", "p1")
	c.is(t, c.isospin, 200, token, "")
	c.is(t, short, 200, token, "")
	if err := tokens.Revoke(t.Context(), c.Admin(), token).Err; err != nil {
		t.Fatal(err)
	}
	c.gone(t, short, token)
	c.is(t, c.isospin, 200, token, "") // its cache time is not over
	c.is(t, c.isospin, 401, "", "")
	c.is(t, c.isospin, 401, "gAAAAAnobodys", "")
	t.Run("disabled user", func(t *testing.T) {
		token, off := c.token(t, "eve", "p2"), false
		c.is(t, short, 200, token, "")
		if _, err := users.Update(t.Context(), c.Admin(), c.users["eve"], users.UpdateOpts{Enabled: &off}).Extract(); err != nil {
			t.Fatal(err)
		}
		c.gone(t, short, token)
	})
}

// away stops Keystone: what is known works, the rest is told so in time, and all is well when it is back.
func (c *real) away(t *testing.T) {
	impatient := c.serve(t, map[string]string{"keystone_authtoken/http_connect_timeout": "5"})
	known, fresh := c.token(t, "ann", "p1"), c.token(t, "bob", "p1")
	status := func(token string) int {
		s, _, _ := ask(t, impatient.URL, "GET", "/v2.0/networks", token, "", nil)
		return s
	}
	for tries := 0; status(known) != 200; tries++ { // a busy Keystone may be slower than that
		if tries == 5 {
			t.Fatal("Keystone does not answer")
		}
	}
	if err := c.Halt(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if s := status(fresh); s != 503 {
		t.Errorf("a token that is not known: %d", s)
	}
	if d := time.Since(began); d > 10*time.Second {
		t.Errorf("that took %s", d)
	}
	if s := status(known); s != 200 {
		t.Errorf("a token that is known: %d", s)
	}
	if err := c.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(time.Minute); status(fresh) != 200; {
		select {
		case <-limit:
			t.Fatal("it does not ask again")
		case <-tick.C:
		}
	}
}
