//go:build integration

package fullstack

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"isospin/internal/lab"
)

// beat is a datagram every millisecond from one guest to another, which sends it back.
type beat struct {
	from, to string
	out, in  *net.UDPConn

	mu   sync.Mutex
	sent int
	back map[int]int // how often each came back
	work sync.WaitGroup
	stop chan struct{}
}

func (s *stack) beat(t *testing.T, from, to, ip string) *beat {
	t.Helper()
	s.reach(t, from, ip)
	b := &beat{from: from, to: to, back: map[int]int{}, stop: make(chan struct{})}
	addr := &net.UDPAddr{IP: net.ParseIP(ip)}
	must(t, s.Within(to, func() (err error) { b.in, err = net.ListenUDP("udp", addr); return err }))
	addr = b.in.LocalAddr().(*net.UDPAddr)
	must(t, s.Within(from, func() (err error) { b.out, err = net.DialUDP("udp", nil, addr); return err }))
	b.work.Go(func() {
		buf := make([]byte, 64)
		for {
			n, who, err := b.in.ReadFromUDP(buf)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				_, _ = b.in.WriteToUDP(buf[:n], who) // What is not sent is missed.
			}
		}
	})
	b.work.Go(func() {
		buf := make([]byte, 64)
		for {
			n, err := b.out.Read(buf)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if seq, bad := strconv.Atoi(string(buf[:n])); err == nil && bad == nil {
				b.mu.Lock()
				b.back[seq]++
				b.mu.Unlock()
			}
		}
	})
	b.work.Go(func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-b.stop:
				return
			case <-tick.C:
				b.mu.Lock()
				b.sent++
				n := b.sent
				b.mu.Unlock()
				_, _ = fmt.Fprint(b.out, n) // What is not sent is missed.
			}
		}
	})
	b.more(t, 100)
	return b
}

// more waits for so many more that come back.
func (b *beat) more(t *testing.T, count int) {
	t.Helper()
	last := func() int {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.back)
	}
	want := last() + count
	until(t, 10*time.Second, b.to+" answers "+b.from, func() (bool, string) { return last() >= want, fmt.Sprint(last(), " of ", want) })
}

// end tells how many did not come back, the longest run of them, and how many came twice.
func (b *beat) end(t *testing.T) (lost, run, twice int) {
	t.Helper()
	b.more(t, 50)
	close(b.stop)
	must(t, errors.Join(b.out.Close(), b.in.Close()))
	b.work.Wait()
	most := 0
	for n, times := range b.back {
		most = max(most, n)
		twice += times - 1
	}
	now := 0
	for n := 1; n < most; n++ {
		if b.back[n] > 0 {
			now = 0
			continue
		}
		lost++
		now++
		run = max(run, now)
	}
	return lost, run, twice
}

// talk is a TCP connection between two guests, which echoes what is said.
type talk struct {
	conn net.Conn
	done chan error
}

func (s *stack) talk(t *testing.T, from, to, ip string) *talk {
	t.Helper()
	addr := &net.TCPAddr{IP: net.ParseIP(ip), Port: 7007}
	k := &talk{done: make(chan error, 1)}
	var listener *net.TCPListener
	must(t, s.Within(to, func() (err error) { listener, err = net.ListenTCP("tcp", addr); return err }))
	go func() {
		in, err := listener.Accept()
		if err == nil {
			_, err = io.Copy(in, in)
			err = errors.Join(err, in.Close())
		}
		k.done <- errors.Join(err, listener.Close())
	}()
	var conn *net.TCPConn
	must(t, s.Within(from, func() (err error) { conn, err = net.DialTCP("tcp", nil, addr); return err }))
	k.conn = conn
	t.Cleanup(func() { _ = conn.Close() })
	return k
}

// says sends a sentence and wants it back.
func (k *talk) says(t *testing.T, what string) {
	t.Helper()
	must(t, k.conn.SetDeadline(time.Now().Add(10*time.Second)))
	_, err := io.WriteString(k.conn, what)
	must(t, err)
	back := make([]byte, len(what))
	if _, err := io.ReadFull(k.conn, back); err != nil || string(back) != what {
		t.Fatalf("%q came back as %q: %v", what, back, err)
	}
}

func (k *talk) end(t *testing.T) {
	t.Helper()
	must(t, k.conn.Close())
	must(t, <-k.done)
}

// TestMigrate: on every kind of network a running guest moves over all hosts and back; its connections live on, little is lost, and hosts
// that it has left forget it.
func TestMigrate(t *testing.T) {
	s := bring(t, "", whole("h1"), whole("h2"), lab.HostSpec{Name: "h3", Without: []string{"physnet1"}})
	cases := []struct {
		name string
		make object
		path []string // of the guest, which begins on h2
	}{
		{"vxlan", object{"provider:network_type": "vxlan"}, []string{"h3", "h2", "h1", "h2"}},
		{"vlan", object{"provider:network_type": "vlan", "provider:physical_network": "public", "provider:segmentation_id": 77}, []string{"h3", "h1", "h2"}},
		{"flat", object{"provider:network_type": "flat", "provider:physical_network": "public"}, []string{"h3", "h1", "h2"}},
		// From a VLAN to the tunnel and back: the two hosts carry the port on different segments.
		{"segments", object{"segments": []object{{"provider:network_type": "vlan", "provider:physical_network": "physnet1", "provider:segmentation_id": 78},
			{"provider:network_type": "vxlan"}}}, []string{"h3", "h2"}},
	}
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			n := s.net(t, c.name, fmt.Sprintf("10.60.%d.0/24", i), c.make)
			still, moves := c.name+"-still", c.name+"-moves"
			g := s.boot(t, birth{name: still, host: "h1", network: n.id()}, birth{name: moves, host: "h2", network: n.id()})
			ip, id := g[moves].IPs[0], g[moves].PortID
			to, from := s.talk(t, still, moves, ip), s.talk(t, moves, still, g[still].IPs[0])
			to.says(t, "before")
			from.says(t, "before")
			at := "h2"
			for k, host := range c.path {
				p := s.beat(t, still, moves, ip)
				began := time.Now()
				moved, err := s.Migrate(t.Context(), moves, host)
				must(t, err)
				took := time.Since(began)
				lost, run, _ := p.end(t)
				t.Logf("%s to %s: %d ms, %d datagrams of 1 ms lost, %d in a row", at, host, took.Milliseconds(), lost, run)
				// The first time the cable itself is moved, which is the lab's doing.
				if most := map[bool]int{true: 300, false: 150}[k == 0]; lost > most {
					t.Errorf("%d datagrams of 1 ms were lost, at most %d may be", lost, most)
				}
				if got := s.show(t, "port", id); moved.Host != host || got.text("binding:host_id") != host || got.text("status") != "ACTIVE" {
					t.Errorf("the guest is on %s, its port %s on %s", moved.Host, got.text("status"), got.text("binding:host_id"))
				}
				if left := s.call(t, http.MethodGet, "ports/"+id+"/bindings", nil)["bindings"].([]any); len(left) != 1 {
					t.Errorf("bindings after the move: %v", left)
				}
				to.says(t, "after "+host)
				from.says(t, "after "+host)
				until(t, 5*time.Second, at+" forgets the guest", func() (bool, string) {
					ports := s.on(t, at, "ovs-vsctl", "--db=unix:"+s.Dir()+"/hosts/"+at+"/ovs/db.sock", "list-ports", "br-int")
					flows := s.flows(t, at)
					return !strings.Contains(ports, moved.Plug.Device) && (at == "h1" || !strings.Contains(flows, g[moves].MAC)), ports + flows
				})
				at = host
			}
			to.end(t)
			from.end(t)
			s.transfer(t, still, moves, ip)
			s.destroy(t, still, moves)
			s.remove(t, "network", n.id())
			s.forgotten(t, n.id(), "h1", "h2", "h3")
		})
	}
}

// waiting binds a guest's port to a further host and plugs an interface there, as Nova does before a guest leaves, and waits until that
// host is ready. What it made is gone after abandon.
func (s *stack) waiting(t *testing.T, g *lab.Guest, host string) (abandon func()) {
	t.Helper()
	b := inner(t, s.call(t, http.MethodPost, "ports/"+g.PortID+"/bindings", object{"binding": object{"host": host, "profile": object{"migrating_to": host}}}), "binding")
	if b.text("status") != "INACTIVE" || b.text("vif_type") != "ovs" {
		t.Fatalf("the binding is %v", b)
	}
	db := "--db=unix:" + s.Dir() + "/hosts/" + host + "/ovs/db.sock"
	s.on(t, host, "ip", "link", "add", g.Plug.Device, "type", "veth", "peer", "name", "standby")
	for _, d := range []string{g.Plug.Device, "standby"} { // the kernel would say words of its own
		s.on(t, host, "sh", "-c", "echo 1 >/proc/sys/net/ipv6/conf/"+d+"/disable_ipv6")
	}
	s.on(t, host, "ip", "link", "set", g.Plug.Device, "up")
	s.on(t, host, "ip", "link", "set", "standby", "up")
	s.on(t, host, "ovs-vsctl", db, "add-port", "br-int", g.Plug.Device, "--", "set", "Interface", g.Plug.Device, "external_ids:iface-id="+g.PortID)
	s.ready(t, g.PortID, host, true)
	return func() {
		t.Helper()
		s.on(t, host, "ovs-vsctl", db, "del-port", "br-int", g.Plug.Device)
		s.on(t, host, "ip", "link", "delete", "standby")
	}
}

// ready waits until why port says whether a host could take a port.
func (s *stack) ready(t *testing.T, port, host string, want bool) {
	t.Helper()
	until(t, 10*time.Second, fmt.Sprintf("%s ready: %v", host, want), func() (bool, string) {
		var why struct {
			Bindings []struct {
				Host  string `json:"host"`
				Wired bool   `json:"wired"`
			} `json:"bindings"`
		}
		_, err := s.api.Get(t.Context(), s.api.Endpoint+"isospin/why/port/"+port, &why, nil)
		must(t, err)
		for _, b := range why.Bindings {
			if b.Host == host {
				return b.Wired == want, fmt.Sprint(why)
			}
		}
		return false, fmt.Sprint(why)
	})
}

// TestMigrationWaits: a host that is ready for a guest costs its traffic nothing: no answer is lost or comes twice, nothing is led there; and
// whatever ends the migration, the guest goes on where it is.
func TestMigrationWaits(t *testing.T) {
	s := bring(t, "", whole("h1"), whole("h2"), whole("h3"))
	n := s.net(t, "waits", "10.61.0.0/24", nil)
	g := s.boot(t, birth{name: "still", host: "h1", network: n.id()}, birth{name: "moves", host: "h2", network: n.id()}, birth{name: "third", host: "h3", network: n.id()})
	moves := g["moves"]
	ip := moves.IPs[0]
	abandon := s.waiting(t, moves, "h3")
	// From another host, from the one that waits, and from the one that has it. No interface comes or goes meanwhile: see unharmed.
	beats := []*beat{s.beat(t, "still", "moves", ip), s.beat(t, "third", "moves", ip), s.beat(t, "moves", "third", g["third"].IPs[0])}
	frames := func() string { return s.on(t, "h3", "cat", "/sys/class/net/standby/statistics/rx_packets") }
	s.status(t, moves.PortID, "ACTIVE")
	if flows := s.flows(t, "h3"); !regexp.MustCompile(`table=1[0-5],.*dl_src=` + moves.MAC).MatchString(flows) {
		t.Errorf("the host that waits has no filter for the guest:\n%s", flows)
	}
	// The host that waits loses its agent, gets it back, and nobody notices.
	must(t, s.AgentKill(t.Context(), "h3"))
	must(t, s.AgentStart(t.Context(), "h3"))
	s.ready(t, moves.PortID, "h3", true)
	for _, b := range beats {
		if lost, run, twice := b.end(t); lost > 0 || twice > 0 {
			t.Errorf("from %s to %s: %d lost, %d in a row, %d came twice", b.from, b.to, lost, run, twice)
		}
	}
	s.on(t, "moves", "sh", "-c", "echo 0 >/proc/sys/net/ipv4/icmp_echo_ignore_broadcasts")
	_, _ = s.Exec(t.Context(), "third", "ping", "-b", "-c3", "-i0.05", "-W0.2", "10.61.0.255") // an answer to a broadcast is of no connection
	if got := frames(); got != "0\n" {
		t.Errorf("the interface that waits was sent %s frames", got)
	}
	// Its interface goes and the migration is given up.
	b := s.beat(t, "still", "moves", ip)
	abandon()
	s.ready(t, moves.PortID, "h3", false)
	s.call(t, http.MethodDelete, "ports/"+moves.PortID+"/bindings/h3", nil)
	if lost, run, twice := b.end(t); lost > 0 || twice > 0 {
		t.Errorf("after the end of it: %d lost, %d in a row, %d came twice", lost, run, twice)
	}
	if e := s.show(t, "port", moves.PortID); e.text("status") != "ACTIVE" || e.text("binding:host_id") != "h2" {
		t.Errorf("the port is %s on %s", e.text("status"), e.text("binding:host_id"))
	}

	// On a third host nothing is taken away while the port is led elsewhere.
	watch := &buffer{}
	m, err := s.Spawn(t.Context(), "h1", watch, watch, "ovs-ofctl", "-O", "OpenFlow14", "monitor", "br-int", "watch:!initial,table=40")
	must(t, err)
	probe := 0
	until(t, 5*time.Second, "the monitor sees", func() (bool, string) {
		probe++
		s.on(t, "h1", "ovs-ofctl", "-O", "OpenFlow15", "add-flow", "br-int", fmt.Sprintf("cookie=0xfeed,table=40,priority=%d,metadata=0xfeed,actions=drop", probe))
		return strings.Contains(watch.String(), "0xfeed"), watch.String()
	})
	_, err = s.Migrate(t.Context(), "moves", "h3")
	must(t, err)
	s.reach(t, "still", ip)
	must(t, m.Signal(syscall.SIGTERM))
	_ = m.Wait() // Its lines tell.
	s.on(t, "h1", "ovs-ofctl", "-O", "OpenFlow15", "del-flows", "br-int", "metadata=0xfeed")
	led := regexp.MustCompile(`(?m)^.*dl_dst=`+moves.MAC+`.*$`).FindAllString(watch.String(), -1)
	if len(led) == 0 || strings.Contains(strings.Join(led, "\n"), "DELETED") {
		t.Errorf("on h1 the guest's flow was not replaced in place:\n%s\nof\n%s", strings.Join(led, "\n"), watch)
	}

	// The host that has the port dies: it can be activated elsewhere, and the guest's port is there.
	s.destroy(t, "third")
	must(t, s.AgentKill(t.Context(), "h3"))
	s.call(t, http.MethodPost, "ports/"+moves.PortID+"/bindings", object{"binding": object{"host": "h2"}})
	s.call(t, http.MethodPut, "ports/"+moves.PortID+"/bindings/h2/activate", nil)
	if e := s.show(t, "port", moves.PortID); e.text("binding:host_id") != "h2" || e.text("status") != "DOWN" {
		t.Errorf("the port is %s on %s", e.text("status"), e.text("binding:host_id"))
	}
	must(t, s.AgentStart(t.Context(), "h3"))
	until(t, 5*time.Second, "h3 forgets the port", func() (bool, string) {
		flows := s.flows(t, "h3")
		return !strings.Contains(flows, moves.MAC), flows
	})
	s.destroy(t, "moves", "still")
}
