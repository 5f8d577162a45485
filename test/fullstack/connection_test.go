//go:build integration

package fullstack

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"isospin/internal/lab"
)

// stream is a TCP connection between two guests over which both sides talk without end.
type stream struct {
	ends  [2]net.Conn
	heard [2]atomic.Int64 // bytes that each end got
}

// stream connects from one guest to another's port, which a rule allows.
func (s *stack) stream(t *testing.T, from, to, ip string, port int) *stream {
	t.Helper()
	addr := &net.TCPAddr{IP: net.ParseIP(ip), Port: port}
	var l *net.TCPListener
	must(t, s.Within(to, func() (err error) { l, err = net.ListenTCP("tcp", addr); return err }))
	defer l.Close()
	st := &stream{}
	until(t, 5*time.Second, from+" connects", func() (bool, string) {
		err := s.Within(from, func() (err error) {
			st.ends[0], err = (&net.Dialer{Timeout: 300 * time.Millisecond}).Dial("tcp", addr.String())
			return err
		})
		return err == nil, fmt.Sprint(err)
	})
	var err error
	must(t, l.SetDeadline(time.Now().Add(5*time.Second)))
	st.ends[1], err = l.Accept()
	must(t, err)
	ended := make(chan struct{}, 4)
	for i, c := range st.ends {
		go func() {
			defer func() { ended <- struct{}{} }()
			tick := time.NewTicker(5 * time.Millisecond)
			defer tick.Stop()
			for range tick.C {
				if _, err := c.Write(make([]byte, 100)); err != nil {
					return
				}
			}
		}()
		go func() {
			defer func() { ended <- struct{}{} }()
			buf := make([]byte, 1<<16)
			for {
				n, err := c.Read(buf)
				st.heard[i].Add(int64(n))
				if err != nil {
					return
				}
			}
		}()
	}
	t.Cleanup(func() {
		_, _ = st.ends[0].Close(), st.ends[1].Close()
		for range 4 {
			<-ended
		}
	})
	return st
}

// flows waits until both ends hear something new.
func (st *stream) flows(t *testing.T, within time.Duration) time.Duration {
	t.Helper()
	a, b := st.heard[0].Load(), st.heard[1].Load()
	return until(t, within, "both ends hear", func() (bool, string) {
		return st.heard[0].Load() > a && st.heard[1].Load() > b, fmt.Sprint(st.heard[0].Load()-a, " and ", st.heard[1].Load()-b)
	})
}

// stops waits until neither end has heard anything for 300 ms, and tells when that began.
func (st *stream) stops(t *testing.T, within time.Duration) time.Duration {
	t.Helper()
	began := time.Now()
	last, since := int64(-1), began
	until(t, within+time.Second, "neither end hears", func() (bool, string) {
		if now := st.heard[0].Load() + st.heard[1].Load(); now != last {
			last, since = now, time.Now()
		}
		return time.Since(since) > 300*time.Millisecond, "they do"
	})
	if took := since.Sub(began); took > within {
		t.Errorf("the connection went on for %s", took)
	}
	return since.Sub(began)
}

// guests boots guests with these groups.
func (s *stack) guests(t *testing.T, network string, hosts map[string]string, groups map[string][]string) map[string]*lab.Guest {
	t.Helper()
	var births []birth
	for name, host := range hosts {
		births = append(births, birth{name: name, host: host, port: s.create(t, "port", object{"network_id": network, "security_groups": groups[name]}).id()})
	}
	return s.static(t, births...)
}

// TestConnectionsEnd takes away what allowed a connection that is open: it stops within a second, whoever talks, and goes on when it is allowed again.
func TestConnectionsEnd(t *testing.T) {
	s := bring(t, "", whole("h1"), whole("h2"))
	n := s.net(t, "ends", "10.63.0.0/24", nil)
	out, server, friends := s.free(t, "out", "egress"), s.group(t, "server", nil), s.group(t, "friends", nil)
	entries := inner(t, s.call(t, http.MethodPost, "address-groups", object{"address_group": object{"name": "entries"}}), "address_group").id()
	g := s.guests(t, n.id(), map[string]string{"client": "h1", "near": "h1", "far": "h2"},
		map[string][]string{"client": {out}, "near": {server, out}, "far": {server, out}})
	client := g["client"]
	var rule string
	tcp := func(port int) object {
		return object{"protocol": "tcp", "port_range_min": port, "port_range_max": port + 9}
	}
	remote := s.rule(t, server, "ingress", "IPv4", with(tcp(7010), object{"remote_group_id": friends}))
	listed := s.rule(t, server, "ingress", "IPv4", with(tcp(7020), object{"remote_address_group_id": entries}))
	address := object{"addresses": []string{client.IPs[0] + "/32"}}
	in := func(groups ...string) func(*testing.T) {
		return func(t *testing.T) { s.update(t, "port", client.PortID, object{"security_groups": groups}) }
	}
	listing := func(action string) func(*testing.T) {
		return func(t *testing.T) { s.call(t, http.MethodPut, "address-groups/"+entries+"/"+action, address) }
	}
	ways := []struct {
		name        string
		allow, stop func(t *testing.T)
	}{
		{"a rule", func(t *testing.T) { rule = s.rule(t, server, "ingress", "IPv4", tcp(7000)) }, func(t *testing.T) { s.unrule(t, rule) }},
		{"a member", in(out, friends), in(out)},
		{"an address of an address group", listing("add_addresses"), listing("remove_addresses")},
	}
	for i, way := range ways {
		for j, to := range []string{"near", "far"} {
			t.Run(way.name+", "+to, func(t *testing.T) {
				way.allow(t)
				st := s.stream(t, "client", to, g[to].IPs[0], 7000+10*i+j)
				st.flows(t, 3*time.Second)
				way.stop(t)
				t.Logf("stopped after %d ms", st.stops(t, time.Second).Milliseconds())
				way.allow(t)
				t.Logf("goes on after %d ms", st.flows(t, 10*time.Second).Milliseconds())
				way.stop(t)
				st.stops(t, time.Second)
			})
		}
	}
	s.unrule(t, remote)
	s.unrule(t, listed)
	t.Run("answers alone", func(t *testing.T) { s.answersAlone(t, g, server) })
}

// answersAlone asks once by UDP and is answered without end: that ends too.
func (s *stack) answersAlone(t *testing.T, g map[string]*lab.Guest, group string) {
	rule := s.rule(t, group, "ingress", "IPv4", object{"protocol": "udp", "port_range_min": 7100, "port_range_max": 7100})
	for _, to := range []string{"near", "far"} {
		var here, there *net.UDPConn
		addr := &net.UDPAddr{IP: net.ParseIP(g[to].IPs[0]), Port: 7100}
		must(t, s.Within(to, func() (err error) { there, err = net.ListenUDP("udp", addr); return err }))
		must(t, s.Within("client", func() (err error) { here, err = net.DialUDP("udp", nil, addr); return err }))
		t.Cleanup(func() { _, _ = here.Close(), there.Close() })
		var peer *net.UDPAddr
		until(t, 5*time.Second, to+" is asked", func() (bool, string) {
			_, err := here.Write([]byte("more"))
			must(t, errors.Join(err, there.SetReadDeadline(time.Now().Add(100*time.Millisecond))))
			_, peer, err = there.ReadFromUDP(make([]byte, 10))
			return err == nil, fmt.Sprint(err)
		})
		answered := func() error {
			_, err := there.WriteToUDP([]byte("answer"), peer)
			must(t, errors.Join(err, here.SetReadDeadline(time.Now().Add(100*time.Millisecond))))
			_, err = here.Read(make([]byte, 10))
			return err
		}
		for range 3 {
			must(t, answered())
		}
		if to == "near" {
			continue // until both are open
		}
		s.unrule(t, rule)
		took := until(t, time.Second, "no more answers", func() (bool, string) { return answered() != nil, "there are" })
		t.Logf("answers end after %d ms", took.Milliseconds())
	}
}

// TestDefaultGroup: guests of one project reach each other and nobody else reaches them, as in Neutron.
func TestDefaultGroup(t *testing.T) {
	s := bring(t, "", whole("h1"), whole("h2"))
	n := s.net(t, "default", "10.64.0.0/24", nil)
	out := s.free(t, "out", "egress")
	g := s.boot(t, birth{name: "one", host: "h1", network: n.id()}, birth{name: "two", host: "h1", network: n.id()}, birth{name: "three", host: "h2", network: n.id()})
	other := s.guests(t, n.id(), map[string]string{"other": "h1"}, map[string][]string{"other": {out}})
	for _, to := range []string{"two", "three"} {
		s.reach(t, "one", g[to].IPs[0])
		s.reach(t, to, g["one"].IPs[0])
		s.transfer(t, "one", to, g[to].IPs[0])
		s.silent(t, "other", g[to].IPs[0])
	}
	// What they asked for they get, also from those who may not begin.
	s.rule(t, out, "ingress", "IPv4", object{"protocol": "icmp"})
	s.reach(t, "one", other["other"].IPs[0])
	s.silent(t, "other", g["one"].IPs[0])
}

// TestStateless: rules of a stateless group let packets pass by themselves: an answer needs a rule too.
func TestStateless(t *testing.T) {
	s := bring(t, "", whole("h1"), whole("h2"))
	n := s.both(t, "stateless", "10.65.0.0/24", "fd65::/64")
	plain := s.group(t, "stateless", object{"stateful": false})
	s.rule(t, plain, "egress", "IPv4", object{"protocol": "udp"})
	free := s.free(t, "free", "ingress", "egress")
	g := s.guard(t, n.id(), map[string]object{"one": {"host": "h1", "security_groups": []string{plain}},
		"near": {"host": "h1", "security_groups": []string{free}}, "far": {"host": "h2", "security_groups": []string{free}}})
	for _, to := range []string{"near", "far"} {
		if !g["one"].arrives(t, g[to], g["one"].to(g[to], false).udp(9, 99))[0] {
			t.Errorf("UDP did not come to %s", to)
		}
		if g["one"].arrives(t, g[to], g["one"].to(g[to], false).syn(9, 99))[0] {
			t.Errorf("TCP came to %s", to)
		}
		if g[to].arrives(t, g["one"], g[to].to(g["one"], false).udp(99, 9))[0] {
			t.Errorf("an answer of %s came without a rule", to)
		}
	}
	s.rule(t, plain, "ingress", "IPv4", object{"protocol": "udp", "port_range_min": 9, "port_range_max": 9})
	for _, to := range []string{"near", "far"} {
		until(t, 5*time.Second, "an answer of "+to, func() (bool, string) {
			return g[to].arrives(t, g["one"], g[to].to(g["one"], false).udp(99, 9))[0], ""
		})
	}
}

// TestFragments: a datagram that comes in pieces is judged by its ports, every piece of it, and so is what answers it.
func TestFragments(t *testing.T) {
	s := bring(t, "", whole("h1"), whole("h2"))
	n := s.net(t, "pieces", "10.66.0.0/24", nil)
	out, server := s.free(t, "out", "egress"), s.group(t, "server", nil)
	s.rule(t, server, "ingress", "IPv4", object{"protocol": "udp", "port_range_min": 7100, "port_range_max": 7100})
	g := s.guests(t, n.id(), map[string]string{"client": "h1", "near": "h1", "far": "h2"}, map[string][]string{"client": {out}, "near": {server}, "far": {server}})
	for _, to := range []string{"near", "far"} {
		for port, want := range map[int]bool{7100: true, 7101: false} {
			var here, there *net.UDPConn
			addr := &net.UDPAddr{IP: net.ParseIP(g[to].IPs[0]), Port: port}
			must(t, s.Within(to, func() (err error) { there, err = net.ListenUDP("udp", addr); return err }))
			must(t, s.Within("client", func() (err error) { here, err = net.DialUDP("udp", nil, addr); return err }))
			t.Cleanup(func() { _, _ = here.Close(), there.Close() })
			buf, came := make([]byte, 9000), false
			for range 5 { // a tunnel that is new loses its first packet
				_, err := here.Write(make([]byte, 6000))
				must(t, errors.Join(err, there.SetReadDeadline(time.Now().Add(200*time.Millisecond))))
				size, peer, err := there.ReadFromUDP(buf)
				if err != nil || size != 6000 {
					continue
				}
				_, err = there.WriteToUDP(buf[:5000], peer)
				must(t, errors.Join(err, here.SetReadDeadline(time.Now().Add(200*time.Millisecond))))
				if size, err = here.Read(buf); err == nil && size == 5000 {
					came = true
					break
				}
			}
			if came != want {
				t.Errorf("pieces to port %d of %s and back: %v, want %v", port, to, came, want)
			}
		}
	}
}
