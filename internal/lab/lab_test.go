package lab

import (
	"bytes"
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"isospin/internal/lab/cloud"
)

func TestParseHosts(t *testing.T) {
	for _, c := range []struct {
		text string
		want []HostSpec
	}{
		{"2", []HostSpec{{Name: "h1", Mechanism: OpenVSwitch}, {Name: "h2", Mechanism: OpenVSwitch}}},
		{"a:linuxbridge, b", []HostSpec{{Name: "a", Mechanism: LinuxBridge}, {Name: "b", Mechanism: OpenVSwitch}}},
		{"0", nil},
	} {
		got, err := ParseHosts(c.text, OpenVSwitch)
		if (err != nil) != (c.want == nil) || !cmp.Equal(got, c.want) {
			t.Errorf("%q: %v, %v, want %v", c.text, got, err, c.want)
		}
	}
}

func TestOptionsRefused(t *testing.T) {
	for name, o := range map[string]Options{
		"host twice":      {Hosts: []HostSpec{{Name: "h1", Mechanism: ""}, {Name: "h1", Mechanism: ""}}},
		"host reserved":   {Hosts: []HostSpec{{Name: "internet", Mechanism: ""}}},
		"host name":       {Hosts: []HostSpec{{Name: "a/b", Mechanism: ""}}},
		"mechanism":       {Hosts: []HostSpec{{Name: "h1", Mechanism: "magic"}}},
		"auth":            {Auth: "none"},
		"datapath":        {Datapath: "dpdk"},
		"no such network": {Hosts: []HostSpec{{Name: "h1", Without: []string{"mgmt"}}}},
		"config missing":  {ConfigFiles: []string{"/nowhere/x.conf"}},
	} {
		if _, err := o.complete(); err == nil {
			t.Errorf("%s: not refused", name)
		}
	}
}

func TestLeaveOut(t *testing.T) {
	hosts := []HostSpec{{Name: "h1"}, {Name: "h2"}}
	if err := leaveOut(hosts, []string{"h2:physnet1"}); err != nil {
		t.Fatal(err)
	}
	want := []HostSpec{{Name: "h1"}, {Name: "h2", Without: []string{"physnet1"}}}
	if diff := cmp.Diff(want, hosts); diff != "" {
		t.Error(diff)
	}
	for _, wrong := range []string{"h3:public", "h1"} {
		if err := leaveOut(hosts, []string{wrong}); err == nil {
			t.Errorf("%q is not refused", wrong)
		}
	}
	h := &Host{Without: []string{"public"}}
	if got := h.mappings("br-public", "br-physnet1"); got != "physnet1:br-physnet1" {
		t.Errorf("mappings are %q", got)
	}
}

// TestDatapath: the kernel's datapath has the tunnels' address on the plain device, and no bridge around that.
func TestDatapath(t *testing.T) {
	l := &Lab{dir: "/x"}
	for _, c := range []struct {
		datapath, mechanism, tunnels, bridges string
	}{
		{Userspace, OpenVSwitch, "br-underlay", "br-underlay br-physnet1 br-public"},
		{Kernel, OpenVSwitch, "eth0", "br-physnet1 br-public"},
		{Userspace, LinuxBridge, "eth0", ""},
	} {
		s, h := &state{Datapath: c.datapath, ID: "abcdef"}, &Host{Name: "h1", Number: 1, Mechanism: c.mechanism}
		if got := s.tunnels(h); got != c.tunnels {
			t.Errorf("%s, %s: tunnels end on %s, want %s", c.mechanism, c.datapath, got, c.tunnels)
		}
		if c.mechanism != OpenVSwitch {
			continue
		}
		var bridges []string
		args := bridgeArgs(s, h)
		for i, a := range args {
			if a == "add-br" {
				bridges = append(bridges, args[i+1])
			}
		}
		if got := strings.Join(bridges, " "); got != c.bridges {
			t.Errorf("%s: bridges %q, want %q", c.datapath, got, c.bridges)
		}
		if want := "\ndatapath_type = " + c.datapath + "\n"; !strings.Contains(l.agentConfig(s, h), want) {
			t.Errorf("%s: the agent is not told:\n%s", c.datapath, l.agentConfig(s, h))
		}
	}
}

func TestIdentify(t *testing.T) {
	name, id := identify("/var/tmp/My lab, the first of all")
	if !strings.HasPrefix(name, "My-lab-the-first") || !strings.HasSuffix(name, "-"+id) || len(id) != 6 {
		t.Errorf("name %q, id %q", name, id)
	}
	if other, _ := identify("/tmp/My lab, the first of all"); other == name {
		t.Error("two folders have one name")
	}
	s := &state{ID: id}
	if d := s.rootDevice(); len(d) > 15 {
		t.Errorf("device name %q is too long", d)
	}
	for _, c := range cables {
		if p := port(c.network, &Host{Number: 200}); len(p) > 15 {
			t.Errorf("device name %q is too long", p)
		}
	}
	if _, err := at("/"+strings.Repeat("x", 80), nil); err == nil {
		t.Error("a folder too deep for sockets is taken")
	}
}

func TestServerConfig(t *testing.T) {
	l := &Lab{dir: "/l"}
	s := &state{
		API: "127.0.0.1:9696", Session: "10.223.7.1:4000", Auth: "dev", Net: 7, Datapath: Userspace,
		Hosts: []*Host{{Name: "h1", Number: 1, Mechanism: OpenVSwitch}, {Name: "h2", Number: 2, Mechanism: LinuxBridge}},
	}
	got, err := l.serverConfig(s)
	want := `[DEFAULT]
bind_host = 127.0.0.1
bind_port = 9696
auth_strategy = dev

[isospin]
state_dir = /l/server
session_listen = 10.223.7.1:4000

[ml2]
mechanism_drivers = openvswitch,linuxbridge,l2population
`
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("server: %v %s", err, diff)
	}
	want = `[DEFAULT]
host = h1

[agent]
extensions = qos

[isospin]
enrolment = /l/hosts/h1/enrolment
state_dir = /l/hosts/h1/agent
http_listen = unix:/l/hosts/h1/agent.sock
ovs_run_dir = /l/hosts/h1/ovs

[ovs]
bridge_mappings = public:br-public,physnet1:br-physnet1
local_ip = 10.222.7.11
ovsdb_connection = unix:/l/hosts/h1/ovs/db.sock
datapath_type = netdev
integration_bridge = br-int
`
	if diff := cmp.Diff(want, l.agentConfig(s, s.Hosts[0])); diff != "" {
		t.Errorf("agent on Open vSwitch: %s", diff)
	}
	if got := l.agentConfig(s, s.Hosts[1]); !strings.Contains(got, "physical_interface_mappings = public:eth2,physnet1:eth1") ||
		!strings.Contains(got, "local_ip = 10.222.7.12") || strings.Contains(got, "[ovs]") {
		t.Errorf("agent on bridges: %s", got)
	}
}

func TestPlug(t *testing.T) {
	p := cloud.Port{ID: "0e4b0b3f-1111-2222-3333-444455556666", VIFType: "ovs", VIFDetails: map[string]any{"datapath_type": "netdev"}}
	n := cloud.Network{ID: "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee", MTU: 1450}
	got := plugOf(p, n)
	if want := (Plug{"tap0e4b0b3f-11", "ovs", "br-int", 1450, "netdev"}); got != want {
		t.Errorf("ovs: %+v, want %+v", got, want)
	}
	p.VIFType, p.VIFDetails = "bridge", nil
	if got = plugOf(p, n); got.Bridge != "brqaaaaaaaa-bb" {
		t.Errorf("bridge: %+v", got)
	}
	args := strings.Join(Plug{Device: "tapx", Bridge: "br-int"}.ovsArgs(&Guest{PortID: "p", MAC: "fa:16:3e:00:00:01", Device: "d"}), " ")
	if !strings.Contains(args, `external_ids:attached-mac="fa:16:3e:00:00:01"`) || strings.Contains(args, "datapath_type") {
		t.Errorf("ovs-vsctl %s", args)
	}
}

func TestGraph(t *testing.T) {
	st := &Status{
		Name: "demo-1", API: "127.0.0.1:9696", Auth: "dev", Server: stateReady,
		Hosts: []HostStatus{
			{Name: "h1", Mechanism: OpenVSwitch, Underlay: "10.222.7.11", Management: "10.223.7.11", Power: "on", Agent: stateReady, Switch: stateRunning},
			{Name: "h2", Mechanism: LinuxBridge, Underlay: "10.222.7.12", Management: "10.223.7.12", Power: "on", Cut: []string{netUnderlay}, Agent: stateDown},
			{Name: "h3", Mechanism: OpenVSwitch, Underlay: "10.222.7.13", Management: "10.223.7.13", Power: "off", Agent: stateDown, Switch: stateDown},
		},
		Guests: []GuestStatus{{Name: "vm1", Host: "h1", MAC: "fa:16:3e:00:00:01", IPs: []string{"10.0.0.5", "fd00::5"}}},
	}
	golden := filepath.Join("testdata", "graph.txt")
	got := st.Graph()
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

func TestStateAndLogs(t *testing.T) {
	l, err := at(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.state(); err == nil {
		t.Error("a lab where there is none")
	}
	if err := l.save(&state{Name: "x", Machine: machine(), Hosts: []*Host{{Name: "h1"}}}); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	for i := range 8 {
		go func() {
			done <- l.record(func(s *state) {
				s.Guests[string(rune('a'+i))] = &Guest{Setup: Setup{Await: []netip.Addr{netip.IPv6Unspecified()}}}
			})
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	s, err := l.state()
	if err != nil || len(s.Guests) != 8 {
		t.Errorf("%d guests, %v: concurrent changes were lost", len(s.Guests), err)
	}
	if err := writeFile(l.path("hosts", "h1", "agent.log"), "one\ntwo\nthree\nhalf"); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := l.Logs(context.Background(), &out, "h1", 2, false); err != nil {
		t.Fatal(err)
	}
	if want := "hosts/h1/agent.log: two\nhosts/h1/agent.log: three\n"; out.String() != want {
		t.Errorf("logs %q, want %q", out.String(), want)
	}
	if _, err := l.LogFiles("h9"); err == nil {
		t.Error("logs of nothing")
	}
}

func TestCommandNames(t *testing.T) {
	var names []string
	for _, c := range Command().Commands() {
		names = append(names, c.Name())
	}
	slices.Sort(names)
	want := []string{"agent", "boot", "delete", "down", "exec", "graph", "host", "logs", "migrate", "pcap", "server", "shell", "status", "up"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}
