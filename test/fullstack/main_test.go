//go:build integration

package fullstack

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"golang.org/x/sync/errgroup"

	"isospin/internal/lab"
)

// binary is isospin, built once for all tests; ISOSPIN_BINARY names another one to test.
var binary = sync.OnceValues(func() (string, error) {
	if given := os.Getenv("ISOSPIN_BINARY"); given != "" {
		return given, nil
	}
	dir, err := os.MkdirTemp("", "fullstack-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "isospin")
	out, err := exec.Command("go", "build", "-o", path, "../../cmd/isospin").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("build: %w: %s", err, out)
	}
	return path, err
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := binary(); err == nil && os.Getenv("ISOSPIN_BINARY") == "" {
		_ = os.RemoveAll(filepath.Dir(path)) // What stays is in the machine's folder for what may go.
	}
	os.Exit(code)
}

// stack is a lab with a server and agents, and a client of its API.
type stack struct {
	*lab.Lab
	api *gophercloud.ServiceClient
}

// object is one of the API's.
type object map[string]any

func (o object) id() string { return o.text("id") }

func (o object) text(name string) string {
	s, _ := o[name].(string)
	return s
}

// bring makes a lab of its own for a test; what is left of it after its end is an error. config is added to what
// server and agents are told.
func bring(t *testing.T, config string, hosts ...lab.HostSpec) *stack {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	o := lab.Options{Dir: t.TempDir(), Hosts: hosts, Binary: path}
	if config != "" {
		file := filepath.Join(t.TempDir(), "test.conf")
		if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
			t.Fatal(err)
		}
		o.ConfigFiles = []string{file}
	}
	began := time.Now()
	l, err := lab.Up(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("lab of %d hosts up after %d ms", len(hosts), time.Since(began).Milliseconds())
	t.Cleanup(func() { takeDown(t, l) })
	c, err := l.Cloud(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return &stack{l, c.API()}
}

func takeDown(t *testing.T, l *lab.Lab) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	if t.Failed() {
		var logs bytes.Buffer
		_ = l.Logs(ctx, &logs, "", 25, false) // What can be read of them helps.
		for line := range strings.Lines(logs.String()) {
			if !strings.Contains(line, "|INFO|") && !strings.Contains(line, "level=INFO") {
				t.Log(strings.TrimSpace(line))
			}
		}
	}
	if err := l.Down(ctx); err != nil {
		t.Error(err)
	}
}

// whole is a host that every network reaches.
func whole(name string) lab.HostSpec { return lab.HostSpec{Name: name} }

// call sends one request; an answer that is no success ends the test.
func (s *stack) call(t *testing.T, method, path string, body any) object {
	t.Helper()
	out, err := s.try(t.Context(), method, path, body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return out
}

func (s *stack) try(ctx context.Context, method, path string, body any) (object, error) {
	var out object
	o := &gophercloud.RequestOpts{OkCodes: []int{200, 201, 204}}
	if method != http.MethodDelete {
		o.JSONResponse = &out
	}
	if body != nil {
		o.JSONBody = body
	}
	_, err := s.api.Request(ctx, method, s.api.ServiceURL(path), o)
	return out, err
}

// create makes a resource: a "network", "subnet", "port".
func (s *stack) create(t *testing.T, resource string, attributes object) object {
	t.Helper()
	return inner(t, s.call(t, http.MethodPost, resource+"s", object{resource: attributes}), resource)
}

func (s *stack) update(t *testing.T, resource, id string, attributes object) object {
	t.Helper()
	return inner(t, s.call(t, http.MethodPut, resource+"s/"+id, object{resource: attributes}), resource)
}

func (s *stack) show(t *testing.T, resource, id string) object {
	t.Helper()
	return inner(t, s.call(t, http.MethodGet, resource+"s/"+id, nil), resource)
}

func (s *stack) remove(t *testing.T, resource, id string) {
	t.Helper()
	s.call(t, http.MethodDelete, resource+"s/"+id, nil)
}

// list finds resources by a query, "network_id=..."
func (s *stack) list(t *testing.T, resource, query string) []object {
	t.Helper()
	var out []object
	for _, v := range s.call(t, http.MethodGet, resource+"s?"+query, nil)[resource+"s"].([]any) {
		out = append(out, v.(map[string]any))
	}
	return out
}

func inner(t *testing.T, o object, name string) object {
	t.Helper()
	m, ok := o[name].(map[string]any)
	if !ok {
		t.Fatalf("an answer without %s: %v", name, o)
	}
	return m
}

// net makes a network with one IPv4 subnet of the prefix, "10.1.0.0/24".
func (s *stack) net(t *testing.T, name, cidr string, attributes object) object {
	t.Helper()
	body := object{"name": name}
	for k, v := range attributes {
		body[k] = v
	}
	n := s.create(t, "network", body)
	s.create(t, "subnet", object{"network_id": n.id(), "ip_version": 4, "cidr": cidr})
	return n
}

// birth is a guest to boot.
type birth struct{ name, host, network, port string }

// boot boots guests with DHCP, all at the same time; a guest that has an address has it from a lease.
func (s *stack) boot(t *testing.T, births ...birth) map[string]*lab.Guest {
	t.Helper()
	return s.bootAll(t, false, births)
}

// static boots guests without DHCP.
func (s *stack) static(t *testing.T, births ...birth) map[string]*lab.Guest {
	t.Helper()
	return s.bootAll(t, true, births)
}

func (s *stack) bootAll(t *testing.T, static bool, births []birth) map[string]*lab.Guest {
	t.Helper()
	out := map[string]*lab.Guest{}
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(t.Context())
	g.SetLimit(4)
	for _, b := range births {
		g.Go(func() error {
			guest, err := s.Boot(ctx, lab.BootOptions{Name: b.name, Host: b.host, Network: b.network, Port: b.port, NoDHCP: static, Timeout: 20 * time.Second})
			mu.Lock()
			defer mu.Unlock()
			out[b.name] = guest
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	return out
}

func (s *stack) destroy(t *testing.T, names ...string) {
	t.Helper()
	for _, n := range names {
		if err := s.Delete(t.Context(), n); err != nil {
			t.Error(err)
		}
	}
}

// on runs a command in a place of the lab; a status other than 0 ends the test.
func (s *stack) on(t *testing.T, place string, args ...string) string {
	t.Helper()
	out, err := s.Exec(t.Context(), place, args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

// must ends the test on an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// until asks again and again until done says so; what it last said otherwise is in the failure.
func until(t *testing.T, within time.Duration, what string, done func() (ok bool, said string)) time.Duration {
	t.Helper()
	began := time.Now()
	for {
		ok, said := done()
		if ok {
			return time.Since(began)
		}
		if time.Since(began) > within {
			t.Fatalf("not within %s: %s: %s", within, what, said)
		}
		<-time.After(10 * time.Millisecond)
	}
}

// status waits for a port's status.
func (s *stack) status(t *testing.T, port, want string) time.Duration {
	t.Helper()
	return until(t, 10*time.Second, "port "+port+" "+want, func() (bool, string) {
		got := s.show(t, "port", port).text("status")
		return got == want, got
	})
}
