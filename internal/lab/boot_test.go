//go:build integration

package lab

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"isospin/internal/lab/cable"
	"isospin/internal/lab/proc"
)

// neutron is an API with one network of two subnets (IPv4, and IPv6 by DHCP) and, on demand, a port. A port is
// ACTIVE as soon as it is bound.
type neutron struct {
	mu       sync.Mutex
	port     map[string]any
	bindings map[string]string // host to status
	only4    bool              // no address in the IPv6 subnet
}

const (
	portID    = "01234567-89ab-4000-8000-000000000001"
	networkID = "11111111-0000-4000-8000-000000000000"
)

func (n *neutron) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var in map[string]map[string]any
	_ = json.NewDecoder(r.Body).Decode(&in) // Requests without a body have none.
	path := strings.TrimPrefix(r.URL.Path, "/v2.0/")
	network := map[string]any{"id": networkID, "name": "net1", "project_id": "p1", "mtu": 1442}
	answer := func(status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v)
	}
	switch {
	case path == "networks/"+networkID:
		answer(200, map[string]any{"network": network})
	case path == "networks" && r.URL.Query().Get("name") != "net1":
		answer(200, map[string]any{"networks": []any{}})
	case path == "networks":
		answer(200, map[string]any{"networks": []any{network}})
	case path == "subnets":
		answer(200, map[string]any{"subnets": []any{
			map[string]any{"id": "s4", "cidr": "10.9.0.0/24", "gateway_ip": "10.9.0.1", "enable_dhcp": true, "ip_version": 4},
			map[string]any{
				"id": "s6", "cidr": "fd00:9::/64", "gateway_ip": nil, "enable_dhcp": true, "ip_version": 6,
				"ipv6_ra_mode": "dhcpv6-stateful", "ipv6_address_mode": "dhcpv6-stateful",
			},
		}})
	case path == "ports" && r.Method == http.MethodPost:
		n.port = in["port"]
		n.port["id"], n.port["mac_address"], n.port["status"] = portID, "fa:16:3e:09:00:05", "ACTIVE"
		n.port["fixed_ips"] = []any{
			map[string]any{"subnet_id": "s4", "ip_address": "10.9.0.5"}, map[string]any{"subnet_id": "s6", "ip_address": "fd00:9::5"},
		}
		if n.only4 {
			n.port["fixed_ips"] = n.port["fixed_ips"].([]any)[:1]
		}
		n.port["binding:vif_type"] = "ovs"
		n.port["binding:vif_details"] = map[string]any{"bridge_name": "br-int", "datapath_type": "netdev"}
		n.bindings = map[string]string{n.port["binding:host_id"].(string): "ACTIVE"}
		answer(201, map[string]any{"port": n.port})
	case strings.HasPrefix(path, "ports/"+portID) && n.port != nil:
		n.onPort(strings.TrimPrefix(path, "ports/"+portID), r.Method, in, answer)
	default:
		answer(404, map[string]any{})
	}
}

func (n *neutron) onPort(path, method string, in map[string]map[string]any, answer func(int, any)) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	switch {
	case path == "" && method == http.MethodGet:
		answer(200, map[string]any{"port": n.port})
	case path == "" && method == http.MethodDelete:
		n.port = nil
		answer(204, nil)
	case path == "/bindings":
		host := in["binding"]["host"].(string)
		n.bindings[host] = "INACTIVE"
		answer(201, map[string]any{"binding": map[string]any{"host": host, "status": "INACTIVE", "vif_type": "ovs", "vif_details": n.port["binding:vif_details"]}})
	case len(parts) == 3 && parts[2] == "activate":
		for h := range n.bindings {
			n.bindings[h] = "INACTIVE"
		}
		n.bindings[parts[1]], n.port["binding:host_id"] = "ACTIVE", parts[1]
		answer(200, map[string]any{})
	case len(parts) == 2 && method == http.MethodDelete:
		delete(n.bindings, parts[1])
		answer(204, nil)
	default:
		answer(405, map[string]any{})
	}
}

// TestBoot boots a guest whose API is a small one and whose DHCP server is dnsmasq: the lease's address,
// routes (121), MTU (26), name servers, the address by DHCPv6, the machine's own resolv.conf, and all of
// it again after the guest has moved and after its host was switched off and on.
func TestBoot(t *testing.T) {
	ctx := t.Context()
	l, api := plainCloud(t)
	before, err := os.ReadFile("/etc/resolv.conf")
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	g, err := l.Boot(ctx, BootOptions{Name: "vm1", Host: "h1", Network: "net1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("boot after %s", time.Since(began))
	if g.PortID != portID || g.Host != "h1" || !slices.Equal(g.IPs, []string{"10.9.0.5", "fd00:9::5"}) {
		t.Errorf("guest: %+v", g)
	}
	checkGuest(t, l)
	if after, err := os.ReadFile("/etc/resolv.conf"); err != nil || string(after) != string(before) {
		t.Errorf("the machine's resolv.conf was changed: %v", err)
	}
	ids, err := l.Exec(ctx, "h1", "ovs-vsctl", "get", "Interface", "tap"+portID[:11], "external_ids")
	if err != nil || !strings.Contains(ids, `attached-mac="fa:16:3e:09:00:05", iface-id="`+portID+`", iface-status=active, vm-uuid=`) {
		t.Errorf("external ids %q, %v", ids, err)
	}
	if _, err := l.Boot(ctx, BootOptions{Name: "vm1", Host: "h1", Network: "net1"}); err == nil {
		t.Error("a second guest of the name was booted")
	}

	began = time.Now()
	if _, err := l.Migrate(ctx, "vm1", "h2"); err != nil {
		t.Fatal(err)
	}
	t.Logf("migrated after %s", time.Since(began))
	api.mu.Lock()
	if len(api.bindings) != 1 || api.bindings["h2"] != "ACTIVE" {
		t.Errorf("bindings after the move: %v", api.bindings)
	}
	api.mu.Unlock()
	checkGuest(t, l)
	if err := l.HostStop(ctx, "h2"); err != nil {
		t.Fatal(err)
	}
	// There is no agent to start, and no server whose word the guest would wait for.
	bare := func(yes bool) { _ = l.record(func(s *state) { s.Bare = yes }) }
	bare(true)
	if err := l.HostStart(ctx, "h2"); err != nil {
		t.Fatal(err)
	}
	bare(false)
	checkGuest(t, l)
	if err := l.Delete(ctx, "vm1"); err != nil {
		t.Fatal(err)
	}
	if api.port != nil {
		t.Error("the port of a deleted guest is still there")
	}
	if out, err := l.Exec(ctx, "h2", "ovs-vsctl", "list-ports", "br-int"); err != nil || strings.Contains(out, "tap") {
		t.Errorf("ports left on the host: %q, %v", out, err)
	}
	if _, err := l.Exec(ctx, "vm1", "true"); err == nil {
		t.Error("a deleted guest runs commands")
	}
}

// TestBootStatic: without DHCP the guest has what the API says; a boot that fails leaves nothing.
func TestBootStatic(t *testing.T) {
	ctx := t.Context()
	l, api := plainCloud(t)
	began := time.Now()
	if _, err := l.Boot(ctx, BootOptions{Name: "vm1", Host: "h1", Network: "net1", NoDHCP: true}); err != nil {
		t.Fatal(err)
	}
	t.Logf("boot after %s", time.Since(began))
	for command, want := range map[string]string{
		"ip -4 -br address show eth0": "10.9.0.5/24", "ip -6 address show eth0": "fd00:9::5/64", "ip route": "default via 10.9.0.1", "ip link show eth0": "mtu 1442",
	} {
		if out, err := l.Exec(ctx, "vm1", strings.Fields(command)...); err != nil || !strings.Contains(out, want) {
			t.Errorf("%s: %q, %v, want %q", command, out, err, want)
		}
	}
	untilPing(t, l, "vm1", "10.9.0.2")
	if err := l.Delete(ctx, "vm1"); err != nil {
		t.Fatal(err)
	}
	api.only4, began = true, time.Now()
	if _, err := l.Boot(ctx, BootOptions{Name: "vm3", Host: "h1", Network: "net1"}); err != nil {
		t.Fatal(err)
	}
	t.Logf("boot with DHCP for IPv4 alone after %s", time.Since(began))
	if err := l.Delete(ctx, "vm3"); err != nil {
		t.Fatal(err)
	}
	_, err := l.Boot(ctx, BootOptions{Name: "vm2", Host: "h1", Network: "none"})
	if err == nil {
		t.Fatal("a guest on a network that is not there was booted")
	}
	if s := mustState(t, l); len(s.Guests) != 0 || api.port != nil {
		t.Errorf("a boot that failed left %v, port %v", s.Guests, api.port)
	}
	if _, err := os.Stat("/run/netns/" + mustState(t, l).Name + "-vm-vm2"); err == nil {
		t.Error("a boot that failed left a namespace")
	}
}

func checkGuest(t *testing.T, l *Lab) {
	t.Helper()
	for command, want := range map[string]string{
		"ip -4 -br address show eth0": "10.9.0.5/24", "ip -6 -br address show eth0": "fd00:9::5/",
		"ip route show default": "via 10.9.0.1", "ip route show 192.168.7.0/24": "via 10.9.0.2",
		"ip link show eth0": "mtu 1442", "cat /etc/resolv.conf": "nameserver 10.9.0.2",
	} {
		if out, err := l.Exec(t.Context(), "vm1", strings.Fields(command)...); err != nil || !strings.Contains(out, want) {
			t.Errorf("%s: %q, %v, want %q", command, out, err, want)
		}
	}
	untilPing(t, l, "vm1", "10.9.0.2")
	untilPing(t, l, "vm1", "fd00:9::2")
}

// plainCloud is two hosts whose br-int are joined by physnet1 as plain switches, a DHCP server on h1, and
// a small API.
func plainCloud(t *testing.T) (*Lab, *neutron) {
	t.Helper()
	ctx := t.Context()
	l := bareLab(t, 2)
	s := mustState(t, l)
	for _, h := range s.Hosts {
		if err := l.vsctl(ctx, s, h, "add-br", "br-int", "--", "set", "Bridge", "br-int", "datapath_type=netdev",
			"--", "add-port", "br-int", "a", "--", "set", "Interface", "a", "type=patch", "options:peer=b",
			"--", "add-port", "br-physnet1", "b", "--", "set", "Interface", "b", "type=patch", "options:peer=a"); err != nil {
			t.Fatal(err)
		}
	}
	h1, err := cable.Open(l.space(s, "host", "h1").NetPath())
	if err != nil {
		t.Fatal(err)
	}
	defer h1.Close()
	if _, err := l.Exec(ctx, "internet", "true"); err != nil {
		t.Fatal(err)
	}
	// The server stands in the namespace of the outside, which nothing else uses here.
	outside := l.space(s, "outside", "internet")
	in, err := cable.Open(outside.NetPath())
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	fabric, err := cable.Open(l.space(s, "fabric", "").NetPath())
	if err != nil {
		t.Fatal(err)
	}
	defer fabric.Close()
	if err := cable.Pair(cable.End{In: in, Name: "dhcp0"}, cable.End{In: fabric, Name: "dhcp", Bridge: netPhysnet1}, 0); err != nil {
		t.Fatal(err)
	}
	for _, a := range []string{"10.9.0.2/24", "fd00:9::2/64"} {
		if _, err := l.Exec(ctx, "internet", "ip", "address", "add", a, "dev", "dhcp0", "nodad"); err != nil {
			t.Fatal(err)
		}
	}
	ref, err := l.daemons.Start(proc.Spec{In: &outside, Env: []string{s.mark()}, Log: l.path("hosts", "dnsmasq.log"), Argv: []string{
		"dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--port=0", "--interface=dhcp0", "--no-ping", "--leasefile-ro",
		"--log-dhcp", "--log-facility=-", "--user=root", "--pid-file=" + l.path("hosts", "dnsmasq.pid"),
		"--dhcp-range=10.9.0.0,static", "--dhcp-range=fd00:9::,static,64", "--enable-ra",
		"--dhcp-host=fa:16:3e:09:00:05,10.9.0.5,[fd00:9::5]", "--dhcp-option=26,1442", "--dhcp-option=3,10.9.0.9",
		"--dhcp-option=121,192.168.7.0/24,10.9.0.2,169.254.169.254/32,10.9.0.2,0.0.0.0/0,10.9.0.1", "--dhcp-option=6,10.9.0.2",
	}})
	if err != nil {
		t.Fatal(err)
	}
	for !listens(t, l, "internet", ":67 ") {
		if !ref.Alive() {
			log, _ := os.ReadFile(l.path("hosts", "dnsmasq.log"))
			t.Fatalf("dnsmasq has ended: %s", log)
		}
	}
	api := &neutron{}
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	if err := l.record(func(s *state) {
		s.Bare, s.Auth, s.API = false, "noauth", server.Listener.Addr().(*net.TCPAddr).String()
		// Whatever runs stands for the agents and the server.
		s.Binary = "/bin/false"
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.record(func(s *state) { s.Bare = true }) })
	return l, api
}

func listens(t *testing.T, l *Lab, name, port string) bool {
	t.Helper()
	out, err := l.Exec(t.Context(), name, "busybox", "netstat", "-lun")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(fmt.Sprint(out), port)
}
