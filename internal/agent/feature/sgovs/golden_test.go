package sgovs

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"isospin/internal/agent/feature/brint"
	"isospin/internal/wire"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestGolden(t *testing.T) {
	cases := map[string]struct {
		cfg   Config
		build func(w *world)
	}{
		"nothing": {build: func(*world) {}},
		"default-group": {build: func(w *world) {
			w.group(1, true)
			for _, family := range []string{"IPv4", "IPv6"} {
				w.rule("out"+family, 1, "egress", family, nil)
				w.rule("in"+family, 1, "ingress", family, of(1))
			}
			w.member(1, "p1", "192.0.2.1", "2001:db8::1")
			w.member(1, "elsewhere", "192.0.2.9")
			w.port(1, 1, []string{"192.0.2.1", "2001:db8::1"}, 1)
		}},
		"open": {build: func(w *world) {
			p := w.port(1, 1, []string{"192.0.2.1"}, 1)
			p.PortSecurityEnabled = false
			w.Put(wire.KindPort, p.Id, p)
			p = w.port(2, 1, []string{"192.0.2.2"})
			p.DeviceOwner = "network:dhcp"
			w.Put(wire.KindPort, p.Id, p)
		}},
		"off": {cfg: Config{Off: true}, build: func(w *world) {
			w.group(1, true)
			w.rule("a", 1, "ingress", "IPv4", nil)
			w.port(1, 1, []string{"192.0.2.1"}, 1)
		}},
		"no-groups": {cfg: Config{Ethertypes: []uint16{0x4008}}, build: func(w *world) { w.port(1, 1, []string{"192.0.2.1"}) }},
		"rules": {build: func(w *world) {
			w.group(1, true)
			w.rule("range", 1, "ingress", "IPv4", tcp(1000, 1999))
			w.rule("whole range", 1, "ingress", "IPv4", func(d *wire.SecurityGroupRule) { tcp(0, 65535)(d); d.Protocol = "udp" })
			w.rule("prefix", 1, "egress", "IPv4", func(d *wire.SecurityGroupRule) { tcp(80, 80)(d); d.RemoteIpPrefix = "198.51.100.0/24" })
			w.rule("one within", 1, "ingress", "IPv4", tcp(1024, 1024))
			w.rule("type", 1, "ingress", "IPv4", func(d *wire.SecurityGroupRule) { d.Protocol, d.PortRangeMin = "icmp", 8 })
			w.rule("type and code", 1, "ingress", "IPv6", func(d *wire.SecurityGroupRule) {
				d.Protocol, d.PortRangeMin, d.PortRangeMax = "ipv6-icmp", 1, 4
			})
			w.rule("number", 1, "egress", "IPv6", func(d *wire.SecurityGroupRule) { d.Protocol, d.RemoteIpPrefix = "132", "2001:db8::/32" })
			w.rule("ports unknown to the switch", 1, "egress", "IPv4", func(d *wire.SecurityGroupRule) { tcp(1, 2)(d); d.Protocol = "dccp" })
			w.rule("all of that protocol", 1, "egress", "IPv4", func(d *wire.SecurityGroupRule) { d.Protocol = "dccp" })
			w.rule("unreadable", 1, "sideways", "IPv4", nil)
			w.port(1, 1, nil, 1)
			w.rule("of a group that nobody is in", 2, "ingress", "IPv4", nil)
		}},
		"conjunctions": {build: func(w *world) {
			w.group(1, true)
			w.group(2, true)
			w.rule("a", 1, "ingress", "IPv4", of(2, tcp(80, 81)))
			w.rule("same of another", 1, "ingress", "IPv4", of(3, tcp(80, 80)))
			w.rule("addresses", 1, "ingress", "IPv4", func(d *wire.SecurityGroupRule) { d.RemoteAddressGroupId = "ag" })
			w.rule("everybody too", 1, "ingress", "IPv4", tcp(80, 80))
			w.rule("of nobody", 1, "egress", "IPv6", of(4))
			w.rule("another group's", 2, "egress", "IPv4", of(3))
			w.member(2, "x", "192.0.2.7", "10.0.0.0/8")
			w.member(3, "x", "192.0.2.7", "2001:db8::7")
			w.entry("ag", "0.0.0.0/0")
			w.entry("ag", "192.0.2.7")
			w.entry("unused", "192.0.2.8")
			w.port(1, 1, nil, 1, 2)
		}},
		"stateless": {build: func(w *world) {
			w.group(1, false)
			w.group(2, true)
			w.rule("free", 1, "ingress", "IPv4", tcp(80, 80))
			w.rule("kept", 2, "ingress", "IPv4", tcp(22, 22))
			w.port(1, 1, []string{"192.0.2.1"}, 1)
			w.port(2, 2, []string{"192.0.2.1"}, 1, 2)
			w.port(3, 1, []string{"192.0.2.3"}, 2, 9) // the document of the second has not come
		}},
		"pairs": {build: func(w *world) {
			p := w.port(1, 1, []string{"192.0.2.1"})
			p.AllowedAddressPairs = []*wire.AddressPair{{IpAddress: "198.51.100.0/24"}, {IpAddress: "192.0.2.200", MacAddress: "00:00:5e:00:01:01"},
				{IpAddress: "0.0.0.0/0", MacAddress: "fa:16:3e:00:00:77"}, {IpAddress: "2001:db8:1::/64"}}
			w.Put(wire.KindPort, p.Id, p)
		}},
		"states-of-ports": {build: func(w *world) {
			p := w.port(1, 1, []string{"192.0.2.1"})
			p.AdminStateUp = false
			w.Put(wire.KindPort, p.Id, p)
			w.port(2, 1, []string{"192.0.2.2"})
			w.Unplug("tap2")
			w.port(3, 1, []string{"192.0.2.3"})
			w.plug(3, 0)
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.cfg)
			c.build(w)
			w.sync()
			w.check()
			path := filepath.Join("testdata", name+".txt")
			got := brint.Pipeline().Golden(w.all())
			if *update {
				if err := os.MkdirAll("testdata", 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); d != "" {
				t.Errorf("%s differs (-update writes it anew): %s", path, d)
			}
		})
	}
}
