//go:build conformance

package conformance

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/common/extensions"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/external"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"isospin/internal/auth/keystone/keystonetest"
	"isospin/test/rig"
)

//go:embed testdata/tempest.py
var tempestRunner string

// tempestSkips are the tests that tempest leaves out here, with its reasons: each needs another service.
func tempestSkips() map[string]string {
	return map[string]string{}
}

// tempestWorkers is how many classes run at the same time, more than the processors: each waits for answers most of the time.
const tempestWorkers = 3

// tempestFloor is how many tests there must be at least, so that the whole never shrinks unseen.
const tempestFloor = 250

// TestTempest runs tempest.api.network against Isospin with Debian's Keystone. It needs Debian's python3-tempest, keystone,
// python3-pymysql, python3-waitress and mariadb-server. A part: -run 'TestTempest/.*test_routers'.
func TestTempest(t *testing.T) {
	c := newTempest(t)
	began := time.Now()
	classes := make(chan string)
	var running sync.WaitGroup
	for _, w := range c.workers {
		running.Go(func() {
			for class := range classes {
				t.Run(strings.TrimPrefix(class, "tempest.api.network."), func(t *testing.T) { c.run(t, w, class) })
			}
		})
	}
	for class := range c.classes {
		classes <- class
	}
	close(classes)
	running.Wait()
	t.Logf("%d passed, %d skipped, %d failed in %s", c.how["passed"], c.how["skipped"], c.how["failed"], time.Since(began).Round(time.Second))
	if len(c.ran) < len(c.classes) {
		return // a part was asked for
	}
	if n := c.how["passed"] + c.how["skipped"] + c.how["failed"]; n < tempestFloor {
		t.Errorf("%d tests ran, which is less than the %d that there are", n, tempestFloor)
	}
	for test, why := range tempestSkips() {
		if c.skipped[test] != why {
			t.Errorf("%s was to be skipped: %s", test, why)
		}
	}
}

// tempest is a cloud, and processes that run tests against it.
type tempest struct {
	dir     string
	classes map[string][]string // with their tests
	workers []*worker

	mu      sync.Mutex
	ran     map[string]bool
	how     map[string]int
	skipped map[string]string
}

// worker is a process that runs one class at a time.
type worker struct {
	in  io.Writer
	out *bufio.Reader
	log string
}

func newTempest(t *testing.T) *tempest {
	k, err := keystonetest.Start(t.Context())
	must(t, err)
	t.Cleanup(func() {
		if err := k.Stop(); err != nil {
			t.Error(err)
		}
	})
	_, err = k.User(t.Context(), "isospin", "a service's secret", keystonetest.ServiceProject, "service")
	must(t, err)
	options := listening(t, databases.Fresh(t, "sqlite"))
	options["DEFAULT/auth_strategy"] = "keystone"
	options["keystone_authtoken/http_connect_timeout"] = "60" // the machine may be busy
	for name, v := range k.Authtoken("isospin", "a service's secret") {
		options["keystone_authtoken/"+name] = v
	}
	s := rig.StartProcess(t, options)
	must(t, k.Register(t.Context(), "network", "isospin", s.URL))
	must(t, k.Register(t.Context(), "compute", "hypervisors", hypervisors(t)))
	hosts(t, options, 2)
	p, err := k.As(t.Context(), keystonetest.InProject("admin", k.AdminPassword, "admin"))
	must(t, err)
	admin, err := openstack.NewNetworkV2(p, gophercloud.EndpointOpts{Region: "RegionOne"})
	must(t, err)
	c := &tempest{dir: t.TempDir(), ran: map[string]bool{}, how: map[string]int{}, skipped: map[string]string{}}
	must(t, os.WriteFile(filepath.Join(c.dir, "tempest.conf"), []byte(tempestConf(t, k, admin, c.dir)), 0o600))
	must(t, os.WriteFile(filepath.Join(c.dir, "accounts.yaml"), tempestAccounts(t, k), 0o600))
	must(t, os.Mkdir(filepath.Join(c.dir, "locks"), 0o700))
	must(t, os.WriteFile(filepath.Join(c.dir, "run.py"), []byte(tempestRunner), 0o600))
	for n := range tempestWorkers {
		c.workers = append(c.workers, c.start(t, n))
	}
	return c
}

// hypervisors is as much of a compute service as tests of networking ask for: the list of its hypervisors.
func hypervisors(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/os-hypervisors" {
			t.Errorf("the compute service was asked for %s", r.URL)
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"hypervisors": [{"id": 1, "hypervisor_hostname": "h1", "state": "up", "status": "enabled"}]}`) // who has left reads no error either
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// tempestConf says what this cloud has: the Networking API with all its extensions, and no other service.
func tempestConf(t *testing.T, k *keystonetest.Keystone, admin *gophercloud.ServiceClient, dir string) string {
	t.Helper()
	yes := true
	// It is shared too, for the subnets of one that is external only are seen by all since subnet-external-network, which this
	// tempest does not know yet.
	n, err := networks.Create(t.Context(), admin, external.CreateOptsExt{CreateOptsBuilder: networks.CreateOpts{Name: "public", Shared: &yes}, External: &yes}).Extract()
	must(t, err)
	no := false
	_, err = subnets.Create(t.Context(), admin, subnets.CreateOpts{NetworkID: n.ID, IPVersion: gophercloud.IPv4, CIDR: "172.24.0.0/16", EnableDHCP: &no}).Extract()
	must(t, err)
	_, err = subnets.Create(t.Context(), admin, subnets.CreateOpts{NetworkID: n.ID, IPVersion: gophercloud.IPv6, CIDR: "2001:db8:ffff::/64", EnableDHCP: &no}).Extract()
	must(t, err)
	page, err := extensions.List(admin).AllPages(t.Context())
	must(t, err)
	served, err := extensions.ExtractExtensions(page)
	must(t, err)
	aliases := []string{"tag"} // of old: tests of what standard-attr-tag says now
	for _, e := range served {
		aliases = append(aliases, e.Alias)
	}
	sections := []struct{ name, options string }{
		{"DEFAULT", "log_dir = " + dir + "\ndebug = false"},
		{"oslo_concurrency", "lock_path = " + dir + "/locks"},
		{"auth", "use_dynamic_credentials = false\ntest_accounts_file = " + dir + "/accounts.yaml\nadmin_username = admin\nadmin_password = " + k.AdminPassword + "\nadmin_project_name = admin\nadmin_domain_name = Default"},
		{"identity", "auth_version = v3\nuri_v3 = " + k.URL + "\nregion = RegionOne"},
		{"identity-feature-enabled", "api_v3 = true"},
		// Tests of bindings ask for a compute service and then want no more of it than a hypervisor's name.
		{"service_available", "neutron = true\nnova = true\nglance = false\ncinder = false\nswift = false\nhorizon = false"},
		{"validation", "run_validation = false"},
		{"network", "region = RegionOne\nbuild_interval = 0\npublic_network_id = " + n.ID + "\nfloating_network_name = public"},
		{"network-feature-enabled", "ipv6 = true\nipv6_subnet_attributes = true\nport_security = true\nfloating_ips = true\navailable_features = all\n" +
			"api_extensions = " + strings.Join(aliases, ",")},
	}
	var b strings.Builder
	for _, s := range sections {
		fmt.Fprintf(&b, "[%s]\n%s\n\n", s.name, s.options)
	}
	return b.String()
}

// tempestAccounts makes the users of the tests, each with a project of its own, and gives the file that lists them. They are made
// once: users that come and go with each class would keep Keystone busier than everything else.
func tempestAccounts(t *testing.T, k *keystonetest.Keystone) []byte {
	t.Helper()
	type account struct {
		Username    string   `json:"username"`
		ProjectName string   `json:"project_name"`
		DomainName  string   `json:"domain_name"`
		Password    string   `json:"password"`
		Roles       []string `json:"roles"`
		Types       []string `json:"types,omitempty"`
	}
	var all []account
	for n := range 3 * tempestWorkers { // a class takes up to three
		a := account{Username: fmt.Sprintf("user%d", n), ProjectName: fmt.Sprintf("project%d", n), DomainName: "Default", Password: "secret", Roles: []string{"member"}}
		if n < tempestWorkers {
			a.Roles, a.Types = []string{"admin"}, []string{"admin"}
		}
		_, err := k.User(t.Context(), a.Username, a.Password, a.ProjectName, a.Roles...)
		must(t, err)
		all = append(all, a)
	}
	raw, err := json.Marshal(all) // which is YAML too
	must(t, err)
	return raw
}

// start runs a process for classes of tests; the first one's list of classes is kept.
func (c *tempest) start(t *testing.T, n int) *worker {
	t.Helper()
	w := &worker{log: filepath.Join(c.dir, fmt.Sprintf("worker%d", n))}
	log, err := os.Create(w.log)
	must(t, err)
	cmd := exec.Command("/usr/bin/python3", filepath.Join(c.dir, "run.py"))
	cmd.Env = append(os.Environ(), "TEMPEST_CONFIG_DIR="+c.dir, "PYTHONWARNINGS=ignore", "no_proxy=127.0.0.1", "NO_PROXY=127.0.0.1")
	cmd.Dir, cmd.Stderr = c.dir, log
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = in.Close()                            // it ends when there is no more to do
		_ = cmd.Process.Signal(syscall.SIGTERM)   // and when it hangs
		_ = cmd.Wait()                            // with whatever status
		_ = log.Close()                           // which says nothing new
		http.DefaultClient.CloseIdleConnections() // of the server that is stopped next
	})
	w.in, w.out = in, bufio.NewReader(out)
	first := w.next(t)
	if len(first.Classes) == 0 {
		t.Fatal("tempest has no tests")
	}
	c.classes = first.Classes
	return w
}

// told is what a worker says: its tests, how one went, or that a class has ended.
type told struct {
	Classes         map[string][]string
	Test, How, Text string
	Seconds         float64
	End             string
}

func (w *worker) next(t *testing.T) told {
	t.Helper()
	line, err := w.out.ReadString('\n')
	if err != nil {
		raw, _ := os.ReadFile(w.log) // the failure is told with what there is
		t.Fatalf("a worker ended: %v\n%s", err, raw)
	}
	var x told
	must(t, json.Unmarshal([]byte(line), &x))
	return x
}

func (c *tempest) run(t *testing.T, w *worker, class string) {
	_, err := fmt.Fprintln(w.in, class)
	must(t, err)
	rest := slices.Clone(c.classes[class])
	for {
		x := w.next(t)
		if x.End != "" {
			break
		}
		rest = slices.DeleteFunc(rest, func(name string) bool { return x.Test == class+"."+name })
		c.count(t, x)
	}
	if len(rest) > 0 && !t.Failed() {
		t.Errorf("%v did not run", rest)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ran[class] = true
}

// count takes how a test went.
func (c *tempest) count(t *testing.T, x told) {
	t.Helper()
	name := strings.TrimPrefix(x.Test, "tempest.api.network.")
	c.mu.Lock()
	defer c.mu.Unlock()
	c.how[x.How]++
	switch x.How {
	case "failed":
		t.Errorf("%s: %s", name, x.Text)
	case "skipped":
		c.skipped[name] = x.Text
		if tempestSkips()[name] != x.Text {
			t.Errorf("%s was skipped: %s", name, x.Text)
		}
	}
}
