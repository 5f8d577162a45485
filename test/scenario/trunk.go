package scenario

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"isospin/internal/lab"
	"isospin/internal/lab/subport"
)

// tagsOnHosts: Open vSwitch reads tags itself; hosts with bridges need a kernel with VLAN devices, as networks of the kind do.
func tagsOnHosts(c Cell) bool {
	return c.can(VLAN) || c.Mechanisms == [2]string{lab.OpenVSwitch, lab.OpenVSwitch}
}

// trunk: a port inside a trunk is on its network as any other, on either host; one that leaves is heard no more, and others lose nothing.
func trunk(t *testing.T, s *Stage) {
	const tag = 101
	carriers := s.Create(t, "network", provider("local", "", 0).With(Object{"name": "carriers"}))
	inside, trunks := map[string]netip.Addr{}, map[string]string{}
	ports := map[string]string{}
	for i, host := range []string{"h1", "h2"} {
		carrier := s.Create(t, "port", Object{"network_id": carriers.ID()})
		port := s.Port(t, Object{"fixed_ips": s.fixed(t, s.Network.ID(), byte(160+i))})
		made := s.Create(t, "trunk", Object{"port_id": carrier.ID(), "sub_ports": []Object{{"port_id": port.ID(), "segmentation_type": "vlan", "segmentation_id": tag}}})
		g := s.Boot(t, Birth{Name: "carrier" + host, Host: host, Port: carrier.ID(), Static: true})["carrier"+host]
		s.status(t, port.ID(), "ACTIVE")
		inside[host] = s.subport(t, g, port, tag)
		trunks[host], ports[host] = made.ID(), port.ID()
	}
	for host, other := range map[string]string{"h1": "h2", "h2": "h1"} {
		g := &lab.Guest{Name: "carrier" + host}
		for _, to := range []netip.Addr{s.Address(t, s.One), s.Address(t, s.Far), inside[other]} {
			s.ReachFull(t, g, to)
		}
	}
	s.ReachFull(t, s.Beside, inside["h2"])
	s.Unharmed(t, s.Far, inside["h1"], func() {
		s.Call(t, http.MethodPut, "trunks/"+trunks["h2"]+"/remove_subports", Object{"sub_ports": []Object{{"port_id": ports["h2"]}}})
		s.status(t, ports["h2"], "DOWN")
		s.until(t, 10*time.Second, "no answer from a port that left its trunk", func() (bool, string) {
			_, err := s.Exec(t.Context(), s.One.Name, "ping", "-c1", "-W"+s.wait(), inside["h2"].String())
			return err != nil, "there is one"
		})
		s.Call(t, http.MethodPut, "trunks/"+trunks["h2"]+"/add_subports", Object{"sub_ports": []Object{{"port_id": ports["h2"], "segmentation_type": "vlan", "segmentation_id": tag}}})
		s.status(t, ports["h2"], "ACTIVE")
	})
	s.ReachFull(t, s.One, inside["h2"])
}

// subport gives a guest a device for a port inside the trunk that it has on eth0, with the port's address of the cell's family.
func (s *Stage) subport(t *testing.T, g *lab.Guest, port Object, tag uint16) netip.Addr {
	t.Helper()
	mac, err := net.ParseMAC(port.Text("mac_address"))
	must(t, err)
	plan := subport.Plan{Parent: "eth0", Name: fmt.Sprint("eth0.", tag), VLAN: tag, MAC: mac, MTU: s.MTU}
	var d *subport.Device
	must(t, s.Lab.Within(g.Name, func() (err error) {
		d, err = subport.Make(plan)
		return err
	}))
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	s.On(t, g.Name, "sh", "-c", "echo 0 >/proc/sys/net/ipv6/conf/"+plan.Name+"/disable_ipv6")
	for _, fixed := range port["fixed_ips"].([]any) {
		text, _ := fixed.(map[string]any)["ip_address"].(string)
		a := netip.MustParseAddr(text)
		if a.Is4() != (s.Family == IPv4) {
			continue
		}
		bits := s.prefixes[s.Family].Bits()
		args := []string{"ip", "address", "add", netip.PrefixFrom(a, bits).String(), "dev", plan.Name}
		if a.Is6() {
			args = append(args, "nodad")
		}
		s.On(t, g.Name, args...)
		return a
	}
	t.Fatalf("port %s has no %s address", port.ID(), s.Family)
	return netip.Addr{}
}

// tags: frames that a guest tags itself reach nobody, whatever is below the tag: on a VLAN they would be another network's. A tag of no VLAN only says
// that a frame is urgent; Open vSwitch takes it off.
func tags(t *testing.T, s *Stage) {
	out := s.Wire(t, s.One)
	for _, to := range []*lab.Guest{s.Beside, s.Far} {
		s.Reach(t, s.One, s.Address(t, to))
		in := s.Wire(t, to)
		frame := func(mark string) []byte {
			return datagram(s.party(t, s.One), s.party(t, to), 4000, 4001, []byte(mark))
		}
		mark := "below a tag to " + to.Name
		tagged := subport.Tagged(nil, frame(mark), 7)
		out.Send(t, tagged, subport.Tagged(nil, tagged, 8), subport.Tagged(nil, tagged, 0))
		if in.Sees(t, []byte(mark), s.within(200*time.Millisecond)) {
			t.Errorf("a tagged frame came to %s", to.Name)
		}
		heard := map[string][]byte{"bare to ": frame("bare to " + to.Name)}
		if s.Cell.mechanism("h1") == lab.OpenVSwitch { // filters of bridges take it for a tag like others
			heard["urgent to "] = subport.Tagged(nil, frame("urgent to "+to.Name), 0)
		}
		for what, f := range heard {
			out.Send(t, f)
			if !in.Sees(t, []byte(what+to.Name), s.within(5*time.Second)) {
				t.Errorf("a frame of no VLAN did not come: %s%s", what, to.Name)
			}
		}
	}
}
