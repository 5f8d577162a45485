package sgnft

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"isospin/internal/wire"
)

// TestSequences draws what happens to a host, in bursts, with restarts of the agent, and compares what is wanted in the end with a feature that only
// sees the end. At every moment it is what the kernel takes, and owners agree.
func TestSequences(t *testing.T) {
	const ports, groups, networks = 5, 4, 2
	address := func(r *rapid.T, v6 bool) string {
		if v6 {
			return rapid.SampledFrom([]string{"2001:db8::1", "2001:db8::/64", "2001:db8::/32", "::/0"}).Draw(r, "address")
		}
		return rapid.SampledFrom([]string{"192.0.2.1", "192.0.2.2", "192.0.2.0/24", "192.0.0.0/16", "0.0.0.0/0", "broken"}).Draw(r, "address")
	}
	events := []func(r *rapid.T, w *world, n int){
		func(r *rapid.T, w *world, n int) {
			var in []int
			for g := range groups {
				if rapid.Bool().Draw(r, "in") {
					in = append(in, g)
				}
			}
			p := w.port(n, n%networks, []string{fmt.Sprint("192.0.2.", n+1), fmt.Sprintf("2001:db8::%x", n+1)}, in...)
			p.PortSecurityEnabled = rapid.IntRange(0, 4).Draw(r, "secure") > 0
			p.AdminStateUp = rapid.IntRange(0, 4).Draw(r, "up") > 0
			if rapid.IntRange(0, 6).Draw(r, "broken") == 0 {
				p.MacAddress = "none"
			}
			for range rapid.IntRange(0, 3).Draw(r, "pairs") {
				pair := &wire.AddressPair{IpAddress: address(r, rapid.Bool().Draw(r, "v6"))}
				if rapid.Bool().Draw(r, "mac") {
					pair.MacAddress = mac(100)
				}
				p.AllowedAddressPairs = append(p.AllowedAddressPairs, pair)
			}
			w.Put(wire.KindPort, p.Id, p)
		},
		func(_ *rapid.T, w *world, n int) { w.Drop(wire.KindPort, portID(n)) },
		func(r *rapid.T, w *world, n int) { w.group(n%groups, rapid.Bool().Draw(r, "stateful")) },
		func(_ *rapid.T, w *world, n int) { w.Drop(wire.KindGroup, groupID(n%groups)) },
		func(r *rapid.T, w *world, n int) {
			w.rule(fmt.Sprint("r", n), rapid.IntRange(0, groups-1).Draw(r, "of"), rapid.SampledFrom([]string{"ingress", "egress", "sideways"}).Draw(r, "way"),
				rapid.SampledFrom([]string{"IPv4", "IPv6"}).Draw(r, "family"), func(d *wire.SecurityGroupRule) {
					switch rapid.IntRange(0, 4).Draw(r, "remote") {
					case 0:
						d.RemoteGroupId = groupID(rapid.IntRange(0, groups-1).Draw(r, "remote group"))
					case 1:
						d.RemoteAddressGroupId = "ag"
					case 2:
						d.RemoteIpPrefix = address(r, d.GetEthertype() == "IPv6")
					}
					if rapid.Bool().Draw(r, "tcp") {
						proto2("tcp", 1, int32(n+1))(d)
					}
				})
		},
		func(_ *rapid.T, w *world, n int) { w.Drop(wire.KindRule, fmt.Sprint("r", n)) },
		func(r *rapid.T, w *world, n int) {
			w.member(n%groups, fmt.Sprint("m", n), address(r, false), address(r, true))
		},
		func(_ *rapid.T, w *world, n int) { w.Drop(wire.KindMember, groupID(n%groups)+"/"+fmt.Sprint("m", n)) },
		func(r *rapid.T, w *world, _ int) { w.entry("ag", address(r, rapid.Bool().Draw(r, "v6"))) },
		func(r *rapid.T, w *world, _ int) {
			w.Drop(wire.KindAddress, "ag/"+address(r, rapid.Bool().Draw(r, "v6")))
		},
		func(r *rapid.T, w *world, n int) {
			w.network(n%networks, rapid.SampledFrom([]string{"vxlan", "flat"}).Draw(r, "type"), rapid.Bool().Draw(r, "transparent"))
		},
	}
	rapid.Check(t, func(r *rapid.T) {
		w := newWorld(r, Config{Tracks: rapid.IntRange(0, 3).Draw(r, "tracks") > 0})
		for range rapid.IntRange(1, 12).Draw(r, "bursts") {
			for range rapid.IntRange(1, 4).Draw(r, "events") {
				rapid.SampledFrom(events).Draw(r, "event")(r, w, rapid.IntRange(0, ports-1).Draw(r, "n"))
			}
			if rapid.IntRange(0, 5).Draw(r, "restart") == 0 {
				w.start()
			} else {
				w.sync()
			}
			w.check()
		}
		got, here := texts(w.all()), fmt.Sprint(w.here.Merged())
		needs := map[string]string{}
		for n := range ports {
			docs, lacks, broken := w.feature.Needs(w.Docs, portID(n))
			needs[portID(n)] = fmt.Sprint(docs, lacks, broken)
		}
		w.start()
		if d := cmp.Diff(texts(w.all()), got); d != "" {
			r.Fatalf("wanted otherwise than by a start: %s", d)
		}
		if now := fmt.Sprint(w.here.Merged()); now != here {
			r.Fatalf("here were %s, by a start %s", here, now)
		}
		for id, before := range needs {
			docs, lacks, broken := w.feature.Needs(w.Docs, id)
			if now := fmt.Sprint(docs, lacks, broken); now != before {
				r.Fatalf("the needs of %s were %s, are %s", id, before, now)
			}
		}
	})
}
