package keystone

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"isospin/internal/auth"
	"isospin/internal/auth/keystone/keystonetest"
	"isospin/internal/clock"
	"isospin/internal/config"
	"isospin/internal/fault"
	"isospin/internal/telemetry"
)

// world is an Authenticator before the stand-in of Keystone's protocol.
type world struct {
	t     *testing.T
	fake  *keystonetest.Fake
	clock clock.Clock
	step  func(time.Duration)
	a     *Authenticator
	log   *safeBuffer
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func (s *safeBuffer) count(text string) int { return strings.Count(s.String(), text) }

func authtoken(url string) config.Authtoken {
	return config.Authtoken{URL: url, PublicURL: "http://public:5000", Username: keystonetest.ServiceUser, Password: keystonetest.ServicePassword,
		ProjectName: keystonetest.ServiceProject, Timeout: 5 * time.Second, CacheSeconds: 300, ServiceRoles: []string{"service"}}
}

// newWorld has a clock that stands; change may alter the configuration. At its end no token and no password is in the log.
func newWorld(t *testing.T, change func(*config.Authtoken)) *world {
	t.Helper()
	m := clock.NewManual(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	return newWorldAt(t, m, m.Advance, change)
}

func newWorldAt(t *testing.T, c clock.Clock, step func(time.Duration), change func(*config.Authtoken)) *world {
	t.Helper()
	w := &world{t: t, fake: keystonetest.NewFake(t, c.Now), clock: c, step: step, log: &safeBuffer{}}
	cfg := authtoken(w.fake.URL)
	if change != nil {
		change(&cfg)
	}
	w.a = w.with(cfg)
	t.Cleanup(func() {
		for _, secret := range []string{"gAAAAA", keystonetest.ServicePassword} {
			if strings.Contains(w.log.String(), secret) {
				t.Errorf("%q is in the log:\n%s", secret, w.log)
			}
		}
	})
	return w
}

func (w *world) with(cfg config.Authtoken) *Authenticator {
	w.t.Helper()
	log := slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	a, err := New(Config{Authtoken: cfg, Clock: w.clock, Log: log, Registry: telemetry.NewRegistry()})
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

func request(token, service string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/v2.0/networks", nil)
	if token != "" {
		r.Header.Set("X-Auth-Token", token)
	}
	if service != "" {
		r.Header.Set("X-Service-Token", service)
	}
	return r
}

// is authenticates and compares what comes of it: 200, 401 or 503.
func (w *world) is(want int, token, service string) *auth.Principal {
	w.t.Helper()
	p, err := w.a.Authenticate(request(token, service))
	got := 200
	switch {
	case fault.Is(err, fault.Unauthenticated):
		got = 401
	case fault.Is(err, fault.Unavailable):
		got = 503
	case err != nil || p == nil:
		got = 500
	}
	if got != want {
		w.t.Errorf("%d (%v), want %d", got, err, want)
	}
	return p
}

func TestPrincipal(t *testing.T) {
	w := newWorld(t, nil)
	now := w.clock.Now()
	domain, system, both := keystonetest.Of("u2", "", now, "reader"), keystonetest.Of("u3", "", now, "admin"), keystonetest.Of("u1", "p1", now, "member", "reader")
	domain.Domain = map[string]any{"id": "d1", "name": "a domain"}
	system.System = map[string]any{"all": true}
	both.AdminOfAll = true // is_admin_project makes nobody an administrator
	for name, c := range map[string]struct {
		token keystonetest.Token
		want  auth.Principal
	}{
		"project": {both, auth.Principal{UserID: "u1", UserName: "name of u1", UserDomainID: "default", ProjectID: "p1",
			ProjectName: "name of p1", ProjectDomainID: "default", Roles: []string{"member", "reader"}}},
		"domain":   {domain, auth.Principal{UserID: "u2", UserName: "name of u2", UserDomainID: "default", DomainID: "d1", Roles: []string{"reader"}}},
		"system":   {system, auth.Principal{UserID: "u3", UserName: "name of u3", UserDomainID: "default", SystemScope: "all", Roles: []string{"admin"}}},
		"unscoped": {keystonetest.Of("u4", "", now), auth.Principal{UserID: "u4", UserName: "name of u4", UserDomainID: "default"}},
	} {
		t.Run(name, func(t *testing.T) {
			text := w.fake.Issue(c.token)
			for range 2 { // asked, then remembered
				r := request(" "+text+" ", "")
				r.Header.Set("X-Roles", "admin") // nobody says this of himself
				r.Header.Set("X-Service-Roles", "service")
				p, err := w.a.Authenticate(r)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(&c.want, p); diff != "" {
					t.Error(diff)
				}
			}
			if n := w.fake.Asked(text); n != 1 {
				t.Errorf("asked %d times", n)
			}
		})
	}
	r := request("", "")
	r.Header.Set("X-Storage-Token", w.fake.Issue(both))
	if p, err := w.a.Authenticate(r); err != nil || p.UserID != "u1" {
		t.Errorf("X-Storage-Token: %v, %v", p, err)
	}
	if got := w.fake.Logins(); got != 1 {
		t.Errorf("%d logins", got)
	}
	for _, q := range w.fake.Queries() {
		if q != "nocatalog" {
			t.Errorf("asked with %q", q)
		}
	}
}

func TestRevocationIsNoticedWithinTheCacheTime(t *testing.T) {
	w := newWorld(t, nil)
	token := w.fake.Issue(keystonetest.Of("u", "p", w.clock.Now(), "member"))
	w.is(200, token, "")
	w.fake.Revoke(token)
	w.step(299 * time.Second)
	w.is(200, token, "")
	w.step(time.Second)
	w.is(401, token, "")
	if n := w.fake.Asked(token); n != 2 {
		t.Errorf("asked %d times", n)
	}
}

func TestExpiry(t *testing.T) {
	w := newWorld(t, nil)
	spec := keystonetest.Of("u", "p", w.clock.Now(), "member")
	spec.Expires = w.clock.Now().Add(time.Minute)
	token := w.fake.Issue(spec)
	w.is(200, token, "")
	w.step(time.Minute)
	w.is(401, token, "") // its own end counts, not the cache's
}

func TestNoCache(t *testing.T) {
	w := newWorld(t, func(c *config.Authtoken) { c.CacheSeconds = -1 })
	token := w.fake.Issue(keystonetest.Of("u", "p", w.clock.Now(), "member"))
	w.is(200, token, "")
	w.is(200, token, "")
	if n := w.fake.Asked(token); n != 2 {
		t.Errorf("asked %d times", n)
	}
	w.fake.Revoke(token)
	w.is(401, token, "")
}

func TestRefusal(t *testing.T) {
	w := newWorld(t, nil)
	w.is(401, "", "")
	for range 3 {
		w.is(401, "gAAAAAnobody", "")
	}
	if n := w.fake.Asked("gAAAAAnobody"); n != 1 {
		t.Errorf("asked %d times", n)
	}
	w.step(refusedFor)
	w.is(401, "gAAAAAnobody", "")
	if n := w.fake.Asked("gAAAAAnobody"); n != 2 {
		t.Errorf("asked %d times", n)
	}
	before := len(w.fake.Queries())
	for _, text := range []string{strings.Repeat("x", longestToken+1), "a b", "a\x00b", "ä"} {
		w.is(401, text, "")
	}
	if n := len(w.fake.Queries()); n != before {
		t.Errorf("asked about what cannot be a token")
	}
	if w.log.count("sha256:") == 0 {
		t.Errorf("no digest in the log:\n%s", w.log)
	}
}

func TestChallenge(t *testing.T) {
	w := newWorld(t, nil)
	for _, c := range []struct{ public, want string }{
		{"http://public:5000", `Keystone uri="http://public:5000"`}, {"", `Keystone uri="` + w.fake.URL + `"`},
	} {
		cfg := authtoken(w.fake.URL)
		cfg.PublicURL = c.public
		a := w.with(cfg)
		rec, r := httptest.NewRecorder(), request("", "")
		_, err := a.Authenticate(r)
		auth.Refuse(rec, r, a, err)
		if got := rec.Header().Get("WWW-Authenticate"); rec.Code != 401 || got != c.want {
			t.Errorf("%d %s, want %s", rec.Code, got, c.want)
		}
	}
}

func TestServiceTokens(t *testing.T) {
	for _, c := range []struct {
		name           string
		required       bool
		user, service  string // valid, expired, wrong; service: service, member, wrong
		status         int
		serviceRoles   []string
		askedAsExpired bool
	}{
		{name: "a service vouches", user: "valid", service: "service", status: 200, serviceRoles: []string{"service"}, askedAsExpired: true},
		{name: "after the user's token has expired", user: "expired", service: "service", status: 200, serviceRoles: []string{"service"}, askedAsExpired: true},
		{name: "required and there", required: true, user: "valid", service: "service", status: 200, serviceRoles: []string{"service"}, askedAsExpired: true},
		{name: "without the role, accepted", user: "valid", service: "member", status: 200, serviceRoles: []string{"member"}},
		{name: "without the role, expired", user: "expired", service: "member", status: 401},
		{name: "without the role, required", required: true, user: "valid", service: "member", status: 401},
		{name: "a wrong service token", user: "valid", service: "wrong", status: 401},
		{name: "a wrong user's token", user: "wrong", service: "service", status: 401, askedAsExpired: true},
		{name: "no user's token", service: "service", status: 401},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, func(a *config.Authtoken) { a.RolesRequired = c.required })
			now := w.clock.Now()
			expired := keystonetest.Of("u", "p", now, "reader")
			expired.Expires = now.Add(-time.Second)
			texts := map[string]string{
				"": "", "wrong": "gAAAAAwrong", "valid": w.fake.Issue(keystonetest.Of("u", "p", now, "reader")), "expired": w.fake.Issue(expired),
				"service": w.fake.Issue(keystonetest.Of("nova", "service", now, "service")),
				"member":  w.fake.Issue(keystonetest.Of("nova", "service", now, "member")),
			}
			p := w.is(c.status, texts[c.user], texts[c.service])
			if c.status == 200 {
				want := auth.Principal{UserID: "u", UserName: "name of u", UserDomainID: "default", ProjectID: "p", ProjectName: "name of p", ProjectDomainID: "default",
					Roles: []string{"reader"}, ServiceUserID: "nova", ServiceProjectID: "service", ServiceRoles: c.serviceRoles}
				if diff := cmp.Diff(&want, p); diff != "" {
					t.Error(diff)
				}
			}
			if got := strings.Contains(strings.Join(w.fake.Queries(), " "), "allow_expired=1"); got != c.askedAsExpired {
				t.Errorf("allow_expired asked: %t", got)
			}
			if c.user == "expired" && c.status == 200 {
				w.is(401, texts["expired"], "") // what is remembered for services is not for users
			}
		})
	}
}

func TestAccessRules(t *testing.T) {
	w := newWorld(t, nil)
	rule := func(service, method, path string) map[string]string {
		return map[string]string{"service": service, "method": method, "path": path}
	}
	restricted := func(rules ...map[string]string) string {
		spec := keystonetest.Of("u", "p", w.clock.Now(), "member")
		spec.Credential = map[string]any{"id": "c", "restricted": true, "access_rules": append([]map[string]string{}, rules...)}
		return w.fake.Issue(spec)
	}
	free := keystonetest.Of("u", "p", w.clock.Now(), "member")
	free.Credential = map[string]any{"id": "c", "restricted": true}
	some := restricted(rule("network", "GET", "/v2.0/networks"), rule("network", "PUT", "/v2.0/ports/{port_id}"),
		rule("network", "GET", "/v2.0/qos/**"), rule("network", "DELETE", "/v2.0/*/x.y"), rule("compute", "GET", "/v2.0/routers"))
	for _, c := range []struct {
		token, method, path string
		ok                  bool
	}{
		{some, "GET", "/v2.0/networks", true},
		{some, "POST", "/v2.0/networks", false},
		{some, "GET", "/v2.0/networks/1", false},
		{some, "PUT", "/v2.0/ports/1", true},
		{some, "PUT", "/v2.0/ports/1/bindings", false},
		{some, "PUT", "/v2.0/ports/", false},
		{some, "GET", "/v2.0/qos/policies/1/rules", true},
		{some, "DELETE", "/v2.0/a/x.y", true},
		{some, "DELETE", "/v2.0/a/xzy", false},
		{some, "GET", "/v2.0/routers", false},
		{restricted(), "GET", "/v2.0/networks", false},
		{w.fake.Issue(free), "GET", "/v2.0/anything", true},
	} {
		r := httptest.NewRequest(c.method, c.path, nil)
		r.Header.Set("X-Auth-Token", c.token)
		if _, err := w.a.Authenticate(r); (err == nil) != c.ok || err != nil && !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("%s %s: %v", c.method, c.path, err)
		}
		r.Header.Set("X-Service-Token", w.fake.Issue(keystonetest.Of("nova", "service", w.clock.Now(), "service")))
		if _, err := w.a.Authenticate(r); err != nil {
			t.Errorf("%s %s through a service: %v", c.method, c.path, err)
		}
	}
}

func TestConcurrentMissesAreOneQuestion(t *testing.T) {
	w := newWorld(t, nil)
	token := w.fake.Issue(keystonetest.Of("u", "p", w.clock.Now(), "member"))
	release := w.fake.Hold()
	defer release()
	first, leave := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			r := request(token, "")
			if i == 0 {
				r = r.WithContext(first)
			}
			if p, err := w.a.Authenticate(r); err != nil || p.UserID != "u" {
				t.Errorf("%v, %v", p, err)
			}
		})
		if i == 0 {
			eventually(t, "the question comes", func() bool { return w.fake.Asked(token) == 1 })
		}
	}
	leave() // the others go on waiting for the answer
	release()
	all.Wait()
	if n := w.fake.Asked(token); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

func TestWaitingEndsWithTheRequest(t *testing.T) {
	w := newWorld(t, nil)
	token := w.fake.Issue(keystonetest.Of("u", "p", w.clock.Now(), "member"))
	release := w.fake.Hold()
	defer release()
	var first sync.WaitGroup
	first.Go(func() {
		if _, err := w.a.Authenticate(request(token, "")); err != nil {
			t.Error(err)
		}
	})
	eventually(t, "the question comes", func() bool { return w.fake.Asked(token) == 1 })
	ctx, leave := context.WithCancel(t.Context())
	leave()
	if _, err := w.a.Authenticate(request(token, "").WithContext(ctx)); !fault.Is(err, fault.Unavailable) {
		t.Errorf("who has left is told %v", err)
	}
	release()
	first.Wait()
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	limit := time.After(10 * time.Second)
	for !ok() {
		select {
		case <-limit:
			t.Fatal(what + ": not in time")
		case <-time.After(time.Millisecond):
		}
	}
}
