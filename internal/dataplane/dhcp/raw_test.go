package dhcp

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/mdlayher/socket"
	"golang.org/x/sys/unix"

	"isospin/internal/clock"
)

// rawGuest sends and receives whole Ethernet frames on a guest's interface.
type rawGuest struct {
	conn *socket.Conn
	to   unix.SockaddrLinklayer
}

// openRaw opens a raw guest in a namespace, or, without a name, in the process's own.
func openRaw(namespace, iface string) (*rawGuest, error) {
	config := &socket.Config{}
	if namespace != "" {
		f, err := os.Open(filepath.Join("/run/netns", namespace))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		config.NetNS = int(f.Fd())
	}
	c, err := socket.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0, "raw-guest", config)
	if err != nil {
		return nil, err
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	index, err := interfaceIndex(raw, iface)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	g := &rawGuest{conn: c, to: unix.SockaddrLinklayer{Protocol: swap(unix.ETH_P_ALL), Ifindex: index, Halen: 6}}
	if err := errors.Join(c.SetReadBuffer(4<<20), c.Bind(&g.to)); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return g, nil
}

func (g *rawGuest) send(frame []byte) error {
	return g.conn.Sendto(context.Background(), frame, 0, &g.to)
}

// receive returns the next frame that others sent.
func (g *rawGuest) receive(ctx context.Context, buf []byte) (int, error) {
	for {
		n, from, err := g.conn.Recvfrom(ctx, buf, 0)
		if err != nil {
			return 0, err
		}
		if ll, ok := from.(*unix.SockaddrLinklayer); ok && ll.Pkttype != unix.PACKET_OUTGOING {
			return n, nil
		}
	}
}

func ethernet(dst, src net.HardwareAddr, packet []byte) []byte {
	return append(append(append(append([]byte(nil), dst...), src...), 8, 0), packet...)
}

// TestOnTheWire sends single frames through the kernel: who is answered, how, and what the kernel adds.
func TestOnTheWire(t *testing.T) {
	t.Parallel()
	s := newSegment(t)
	r := testReservation()
	srv, _ := s.serve("h1", "10.0.0.2", r)
	s.plug("guest", "eth0", guestMAC().String())
	g, err := openRaw(s.ns("guest"), "eth0")
	if err != nil {
		t.Fatal(err)
	}
	defer g.conn.Close()
	all, server, self := mac("ff:ff:ff:ff:ff:ff"), mac("fa:16:3e:00:01:01"), guestMAC()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	// next is the next frame of IPv4 that is not the kernel's own chatter.
	next := func() (string, []byte) {
		buf := make([]byte, 2048)
		for {
			n, err := g.receive(ctx, buf)
			if err != nil {
				t.Fatal(err)
			}
			if binary.BigEndian.Uint16(buf[12:]) == unix.ETH_P_IP && buf[23] != 2 {
				return net.HardwareAddr(buf[:6]).String(), buf[14:n]
			}
		}
	}
	silent := [][]byte{
		ethernet(mac("fa:16:3e:00:00:99"), self, wrap(message(t, discover), netip.IPv4Unspecified(), broadcastAddress())), // flooded to us
		ethernet(all, mac("fa:16:3e:00:00:98"), wrap(message(t, discover), netip.IPv4Unspecified(), broadcastAddress())),  // another's address
		ethernet(server, self, wrap(message(t, dhcpv4.MessageTypeRelease, ciaddr("10.0.0.5")), ip("10.0.0.5"), ip("10.0.0.2"))),
	}
	for _, f := range silent {
		if err := g.send(f); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name   string
		frame  []byte
		to     string
		dst    string
		answer dhcpv4.MessageType
	}{
		{"discover", ethernet(all, self, wrap(message(t, discover), netip.IPv4Unspecified(), broadcastAddress())), self.String(), "10.0.0.5", offer},
		{"discover, broadcast flag", ethernet(all, self, wrap(message(t, discover, dhcpv4.WithBroadcast(true)), netip.IPv4Unspecified(), broadcastAddress())), all.String(), "255.255.255.255", offer},
		{"unicast renewal", ethernet(server, self, wrap(message(t, requests, ciaddr("10.0.0.5")), ip("10.0.0.5"), ip("10.0.0.2"))), self.String(), "10.0.0.5", ack},
		{"relayed", ethernet(server, mac("fa:16:3e:00:00:aa"), wrap(message(t, discover, giaddr("10.0.0.1")), ip("10.0.0.1"), ip("10.0.0.2"))), "fa:16:3e:00:00:aa", "10.0.0.1", offer},
	} {
		if err := g.send(c.frame); err != nil {
			t.Fatal(err)
		}
		to, packet := next()
		if packet[9] != 17 {
			t.Fatalf("%s: the kernel answered with protocol %d", c.name, packet[9])
		}
		a := open(t, FakeFrame{Packet: packet})
		if to != c.to || a.dst.String() != c.dst || a.MessageType() != c.answer {
			t.Errorf("%s: %s to %s, %s; want %s to %s, %s", c.name, a.MessageType(), to, a.dst, c.answer, c.to, c.dst)
		}
	}
	if st := srv.Stats(); st.Release != 1 || st.Spoofed != 1 || st.Discover != 4 || st.Malformed != 0 {
		t.Errorf("stats: %+v", st)
	}
}

// TestInterfaceOfTheKernel is taken down, deleted and made again under the server.
func TestInterfaceOfTheKernel(t *testing.T) {
	t.Parallel()
	s := newSegment(t)
	s.plug("h1", "tap", "fa:16:3e:00:01:01")
	s.plug("guest", "eth0", guestMAC().String())
	lost := make(chan string, 16)
	srv := New(Options{Logger: quiet(), Clock: clock.System{}, Lost: func(id string) { lost <- id }})
	defer srv.Close()
	n := testNetwork()
	n.Namespace = "/run/netns/" + s.ns("h1")
	d := Networks{srv}
	want := map[string]Network{n.ID: n}
	if err := d.Put(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	put(t, srv, testReservation())
	s.ip("-n", s.ns("h1"), "link", "set", "tap", "down")
	s.ip("-n", s.ns("h1"), "link", "set", "tap", "up")
	s.udhcpc("guest", "-q", "-n").event("bound")
	if have, err := d.List(t.Context()); err != nil || len(have) != 1 {
		t.Fatalf("after down and up: %v %v", have, err)
	}
	s.ip("-n", s.ns("h1"), "link", "del", "tap")
	select {
	case <-lost:
	case <-time.After(patience):
		t.Fatal("the loss was not told")
	}
	if have, err := d.List(t.Context()); err != nil || len(have) != 0 {
		t.Fatalf("after deletion: %v %v", have, err)
	}
	if err := d.Put(t.Context(), want); err == nil {
		t.Fatal("served without an interface")
	}
	replug := func(port string) {
		s.ip("-n", s.ns("sw"), "link", "add", port, "type", "veth", "peer", "name", "tap", "netns", s.ns("h1"))
		s.ip("-n", s.ns("sw"), "link", "set", port, "master", "sw0", "up")
		s.ip("-n", s.ns("h1"), "link", "set", "tap", "up")
		s.forwarding(port)
	}
	replug("again")
	if err := d.Put(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	s.udhcpc("guest", "-q", "-n").event("bound")

	// A namespace that is deleted by name lives on as long as the server's sockets; the next one of that name is another.
	s.ip("netns", "del", s.ns("h1"))
	if have, err := d.List(t.Context()); err != nil || len(have) != 0 {
		t.Fatalf("without a namespace: %v %v", have, err)
	}
	if err := d.Put(t.Context(), want); !errors.Is(err, ErrGone) {
		t.Fatalf("put without a namespace: %v", err)
	}
	s.ip("netns", "add", s.ns("h1"))
	replug("third")
	if err := d.Put(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	s.udhcpc("guest", "-q", "-n").event("bound")
	if err := srv.Close(); err != nil || len(lost) != 0 {
		t.Errorf("closing: %v; %d losses told that were none", err, len(lost))
	}
}

const (
	loadEnv     = "ISOSPIN_DHCP_LOAD" // exchanges; set: this process is the benchmark's client
	loadClients = 1000
	loadWindow  = 32
)

func loadMAC(i int) hwaddr { return hwaddr{0xfa, 0x16, 0x3e, 1, byte(i >> 8), byte(i)} }

// load does exchanges of four messages as fast as the server lets it, 32 at a time, on eth0 of its own namespace.
func load(t testing.TB, count int) error {
	g, err := openRaw("", "eth0")
	if err != nil {
		return err
	}
	defer g.conn.Close()
	ask := asking(1, 3, 6, 12, 15, 26, 28, 121)
	all := mac("ff:ff:ff:ff:ff:ff")
	frame := func(m *dhcpv4.DHCPv4, i int) []byte {
		hw := loadMAC(i)
		m.ClientHWAddr = hw[:]
		binary.BigEndian.PutUint32(m.TransactionID[:], uint32(i))
		return ethernet(all, hw[:], wrap(m, netip.IPv4Unspecified(), broadcastAddress()))
	}
	var discovers, selects [loadClients][]byte
	for i := range discovers {
		a := loadIP(i).AsSlice()
		discovers[i] = frame(message(t, discover, ask), i)
		selects[i] = frame(message(t, requests, ask, addr4(54, "10.0.0.2"), with(50, a...)), i)
	}
	started, done, buf := 0, 0, make([]byte, 2048)
	begin := func() error {
		started++
		return g.send(discovers[started%loadClients])
	}
	for range loadWindow {
		if err := begin(); err != nil {
			return err
		}
	}
	for done < count {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		n, err := g.receive(ctx, buf)
		cancel()
		if err != nil {
			return fmt.Errorf("after %d exchanges: %w", done, err)
		}
		if n < 14+headers+optionsAt+3 || binary.BigEndian.Uint16(buf[14+ipHeader+2:]) != clientPort {
			continue
		}
		m := buf[14+headers:]
		i := int(binary.BigEndian.Uint32(m[4:])) % loadClients
		switch dhcpv4.MessageType(m[optionsAt+2]) {
		case offer:
			err = g.send(selects[i])
		case ack:
			done++
			err = begin()
		default:
			err = fmt.Errorf("unexpected answer to client %d", i)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func loadIP(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, byte(1 + i>>8), byte(i)}) }

// BenchmarkExchange measures whole exchanges with a client in another namespace and process: the time of one with 32
// under way, and the processor time that the server, and the kernel on its behalf, spends on it.
func BenchmarkExchange(b *testing.B) {
	s := newSegment(b)
	s.namespace("h1")
	s.namespace("guest")
	s.ip("-n", s.ns("h1"), "link", "add", "tap", "type", "veth", "peer", "name", "eth0", "netns", s.ns("guest"))
	s.ip("-n", s.ns("h1"), "link", "set", "tap", "up")
	s.ip("-n", s.ns("guest"), "link", "set", "eth0", "up")
	srv := New(Options{Logger: quiet(), Clock: clock.System{}})
	defer srv.Close()
	n := testNetwork()
	n.Namespace, n.Subnets[0].CIDR = s.ns("h1"), prefix("10.0.0.0/16")
	if err := (Networks{srv}).Put(b.Context(), map[string]Network{n.ID: n}); err != nil {
		b.Fatal(err)
	}
	all := map[ReservationKey]Reservation{}
	for i := range loadClients {
		hw := loadMAC(i)
		all[key(strconv.Itoa(i))] = Reservation{MAC: hw[:], IPs: []netip.Addr{loadIP(i)}}
	}
	if err := (Reservations{srv}).Put(b.Context(), all); err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command("ip", "netns", "exec", s.ns("guest"), os.Args[0], "-test.run=^TestLoad$")
	cmd.Env = append(os.Environ(), loadEnv+"="+strconv.Itoa(b.N))
	before := processorTime()
	b.ResetTimer()
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "exchanges/s")
	b.ReportMetric(float64((processorTime()-before).Microseconds())/float64(b.N), "server-cpu-us/exchange")
	if st := srv.Stats(); st.Malformed+st.Spoofed+st.Unknown+st.SendErrors != 0 {
		b.Errorf("stats: %+v", st)
	}
}

// TestLoad is the benchmark's client where the benchmark asks for it, and a small run of its frames otherwise.
func TestLoad(t *testing.T) {
	if n, err := strconv.Atoi(os.Getenv(loadEnv)); err == nil {
		if err := load(t, n); err != nil {
			t.Fatal(err)
		}
		return
	}
	all := map[ReservationKey]Reservation{}
	hw := loadMAC(7)
	all[key("7")] = Reservation{MAC: hw[:], IPs: []netip.Addr{loadIP(7)}}
	n := testNetwork()
	n.Subnets[0].CIDR = prefix("10.0.0.0/16")
	b := newBench(t, n, all)
	if a := b.mustAsk(message(t, discover, dhcpv4.WithHwAddr(hw[:])), offer); !strings.HasPrefix(a.YourIPAddr.String(), "10.0.1.") {
		t.Errorf("client 7 is offered %s", a.YourIPAddr)
	}
}

func processorTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
