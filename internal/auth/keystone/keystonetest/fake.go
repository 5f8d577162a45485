// Package keystonetest is Keystone for tests. Fake is the stand-in of its protocol, for unit tests: as much of POST, GET
// and DELETE /v3/auth/tokens as a service needs that asks about tokens. Start runs Debian's own on a MariaDB, which
// is what the stand-in is judged by. Only tests call it.
package keystonetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// The user that may ask the Fake about tokens, in domain default.
const (
	ServiceUser     = "neutron"
	ServicePassword = "sesame, open"
	ServiceProject  = "service"
)

// Token is what the Fake tells of a token: the body of its answer, as Keystone writes it.
type Token struct {
	Expires    time.Time      `json:"expires_at"`
	User       map[string]any `json:"user"`
	Project    map[string]any `json:"project,omitempty"`
	Domain     map[string]any `json:"domain,omitempty"`
	System     map[string]any `json:"system,omitempty"`
	Roles      []Role         `json:"roles,omitempty"`
	Credential any            `json:"application_credential,omitempty"`
	AdminOfAll bool           `json:"is_admin_project"`
}

// Role is a role in a token.
type Role struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Of is a token of a user for a project, with roles, for an hour from now on.
func Of(user, project string, now time.Time, roles ...string) Token {
	in := func(id string) map[string]any {
		return map[string]any{"id": id, "name": "name of " + id, "domain": map[string]any{"id": "default", "name": "Default"}}
	}
	t := Token{Expires: now.Add(time.Hour), User: in(user)}
	if project != "" {
		t.Project = in(project)
	}
	for _, r := range roles {
		t.Roles = append(t.Roles, Role{"id-" + r, r})
	}
	return t
}

// Fake answers like Keystone. It is safe for concurrent use.
type Fake struct {
	URL string // without /v3
	Now func() time.Time

	mu      sync.Mutex
	server  *httptest.Server
	tokens  map[string]Token
	asked   map[string]int // questions by token
	queries []string       // of the questions
	logins  int
	status  int // of every answer; 0: as it should be
	door    chan struct{}
	serial  int
}

// NewFake starts one that ends with the test.
func NewFake(tb testing.TB, now func() time.Time) *Fake {
	f := &Fake{Now: now, tokens: map[string]Token{}, asked: map[string]int{}}
	f.server = httptest.NewServer(http.HandlerFunc(f.serve))
	f.URL = f.server.URL
	tb.Cleanup(f.server.Close)
	return f
}

// Issue makes the token known and gives its text.
func (f *Fake) Issue(t Token) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.issue(t)
}

func (f *Fake) issue(t Token) string {
	f.serial++
	text := fmt.Sprintf("gAAAAA%0177d", f.serial) // as long as Fernet's
	f.tokens[text] = t
	return text
}

// Revoke forgets a token.
func (f *Fake) Revoke(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.tokens, text)
}

// RevokeServices forgets the tokens of whoever asks about tokens.
func (f *Fake) RevokeServices() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for text, t := range f.tokens {
		if t.User["id"] == ServiceUser {
			delete(f.tokens, text)
		}
	}
}

// Answer makes every answer one of this status; 0: as it should be.
func (f *Fake) Answer(status int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.status = status
}

// Hold keeps questions without an answer until release is called.
func (f *Fake) Hold() (release func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	door := make(chan struct{})
	f.door = door
	return sync.OnceFunc(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.door = nil
		close(door)
	})
}

// Asked is how many questions about a token came, answered or not.
func (f *Fake) Asked(text string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked[text]
}

// Logins is how many tokens were given for the service user's password.
func (f *Fake) Logins() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.logins
}

// Queries are the query strings of all questions.
func (f *Fake) Queries() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.queries)
}

// Close ends the Fake before its test does: Keystone is away.
func (f *Fake) Close() { f.server.Close() }

func (f *Fake) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/v3/auth/tokens" {
		http.NotFound(w, r)
		return
	}
	f.mu.Lock()
	status, door := f.status, f.door
	if r.Method == http.MethodGet {
		f.asked[r.Header.Get("X-Subject-Token")]++
		f.queries = append(f.queries, r.URL.RawQuery)
	}
	f.mu.Unlock()
	if door != nil && r.Method == http.MethodGet {
		select {
		case <-door:
		case <-r.Context().Done():
			return
		}
	}
	if status != 0 {
		refuse(w, status)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.Method == http.MethodPost {
		f.login(w, r)
		return
	}
	asker, ok := f.tokens[r.Header.Get("X-Auth-Token")]
	if !ok || !f.Now().Before(asker.Expires) {
		refuse(w, http.StatusUnauthorized)
		return
	}
	if !slices.ContainsFunc(asker.Roles, func(r Role) bool { return r.Name == "service" || r.Name == "admin" }) {
		refuse(w, http.StatusForbidden)
		return
	}
	text := r.Header.Get("X-Subject-Token")
	t, ok := f.tokens[text]
	restricted := t.Credential != nil && r.Header.Get("OpenStack-Identity-Access-Rules") == ""
	if !ok || restricted || !f.Now().Before(t.Expires) && !r.URL.Query().Has("allow_expired") {
		refuse(w, http.StatusNotFound)
		return
	}
	if r.Method == http.MethodDelete {
		delete(f.tokens, text)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.Header().Set("X-Subject-Token", text)
	reply(w, http.StatusOK, t)
}

// login gives a token for the service user's password.
func (f *Fake) login(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Auth struct {
			Identity struct {
				Password struct {
					User struct {
						Name     string
						Password string
						Domain   struct{ ID, Name string }
					}
				}
			}
			Scope struct {
				Project struct{ Name string }
			}
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		refuse(w, http.StatusBadRequest)
		return
	}
	u := body.Auth.Identity.Password.User
	if u.Name != ServiceUser || u.Password != ServicePassword || strings.ToLower(u.Domain.ID+u.Domain.Name) != "default" ||
		body.Auth.Scope.Project.Name != ServiceProject {
		refuse(w, http.StatusUnauthorized)
		return
	}
	f.logins++
	t := Of(ServiceUser, ServiceProject, f.Now(), "service")
	w.Header().Set("X-Subject-Token", f.issue(t))
	reply(w, http.StatusCreated, t)
}

func reply(w http.ResponseWriter, status int, t Token) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]Token{"token": t}) // who has left reads no error either
}

func refuse(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"code": status, "title": http.StatusText(status), "message": "no"}})
}
