package config

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// file writes a configuration file into a folder of the test's.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func server(t *testing.T, src Sources) *Server {
	t.Helper()
	src.Root = true
	conf, warnings, err := Load[Server](src)
	if err != nil {
		t.Fatal(err)
	}
	if len(warnings) > 0 {
		t.Fatalf("warnings: %v", warnings)
	}
	return conf
}

func TestDefaults(t *testing.T) {
	s := server(t, Sources{Host: "h1"})
	for _, c := range []struct{ name, got, want string }{
		{"host", s.Host.Host, "h1"},
		{"state_dir", s.State.Dir, "/var/lib/isospin"},
		{"auth_strategy", s.API.AuthStrategy, "dev"},
		{"bind_host", s.API.BindHost, "127.0.0.1"},
		{"connection", s.Database.Connection.String(), "embedded"},
		{"project_network_types", strings.Join(s.ML2.ProjectNetworkTypes, ","), "vxlan"},
		{"flat_networks", strings.Join(s.Flat.Networks, ","), "*"},
		{"policy_file", s.Policy.File, ""},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, c.got, c.want)
		}
	}
	if diff := cmp.Diff([]IDRange{{1, 16777215}}, s.VXLAN.Ranges); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]VLANRange{{"physnet1", 1, 4094}, {"public", 1, 4094}}, s.VLAN.Ranges); diff != "" {
		t.Error(diff)
	}
	if s.Scheduling.AgentDownTime != 75*time.Second || s.API.BindPort != 9696 || s.API.MaxLimit != 0 {
		t.Errorf("got %+v %+v", s.Scheduling, s.API)
	}
	if _, _, err := Load[Agent](Sources{Root: true}); err != nil {
		t.Error(err)
	}
}

// TestNeutronFiles loads what a deployment of Neutron typically has.
func TestNeutronFiles(t *testing.T) {
	main := file(t, "neutron.conf", `
# comments, and options that Isospin has no use for
[DEFAULT]
core_plugin = ml2
service_plugins = router,qos,
  trunk
allow_overlapping_ips = true
transport_url = rabbit://openstack:s3cr:t@controller
base_mac = fa:16:3e:4f:00:00
state_path = /srv/neutron
pagination_max_limit: 1000
debug = on

[oslo_concurrency]
lock_path = $state_path/lock

[Database]
connection = mysql+pymysql://neutron:p%40ss/w$$rd@db.example.com/neutron?charset=utf8mb4
max_pool_size = 7

[keystone_authtoken]
www_authenticate_uri = http://controller:5000
auth_url = http://controller:5000
memcached_servers = controller:11211
username = neutron
password = 'quoted'
project_domain_name = Default
`)
	ml2 := file(t, "ml2_conf.ini", `
[ml2]
tenant_network_types = vxlan, vlan
mechanism-drivers = openvswitch,l2population
physical_network_mtus = physnet1:9000,physnet2:1400
[ml2_type_vlan]
network_vlan_ranges = physnet1:100:199,physnet1:300:399,physnet2
[ml2_type_vxlan]
vni_ranges =
    1:1000,
    2000:3000
`)
	s := server(t, Sources{Files: []string{main, ml2}, Host: "h1"})
	if diff := cmp.Diff([]string{"router", "qos", "trunk"}, s.Plugins.Service); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]VLANRange{{"physnet1", 100, 199}, {"physnet1", 300, 399}, {"physnet2", 0, 0}}, s.VLAN.Ranges); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]IDRange{{1, 1000}, {2000, 3000}}, s.VXLAN.Ranges); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]int{"physnet1": 9000, "physnet2": 1400}, s.ML2.PhysicalNetworkMTUs); diff != "" {
		t.Error(diff)
	}
	if got, want := s.Database.Connection.URL(), "mysql+pymysql://neutron:p%40ss/w$rd@db.example.com/neutron?charset=utf8mb4"; got != want {
		t.Errorf("connection %s, want %s", got, want)
	}
	for _, c := range []struct{ name, got, want string }{
		{"project_network_types", strings.Join(s.ML2.ProjectNetworkTypes, ","), "vxlan,vlan"},
		{"mechanism_drivers", strings.Join(s.ML2.MechanismDrivers, ","), "openvswitch,l2population"},
		{"auth_strategy", s.API.AuthStrategy, "keystone"},
		{"bind_host", s.API.BindHost, "0.0.0.0"},
		{"password", s.Authtoken.Password, "quoted"},
		{"base_mac", s.Limits.BaseMAC.String(), "fa:16:3e:4f:00:00"},
		{"policy_file", s.Policy.File, filepath.Join(filepath.Dir(main), "policy.yaml")},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, c.got, c.want)
		}
	}
	if s.API.MaxLimit != 1000 || !s.Log.Debug || s.Database.MaxPoolSize != 7 {
		t.Errorf("got %+v %+v %+v", s.API, s.Log, s.Database)
	}
}

func TestAgentFile(t *testing.T) {
	conf, warnings, err := Load[Agent](Sources{Root: true, Files: []string{file(t, "openvswitch_agent.ini", `
[DEFAULT]
my_ip = 192.0.2.7
[ovs]
bridge_mappings = public:br-ex, physnet1:br-eth1
local_ip = $my_ip
datapath_type = netdev
[agent]
tunnel_types = vxlan
report_interval = 0.5
[isospin]
servers = 10.0.0.1:9698,[2001:db8::1]:9698
ovs_run_dir = /run/lab/h1
`)}})
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	if diff := cmp.Diff(Mappings{"public": "br-ex", "physnet1": "br-eth1"}, conf.OVS.BridgeMappings); diff != "" {
		t.Error(diff)
	}
	if conf.OVS.LocalIP.String() != "192.0.2.7" || conf.L2.Report != 500*time.Millisecond || conf.OVSDB() != "unix:/run/lab/h1/db.sock" {
		t.Errorf("got %v %v %v", conf.OVS.LocalIP, conf.L2.Report, conf.OVSDB())
	}
}

func TestPrecedence(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"10.conf": "[DEFAULT]\nhost=ten\n", "20.conf": "[DEFAULT]\nhost=twenty\n", "30.ini": "[DEFAULT]\nhost=no\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	one := file(t, "one.conf", "[DEFAULT]\nhost=one\n")
	src := Sources{Host: "default"}
	steps := []struct {
		want string
		add  func()
	}{
		{"default", func() {}},
		{"one", func() { src.Files = []string{one} }},
		{"twenty", func() { src.Dirs = []string{dir} }},
		{"env", func() { src.Env = []string{"OS_DEFAULT__HOST=env", "OS_NOVA__WHATEVER=x", "OS_CLOUD=isospin"} }},
		{"$flag", func() { src.Flags = map[string]string{"DEFAULT/host": "$flag"} }},
	}
	for _, s := range steps {
		s.add()
		if got := server(t, src).Host.Host; got != s.want {
			t.Errorf("got %q, want %q", got, s.want)
		}
	}
}

func TestMultiValued(t *testing.T) {
	s := server(t, Sources{Files: []string{
		file(t, "a.conf", "[oslo_policy]\npolicy_dirs = /a\npolicy_dirs = /b\n"),
		file(t, "b.conf", "[oslo_policy]\npolicy_dirs = /c\n"),
	}})
	if diff := cmp.Diff([]string{"/a", "/b", "/c"}, s.Policy.Dirs); diff != "" {
		t.Error(diff)
	}
}

func TestUnknownOptions(t *testing.T) {
	path := file(t, "x.conf", "[DEFAULT]\nbind_prot = 1\n[ml2]\nintegration_bridge = br\n\n[what]\never = 1\n[ml2_type_vlan]\nlock_path=/x\n")
	_, warnings, err := Load[Server](Sources{Root: true, Files: []string{path}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		path + ":2: [DEFAULT] bind_prot: unknown option, it has no effect; did you mean bind_port?",
		path + ":4: [ml2] integration_bridge: unknown option, it has no effect; [ovs] has an option of this name",
		path + ":7: [what] ever: unknown option, it has no effect",
		path + ":9: [ml2_type_vlan] lock_path: unknown option, it has no effect",
	}
	var got []string
	for _, w := range warnings {
		got = append(got, w.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestBadValues(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"[DEFAULT]\nbind_port = http", `:2: [DEFAULT] bind_port: "http" cannot be used: a whole number is needed (0 to 65535)`},
		{"[DEFAULT]\n\nbind_port = 70000", `:3: [DEFAULT] bind_port: "70000" cannot be used: out of bounds (0 to 65535)`},
		{"[DEFAULT]\nauth_strategy = ldap", "possible are dev, keystone, noauth"},
		{"[DEFAULT]\nauth_strategy = keystone", "auth_strategy keystone needs Keystone's address"},
		{"[DEFAULT]\nauth_strategy = noauth\nbind_host = 0.0.0.0", ":3: [DEFAULT] bind_host: with auth_strategy noauth everybody"},
		{"[DEFAULT]\ndebug = maybe", "possible are true, false"},
		{"[DEFAULT]\nbase_mac = 1", "a MAC address is written"},
		{"[DEFAULT]\nagent_down_time = 0", "out of bounds (1 to 2147483)"},
		{"[DEFAULT]\npagination_max_limit = 0", "numbers above 0"},
		{"[ml2]\nphysical_network_mtus = physnet1:big", "big: a whole number is needed"},
		{"[ml2]\noverlay_ip_version = 5", "possible are 4, 6"},
		{"[ml2_type_vlan]\nnetwork_vlan_ranges = p:1:5000", "p:1:5000: VLAN ids are 1 to 4094"},
		{"[ml2_type_vlan]\nnetwork_vlan_ranges = p:1", "physical_network:min:max"},
		{"[ml2_type_vxlan]\nvni_ranges = 9:1", "9:1: the range runs backwards"},
		{"[ml2_type_vxlan]\nvni_ranges = 0:1", "0:1: out of bounds (1 to 16777215)"},
		{"[ovs]\nbridge_mappings = a:br,b:br", ""}, // the server does not read it
		{"[database]\nconnection = oracle://u:secret@h/n", ":2: [database] connection: the value cannot be used: possible dialects"},
		{"[database]\nconnection = secret", "the value cannot be used: it is not of the form"},
		{"[nova]\npassword = pa$word", "refers to $word, which has no value; a dollar sign is written $$"},
		{"[DEFAULT]\nhost = $dns_domain\ndns_domain = ${host}", "in a circle"},
		{"[isospin]\nsession_listen = here", "address:port"},
		{"[DEFAULT]\n host = x", ":2: an indented line continues"},
		{"[DEFAULT\nhost = x", ":1: a section is written [name]"},
		{"[DEFAULT]\nhost", ":2: neither a [section] nor an assignment"},
		{"[DEFAULT]\n= x", ":2: a value without a name"},
	} {
		path := file(t, "x.conf", c.text)
		_, _, err := Load[Server](Sources{Root: true, Host: "h1", Files: []string{path}})
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%q: %v", c.text, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path)):
			t.Errorf("%q: got %v, want something with %q", c.text, err, c.want)
		case err != nil && strings.Contains(err.Error(), "secret"):
			t.Errorf("a secret is told: %v", err)
		}
	}
}

func TestNoSuchFileOrFlag(t *testing.T) {
	_, _, err := Load[Agent](Sources{Files: []string{"/no/such.conf"}, Dirs: []string{"/no/such.d"}, Flags: map[string]string{"a/b": "c"}})
	for _, want := range []string{"/no/such.conf", "/no/such.d", "[a] b", "state_dir"} {
		if want != "state_dir" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("got %v, want something with %s", err, want)
		}
	}
	_, _, err = Load[Agent](Sources{})
	if err == nil || !strings.Contains(err.Error(), "no folder for state") {
		t.Errorf("without a home: %v", err)
	}
}

func TestStateDir(t *testing.T) {
	for _, c := range []struct {
		env  []string
		root bool
		want string
	}{
		{[]string{"HOME=/root"}, true, "/var/lib/isospin"},
		{[]string{"HOME=/home/a"}, false, "/home/a/.local/state/isospin"},
		{[]string{"HOME=/home/a", "XDG_STATE_HOME=/s"}, false, "/s/isospin"},
		{[]string{"HOME=/home/a", "XDG_STATE_HOME=relative"}, false, "/home/a/.local/state/isospin"},
	} {
		if got := stateDir(c.env, c.root); got != c.want {
			t.Errorf("%v: got %s, want %s", c.env, got, c.want)
		}
	}
}

func TestCheck(t *testing.T) {
	path := file(t, "x.conf", "[DEFAULT]\nrpc_workers = 3\nbind_port = x\nnope = 1\n[ml2]\ntenant_network_types = vlan\n[ovs]\nlocal_ip = 1.2.3\n")
	var out bytes.Buffer
	if status := Check([]string{path}, &out); status != 1 {
		t.Errorf("status %d", status)
	}
	want := strings.ReplaceAll(`@:2: info: [DEFAULT] rpc_workers: an option of Neutron's that Isospin does not need; it has no effect
@:3: error: [DEFAULT] bind_port: "x" cannot be used: a whole number is needed (0 to 65535)
@:4: warning: [DEFAULT] nope: unknown option, it has no effect
@:6: info: [ml2] tenant_network_types: an older name of [ml2] project_network_types
@:8: error: [ovs] local_ip: "1.2.3" cannot be used: ParseAddr("1.2.3"): IPv4 address too short
2 errors, 1 warnings, 2 remarks
`, "@", path)
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	if status := Check([]string{file(t, "ok.conf", "[DEFAULT]\nhost = a\n")}, &out); status != 0 {
		t.Errorf("a good file: status %d", status)
	}
}

func TestConnectionsHidePasswords(t *testing.T) {
	for url, want := range map[string]string{
		"sqlite://":           "sqlite://",
		"sqlite:////var/x.db": "sqlite:////var/x.db",
		"mysql+pymysql://u:a@b:c@[2001:db8::1]/n":  "mysql+pymysql://u:***@[2001:db8::1]/n",
		"postgresql://u:p%2F@h:5433/n?sslmode=off": "postgresql://u:***@h:5433/n?sslmode=off",
	} {
		var conn Connection
		if err := conn.UnmarshalText([]byte(url)); err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		if conn.URL() != url || conn.Embedded() {
			t.Errorf("%s became %s", url, conn.URL())
		}
		for _, shown := range []string{conn.String(), fmt.Sprintf("%v", conn), fmt.Sprintf("%#v", conn), fmt.Sprintf("%+v", struct{ C Connection }{conn})} {
			if !strings.Contains(shown, want) {
				t.Errorf("%s is shown as %s", url, shown)
			}
		}
	}
}

func TestMappingsAreOneToOne(t *testing.T) {
	for text, want := range map[string]string{"a:b,a:c": "a is mapped twice", "a:b,c:b": "a and c are both mapped to b", "a": "name:value", ":b": "name:value"} {
		var m Mappings
		if err := m.UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

// TestReferenceFresh holds that the page of options is what the structs say.
func TestReferenceFresh(t *testing.T) {
	kept, err := os.ReadFile("../../docs/reference/options.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(kept, Reference()) {
		t.Error("docs/reference/options.md is stale: run make generate")
	}
}

// TestDeclarations holds what every option has to have.
func TestDeclarations(t *testing.T) {
	for _, o := range Options() {
		if o.Help == "" || !strings.HasSuffix(o.Help, ".") {
			t.Errorf("[%s] %s has no sentence of help", o.Section, o.Name)
		}
		if o.Computed != "" && o.Default != "" {
			t.Errorf("[%s] %s has a default and a computed one", o.Section, o.Name)
		}
	}
}
