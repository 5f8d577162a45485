//go:build integration

package fullstack

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"golang.org/x/sys/unix"

	"isospin/internal/lab"
	"isospin/internal/lab/subport"
)

// inside gives a guest a device for a port inside its trunk, without addresses.
func (s *stack) inside(t *testing.T, guest, port string, vlan uint16) (device string) {
	t.Helper()
	p := s.show(t, "port", port)
	mac, err := net.ParseMAC(p.text("mac_address"))
	must(t, err)
	mtu, err := strconv.Atoi(fmt.Sprint(s.show(t, "network", p.text("network_id"))["mtu"]))
	must(t, err)
	plan := subport.Plan{Parent: "eth0", Name: fmt.Sprint("eth0.", vlan), VLAN: vlan, MAC: mac, MTU: mtu}
	var d *subport.Device
	must(t, s.Within(guest, func() (err error) {
		d, err = subport.Make(plan)
		return err
	}))
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	// Answers leave by the device that was asked, and no other device answers for its addresses.
	s.on(t, guest, "sh", "-c", "echo 1 >/proc/sys/net/ipv4/conf/all/arp_ignore; echo 2 >/proc/sys/net/ipv4/conf/all/arp_announce")
	return plan.Name
}

// address gives a guest's device the first address of a port.
func (s *stack) address(t *testing.T, guest, device, port string) (ip string) {
	t.Helper()
	ip = first(s.show(t, "port", port))
	s.on(t, guest, "ip", "address", "add", ip+"/24", "dev", device)
	return ip
}

func first(port object) string {
	ip, _ := port["fixed_ips"].([]any)[0].(map[string]any)["ip_address"].(string)
	return ip
}

// trunk makes a trunk with ports inside, by their tags.
func (s *stack) trunk(t *testing.T, parent string, inside map[int]string) object {
	t.Helper()
	return s.create(t, "trunk", object{"port_id": parent, "sub_ports": subports(inside)})
}

func subports(inside map[int]string) []object {
	out := []object{}
	for vlan, port := range inside {
		out = append(out, object{"port_id": port, "segmentation_type": "vlan", "segmentation_id": vlan})
	}
	return out
}

func (s *stack) trunkStatus(t *testing.T, trunk, want string) {
	t.Helper()
	until(t, 10*time.Second, "trunk "+want, func() (bool, string) {
		got := s.show(t, "trunk", trunk).text("status")
		return got == want, got
	})
}

// refused sends a request that must be answered by an error of a type.
func (s *stack) refused(t *testing.T, method, path string, body any, status int, kind string) {
	t.Helper()
	_, err := s.try(t.Context(), method, path, body)
	var answer gophercloud.ErrUnexpectedResponseCode
	if !errors.As(err, &answer) || answer.Actual != status || !bytes.Contains(answer.Body, []byte(kind)) {
		t.Errorf("%s %s: %v, want %d %s", method, path, err, status, kind)
	}
}

// crew is two guests with trunks and others beside them.
type crew struct {
	*stack
	red, green, blue object // networks
	p1, p2           object // ports that carry trunks, on red
	g1, b1, g2       object // ports inside: green and blue in p1's, green in p2's
	t1, t2           object
	ip               map[string]string // by the name of guest or port
}

func trunkCrew(t *testing.T) *crew {
	s := bring(t, "", whole("h1"), whole("h2"))
	c := &crew{stack: s, ip: map[string]string{}}
	c.red = s.net(t, "red", "10.60.0.0/24", nil)
	c.green = s.net(t, "green", "10.61.0.0/24", nil)
	c.blue = s.net(t, "blue", "10.62.0.0/24", object{"mtu": 1450, "provider:network_type": "vlan", "provider:physical_network": "physnet1", "provider:segmentation_id": 62})
	port := func(n object) object { return s.create(t, "port", object{"network_id": n.id()}) }
	c.p1, c.p2, c.g1, c.b1, c.g2 = port(c.red), port(c.red), port(c.green), port(c.blue), port(c.green)
	c.t1 = s.trunk(t, c.p1.id(), map[int]string{101: c.g1.id(), 102: c.b1.id()})
	c.t2 = s.trunk(t, c.p2.id(), map[int]string{201: c.g2.id()})
	if got := c.t1.text("status"); got != "DOWN" {
		t.Errorf("a trunk of no host is %s", got)
	}
	guests := s.boot(t, birth{name: "p1", host: "h1", port: c.p1.id()}, birth{name: "p2", host: "h2", port: c.p2.id()},
		birth{name: "green1", host: "h1", network: c.green.id()}, birth{name: "green2", host: "h2", network: c.green.id()},
		birth{name: "blue2", host: "h2", network: c.blue.id()}, birth{name: "red1", host: "h1", network: c.red.id()})
	for name, g := range guests {
		c.ip[name] = g.IPs[0]
	}
	for _, in := range []struct {
		name, guest string
		port        object
		vlan        uint16
	}{{"g1", "p1", c.g1, 101}, {"b1", "p1", c.b1, 102}, {"g2", "p2", c.g2, 201}} {
		c.status(t, in.port.id(), "ACTIVE")
		c.ip[in.name] = s.address(t, in.guest, s.inside(t, in.guest, in.port.id(), in.vlan), in.port.id())
	}
	return c
}

// TestTrunk: ports inside a trunk are on their networks, wherever the others are, and on no other; they come and go without harm to
// others.
func TestTrunk(t *testing.T) {
	c := trunkCrew(t)
	for _, trunk := range []object{c.t1, c.t2} {
		c.trunkStatus(t, trunk.id(), "ACTIVE")
	}
	for port, host := range map[string]string{c.g1.id(): "h1", c.b1.id(): "h1", c.g2.id(): "h2"} {
		if p := c.show(t, "port", port); p.text("binding:host_id") != host || p.text("device_owner") != "trunk:subport" {
			t.Errorf("a port inside is %v", p)
		}
	}
	if p := c.show(t, "port", c.p1.id()); p["binding:vif_details"].(map[string]any)["bridge_name"] != "br-int" {
		t.Errorf("the port that carries the trunk is plugged by %v", p["binding:vif_details"])
	}
	t.Run("reach", func(t *testing.T) {
		for _, r := range [][2]string{{"p1", "p2"}, {"p1", "red1"}, // on the network of those that carry
			{"p1", "g2"}, {"p2", "g1"}, {"p1", "green1"}, {"p1", "green2"}, {"green2", "g1"}, {"green1", "g2"}, {"p1", "blue2"}, {"blue2", "b1"}} {
			c.reachFull(t, r[0], c.ip[r[1]], 1400)
		}
		c.transfer(t, "p1", "p2", c.ip["g2"])
		c.transfer(t, "blue2", "p1", c.ip["b1"])
	})
	t.Run("DHCP inside", func(t *testing.T) {
		told := filepath.Join(t.TempDir(), "told")
		must(t, os.WriteFile(told, []byte("#!/bin/sh\n[ \"$1\" != bound ] || env\n"), 0o755))
		got := options(c.on(t, "p1", "busybox", "udhcpc", "-f", "-n", "-q", "-i", "eth0.101", "-t", "4", "-T", "1", "-s", told))
		if got["ip"] != c.ip["g1"] {
			t.Errorf("the port inside was told %v", got)
		}
	})
	t.Run("forged inside", func(t *testing.T) {
		c.on(t, "p1", "ip", "address", "add", "10.61.0.250/24", "dev", "eth0.101")
		defer c.on(t, "p1", "ip", "address", "delete", "10.61.0.250/24", "dev", "eth0.101")
		heard := c.echoes(t, "green2", "InEchos")
		if out, err := c.Exec(t.Context(), "p1", "ping", "-c3", "-i0.1", "-W0.3", "-I", "10.61.0.250", c.ip["green2"]); err == nil {
			t.Errorf("an address that is not the port's has answers:\n%s", out)
		}
		if n := c.echoes(t, "green2", "InEchos") - heard; n != 0 {
			t.Errorf("%d forged pings came out of a trunk", n)
		}
		c.on(t, "p1", "ping", "-c1", "-W1", "-I", c.ip["g1"], c.ip["green2"])
	})
	t.Run("come and go", func(t *testing.T) { c.comeAndGo(t) })
	t.Run("refused", func(t *testing.T) {
		c.refused(t, http.MethodDelete, "ports/"+c.p1.id(), nil, 409, "PortInUseAsTrunkParent")
		c.refused(t, http.MethodDelete, "ports/"+c.g1.id(), nil, 409, "PortInUseAsSubPort")
		c.refused(t, http.MethodDelete, "trunks/"+c.t1.id(), nil, 409, "TrunkInUse")
	})
	t.Run("agent restarted", func(t *testing.T) {
		before, began := c.flows(t, "h1"), time.Now()
		c.unharmed(t, "p1", c.ip["green2"], func() {
			must(t, c.AgentKill(t.Context(), "h1"))
			must(t, c.AgentStart(t.Context(), "h1"))
		})
		if youngest, since := slices.Min(c.ages(t, "h1")), time.Since(began).Seconds(); youngest < since {
			t.Errorf("a flow is %.1f s old, the restart began %.1f s ago", youngest, since)
		}
		if after := c.flows(t, "h1"); after != before {
			t.Error("the flows are not what they were")
		}
	})
	t.Run("unplugged and plugged", func(t *testing.T) {
		g := &lab.Guest{Name: "p1", Host: "h1", PortID: c.p1.id(), MAC: c.p1.text("mac_address"), Device: c.show(t, "port", c.p1.id()).text("device_id")}
		g.Plug = lab.Plug{Device: "tap" + c.p1.id()[:11], Bridge: "br-int"}
		c.pull(t, g)
		for _, p := range []object{c.p1, c.g1, c.b1} {
			c.status(t, p.id(), "DOWN")
		}
		c.trunkStatus(t, c.t1.id(), "DOWN")
		c.silent(t, "green2", c.ip["g1"])
		c.put(t, g)
		c.trunkStatus(t, c.t1.id(), "ACTIVE")
		c.reach(t, "green2", c.ip["g1"])
	})
	t.Run("migrated", func(t *testing.T) {
		_, err := c.Migrate(t.Context(), "p1", "h2")
		must(t, err)
		for _, p := range []object{c.p1, c.g1, c.b1} {
			c.status(t, p.id(), "ACTIVE")
			if host := c.show(t, "port", p.id()).text("binding:host_id"); host != "h2" {
				t.Errorf("port %s is on %s", p.id(), host)
			}
		}
		c.trunkStatus(t, c.t1.id(), "ACTIVE")
		// The guest has another eth0, and so other devices on it.
		for vlan, p := range map[uint16]object{101: c.g1, 102: c.b1} {
			c.on(t, "p1", "ip", "link", "delete", fmt.Sprint("eth0.", vlan))
			c.address(t, "p1", c.inside(t, "p1", p.id(), vlan), p.id())
		}
		for _, r := range [][2]string{{"green2", "g1"}, {"green1", "g1"}, {"blue2", "b1"}, {"p2", "g1"}, {"red1", "p1"}} {
			c.reachFull(t, r[0], c.ip[r[1]], 1400)
		}
		until(t, 5*time.Second, "h1 forgets the ports inside", func() (bool, string) {
			flows := c.flows(t, "h1")
			return !strings.Contains(flows, "dl_vlan=101") && !strings.Contains(flows, "dl_vlan=102"), flows
		})
	})
	t.Run("deleted", func(t *testing.T) {
		c.destroy(t, "p1", "p2", "green1", "green2", "blue2", "red1")
		for _, trunk := range []object{c.t1, c.t2} {
			c.trunkStatus(t, trunk.id(), "DOWN")
			c.remove(t, "trunk", trunk.id())
		}
		for _, p := range []object{c.p1, c.p2, c.g1, c.g2, c.b1} {
			c.remove(t, "port", p.id())
		}
		for _, n := range []object{c.red, c.green, c.blue} {
			c.remove(t, "network", n.id())
			c.forgotten(t, n.id(), "h1", "h2")
		}
	})
}

// comeAndGo has another port come into a trunk, on the network of the one that carries it, and leave it, while others are used.
func (c *crew) comeAndGo(t *testing.T) {
	r1 := c.create(t, "port", object{"network_id": c.red.id()})
	address := r1["fixed_ips"].([]any)[0].(map[string]any)["ip_address"].(string)
	until(t, 5*time.Second, "the host knows one more of the default group", func() (bool, string) {
		flows := c.flows(t, "h1")
		return strings.Contains(flows, "nw_src="+address+" "), flows
	})
	before := strings.Count(c.flows(t, "h1"), "\n")
	p := []*steady{c.start(t, "green2", c.ip["g1"]), c.start(t, "p1", c.ip["p2"]), c.start(t, "p1", c.ip["blue2"])}
	for range 5 {
		c.call(t, http.MethodPut, "trunks/"+c.t1.id()+"/add_subports", object{"sub_ports": subports(map[int]string{103: r1.id()})})
		c.status(t, r1.id(), "ACTIVE")
		c.trunkStatus(t, c.t1.id(), "ACTIVE")
		c.call(t, http.MethodPut, "trunks/"+c.t1.id()+"/remove_subports", object{"sub_ports": []object{{"port_id": r1.id()}}})
		c.status(t, r1.id(), "DOWN")
		until(t, 5*time.Second, "flows as before", func() (bool, string) {
			flows := c.flows(t, "h1")
			return strings.Count(flows, "\n") == before, flows
		})
	}
	for _, st := range p {
		if lost := st.stop(t); lost > 0 {
			t.Errorf("%d pings from %s to %s were lost", lost, st.from, st.to)
		}
	}
	if p := c.show(t, "port", r1.id()); p.text("binding:host_id") != "" || p.text("device_owner") != "" {
		t.Errorf("the port that left is %v", p)
	}
	// In again, to speak with those that are beside it on one cable and elsewhere.
	c.call(t, http.MethodPut, "trunks/"+c.t1.id()+"/add_subports", object{"sub_ports": subports(map[int]string{103: r1.id()})})
	c.status(t, r1.id(), "ACTIVE")
	device := c.inside(t, "p1", r1.id(), 103)
	// In a namespace of its own, since the guest would speak with itself.
	ns := fmt.Sprintf("inside-%d", os.Getpid())
	c.on(t, "p1", "ip", "netns", "add", ns)
	defer c.on(t, "p1", "ip", "netns", "delete", ns)
	ip := first(c.show(t, "port", r1.id()))
	c.on(t, "p1", "sh", "-c", fmt.Sprintf("ip link set %s netns %s && ip -n %s link set %s up && ip -n %s address add %s/24 dev %s", device, ns, ns, device, ns, ip, device))
	for _, from := range []string{"p1", "p2", "red1"} {
		c.reachFull(t, from, ip, 1400)
	}
	for _, to := range []string{"p1", "p2", "red1"} {
		c.on(t, "p1", "ip", "netns", "exec", ns, "ping", "-c2", "-i0.1", "-W1", c.ip[to])
	}
	c.call(t, http.MethodPut, "trunks/"+c.t1.id()+"/remove_subports", object{"sub_ports": []object{{"port_id": r1.id()}}})
	c.status(t, r1.id(), "DOWN")
	until(t, 5*time.Second, "no answer", func() (bool, string) { // DOWN is the server's word, before the host has heard it
		_, err := c.Exec(t.Context(), "red1", "ping", "-c1", "-W0.2", ip)
		return err != nil, "there is one"
	})
	c.remove(t, "port", r1.id())
}

// ear hears frames of a type that nobody else uses.
type ear int

const experiment = 0x88b5

func (s *stack) listen(t *testing.T, guest, device string) ear {
	t.Helper()
	fd := -1
	must(t, s.Within(guest, func() error {
		i, err := net.InterfaceByName(device)
		if err != nil {
			return err
		}
		const all = unix.ETH_P_ALL<<8&0xff00 | unix.ETH_P_ALL>>8
		if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, all); err != nil {
			return err
		}
		if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1); err != nil {
			return err
		}
		return unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: i.Index})
	}))
	t.Cleanup(func() { _ = unix.Close(fd) })
	return ear(fd)
}

// frame is one of the experiment's, below tags.
func frame(from, to object, text string, tags ...uint16) []byte {
	src, _ := net.ParseMAC(from.text("mac_address"))
	dst, _ := net.ParseMAC(to.text("mac_address"))
	out := append(append(bytes.Clone(dst), src...), experiment>>8, experiment&0xff)
	out = append(out, fmt.Sprintf("%-60s", text)...)
	for i := len(tags) - 1; i >= 0; i-- {
		out = subport.Tagged(make([]byte, 0, 128), out, tags[i])
	}
	return out
}

// say sends a frame out of a guest's eth0.
func (s *stack) say(t *testing.T, guest string, f []byte) {
	t.Helper()
	must(t, s.Within(guest, func() error {
		i, err := net.InterfaceByName("eth0")
		if err != nil {
			return err
		}
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Sendto(fd, f, 0, &unix.SockaddrLinklayer{Ifindex: i.Index})
	}))
}

// hears waits for the words that end what is said, one of each who speaks, and returns the others that came, in order of the alphabet.
func (e ear) hears(t *testing.T, ends ...string) string {
	t.Helper()
	var heard []string
	buf := make([]byte, 2048)
	until(t, 5*time.Second, "the words "+strings.Join(ends, " "), func() (bool, string) {
		for {
			n, _, err := unix.Recvfrom(int(e), buf, 0)
			if err != nil {
				return false, strings.Join(heard, " ")
			}
			_, text, ok := bytes.Cut(buf[12:n], []byte{experiment >> 8, experiment & 0xff})
			if !ok {
				continue
			}
			word := strings.TrimSpace(strings.TrimRight(string(text), "\x00"))
			if !slices.Contains(ends, word) {
				heard = append(heard, word)
			} else if ends = slices.DeleteFunc(ends, func(e string) bool { return e == word }); len(ends) == 0 {
				return true, ""
			}
		}
	})
	slices.Sort(heard)
	return strings.Join(heard, " ")
}

// TestTagsOfGuests: a guest's own tags reach nobody, alone or below the tag of a port inside a trunk, on the host, by a tunnel and by a VLAN; on a network
// that is transparent they do.
func TestTagsOfGuests(t *testing.T) {
	s := bring(t, "[DEFAULT]\nvlan_transparent = true\n", whole("h1"), whole("h2"))
	vlan := object{"provider:network_type": "vlan", "provider:physical_network": "physnet1"}
	twoTags := func() { // Open vSwitch reads two tags of a frame; see docs/design/agent.md for what it does not do then
		for _, h := range []string{"h1", "h2"} {
			s.on(t, h, "ovs-vsctl", "--db=unix:"+s.Dir()+"/hosts/"+h+"/ovs/db.sock", "set", "Open_vSwitch", ".", "other_config:vlan-limit=2")
		}
	}
	for i, c := range []struct {
		name       string
		attributes object
		clear      bool
		want       string
	}{
		{"tunnel", object{}, false, "inside plain"},
		{"VLAN", vlan, false, "inside plain"},
		{"flat", object{"provider:network_type": "flat", "provider:physical_network": "public"}, false, "inside plain"},
		{"transparent tunnel", object{"vlan_transparent": true}, true, "inside plain tagged twice"},
		{"transparent VLAN", with(vlan, object{"vlan_transparent": true}), true, "inside plain tagged twice"},
		{"transparent VLAN, two tags read", with(vlan, object{"vlan_transparent": true}), true, "inside plain tagged twice"},
	} {
		if strings.HasSuffix(c.name, "two tags read") {
			twoTags()
		}
		t.Run(c.name, func(t *testing.T) {
			n := s.net(t, c.name, fmt.Sprintf("10.7%d.0.0/24", i), with(c.attributes, object{"port_security_enabled": false, "mtu": 1400}))
			plain := s.net(t, "carrier", fmt.Sprintf("10.8%d.0.0/24", i), object{"port_security_enabled": false})
			ports := map[string]object{}
			for name, on := range map[string]object{"one": n, "two": n, "far": n, "in": n, "carrier": plain} {
				ports[name] = s.create(t, "port", object{"network_id": on.id()})
			}
			trunk := s.trunk(t, ports["carrier"].id(), map[int]string{101: ports["in"].id()})
			s.static(t, birth{name: "one", host: "h1", port: ports["one"].id()}, birth{name: "two", host: "h1", port: ports["two"].id()},
				birth{name: "far", host: "h2", port: ports["far"].id()}, birth{name: "carrier", host: "h1", port: ports["carrier"].id()})
			defer func() {
				s.destroy(t, "one", "two", "far", "carrier")
				s.remove(t, "trunk", trunk.id())
				for _, p := range ports {
					s.remove(t, "port", p.id())
				}
				s.remove(t, "network", n.id())
				s.remove(t, "network", plain.id())
			}()
			s.status(t, ports["in"].id(), "ACTIVE")
			s.reach(t, "one", first(ports["far"])) // the tunnel's first packet is lost
			for _, to := range []string{"two", "far"} {
				ear := s.listen(t, to, "eth0")
				s.say(t, "one", frame(ports["one"], ports[to], "plain"))
				s.say(t, "one", frame(ports["one"], ports[to], "tagged", 7))
				s.say(t, "carrier", frame(ports["in"], ports[to], "inside", 101))
				s.say(t, "carrier", frame(ports["in"], ports[to], "twice", 101, 7))
				s.say(t, "carrier", frame(ports["in"], ports[to], "unknown", 102))
				s.say(t, "carrier", frame(ports["in"], ports[to], "none"))
				s.say(t, "one", frame(ports["one"], ports[to], "end"))
				s.say(t, "carrier", frame(ports["in"], ports[to], "last", 101))
				if got := ear.hears(t, "end", "last"); got != c.want {
					t.Errorf("%s heard %q, want %q", to, got, c.want)
				}
			}
			// To a port inside its own tag says that it is meant, whatever is below.
			ear := s.listen(t, "carrier", "eth0")
			s.say(t, "far", frame(ports["far"], ports["in"], "plain"))
			s.say(t, "far", frame(ports["far"], ports["in"], "tagged", 7))
			s.say(t, "far", frame(ports["far"], ports["in"], "end"))
			want := "plain"
			if c.clear {
				want = "plain tagged"
			}
			if got := ear.hears(t, "end"); got != want {
				t.Errorf("the port inside heard %q, want %q", got, want)
			}
		})
	}
}
