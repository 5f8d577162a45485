package keystone

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"isospin/internal/auth/keystone/keystonetest"
	"isospin/internal/clock"
	"isospin/internal/config"
	"isospin/internal/telemetry"
)

// realWorld is a world on the machine's clock, for what waits.
func realWorld(t *testing.T, change func(*config.Authtoken)) *world {
	t.Helper()
	return newWorldAt(t, clock.System{}, nil, change)
}

func TestKeystoneAway(t *testing.T) {
	w := newWorld(t, func(c *config.Authtoken) { c.Retries = 0 })
	known := w.fake.Issue(keystonetest.Of("u", "p", w.clock.Now(), "member"))
	other := w.fake.Issue(keystonetest.Of("v", "p", w.clock.Now(), "member"))
	w.is(200, known, "")
	w.fake.Answer(http.StatusServiceUnavailable)
	w.is(503, other, "")
	w.is(200, known, "")
	for range 5 { // for a second nobody asks again
		w.is(503, other, "")
	}
	if n := w.fake.Asked(other); n != 1 {
		t.Errorf("asked %d times", n)
	}
	w.step(holdOff)
	w.is(503, other, "")
	if n := w.fake.Asked(other); n != 2 {
		t.Errorf("asked %d times", n)
	}
	if n := w.log.count("Keystone cannot be asked"); n != 1 {
		t.Errorf("told %d times:\n%s", n, w.log)
	}
	w.step(300 * time.Second)
	w.is(503, known, "") // believed for the cache time and no longer: it may have been revoked
	w.fake.Answer(0)
	w.step(holdOff)
	w.is(200, known, "")
	w.is(200, other, "")
	if n := w.log.count("Keystone answers again"); n != 1 {
		t.Errorf("told %d times:\n%s", n, w.log)
	}
}

func TestConnectionRefused(t *testing.T) {
	w := realWorld(t, func(c *config.Authtoken) { c.Retries, c.Timeout = 1, 2*time.Second })
	known := w.fake.Issue(keystonetest.Of("u", "p", w.clock.Now(), "member"))
	w.is(200, known, "")
	w.fake.Close()
	w.is(503, w.fake.Issue(keystonetest.Of("v", "p", w.clock.Now(), "member")), "")
	w.is(200, known, "")
}

func TestNoHang(t *testing.T) {
	w := realWorld(t, func(c *config.Authtoken) { c.Timeout = 200 * time.Millisecond })
	known := w.fake.Issue(keystonetest.Of("u", "p", w.clock.Now(), "member"))
	other := w.fake.Issue(keystonetest.Of("v", "p", w.clock.Now(), "member"))
	w.is(200, known, "")
	release := w.fake.Hold()
	defer release()
	began := time.Now()
	var waiting sync.WaitGroup
	waiting.Go(func() { w.is(503, other, "") })
	eventually(t, "the question comes", func() bool { return w.fake.Asked(other) == 1 })
	w.is(200, known, "")
	waiting.Wait()
	if d := time.Since(began); d > 3*time.Second {
		t.Errorf("it took %s", d)
	}
	began = time.Now()
	w.is(503, other, "") // at once: Keystone was away a moment ago
	if d := time.Since(began); d > 100*time.Millisecond {
		t.Errorf("the next took %s", d)
	}
}

func TestRetry(t *testing.T) {
	w := realWorld(t, func(c *config.Authtoken) { c.Retries = 10 })
	token := w.fake.Issue(keystonetest.Of("u", "p", w.clock.Now(), "member"))
	w.is(200, w.fake.Issue(keystonetest.Of("u", "p", w.clock.Now())), "")
	w.fake.Answer(http.StatusBadGateway)
	var waiting sync.WaitGroup
	waiting.Go(func() { w.is(200, token, "") }) // a restart of Keystone's goes unnoticed
	eventually(t, "a second attempt", func() bool { return w.fake.Asked(token) > 1 })
	w.fake.Answer(0)
	waiting.Wait()
}

func TestOwnTokenRefused(t *testing.T) {
	w := newWorld(t, nil)
	w.is(200, w.fake.Issue(keystonetest.Of("u", "p", w.clock.Now(), "member")), "")
	for round := range 2 {
		if round == 0 {
			w.fake.RevokeServices()
		} else {
			w.step(2 * time.Hour) // it has expired
		}
		good := make([]string, 20)
		for i := range good {
			good[i] = w.fake.Issue(keystonetest.Of("u", "p", w.clock.Now(), "member"))
		}
		var all sync.WaitGroup
		for _, token := range good {
			all.Go(func() { w.is(200, token, "") })
		}
		w.is(401, "gAAAAAbad"+strings.Repeat("x", round), "") // a no after logging in again is a no
		all.Wait()
		if n := w.fake.Logins(); n != round+2 {
			t.Errorf("%d logins after round %d", n, round)
		}
	}
}

// TestKeystoneThatCannotBeAsked: none of these is the caller's fault, so none is a 401.
func TestKeystoneThatCannotBeAsked(t *testing.T) {
	stranger := httptest.NewServer(http.NotFoundHandler())
	defer stranger.Close()
	for name, c := range map[string]struct {
		change func(w *world, c *config.Authtoken)
		hint   string
	}{
		"wrong password":        {func(_ *world, c *config.Authtoken) { c.Password = "wrong" }, "are user and password"},
		"wrong user":            {func(_ *world, c *config.Authtoken) { c.Username = "nobody" }, "are user and password"},
		"wrong domain":          {func(_ *world, c *config.Authtoken) { c.UserDomainID = "other" }, "are user and password"},
		"no credentials at all": {func(_ *world, c *config.Authtoken) { c.Username, c.Password = "", "" }, "logging in"},
		"no right to ask":       {func(w *world, _ *config.Authtoken) { w.fake.Answer(http.StatusForbidden) }, "it answered 403"},
		"not Keystone":          {func(_ *world, c *config.Authtoken) { c.URL = stranger.URL }, "it answered 404"},
		"nobody there":          {func(_ *world, c *config.Authtoken) { c.URL, c.Retries = "http://127.0.0.1:1", 0 }, "connection refused"},
		"no token in it":        {func(w *world, _ *config.Authtoken) { w.fake.Answer(http.StatusOK) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			cfg := authtoken(w.fake.URL)
			c.change(w, &cfg)
			w.a = w.with(cfg)
			token := w.fake.Issue(keystonetest.Of("u", "p", w.clock.Now(), "member"))
			w.is(503, token, "")
			if !strings.Contains(w.log.String(), c.hint) {
				t.Errorf("no %q in\n%s", c.hint, w.log)
			}
		})
	}
}

// TestOneTokenThatKeystoneStumblesOver does not keep others from being asked about.
func TestOneTokenThatKeystoneStumblesOver(t *testing.T) {
	w := newWorld(t, func(c *config.Authtoken) { c.Retries = 0 })
	token := w.fake.Issue(keystonetest.Of("u", "p", w.clock.Now(), "member"))
	w.is(401, "gAAAAAfirst", "")
	w.fake.Answer(http.StatusInternalServerError)
	w.is(503, "gAAAAAodd", "")
	w.fake.Answer(0)
	w.is(200, token, "")
	nobody := w.fake.Issue(keystonetest.Token{Expires: w.clock.Now().Add(time.Hour)})
	w.is(503, nobody, "")
	w.is(200, token, "")
}

// TestRedirect: a caller's token goes to auth_url and nowhere else.
func TestRedirect(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s was sent elsewhere", r.Method, r.URL)
	}))
	defer elsewhere.Close()
	w := newWorld(t, nil)
	target, err := url.Parse(w.fake.URL)
	if err != nil {
		t.Fatal(err)
	}
	through := httputil.NewSingleHostReverseProxy(target)
	for _, redirected := range []string{http.MethodGet, http.MethodPost} {
		door := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.Method == redirected {
				http.Redirect(rw, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
				return
			}
			through.ServeHTTP(rw, r)
		}))
		defer door.Close()
		w.a = w.with(authtoken(door.URL))
		w.is(503, w.fake.Issue(keystonetest.Of("u", "p", w.clock.Now(), "member")), "")
	}
	if w.fake.Logins() != 1 || w.log.count("it answered 307") == 0 {
		t.Errorf("%d logins; the log:\n%s", w.fake.Logins(), w.log)
	}
}

func TestAddresses(t *testing.T) {
	w := newWorld(t, nil)
	for _, suffix := range []string{"", "/", "/v3", "/v3/", "/v2.0"} {
		cfg := authtoken(w.fake.URL + suffix)
		w.a = w.with(cfg)
		if err := w.a.Login(t.Context()); err != nil {
			t.Errorf("%q: %v", suffix, err)
		}
		w.is(200, w.fake.Issue(keystonetest.Of("u", "p", w.clock.Now(), "member")), "")
	}
}

func TestFilesThatAreMissing(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none.pem")
	for _, change := range []func(*config.Authtoken){
		func(c *config.Authtoken) { c.CAFile = none },
		func(c *config.Authtoken) { c.CertFile = none },
	} {
		cfg := authtoken("https://keystone")
		change(&cfg)
		if _, err := New(Config{Authtoken: cfg, Clock: clock.System{}, Log: telemetry.Discard(), Registry: telemetry.NewRegistry()}); err == nil ||
			!strings.Contains(err.Error(), none) {
			t.Errorf("%v", err)
		}
	}
}

func TestRecentIsBounded(t *testing.T) {
	r := newRecent[int, int](100)
	r.put(-1, 7)
	for i := range 10000 {
		r.put(i, i)
		if v, ok := r.get(-1); !ok || v != 7 {
			t.Fatalf("what is used was forgotten after %d", i)
		}
		if n := r.len(); n > 100 {
			t.Fatalf("%d are kept", n)
		}
	}
	if _, ok := r.get(5); ok {
		t.Error("what is not used was kept")
	}
	r.drop(-1)
	if _, ok := r.get(-1); ok {
		t.Error("what was dropped is there")
	}
}

// TestFloodOfWrongTokens costs digests, not texts, and does not push out those that count.
func TestFloodOfWrongTokens(t *testing.T) {
	w := newWorld(t, nil)
	token := w.fake.Issue(keystonetest.Of("u", "p", w.clock.Now(), "member"))
	w.is(200, token, "")
	w.a.refused = newRecent[question, time.Time](50)
	for i := range 200 {
		w.is(401, "gAAAAAw"+strings.Repeat("x", i), "")
	}
	if n := w.a.refused.len(); n > 50 {
		t.Errorf("%d refusals are kept", n)
	}
	if n := w.a.known.len(); n != 1 {
		t.Errorf("%d tokens are kept", n)
	}
	w.is(200, token, "")
	if n := w.fake.Asked(token); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

func TestRememberedTokensCostNothing(t *testing.T) {
	w := realWorld(t, nil)
	r := request(w.fake.Issue(keystonetest.Of("u", "p", w.clock.Now(), "member")), "")
	if n := testing.AllocsPerRun(100, func() {
		if _, err := w.a.Authenticate(r); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%.0f allocations", n)
	}
}

func BenchmarkRemembered(b *testing.B) {
	fake := keystonetest.NewFake(b, time.Now)
	a, err := New(Config{Authtoken: authtoken(fake.URL), Clock: clock.System{}, Log: telemetry.Discard(), Registry: telemetry.NewRegistry()})
	if err != nil {
		b.Fatal(err)
	}
	user := fake.Issue(keystonetest.Of("u", "p", time.Now(), "member"))
	service := fake.Issue(keystonetest.Of("nova", "service", time.Now(), "service"))
	for _, c := range []struct{ name, service string }{{"user", ""}, {"with service", service}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				r := request(user, c.service)
				for pb.Next() {
					if _, err := a.Authenticate(r); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}
