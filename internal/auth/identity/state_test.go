package identity

import (
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"isospin/internal/auth"
)

func TestBackends(t *testing.T) {
	path := filepath.Join(t.TempDir(), "identity.json")
	for name, b := range map[string]Backend{"memory": &Memory{}, "file": NewFile(path)} {
		t.Run(name, func(t *testing.T) {
			s, err := b.Load()
			if err != nil || s.Revision != 0 {
				t.Fatalf("%+v, %v", s, err)
			}
			s.Revision, s.Key, s.Users = 1, "k", []User{{ID: "u", TokensSince: time.Unix(5, 0).UTC()}}
			if err := b.Save(s); err != nil {
				t.Fatal(err)
			}
			if err := b.Save(s); !errors.Is(err, ErrStale) {
				t.Errorf("the same revision again: %v", err)
			}
			s.Revision = 3
			if err := b.Save(s); !errors.Is(err, ErrStale) {
				t.Errorf("a revision left out: %v", err)
			}
			got, err := b.Load()
			if err != nil || got.Revision != 1 || got.Key != "k" || !got.Users[0].TokensSince.Equal(time.Unix(5, 0)) {
				t.Errorf("%+v, %v", got, err)
			}
			got.Users[0].Name = "changed"
			if again, _ := b.Load(); again.Users[0].Name != "" {
				t.Error("Load hands out the stored value itself")
			}
			if r, err := b.Revision(); r != 1 || err != nil {
				t.Errorf("revision %d, %v", r, err)
			}
		})
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := NewFile(path).Load(); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a broken file: %v", err)
	}
}

// TestTwoServers: tokens, changes and revocations of one hold at the other.
func TestTwoServers(t *testing.T) {
	w := newWorld(t)
	other := w.start(NewFile(filepath.Join(w.dir, "identity.json")))
	tok, _ := w.login(byName("demo", w.password("isospin-demo"), onProject("demo")))
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("X-Auth-Token", tok)
	if _, err := other.Authenticate(r); err != nil {
		t.Fatal("the other server does not know the token:", err)
	}
	if p, _ := other.Password("isospin-demo"); p != w.password("isospin-demo") {
		t.Error("the second start made other passwords")
	}
	w.do(tok, "DELETE", "/v3/auth/tokens", nil, 204)
	if err := other.Refresh(); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Authenticate(r); err == nil {
		t.Error("the other server takes a revoked token")
	}
	var wg sync.WaitGroup
	for i := range 20 {
		s := w.s
		if i%2 == 0 {
			s = other
		}
		wg.Go(func() {
			if err := s.update(func(_ *state, next *Snapshot) error {
				next.Roles = append(next.Roles, Role{ID: s.newID(), Name: s.newID()})
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	snap, err := NewFile(filepath.Join(w.dir, "identity.json")).Load()
	if err != nil || len(snap.Roles) != 25 {
		t.Errorf("%d roles, %v: a change was lost", len(snap.Roles), err)
	}
}

func TestRestart(t *testing.T) {
	w := newWorld(t)
	file := filepath.Join(w.dir, "clouds.yaml")
	old := w.password("isospin")
	tok := w.admin()
	p, _ := w.principal(tok)
	w.do(tok, "PATCH", "/v3/users/"+p.UserID, object{"user": object{"password": "chosen by a person"}}, 200)

	// The password that a person chose survives a restart.
	w.clock.Advance(time.Minute)
	w.s = w.start(NewFile(filepath.Join(w.dir, "identity.json")))
	if u := w.s.state.Load().users[p.UserID]; !w.s.verify(t.Context(), u, "chosen by a person") || w.s.verify(t.Context(), u, old) {
		t.Error("the restart changed a password")
	}
	// Deleting the file is how lost passwords are replaced.
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	w.s = w.start(NewFile(filepath.Join(w.dir, "identity.json")))
	if err := w.s.WriteClouds(":9696"); err != nil {
		t.Fatal(err)
	}
	fresh := w.password("isospin")
	if u := w.s.state.Load().users[p.UserID]; fresh == old || !w.s.verify(t.Context(), u, fresh) {
		t.Error("a missing clouds file does not give new passwords")
	}
	raw, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(raw), `auth_url: "http://127.0.0.1:9696/identity/v3"`) {
		t.Errorf("%s, %v", raw, err)
	}
	// A state that is lost (a memory backend) is seeded with the passwords that clients already have.
	w.s = w.start(&Memory{})
	if w.password("isospin") != fresh {
		t.Error("clients' files are void after a restart")
	}
}

func TestVerifiedPasswordsAreRemembered(t *testing.T) {
	w := newWorld(t)
	pw := w.password("isospin")
	u := w.s.state.Load().userNames[[2]string{"default", "admin"}]
	if !w.s.verify(t.Context(), u, pw) {
		t.Fatal("wrong password")
	}
	// With both places for hashing taken only a remembered password can be verified.
	w.s.hashing <- struct{}{}
	w.s.hashing <- struct{}{}
	if !w.s.verify(t.Context(), u, pw) {
		t.Error("a verified password is hashed again")
	}
	<-w.s.hashing
	if w.s.verify(t.Context(), u, pw+"x") || w.s.verify(t.Context(), nil, pw) {
		t.Error("a wrong password passes")
	}
}

func TestSealing(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	for _, c := range []claims{
		{user: "u", scope: Scope{ProjectID: "p"}, methods: []string{"password"}, issued: at, expires: at.Add(1), audit: "a", origin: "o"},
		{user: "u", scope: Scope{DomainID: "d"}, methods: []string{"token", "password"}, issued: at, expires: at, audit: "a"},
		{user: "u", scope: Scope{System: true}, issued: at, expires: at},
		{user: strings.Repeat("u", 255), issued: at, expires: at},
	} {
		tok := c.seal([]byte("key"))
		got, err := open(tok, []byte("key"))
		if err != nil || got.user != c.user || got.scope != c.scope || !got.issued.Equal(c.issued) || got.audit != c.audit || got.origin != c.origin || len(got.methods) != len(c.methods) {
			t.Errorf("%+v became %+v, %v", c, got, err)
		}
		if _, err := open(tok, []byte("other key")); err == nil {
			t.Error("another key opens it")
		}
		for i := range len(tok) {
			bad := []byte(tok)
			if bad[i] ^= 1; i == len(tok)-1 {
				continue // the last character may hold unused bits
			}
			if got, err := open(string(bad), []byte("key")); err == nil {
				t.Fatalf("changed at %d it opens as %+v", i, got)
			}
			if _, err := open(tok[:i], []byte("key")); err == nil {
				t.Fatalf("cut at %d it opens", i)
			}
		}
	}
}

func TestCacheStaysBounded(t *testing.T) {
	w := newWorld(t)
	p, _ := w.principal(w.admin())
	key := w.s.state.Load().key
	for i := range maxSessions + 100 {
		c := claims{user: p.UserID, scope: Scope{ProjectID: p.ProjectID}, issued: w.s.now(), expires: w.s.now().Add(time.Hour), audit: time.Duration(i).String()}
		if _, err := w.s.session(c.seal(key)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(w.s.cache); n > maxSessions {
		t.Errorf("%d tokens cached", n)
	}
}

func BenchmarkAuthenticate(b *testing.B) {
	w := newWorld(b)
	tok := w.admin()
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("X-Auth-Token", tok)
	run := func(name string, each func()) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				each()
				if _, err := w.s.Authenticate(r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	run("known", func() {})
	run("first", func() { clear(w.s.cache) })
}

func BenchmarkLogin(b *testing.B) {
	w := newWorld(b)
	u := w.s.state.Load().userNames[[2]string{"default", "admin"}]
	pw := w.password("isospin")
	for b.Loop() {
		if !w.s.verify(b.Context(), u, pw) {
			b.Fatal("wrong password")
		}
	}
}

var _ auth.Authenticator = (*Service)(nil)
