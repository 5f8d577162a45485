//go:build integration

package fullstack

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// served waits until a network has so many DHCP ports that are ACTIVE, and returns them.
func (s *stack) served(t *testing.T, network string, count int) []object {
	t.Helper()
	var ports []object
	until(t, 30*time.Second, "DHCP ports of "+network, func() (bool, string) {
		ports = s.list(t, "port", "device_owner=network:dhcp&network_id="+network)
		said := ""
		active := 0
		for _, p := range ports {
			said += p.text("binding:host_id") + " " + p.text("status") + "; "
			if p.text("status") == "ACTIVE" {
				active++
			}
		}
		return len(ports) == count && active == count, said
	})
	return ports
}

// namespace is a network's qdhcp namespace as a host sees it: its inode tells whether it is still the same one.
func (s *stack) namespace(t *testing.T, host, network string) string {
	t.Helper()
	inode := strings.TrimSpace(s.on(t, host, "stat", "-c", "%i", "/run/netns/qdhcp-"+network))
	links := s.on(t, host, "ip", "netns", "exec", "qdhcp-"+network, "ip", "-4", "-o", "address")
	return inode + "\n" + links
}

// TestDHCPOptions: what the API says of subnets and ports reaches guests with their next lease, without a restart of
// anything and without a touch on other networks; a port's own options win.
func TestDHCPOptions(t *testing.T) {
	s := bring(t, "", whole("h1"))
	n := s.create(t, "network", object{"name": "changing"})
	sub := s.create(t, "subnet", object{"network_id": n.id(), "ip_version": 4, "cidr": "10.20.0.0/24", "dns_nameservers": []string{"192.0.2.1"}})
	other := s.net(t, "other", "10.21.0.0/24", nil)
	port := s.create(t, "port", object{"network_id": n.id(), "fixed_ips": []object{{"subnet_id": sub.id(), "ip_address": "10.20.0.40"}},
		"extra_dhcp_opts": []object{{"opt_name": "tftp-server", "opt_value": "192.0.2.69"}, {"opt_name": "bootfile-name", "opt_value": "pxelinux.0"},
			{"opt_name": "domain-name", "opt_value": "guests.example.org"}, {"opt_name": "ntp-server", "opt_value": "192.0.2.123"}}})
	s.boot(t, birth{name: "plain", host: "h1", network: n.id()}, birth{name: "extra", host: "h1", port: port.id()}, birth{name: "apart", host: "h1", network: other.id()})
	s.served(t, other.id(), 1)

	got := s.ask(t, "extra", "tftp", "bootfile", "ntpsrv")
	for option, want := range map[string]string{"ip": "10.20.0.40", "domain": "guests.example.org", "tftp": "192.0.2.69", "ntpsrv": "192.0.2.123", "dns": "192.0.2.1"} {
		if got[option] != want {
			t.Errorf("option %s is %q, want %q: %v", option, got[option], want, got)
		}
	}
	if file := got["bootfile"] + got["boot_file"]; file != "pxelinux.0" {
		t.Errorf("boot file is %q", file)
	}
	if got := s.ask(t, "plain"); got["domain"] != "openstacklocal" || got["router"] != "10.20.0.1" || got["mtu"] != "1450" {
		t.Errorf("a port without options was told %v", got)
	}

	before, flowsBefore := s.namespace(t, "h1", other.id()), ofNetwork(s.flows(t, "h1"), other.id())
	agents := s.pid(t, "h1/agent")
	writes := s.watch(t, "h1")
	s.update(t, "subnet", sub.id(), object{"dns_nameservers": []string{"192.0.2.2", "192.0.2.3"}, "gateway_ip": nil,
		"host_routes": []object{{"destination": "198.51.100.0/24", "nexthop": "10.20.0.9"}}})
	until(t, 3*time.Second, "new options", func() (bool, string) {
		got = s.ask(t, "plain")
		return got["dns"] == "192.0.2.2 192.0.2.3" && got["router"] == "" && strings.Contains(got["staticroutes"], "198.51.100.0/24 10.20.0.9"), flat(got)
	})
	s.update(t, "port", port.id(), object{"extra_dhcp_opts": []object{{"opt_name": "tftp-server", "opt_value": "192.0.2.70"}, {"opt_name": "domain-name", "opt_value": nil}}})
	until(t, 3*time.Second, "new options of a port", func() (bool, string) {
		got = s.ask(t, "extra", "tftp")
		return got["tftp"] == "192.0.2.70" && got["domain"] == "openstacklocal", flat(got)
	})
	s.update(t, "network", n.id(), object{"mtu": 1300})
	until(t, 3*time.Second, "new MTU", func() (bool, string) {
		got = s.ask(t, "plain")
		return got["mtu"] == "1300", flat(got)
	})
	s.update(t, "subnet", sub.id(), object{"enable_dhcp": false})
	until(t, 5*time.Second, "no DHCP any more", func() (bool, string) {
		return !strings.Contains(s.on(t, "h1", "ip", "netns", "list"), "qdhcp-"+n.id()), "the namespace is there"
	})
	if got := s.ask(t, "plain"); got != nil {
		t.Errorf("a subnet without DHCP gives %v", got)
	}
	if after := s.namespace(t, "h1", other.id()); after != before {
		t.Errorf("the namespace of the other network was touched:\n%s\n%s", before, after)
	}
	if after := ofNetwork(s.flows(t, "h1"), other.id()); after != flowsBefore {
		t.Errorf("flows of the other network were touched:\n%s\n%s", flowsBefore, after)
	}
	for line := range strings.Lines(writes.flowsSeen()) {
		if strings.Contains(line, metadata(other.id())[len("metadata="):]) {
			t.Errorf("a flow of the other network was written: %s", line)
		}
	}
	if s.pid(t, "h1/agent") != agents {
		t.Error("the agent was restarted")
	}
	if got := s.ask(t, "apart"); got["mtu"] != "1450" {
		t.Errorf("the other network gives %v", got)
	}
}

func flat(m map[string]string) string {
	var out []string
	for _, k := range []string{"ip", "dns", "router", "staticroutes", "domain", "mtu", "tftp", "serverid"} {
		out = append(out, k+"="+m[k])
	}
	return strings.Join(out, " ")
}

// ofNetwork are a network's lines of a flow dump, in order.
func ofNetwork(flows, network string) string {
	var out []string
	for line := range strings.Lines(flows) {
		if strings.Contains(line, metadata(network)[len("metadata="):]) {
			out = append(out, line)
		}
	}
	slices.Sort(out)
	return strings.Join(out, "")
}

// TestDHCPHosts: with two DHCP hosts a network, either serves when the other is gone; and a network whose DHCP host is
// dead for good gets another.
func TestDHCPHosts(t *testing.T) {
	s := bring(t, "[DEFAULT]\ndhcp_agents_per_network = 2\nagent_down_time = 4\n[agent]\nreport_interval = 1\n", whole("h1"), whole("h2"), whole("h3"))
	n := s.net(t, "twice", "10.22.0.0/24", nil)
	ports := s.served(t, n.id(), 2)
	first, second := ports[0].text("binding:host_id"), ports[1].text("binding:host_id")
	if first == second {
		t.Fatalf("both DHCP servers are on %s", first)
	}
	free := "h1"
	for slices.Contains([]string{first, second}, free) {
		free = string([]byte{'h', free[1] + 1})
	}
	g := s.boot(t, birth{name: "one", host: free, network: n.id()}, birth{name: "two", host: second, network: n.id()})
	s.reach(t, "one", g["two"].IPs[0])

	must(t, s.HostStop(t.Context(), first))
	got := s.ask(t, "one")
	if got["ip"] != g["one"].IPs[0] {
		t.Errorf("with one of two DHCP hosts gone: %v", got)
	}
	took := until(t, 20*time.Second, "another DHCP host", func() (bool, string) {
		hosts := map[string]bool{}
		for _, p := range s.list(t, "port", "device_owner=network:dhcp&network_id="+n.id()) {
			if p.text("status") == "ACTIVE" {
				hosts[p.text("binding:host_id")] = true
			}
		}
		return hosts[free] && hosts[second], first + " is gone, DHCP is not on " + free
	})
	t.Logf("another DHCP host after %.1f s (agent_down_time 4 s)", took.Seconds())
	s.served(t, n.id(), 2)
	must(t, s.AgentKill(t.Context(), second))
	until(t, 5*time.Second, "a lease from the new DHCP host", func() (bool, string) {
		got := s.ask(t, "one")
		return got["ip"] == g["one"].IPs[0], flat(got)
	})
	must(t, s.AgentStart(t.Context(), second))
	must(t, s.HostStart(t.Context(), first))
	until(t, 20*time.Second, "the host that came back serves nothing", func() (bool, string) {
		left := s.on(t, first, "ip", "netns", "list")
		return !strings.Contains(left, n.id()), left
	})
}
