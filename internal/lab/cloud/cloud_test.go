package cloud

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// clean takes the caller's own cloud out of the environment.
func clean(t *testing.T) {
	t.Helper()
	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "OS_") {
			t.Setenv(name, "")
		}
	}
}

// TestAnOpenrcIsEnough: the variables of an openrc file become the request for a token, with the domains that people leave out.
func TestAnOpenrcIsEnough(t *testing.T) {
	for name, tc := range map[string]struct {
		env  map[string]string
		want string
	}{
		"names": {map[string]string{"OS_USERNAME": "anna", "OS_PASSWORD": "x", "OS_PROJECT_NAME": "p", "OS_USER_DOMAIN_NAME": "d", "OS_PROJECT_DOMAIN_NAME": "e"},
			`{"auth":{"identity":{"methods":["password"],"password":{"user":{"name":"anna","password":"x","domain":{"name":"d"}}}},"scope":{"project":{"name":"p","domain":{"name":"e"}}}}}`},
		"no domains": {map[string]string{"OS_USERNAME": "anna", "OS_PASSWORD": "x", "OS_PROJECT_NAME": "p"},
			`{"auth":{"identity":{"methods":["password"],"password":{"user":{"name":"anna","password":"x","domain":{"name":"Default"}}}},"scope":{"project":{"name":"p","domain":{"name":"Default"}}}}}`},
		"ids": {map[string]string{"OS_USER_ID": "u", "OS_PASSWORD": "x", "OS_PROJECT_ID": "p"},
			`{"auth":{"identity":{"methods":["password"],"password":{"user":{"id":"u","password":"x"}}},"scope":{"project":{"id":"p"}}}}`},
		"application credential": {map[string]string{"OS_APPLICATION_CREDENTIAL_ID": "c", "OS_APPLICATION_CREDENTIAL_SECRET": "s"},
			`{"auth":{"identity":{"methods":["application_credential"],"application_credential":{"id":"c","secret":"s"}}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			clean(t)
			var asked string
			keystone := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost {
					var body any
					if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
						t.Error(err)
					}
					raw, err := json.Marshal(body)
					if err != nil {
						t.Error(err)
					}
					asked = string(raw)
					w.Header().Set("X-Subject-Token", "token")
					w.WriteHeader(http.StatusCreated)
				}
				_, _ = w.Write([]byte(`{"token": {"catalog": [], "expires_at": "2099-01-01T00:00:00Z"}}`))
			}))
			defer keystone.Close()
			t.Setenv("OS_AUTH_URL", keystone.URL+"/v3")
			for k, v := range tc.env {
				t.Setenv(k, v)
			}
			c, err := New(t.Context(), Access{URL: "http://127.0.0.1:1"})
			if err != nil {
				t.Fatal(err)
			}
			var want any
			if err := json.Unmarshal([]byte(tc.want), &want); err != nil {
				t.Fatal(err)
			}
			if raw, _ := json.Marshal(want); asked != string(raw) {
				t.Errorf("asked for %s, want %s", asked, raw)
			}
			if c.API().Token() != "token" {
				t.Errorf("the token is %q", c.API().Token())
			}
		})
	}
}

func TestNobodyIsNamed(t *testing.T) {
	clean(t)
	if _, err := New(t.Context(), Access{URL: "http://127.0.0.1:1"}); !errors.Is(err, ErrNobody) {
		t.Errorf("got %v", err)
	}
	t.Setenv("OS_AUTH_URL", "http://127.0.0.1:1/v3")
	t.Setenv("OS_CACERT", os.DevNull)
	if _, err := New(t.Context(), Access{URL: "http://127.0.0.1:1"}); err == nil || !strings.Contains(err.Error(), "OS_CACERT") {
		t.Errorf("a file without certificates: %v", err)
	}
}
