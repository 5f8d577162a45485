package identity

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"isospin/internal/auth"
	"isospin/internal/clock"
	"isospin/internal/fault"
	"isospin/internal/ident"
)

// world is an identity behind a real HTTP server.
type world struct {
	t     testing.TB
	s     *Service
	clock *clock.Manual
	dir   string
	url   string
	log   *bytes.Buffer
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, clock: clock.NewManual(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)), dir: t.TempDir(), log: &bytes.Buffer{}}
	w.s = w.start(NewFile(filepath.Join(w.dir, "identity.json")))
	mux := http.NewServeMux()
	mux.Handle("/identity", w.s)
	mux.Handle("/identity/", w.s)
	mux.HandleFunc("/", networkRoot)
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	w.url = srv.URL
	if err := w.s.WriteClouds(strings.TrimPrefix(w.url, "http://")); err != nil {
		t.Fatal(err)
	}
	return w
}

// networkRoot is what clients look at to find the version of the networking API.
func networkRoot(w http.ResponseWriter, r *http.Request) {
	_ = json.NewEncoder(w).Encode(object{"versions": []object{{
		"id": "v2.0", "status": "CURRENT", "links": []object{{"rel": "self", "href": "http://" + r.Host + "/v2.0/"}},
	}}})
}

func (w *world) start(b Backend) *Service {
	w.t.Helper()
	s, err := New(Config{
		Backend: b, Clock: w.clock, IDs: ident.Random{}, Log: slog.New(slog.NewTextHandler(w.log, nil)),
		Cost: bcrypt.MinCost, CloudsFile: filepath.Join(w.dir, "clouds.yaml"),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// do sends a request and decodes the answer; code 0 accepts any.
func (w *world) do(token, method, path string, body any, code int) (map[string]any, *http.Response) {
	w.t.Helper()
	var send io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			w.t.Fatal(err)
		}
		send = bytes.NewReader(raw)
	}
	req, err := http.NewRequest(method, w.url+"/identity"+path, send)
	if err != nil {
		w.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("X-Auth-Token", token)
		if strings.HasSuffix(path, "auth/tokens") && method != "POST" {
			req.Header.Set("X-Subject-Token", token)
		}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	if code != 0 && res.StatusCode != code {
		w.t.Fatalf("%s %s: %d, want %d: %s", method, path, res.StatusCode, code, raw)
	}
	var out map[string]any
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &out); err != nil {
			w.t.Fatalf("%s %s: %v: %s", method, path, err, raw)
		}
	}
	return out, res
}

func byName(user, password string, scope any) object {
	u := object{"name": user, "domain": object{"name": "Default"}, "password": password}
	a := object{"identity": object{"methods": []string{"password"}, "password": object{"user": u}}}
	if scope != nil {
		a["scope"] = scope
	}
	return object{"auth": a}
}

func onProject(name string) object {
	return object{"project": object{"name": name, "domain": object{"id": "default"}}}
}

func (w *world) login(body any) (string, map[string]any) {
	w.t.Helper()
	out, res := w.do("", "POST", "/v3/auth/tokens", body, 201)
	return res.Header.Get("X-Subject-Token"), out["token"].(map[string]any)
}

func (w *world) password(cloud string) string {
	w.t.Helper()
	p, ok := w.s.Password(cloud)
	if !ok {
		w.t.Fatalf("no password of %s", cloud)
	}
	return p
}

func (w *world) admin() string {
	w.t.Helper()
	t, _ := w.login(byName("admin", w.password("isospin"), onProject("admin")))
	return t
}

// principal authenticates as the networking API would.
func (w *world) principal(token string) (*auth.Principal, error) {
	r := httptest.NewRequest("GET", "/v2.0/networks", nil)
	r.Header.Set("X-Auth-Token", token)
	return w.s.Authenticate(r)
}

func (w *world) dead(token string) {
	w.t.Helper()
	if p, err := w.principal(token); !fault.Is(err, fault.Unauthenticated) {
		w.t.Errorf("the token still opens for %+v (%v)", p, err)
	}
}

func id(out map[string]any, kind string) string { return out[kind].(map[string]any)["id"].(string) }

func TestSeededUsers(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		user, cloud, project string
		roles                []string
	}{
		{"admin", "isospin", "admin", []string{"admin", "manager", "member", "reader"}},
		{"demo", "isospin-demo", "demo", []string{"member", "reader"}},
		{"reader", "isospin-reader", "demo", []string{"reader"}},
		{"isospin-service", "isospin-service", "service", []string{"service"}},
	} {
		token, body := w.login(byName(c.user, w.password(c.cloud), onProject(c.project)))
		p, err := w.principal(token)
		if err != nil {
			t.Fatal(err)
		}
		if p.UserName != c.user || p.ProjectName != c.project || p.UserDomainID != "default" || p.ProjectDomainID != "default" || !slices.Equal(p.Roles, c.roles) {
			t.Errorf("%s: %+v", c.user, p)
		}
		if len(body["catalog"].([]any)) != 2 || body["project"].(map[string]any)["id"] != p.ProjectID || len(p.ProjectID) != 32 {
			t.Errorf("%s: token %v", c.user, body)
		}
		again, _ := w.principal(token)
		if again != p {
			t.Error("the second validation did not come from the cache")
		}
	}
	for _, f := range []string{"clouds.yaml", "identity.json"} {
		info, err := os.Stat(filepath.Join(w.dir, f))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", f, info.Mode(), err)
		}
	}
	raw, _ := os.ReadFile(filepath.Join(w.dir, "identity.json"))
	for _, c := range []string{"isospin", "isospin-demo"} {
		if strings.Contains(string(raw)+w.log.String(), w.password(c)) {
			t.Errorf("the password of %s lies in the state or in the log", c)
		}
	}
}

func TestLogin(t *testing.T) {
	w := newWorld(t)
	pw := w.password("isospin")
	me, _ := w.principal(w.admin())
	pass := func(user object) object {
		user["password"] = pw
		return object{"auth": object{"identity": object{"methods": []string{"password"}, "password": object{"user": user}}}}
	}
	scoped := func(scope any) object { return byName("admin", pw, scope) }
	for name, c := range map[string]struct {
		body any
		code int
		has  string // a member of the token
	}{
		"by id":                {pass(object{"id": me.UserID}), 201, "user"},
		"by name, domain id":   {pass(object{"name": "admin", "domain": object{"id": "default"}}), 201, "user"},
		"no domain":            {pass(object{"name": "admin"}), 401, ""},
		"wrong domain":         {pass(object{"name": "admin", "domain": object{"name": "nope"}}), 401, ""},
		"wrong password":       {byName("admin", "x", nil), 401, ""},
		"unknown user":         {byName("nobody", pw, nil), 401, ""},
		"project by id":        {scoped(object{"project": object{"id": me.ProjectID}}), 201, "project"},
		"unknown project":      {scoped(onProject("nope")), 401, ""},
		"project without role": {scoped(onProject("demo")), 401, ""},
		"system":               {scoped(object{"system": object{"all": true}}), 201, "system"},
		"domain without role":  {scoped(object{"domain": object{"id": "default"}}), 401, ""},
		"unscoped":             {scoped("unscoped"), 201, "user"},
		"unscoped object":      {scoped(object{"unscoped": object{}}), 201, "user"},
		"odd scope":            {scoped(object{"moon": object{}}), 400, ""},
		"scope a number":       {scoped(3), 400, ""},
		"no method":            {object{"auth": object{"identity": object{}}}, 400, ""},
		"unknown method":       {object{"auth": object{"identity": object{"methods": []string{"totp"}}}}, 401, ""},
		"no password given":    {object{"auth": object{"identity": object{"methods": []string{"password"}}}}, 400, ""},
		"no auth":              {object{"x": 1}, 400, ""},
		"not an object":        {"x", 400, ""},
		"too large":            {strings.Repeat("x", 2<<20), 413, ""},
	} {
		out, res := w.do("", "POST", "/v3/auth/tokens", c.body, c.code)
		if c.code == 201 {
			tok := out["token"].(map[string]any)
			if tok[c.has] == nil || res.Header.Get("X-Subject-Token") == "" {
				t.Errorf("%s: %v", name, out)
			}
			if strings.HasPrefix(name, "unscoped") && (tok["roles"] != nil || tok["catalog"] != nil) {
				t.Errorf("%s: %v", name, tok)
			}
			continue
		}
		e := out["error"].(map[string]any)
		if int(e["code"].(float64)) != c.code || e["title"] != http.StatusText(c.code) || e["message"] == "" {
			t.Errorf("%s: %v", name, out)
		}
		if c.code == 401 && !strings.Contains(res.Header.Get("WWW-Authenticate"), `Keystone uri="`+w.url) {
			t.Errorf("%s: challenge %q", name, res.Header.Get("WWW-Authenticate"))
		}
	}
}

func TestTokenFromToken(t *testing.T) {
	w := newWorld(t)
	first, body := w.login(byName("admin", w.password("isospin"), "unscoped"))
	w.clock.Advance(time.Hour)
	from := object{"auth": object{
		"identity": object{"methods": []string{"token"}, "token": object{"id": first}}, "scope": onProject("admin"),
	}}
	second, scoped := w.login(from)
	if scoped["expires_at"] != body["expires_at"] || scoped["issued_at"] == body["issued_at"] {
		t.Errorf("times: %v then %v", body, scoped)
	}
	if a := scoped["audit_ids"].([]any); len(a) != 2 || a[1] != body["audit_ids"].([]any)[0] {
		t.Errorf("audit ids %v", a)
	}
	if m := scoped["methods"].([]any); len(m) != 2 {
		t.Errorf("methods %v", m)
	}
	shown, res := w.do(second, "GET", "/v3/auth/tokens", nil, 200)
	if shown["token"].(map[string]any)["issued_at"] != scoped["issued_at"] || res.Header.Get("X-Subject-Token") != second {
		t.Error("another token is shown")
	}
}

func TestTokensEnd(t *testing.T) {
	w := newWorld(t)
	admin := w.admin()
	demo := func() string {
		t.Helper()
		tok, _ := w.login(byName("demo", w.password("isospin-demo"), onProject("demo")))
		return tok
	}
	tok := demo()
	p, _ := w.principal(tok)
	patch := func(path string, body any) { w.do(admin, "PATCH", path, body, 200) }

	w.do(tok, "HEAD", "/v3/auth/tokens", nil, 200)
	w.do(tok, "DELETE", "/v3/auth/tokens", nil, 204)
	w.dead(tok)
	w.do(tok, "GET", "/v3/auth/tokens", nil, 401)

	tok = demo()
	patch("/v3/projects/"+p.ProjectID, object{"project": object{"enabled": false}})
	w.dead(tok)
	patch("/v3/projects/"+p.ProjectID, object{"project": object{"enabled": true}})
	if _, err := w.principal(tok); err != nil {
		t.Error("an enabled project's token is dead:", err)
	}
	patch("/v3/users/"+p.UserID, object{"user": object{"enabled": false}})
	w.dead(tok)
	w.clock.Advance(time.Second)
	patch("/v3/users/"+p.UserID, object{"user": object{"enabled": true}})
	w.dead(demo()[:20])
	tok = demo()
	w.clock.Advance(time.Second)
	w.do("", "POST", "/v3/users/"+p.UserID+"/password", object{"user": object{"original_password": "no", "password": "new one"}}, 401)
	w.do("", "POST", "/v3/users/"+p.UserID+"/password", object{"user": object{"original_password": w.password("isospin-demo"), "password": ""}}, 400)
	w.do("", "POST", "/v3/users/"+p.UserID+"/password", object{"user": object{"original_password": w.password("isospin-demo"), "password": "new one"}}, 204)
	w.dead(tok)
	w.do("", "POST", "/v3/auth/tokens", byName("demo", w.password("isospin-demo"), nil), 401)
	tok, _ = w.login(byName("demo", "new one", onProject("demo")))
	w.clock.Advance(12*time.Hour - time.Microsecond)
	if _, err := w.principal(tok); err != nil {
		t.Error("the token ended early:", err)
	}
	w.clock.Advance(time.Microsecond)
	w.dead(tok)

	admin = w.admin()
	tok, _ = w.login(byName("demo", "new one", onProject("demo")))
	w.do(admin, "DELETE", "/v3/users/"+p.UserID, nil, 204)
	w.dead(tok)
	w.dead("")
	w.dead("garbage")
}

func TestWhoMayUseTheAPI(t *testing.T) {
	w := newWorld(t)
	demo, _ := w.login(byName("demo", w.password("isospin-demo"), onProject("demo")))
	me, _ := w.principal(demo)
	other, _ := w.principal(w.admin())
	for _, c := range []struct {
		method, path string
		code         int
	}{
		{"GET", "/v3/users", 403}, {"GET", "/v3/projects", 403}, {"GET", "/v3/roles", 403}, {"GET", "/v3/domains", 403},
		{"POST", "/v3/users", 403}, {"DELETE", "/v3/users/" + me.UserID, 403}, {"PATCH", "/v3/projects/" + me.ProjectID, 403},
		{"GET", "/v3/users/" + me.UserID, 200}, {"GET", "/v3/users/" + other.UserID, 403}, {"GET", "/v3/users/absent", 403},
		{"GET", "/v3/users/" + me.UserID + "/projects", 200}, {"GET", "/v3/users/" + other.UserID + "/projects", 403},
		{"GET", "/v3/projects/" + me.ProjectID, 200}, {"GET", "/v3/projects/" + other.ProjectID, 403},
		{"GET", "/v3/domains/default", 200}, {"GET", "/v3/role_assignments", 403},
		{"GET", "/v3/role_assignments?user.id=" + me.UserID, 200}, {"GET", "/v3/auth/projects", 200}, {"GET", "/v3/auth/catalog", 200},
		{"GET", "/v3/auth/system", 200}, {"GET", "/v3/auth/domains", 200}, {"GET", "/v3/nothing", 404},
		{"PUT", "/v3/system/users/" + me.UserID + "/roles/x", 403},
	} {
		w.do(demo, c.method, c.path, nil, c.code)
		if c.code == 200 {
			w.do("", c.method, c.path, nil, 401)
		}
	}
}

func TestServiceTokens(t *testing.T) {
	w := newWorld(t)
	demo, _ := w.login(byName("demo", w.password("isospin-demo"), onProject("demo")))
	svc, _ := w.login(byName("isospin-service", w.password("isospin-service"), onProject("service")))
	r := httptest.NewRequest("GET", "/v2.0/ports", nil)
	r.Header.Set("X-Auth-Token", demo)
	r.Header.Set("X-Service-Token", svc)
	p, err := w.s.Authenticate(r)
	if err != nil || !p.HasServiceRole("service") || p.HasRole("service") || p.ServiceUserID == "" {
		t.Errorf("%+v, %v", p, err)
	}
	r.Header.Set("X-Service-Token", "nonsense")
	if p, err = w.s.Authenticate(r); err != nil || len(p.ServiceRoles) != 0 {
		t.Errorf("%+v, %v", p, err)
	}
	if p, _ := w.principal(demo); len(p.ServiceRoles) != 0 {
		t.Error("the cached principal was changed")
	}
}

func TestDiscoveryFollowsTheHost(t *testing.T) {
	w := newWorld(t)
	out, _ := w.do("", "GET", "/", nil, 300)
	if v := out["versions"].(map[string]any)["values"].([]any); len(v) != 1 {
		t.Errorf("versions %v", out)
	}
	for host, want := range map[string]string{
		"":                   w.url,
		"cloud.example:9696": "http://cloud.example:9696",
		"[::1]:9696":         "http://[::1]:9696",
		"a b<script>":        "", // the configured one, which this server lacks
	} {
		r := httptest.NewRequest("GET", "/identity/v3/", nil)
		if r.Host = host; host == "" {
			r.Host = strings.TrimPrefix(w.url, "http://")
		}
		rec := httptest.NewRecorder()
		w.s.ServeHTTP(rec, r)
		if !strings.Contains(rec.Body.String(), `"href":"`+want+`/identity/v3/"`) {
			t.Errorf("%s: %s", host, rec.Body)
		}
	}
}
