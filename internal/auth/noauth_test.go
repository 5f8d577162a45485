package auth

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"isospin/internal/fault"
)

func TestNoAuth(t *testing.T) {
	all := []string{"admin", "manager", "member", "reader"}
	for name, c := range map[string]struct {
		headers        map[string]string
		project, user  string
		roles, service []string
	}{
		"nothing":    {nil, "", "", all, nil},
		"project":    {map[string]string{"X-Project-Id": "p"}, "p", "", all, nil},
		"tenant":     {map[string]string{"X-Tenant-Id": "t"}, "t", "", all, nil},
		"both":       {map[string]string{"X-Project-Id": "p", "X-Tenant-Id": "t"}, "p", "", all, nil},
		"roles":      {map[string]string{"X-Roles": "member, reader,", "X-User-Id": "u"}, "", "u", []string{"member", "reader"}, nil},
		"role":       {map[string]string{"X-Role": "service"}, "", "", []string{"service"}, nil},
		"vouched":    {map[string]string{"X-Roles": "reader", "X-Service-Roles": "service"}, "", "", []string{"reader"}, []string{"service"}},
		"only comma": {map[string]string{"X-Roles": " , "}, "", "", all, nil},
	} {
		r := httptest.NewRequest("GET", "/v2.0/networks", nil)
		for k, v := range c.headers {
			r.Header.Set(k, v)
		}
		p, err := NoAuth{}.Authenticate(r)
		if err != nil || p.ProjectID != c.project || p.UserID != c.user || !slices.Equal(p.Roles, c.roles) || !slices.Equal(p.ServiceRoles, c.service) {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

// TestNoAuthProjects: an id that a row could not hold, or that would be another in the row's body, is nobody's.
func TestNoAuthProjects(t *testing.T) {
	for id, fits := range map[string]bool{
		strings.Repeat("p", 255): true, strings.Repeat("é", 255): true, "x y": true,
		strings.Repeat("p", 256): false, strings.Repeat("é", 256): false, "\xff\xfe": false, "p\x80": false,
	} {
		r := httptest.NewRequest("POST", "/v2.0/networks", nil)
		r.Header.Set("X-Project-Id", id)
		p, err := NoAuth{}.Authenticate(r)
		if fits && (err != nil || p.ProjectID != id) || !fits && fault.Of(err).Kind != fault.Unauthenticated {
			t.Errorf("%.20q of %d bytes: %v", id, len(id), err)
		}
	}
}

func TestNoAuthStaysOnLoopback(t *testing.T) {
	for listen, want := range map[string]bool{
		"127.0.0.1:9696": true, "127.9.9.9:1": true, "[::1]:9696": true, "localhost:9696": true, "[::ffff:127.0.0.1]:1": true,
		":9696": false, "0.0.0.0:9696": false, "[::]:9696": false, "192.0.2.1:9696": false, "nonsense": false,
	} {
		if err := AllowNoAuth(listen, false); (err == nil) != want {
			t.Errorf("%s: %v", listen, err)
		}
		if err := AllowNoAuth(listen, true); err != nil {
			t.Errorf("%s, confirmed: %v", listen, err)
		}
	}
}

func TestRoles(t *testing.T) {
	p := &Principal{Roles: []string{"Member"}, ServiceRoles: []string{"service"}}
	if !p.HasRole("member") || p.HasRole("service") || !p.HasServiceRole("SERVICE") || p.HasRole("") {
		t.Errorf("%+v", p)
	}
	if got := From(With(t.Context(), p)); got != p || From(t.Context()) != nil {
		t.Error("the context does not carry the principal")
	}
}

type challenger struct{ NoAuth }

func (challenger) Challenge(*http.Request) string { return `Keystone uri="http://k"` }

func TestRefuse(t *testing.T) {
	for name, c := range map[string]struct {
		a         Authenticator
		err       error
		code      int
		challenge string
	}{
		"no token":     {challenger{}, Unauthenticated(), 401, `Keystone uri="http://k"`},
		"no challenge": {NoAuth{}, Unauthenticated(), 401, ""},
		"down":         {challenger{}, fault.Newf(fault.Unavailable, "x", "y"), 503, ""},
		"broken":       {challenger{}, errors.New("secret"), 503, ""},
	} {
		w := httptest.NewRecorder()
		Refuse(w, httptest.NewRequest("GET", "/", nil), c.a, c.err)
		var body struct {
			Error struct {
				Code           int
				Title, Message string
			}
		}
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
			t.Fatal(err)
		}
		if w.Code != c.code || body.Error.Code != c.code || w.Header().Get("WWW-Authenticate") != c.challenge || body.Error.Message == "secret" || body.Error.Title == "" {
			t.Errorf("%s: %d %v %s", name, w.Code, w.Header(), w.Body)
		}
	}
}
