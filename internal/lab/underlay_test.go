//go:build integration

package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"isospin/internal/lab/space"
)

// tunnelMTU is what Neutron gives a VXLAN network on an underlay of 1500.
const tunnelMTU = 1450

// TestUnderlay proves what a lab gives to agents, without any agent: br-int is programmed by hand, and
// guests on two hosts reach each other by each kind of network, with packets as large as the network's
// MTU and with TCP, which finds wrong checksums.
func TestUnderlay(t *testing.T) {
	ctx := t.Context()
	l := bareLab(t, 2)
	tunnel := func(kind, options string) func(s *state, h, other *Host) []string {
		return func(s *state, h, other *Host) []string {
			return []string{"--", "add-port", "br-int", kind, "--", "set", "Interface", kind, "type=" + kind,
				"options:remote_ip=" + s.underlay(other).Addr().String(), "options:local_ip=" + s.underlay(h).Addr().String(), options}
		}
	}
	patch := func(bridge string) func(*state, *Host, *Host) []string {
		return func(*state, *Host, *Host) []string {
			return []string{"--", "add-port", "br-int", "to-" + bridge, "--", "set", "Interface", "to-" + bridge, "type=patch", "options:peer=from-int-" + bridge,
				"--", "add-port", bridge, "from-int-" + bridge, "--", "set", "Interface", "from-int-" + bridge, "type=patch", "options:peer=to-" + bridge}
		}
	}
	for _, c := range []struct {
		name string
		wire func(s *state, h, other *Host) []string
		tag  string // on the guest's port: the frame leaves with it
		mtu  int
	}{
		{"vxlan", tunnel("vxlan", "options:key=77"), "", tunnelMTU},
		{"gre", tunnel("gre", "options:key=77"), "", 1458},
		{"geneve", tunnel("geneve", "options:key=77"), "", 1442},
		{"vlan", patch("br-physnet1"), "103", 1500},
		{"flat", patch("br-public"), "", 1500},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := mustState(t, l)
			var guests []*Guest
			for i, h := range s.Hosts {
				args := append([]string{"--", "--if-exists", "del-br", "br-int", "--", "add-br", "br-int",
					"--", "set", "Bridge", "br-int", "datapath_type=netdev"}, c.wire(s, h, s.Hosts[1-i])...)
				if err := l.vsctl(ctx, s, h, args...); err != nil {
					t.Fatal(err)
				}
				g := byHand(t, l, h, fmt.Sprintf("%s%d", c.name, i+1), fmt.Sprintf("10.7.0.%d/24", i+1), c.mtu)
				guests = append(guests, g)
				if c.tag != "" {
					if err := l.vsctl(ctx, s, h, "set", "Port", g.Plug.Device, "tag="+c.tag); err != nil {
						t.Fatal(err)
					}
				}
			}
			began := time.Now()
			untilPing(t, l, guests[0].Name, "10.7.0.2")
			t.Logf("first answer after %s", time.Since(began))
			full := fmt.Sprint(c.mtu - 28)
			if _, err := l.Exec(ctx, guests[0].Name, "ping", "-c3", "-i0.01", "-W2", "-Mdo", "-s", full, "10.7.0.2"); err != nil {
				t.Errorf("full packets: %v", err)
			}
			stream(t, l, guests[0].Name, guests[1].Name, "10.7.0.2")
			for _, g := range guests {
				dropByHand(t, l, g)
			}
		})
	}
}

// TestOutside: a guest on the network public reaches internet and is reached from it, by both families.
func TestOutside(t *testing.T) {
	l := bareLab(t, 1)
	s := mustState(t, l)
	h := s.Hosts[0]
	if err := l.vsctl(t.Context(), s, h, "add-br", "br-int", "--", "set", "Bridge", "br-int", "datapath_type=netdev",
		"--", "add-port", "br-int", "a", "--", "set", "Interface", "a", "type=patch", "options:peer=b",
		"--", "add-port", "br-public", "b", "--", "set", "Interface", "b", "type=patch", "options:peer=a"); err != nil {
		t.Fatal(err)
	}
	g := byHand(t, l, h, "vm1", "203.0.113.7/24", 1500)
	untilPing(t, l, g.Name, "203.0.113.1")
	stream(t, l, "internet", g.Name, "203.0.113.7")
	stream(t, l, g.Name, "internet", "203.0.113.1")
	if _, err := l.Exec(t.Context(), g.Name, "ip", "address", "add", "2001:db8:cafe::7/64", "dev", "eth0", "nodad"); err != nil {
		t.Fatal(err)
	}
	untilPing(t, l, "internet", "2001:db8:cafe::7")
}

// TestHostPower: a host that is switched off is gone for others; switched on again it has its underlay
// address, its bridges and, from its database, the ports it had.
func TestHostPower(t *testing.T) {
	ctx := t.Context()
	l := bareLab(t, 2)
	s := mustState(t, l)
	there := s.underlay(s.Hosts[1]).Addr().String()
	untilPing(t, l, "h1", there)
	if err := l.HostCut(ctx, "h2"); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Exec(ctx, "h1", "ping", "-c1", "-W1", there); err == nil {
		t.Error("a host that is cut answers")
	}
	if err := l.HostMend(ctx, "h2"); err != nil {
		t.Fatal(err)
	}
	untilPing(t, l, "h1", there)
	if _, err := l.Exec(ctx, "h2", "ovs-vsctl", "add-br", "br-kept", "--", "set", "Bridge", "br-kept", "datapath_type=netdev"); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Exec(ctx, "h2", "ip", "netns", "add", "qdhcp-1"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(space.NetDir + "/qdhcp-1"); err == nil {
		t.Error("a host's namespace is seen outside")
	}
	if err := l.HostStop(ctx, "h2"); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Exec(ctx, "h2", "true"); err == nil {
		t.Error("a host that is off runs commands")
	}
	if err := l.HostStart(ctx, "h2"); err != nil {
		t.Fatal(err)
	}
	untilPing(t, l, "h1", there)
	out, err := l.Exec(ctx, "h2", "ovs-vsctl", "list-br")
	if err != nil || !strings.Contains(out, "br-kept") {
		t.Errorf("bridges after the start: %q, %v", out, err)
	}
	if out, err := l.Exec(ctx, "h2", "ip", "netns"); err != nil || strings.TrimSpace(out) != "" {
		t.Errorf("namespaces after the start: %q, %v", out, err)
	}
}

func bareLab(t *testing.T, hosts int) *Lab {
	t.Helper()
	specs, err := ParseHosts(fmt.Sprint(hosts), OpenVSwitch)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	began := time.Now()
	l, err := Up(t.Context(), Options{Dir: dir, Hosts: specs, Bare: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("up after %s", time.Since(began))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if err := l.Down(ctx); err != nil {
			t.Error(err)
		}
	})
	return l
}

func mustState(t *testing.T, l *Lab) *state {
	t.Helper()
	s, err := l.state()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// byHand boots a guest without an API.
func byHand(t *testing.T, l *Lab, h *Host, name, address string, mtu int) *Guest {
	t.Helper()
	ip := netip.MustParsePrefix(address)
	mac := fmt.Sprintf("fa:16:3e:00:%02x:%02x", h.Number, ip.Addr().As4()[3])
	s := mustState(t, l)
	g := &Guest{
		Name: name, Host: h.Name, MAC: mac, PortID: "p-" + name, Device: "d-" + name, Netns: l.space(s, "guest", name).Name, IPs: []string{ip.Addr().String()},
		Plug:  Plug{Device: "tap" + name, Type: "ovs", Bridge: "br-int", MTU: mtu, Via: "netdev"},
		Setup: Setup{Static: []Static{{Address: ip}}},
	}
	s, err := l.update(func(s *state) error { s.Guests[name] = g; return nil })
	if err == nil {
		err = l.makeGuest(s, g)
	}
	if err == nil {
		err = l.plug(t.Context(), s, h, g)
	}
	if err == nil {
		err = l.configure(t.Context(), s, g, time.Minute)
	}
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func dropByHand(t *testing.T, l *Lab, g *Guest) {
	t.Helper()
	if err := l.delete(t.Context(), g); err != nil {
		t.Error(err)
	}
}

// untilPing pings until an answer comes. The first packet through a tunnel is lost on the userspace
// datapath while it asks for the other end's MAC address.
func untilPing(t *testing.T, l *Lab, from, to string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; {
		_, err := l.Exec(t.Context(), from, "ping", "-c1", "-W0.2", to)
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			arp, _ := l.Exec(t.Context(), from, "ip", "neighbour")
			t.Fatalf("%s does not reach %s: %v\n%s", from, to, err, arp)
		}
	}
}

// stream sends a megabyte by TCP and compares what arrives.
func stream(t *testing.T, l *Lab, from, to, ip string) {
	t.Helper()
	sent := bytes.Repeat([]byte("isospin."), 1<<17)
	addr := &net.TCPAddr{IP: net.ParseIP(ip), Port: 5001}
	var listener *net.TCPListener
	var conn *net.TCPConn
	within := func(name string, f func() error) {
		t.Helper()
		in, err := l.find(mustState(t, l), name)
		if err == nil {
			err = in.Do(f)
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	within(to, func() (err error) { listener, err = net.ListenTCP("tcp", addr); return err })
	defer listener.Close()
	within(from, func() (err error) { conn, err = net.DialTCP("tcp", nil, addr); return err })
	defer conn.Close()
	in, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	deadline := time.Now().Add(20 * time.Second)
	if err := errors.Join(conn.SetDeadline(deadline), in.SetDeadline(deadline)); err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	go func() {
		_, err := conn.Write(sent)
		failed <- errors.Join(err, conn.CloseWrite())
	}()
	began := time.Now()
	got, err := io.ReadAll(in)
	if err = errors.Join(err, <-failed); err != nil {
		t.Fatalf("TCP %s to %s: %v", from, to, err)
	}
	if !bytes.Equal(got, sent) {
		t.Errorf("TCP %s to %s: what arrived is not what was sent", from, to)
	}
	t.Logf("TCP %s to %s: %.0f Mbit/s", from, to, float64(len(got))*8/1e6/time.Since(began).Seconds())
}
