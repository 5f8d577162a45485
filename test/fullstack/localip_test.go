//go:build integration

package fullstack

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"isospin/internal/lab"
)

// TestLocalIP: an address that each of two hosts serves from its own guest, translated and passed through, with security groups in between; it
// follows the guest that stands for it and is nobody's when that is gone.
func TestLocalIP(t *testing.T) {
	s := bring(t, "[agent]\nextensions = local_ip\n", whole("h1"), whole("h2"))
	n := s.net(t, "near", "10.9.0.0/24", nil)
	g := s.boot(t, birth{name: "c1", host: "h1", network: n.id()}, birth{name: "b1", host: "h1", network: n.id()},
		birth{name: "c2", host: "h2", network: n.id()}, birth{name: "b2", host: "h2", network: n.id()})
	local := s.create(t, "local_ip", object{"network_id": n.id(), "local_ip_address": "10.9.0.200"})
	if at := local.text("local_ip_address"); at != "10.9.0.200" {
		t.Fatalf("the local IP is %q", at)
	}
	stand := func(ip object, guest string) {
		s.call(t, "POST", "local_ips/"+ip.id()+"/port_associations", object{"port_association": object{"fixed_port_id": g[guest].PortID}})
	}
	stand(local, "b1")
	stand(local, "b2")
	near := func(client, guest, address string) {
		t.Helper()
		s.reach(t, client, address)
		other := map[string]string{"b1": "b2", "b2": "b1"}[guest]
		before, elsewhere := s.echoes(t, guest, "InEchos"), s.echoes(t, other, "InEchos")
		s.on(t, client, "ping", "-c5", "-i0.05", "-W1", address)
		if s.echoes(t, guest, "InEchos") == before || s.echoes(t, other, "InEchos") != elsewhere {
			t.Errorf("pings of %s to %s do not come to %s alone", client, address, guest)
		}
	}
	near("c1", "b1", "10.9.0.200")
	near("c2", "b2", "10.9.0.200")
	// A connection has its answers translated too, and others of the same guests go on.
	for client, backend := range map[string]string{"c1": "b1", "c2": "b2"} {
		s.answered(t, client, "10.9.0.200", g[backend])
		s.answered(t, client, g[backend].IPs[0], g[backend])
	}
	// Passed through, the guest has the address itself, and must be allowed to.
	passed := s.create(t, "local_ip", object{"network_id": n.id(), "local_ip_address": "10.9.0.201", "ip_mode": "passthrough"})
	stand(passed, "b1")
	s.update(t, "port", g["b1"].PortID, object{"allowed_address_pairs": []object{{"ip_address": "10.9.0.201"}}})
	s.on(t, "b1", "ip", "addr", "add", "10.9.0.201/32", "dev", "lo")
	near("c1", "b1", "10.9.0.201")
	s.silent(t, "c2", "10.9.0.201")
	s.call(t, "DELETE", "local_ips/"+local.id()+"/port_associations/"+g["b1"].PortID, nil)
	until(t, 5*time.Second, "nobody stands for the address at h1", func() (bool, string) {
		out, err := s.Exec(t.Context(), "c1", "ping", "-c1", "-W0.2", "10.9.0.200")
		return err != nil, out
	})
	near("c2", "b2", "10.9.0.200")
}

// answered has a guest connect to an address and be answered by another guest.
func (s *stack) answered(t *testing.T, client, address string, by *lab.Guest) {
	t.Helper()
	var l *net.TCPListener
	must(t, s.Within(by.Name, func() (err error) {
		l, err = net.ListenTCP("tcp", &net.TCPAddr{IP: net.ParseIP(by.IPs[0]), Port: 8080})
		return err
	}))
	defer l.Close()
	said := make(chan error, 1)
	go func() {
		must := l.SetDeadline(time.Now().Add(5 * time.Second))
		c, err := l.Accept()
		if err == nil {
			_, err = io.WriteString(c, by.Name)
			err = errors.Join(err, c.Close())
		}
		said <- errors.Join(must, err)
	}()
	var heard []byte
	err := s.Within(client, func() error {
		c, err := net.DialTimeout("tcp", net.JoinHostPort(address, "8080"), 5*time.Second)
		if err != nil {
			return err
		}
		defer c.Close()
		heard, err = io.ReadAll(c)
		return err
	})
	if err = errors.Join(err, <-said); err != nil || string(heard) != by.Name {
		t.Errorf("%s heard %q from %s, not %q: %v", client, heard, address, by.Name, err)
	}
}
