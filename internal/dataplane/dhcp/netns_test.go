package dhcp

import (
	"bufio"
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"isospin/internal/clock"
)

// patience is how long anything here may take before the test fails.
const patience = 30 * time.Second

// segment is a network segment made of namespaces: a bridge, DHCP hosts and a guest, with a name of its own.
type segment struct {
	t    testing.TB
	name string
	made int
}

var segments atomic.Int32 // makes names unique within the test binary

func newSegment(t testing.TB) *segment {
	t.Helper()
	s := &segment{t: t, name: fmt.Sprintf("dhcpt%d-%d", os.Getpid(), segments.Add(1))}
	s.namespace("sw")
	s.ip("-n", s.ns("sw"), "link", "add", "name", "sw0", "type", "bridge", "forward_delay", "0")
	s.ip("-n", s.ns("sw"), "link", "set", "sw0", "up")
	return s
}

func (s *segment) ns(host string) string { return s.name + "-" + host }

func (s *segment) namespace(host string) {
	s.t.Helper()
	s.ip("netns", "add", s.ns(host))
	s.t.Cleanup(func() {
		if out, err := exec.Command("ip", "netns", "del", s.ns(host)).CombinedOutput(); err != nil {
			s.t.Errorf("ip netns del: %v: %s", err, out)
		}
	})
	s.ip("-n", s.ns(host), "link", "set", "lo", "up")
}

func (s *segment) ip(args ...string) {
	s.t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		s.t.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// plug makes a host's namespace with one interface on the bridge.
func (s *segment) plug(host, iface, hw string, addrs ...string) {
	s.t.Helper()
	s.namespace(host)
	s.made++
	port := fmt.Sprintf("p%d", s.made)
	s.ip("-n", s.ns("sw"), "link", "add", port, "type", "veth", "peer", "name", iface, "netns", s.ns(host))
	s.ip("-n", s.ns("sw"), "link", "set", port, "master", "sw0", "up")
	s.ip("-n", s.ns(host), "link", "set", iface, "address", hw, "up")
	for _, a := range addrs {
		s.ip("-n", s.ns(host), "addr", "add", a, "dev", iface)
	}
	s.forwarding(port)
}

// forwarding waits until the bridge has seen that the port has a carrier, which the kernel tells it in its own time.
func (s *segment) forwarding(port string) {
	s.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		out, err := exec.Command("ip", "-n", s.ns("sw"), "-d", "link", "show", port).CombinedOutput()
		if err != nil {
			s.t.Fatalf("%v: %s", err, out)
		}
		if bytes.Contains(out, []byte("state forwarding")) {
			return
		}
	}
	s.t.Fatalf("bridge port %s does not forward", port)
}

// serve plugs a DHCP host and serves the test network on it.
func (s *segment) serve(host, server string, r Reservation, change ...func(*Network)) (*Server, Network) {
	s.t.Helper()
	s.plug(host, "tap", "fa:16:3e:00:01:0"+host[len(host)-1:], server+"/24")
	n := testNetwork()
	n.Namespace = s.ns(host)
	n.Subnets[0].Server = ip(server)
	for _, c := range change {
		c(&n)
	}
	srv := New(Options{Logger: quiet(), Clock: clock.System{}})
	s.t.Cleanup(func() {
		if err := srv.Close(); err != nil {
			s.t.Error(err)
		}
	})
	if err := (Networks{srv}).Put(s.t.Context(), map[string]Network{n.ID: n}); err != nil {
		s.t.Fatal(err)
	}
	put(s.t, srv, r)
	return srv, n
}

func put(t testing.TB, srv *Server, r Reservation) {
	t.Helper()
	if err := (Reservations{srv}).Put(t.Context(), map[ReservationKey]Reservation{key(testPort): r}); err != nil {
		t.Fatal(err)
	}
}

// script is what both clients call at every event: it sets the address and tells the test all that it was given.
const script = `#!/bin/sh
[ -n "$ip" ] && ip addr replace "$ip/$mask" dev "$interface"
[ -n "$new_ip_address" ] && ip addr replace "$new_ip_address/24" dev "$interface"
{ echo "reason=${reason:-$1}"; env | grep -v '^reason='; echo END; } >"%s"
`

// client is a real DHCP client in a guest's namespace.
type client struct {
	t      testing.TB
	cmd    *exec.Cmd
	output bytes.Buffer
	events *os.File
	lines  *bufio.Scanner
	done   chan struct{}
}

// start runs a client whose arguments may name the script and the folder of its files.
func (s *segment) start(host string, argv func(dir, script string) []string) *client {
	s.t.Helper()
	dir := s.t.TempDir()
	fifo, path := filepath.Join(dir, "events"), filepath.Join(dir, "script")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, fmt.Appendf(nil, script, fifo), 0o700); err != nil {
		s.t.Fatal(err)
	}
	events, err := os.OpenFile(fifo, os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	c := &client{t: s.t, events: events, lines: bufio.NewScanner(events), done: make(chan struct{})}
	c.cmd = exec.Command("ip", append([]string{"netns", "exec", s.ns(host)}, argv(dir, path)...)...)
	c.cmd.Stdout, c.cmd.Stderr = &c.output, &c.output
	if err := c.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() {
		defer close(c.done)
		_ = c.cmd.Wait() // how it ends is no concern of these tests: its events are
	}()
	s.t.Cleanup(c.stop)
	return c
}

func (c *client) stop() {
	_ = c.cmd.Process.Kill() // it may have ended by itself
	<-c.done
	c.events.Close()
	if c.t.Failed() {
		c.t.Logf("client said:\n%s", c.output.String())
	}
}

// signal reaches the client itself: `ip netns exec` becomes the command that it runs.
func (c *client) signal(sig os.Signal) {
	c.t.Helper()
	if err := c.cmd.Process.Signal(sig); err != nil {
		c.t.Fatal(err)
	}
}

// event waits for the next event that is one of reasons, and returns what the client was given.
func (c *client) event(reasons ...string) map[string]string {
	c.t.Helper()
	if err := c.events.SetReadDeadline(time.Now().Add(patience)); err != nil {
		c.t.Fatal(err)
	}
	got, seen := map[string]string{}, []string{}
	for c.lines.Scan() {
		if k, v, ok := strings.Cut(c.lines.Text(), "="); ok {
			got[k] = v
		}
		if c.lines.Text() != "END" {
			continue
		}
		for _, r := range reasons {
			if got["reason"] == r {
				return got
			}
		}
		seen, got = append(seen, got["reason"]), map[string]string{}
	}
	c.t.Fatalf("no event %v, but %v: %v\n%s", reasons, seen, c.lines.Err(), c.output.String())
	return nil
}

func expect(t testing.TB, what string, got, want map[string]string) {
	t.Helper()
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s: %s is %q, want %q", what, k, got[k], v)
		}
	}
}

func (s *segment) udhcpc(host string, args ...string) *client {
	s.t.Helper()
	return s.start(host, func(_, script string) []string {
		return append([]string{"busybox", "udhcpc", "-f", "-i", "eth0", "-t", "5", "-T", "1", "-s", script,
			"-O", "121", "-O", "249", "-O", "mtu", "-O", "domain"}, args...)
	})
}

const dhclientConf = `option rfc3442 code 121 = array of unsigned integer 8;
request subnet-mask, broadcast-address, routers, domain-name, domain-name-servers, host-name, interface-mtu, rfc3442;
timeout 20; retry 1; initial-interval 1; reboot 10;
`

func (s *segment) dhclient(host, leases string) *client {
	s.t.Helper()
	return s.start(host, func(dir, script string) []string {
		for name, text := range map[string]string{"conf": dhclientConf, "leases": leases} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				s.t.Fatal(err)
			}
		}
		return []string{"dhclient", "-4", "-d", "-1", "-sf", script, "-cf", filepath.Join(dir, "conf"),
			"-lf", filepath.Join(dir, "leases"), "-pf", filepath.Join(dir, "pid"), "eth0"}
	})
}

func TestBusyboxClient(t *testing.T) {
	t.Parallel()
	s := newSegment(t)
	srv, n := s.serve("h1", "10.0.0.2", testReservation())
	s.plug("guest", "eth0", guestMAC().String())
	c := s.udhcpc("guest")
	expect(t, "lease", c.event("bound"), map[string]string{
		"ip": "10.0.0.5", "mask": "24", "router": "10.0.0.1", "dns": "8.8.8.8 9.9.9.9", "domain": "openstacklocal", "mtu": "1450",
		"lease": "86400", "serverid": "10.0.0.2", "siaddr": "10.0.0.2", "broadcast": "10.0.0.255", "hostname": "host-10-0-0-5",
		"staticroutes": "172.16.0.0/12 10.0.0.254 0.0.0.0/0 10.0.0.1"})

	// A change is in the next answer, which the client asks for by unicast from a socket with checksums left to hardware.
	n.MTU = 9000
	if err := (Networks{srv}).Put(t.Context(), map[string]Network{n.ID: n}); err != nil {
		t.Fatal(err)
	}
	put(t, srv, testReservation(Option{"dns-server", "1.1.1.1"}, Option{"router", ""}))
	c.signal(syscall.SIGUSR1)
	expect(t, "renewed lease", c.event("renew"), map[string]string{"ip": "10.0.0.5", "mtu": "9000", "dns": "1.1.1.1", "router": "",
		"staticroutes": "172.16.0.0/12 10.0.0.254"})

	// The port's address changes: the renewal is refused, and the client starts again.
	moved := testReservation()
	moved.IPs = []netip.Addr{ip("10.0.0.6")}
	put(t, srv, moved)
	c.signal(syscall.SIGUSR1)
	c.event("nak")
	expect(t, "new lease", c.event("bound"), map[string]string{"ip": "10.0.0.6"})
	if st := srv.Stats(); st.Nak != 1 || st.Malformed != 0 || st.Spoofed != 0 || st.SendErrors != 0 {
		t.Errorf("stats: %+v", st)
	}
}

func TestISCClient(t *testing.T) {
	t.Parallel()
	s := newSegment(t)
	srv, _ := s.serve("h1", "10.0.0.2", testReservation(Option{"hostname", "web"}))
	s.plug("guest", "eth0", guestMAC().String())
	// It remembers a lease from elsewhere and asks for that first: INIT-REBOOT, and a NAK.
	c := s.dhclient("guest", `lease { interface "eth0"; fixed-address 192.168.7.9; option subnet-mask 255.255.255.0;
option dhcp-lease-time 86400; option dhcp-server-identifier 192.168.7.1; renew 4 2037/01/01 00:00:00; rebind 4 2037/01/01 00:00:00; expire 4 2037/01/01 00:00:00; }
`)
	expect(t, "lease", c.event("BOUND", "REBOOT"), map[string]string{
		"new_ip_address": "10.0.0.5", "new_subnet_mask": "255.255.255.0", "new_routers": "10.0.0.1", "new_domain_name_servers": "8.8.8.8 9.9.9.9",
		"new_domain_name": "openstacklocal", "new_interface_mtu": "1450", "new_host_name": "web", "new_dhcp_lease_time": "86400",
		"new_dhcp_renewal_time": "43200", "new_dhcp_rebinding_time": "75600", "new_broadcast_address": "10.0.0.255",
		"new_dhcp_server_identifier": "10.0.0.2", "new_rfc3442": "12 172 16 10 0 0 254 0 10 0 0 1"})
	if st := srv.Stats(); st.Nak != 1 || st.Ack != 1 {
		t.Errorf("stats: %+v", st)
	}
}

// TestTwoServers has two DHCP hosts on one network; either may go.
func TestTwoServers(t *testing.T) {
	t.Parallel()
	s := newSegment(t)
	first, n := s.serve("h1", "10.0.0.2", testReservation())
	second, _ := s.serve("h2", "10.0.0.3", testReservation())
	s.plug("guest", "eth0", guestMAC().String())
	got := s.udhcpc("guest", "-q", "-n").event("bound")
	expect(t, "with two servers", got, map[string]string{"ip": "10.0.0.5"})
	a, b := first.Stats(), second.Stats()
	if a.Ack+b.Ack != 1 || a.Nak+b.Nak != 0 || a.Discover == 0 || b.Discover == 0 {
		t.Errorf("stats: %+v, %+v", a, b)
	}
	if err := (Networks{first}).Drop(t.Context(), map[string]Network{n.ID: n}); err != nil {
		t.Fatal(err)
	}
	got = s.udhcpc("guest", "-q", "-n").event("bound")
	expect(t, "with one server", got, map[string]string{"ip": "10.0.0.5", "serverid": "10.0.0.3"})
}
