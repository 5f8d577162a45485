package scenario

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"isospin/internal/lab"
)

// Reach pings until an answer comes.
func (s *Stage) Reach(t *testing.T, from *lab.Guest, to netip.Addr) {
	t.Helper()
	s.until(t, 10*time.Second, from.Name+" reaches "+to.String(), func() (bool, string) {
		out, err := s.Exec(t.Context(), from.Name, "ping", "-c1", "-W"+s.wait(), to.String())
		return err == nil, out
	})
}

// wait is how long one ping waits for its answer, in seconds.
func (s *Stage) wait() string {
	return strconv.FormatFloat(max(0.2, 0.05*float64(s.Factor)), 'f', -1, 64)
}

// ReachFull pings with the largest packet that the network's MTU allows, undivided.
func (s *Stage) ReachFull(t *testing.T, from *lab.Guest, to netip.Addr) {
	t.Helper()
	s.Reach(t, from, to)
	head := 28 // of IPv4 and ICMP
	if to.Is6() {
		head = 48
	}
	s.On(t, from.Name, "ping", "-c3", "-i"+s.interval(), "-W5", "-M", "do", "-s", strconv.Itoa(s.MTU-head), to.String())
}

// Silent fails the test when anybody answers.
func (s *Stage) Silent(t *testing.T, from *lab.Guest, to netip.Addr) {
	t.Helper()
	if out, err := s.Exec(t.Context(), from.Name, "ping", "-c3", "-i0.1", "-W"+s.wait(), to.String()); err == nil {
		t.Errorf("%s has an answer from %s:\n%s", from.Name, to, out)
	}
}

// interval is the pace's beat in seconds.
func (s *Stage) interval() string { return strconv.FormatFloat(s.Beat.Seconds(), 'f', -1, 64) }

// Echoes counts the pings of the cell's family that came to a guest.
func (s *Stage) Echoes(t *testing.T, g *lab.Guest) int {
	t.Helper()
	if s.Family == IPv6 {
		for line := range strings.Lines(s.On(t, g.Name, "cat", "/proc/net/snmp6")) {
			if f := strings.Fields(line); f[0] == "Icmp6InEchos" {
				return number(t, f[1])
			}
		}
	}
	var names []string
	for line := range strings.Lines(s.On(t, g.Name, "cat", "/proc/net/snmp")) {
		fields := strings.Fields(line)
		switch {
		case fields[0] != "Icmp:":
		case names == nil:
			names = fields
		default:
			for i, n := range names {
				if n == "InEchos" {
					return number(t, fields[i])
				}
			}
		}
	}
	t.Fatalf("%s counts no pings", g.Name)
	return 0
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	must(t, err)
	return n
}

// buffer is a bytes.Buffer that a process writes while a test reads.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// stream is a ping that runs on.
type stream struct {
	s    *Stage
	name string
	out  *buffer
	p    *lab.Process
}

// stream pings with the pace's beat and returns once answers come.
func (s *Stage) stream(t *testing.T, from *lab.Guest, to netip.Addr) *stream {
	t.Helper()
	s.Reach(t, from, to)
	st := &stream{s: s, name: from.Name + " to " + to.String(), out: &buffer{}}
	p, err := s.Spawn(t.Context(), from.Name, st.out, st.out, "ping", "-i"+s.interval(), to.String())
	must(t, err)
	st.p = p
	st.more(t, 10)
	return st
}

// seen are the numbers of the answers so far.
func (st *stream) seen(t *testing.T) map[int]bool {
	t.Helper()
	out := map[int]bool{}
	for _, m := range regexp.MustCompile(`icmp_seq=(\d+) ttl`).FindAllStringSubmatch(st.out.String(), -1) {
		out[number(t, m[1])] = true
	}
	return out
}

func last(seen map[int]bool) int {
	most := 0
	for n := range maps.Keys(seen) {
		most = max(most, n)
	}
	return most
}

// more waits for so many more answers.
func (st *stream) more(t *testing.T, count int) {
	t.Helper()
	want := last(st.seen(t)) + count
	st.s.until(t, 20*time.Second, "more answers, "+st.name, func() (bool, string) {
		n := last(st.seen(t))
		return n >= want, fmt.Sprintf("answer %d, want %d", n, want)
	})
}

// Unharmed runs do under a stream of which no packet may be lost. do must not make or remove devices: tunnels of Open vSwitch's
// userspace datapath lose a packet now and then when it sees one come or go (docs/design/lab.md).
func (s *Stage) Unharmed(t *testing.T, from *lab.Guest, to netip.Addr, do func()) {
	t.Helper()
	st := s.stream(t, from, to)
	do()
	st.more(t, 20)
	must(t, st.p.Signal(syscall.SIGINT))
	_ = st.p.Wait() // Its lines tell.
	seen := st.seen(t)
	var gaps []int
	for n := 1; n < last(seen); n++ {
		if !seen[n] {
			gaps = append(gaps, n)
		}
	}
	if len(gaps) > 0 {
		t.Errorf("of %d pings from %s these were not answered: %v", last(seen), st.name, gaps)
	}
}

// Listen listens for TCP in a guest; the listener ends with the test.
func (s *Stage) Listen(t *testing.T, g *lab.Guest, port int) *net.TCPListener {
	t.Helper()
	var l *net.TCPListener
	at := &net.TCPAddr{IP: s.Address(t, g).AsSlice(), Port: port}
	must(t, s.Within(g.Name, func() (err error) { l, err = net.ListenTCP("tcp", at); return err }))
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// Dial connects to a guest by TCP, from a guest or from a place of the lab. The error is the caller's: connections may be forbidden.
func (s *Stage) Dial(from string, to netip.Addr, port int, within time.Duration) (*net.TCPConn, error) {
	var conn net.Conn
	err := s.Lab.Within(from, func() (err error) {
		// One thread is inside: no racing of families, no resolver.
		d := net.Dialer{Timeout: within, FallbackDelay: -1}
		conn, err = d.Dial("tcp", netip.AddrPortFrom(to, uint16(port)).String())
		return err
	})
	if err != nil {
		return nil, err
	}
	return conn.(*net.TCPConn), nil
}

// Transfer sends much by TCP and compares what arrives.
func (s *Stage) Transfer(t *testing.T, from, to *lab.Guest) {
	t.Helper()
	sent := bytes.Repeat([]byte("isospin!"), s.Bulk/8)
	l := s.Listen(t, to, 5001)
	defer l.Close()
	conn, err := s.Dial(from.Name, s.Address(t, to), 5001, s.within(5*time.Second))
	must(t, err)
	defer conn.Close()
	in, err := l.Accept()
	must(t, err)
	defer in.Close()
	deadline := time.Now().Add(s.within(20 * time.Second))
	must(t, errors.Join(conn.SetDeadline(deadline), in.SetDeadline(deadline)))
	written := make(chan error, 1)
	go func() {
		_, err := conn.Write(sent)
		written <- errors.Join(err, conn.CloseWrite())
	}()
	sum := sha256.New()
	_, err = io.Copy(sum, in)
	must(t, errors.Join(err, <-written))
	if want := sha256.Sum256(sent); !bytes.Equal(sum.Sum(nil), want[:]) {
		t.Errorf("TCP from %s to %s: what arrived is not what was sent", from.Name, to.Name)
	}
}

// Talk is a TCP connection between two guests that is kept open.
type Talk struct{ here, there *net.TCPConn }

// Talk opens one; it ends with the test.
func (s *Stage) Talk(t *testing.T, from, to *lab.Guest, port int) *Talk {
	t.Helper()
	l := s.Listen(t, to, port)
	here, err := s.Dial(from.Name, s.Address(t, to), port, s.within(5*time.Second))
	must(t, err)
	t.Cleanup(func() { _ = here.Close() })
	there, err := l.AcceptTCP()
	must(t, err)
	t.Cleanup(func() { _ = there.Close() })
	return &Talk{here, there}
}

// Says sends a word each way and tells whether both arrived in time.
func (k *Talk) Says(word string, within time.Duration) error {
	deadline := time.Now().Add(within)
	for _, way := range [][2]*net.TCPConn{{k.here, k.there}, {k.there, k.here}} {
		if err := errors.Join(way[0].SetDeadline(deadline), way[1].SetDeadline(deadline)); err != nil {
			return err
		}
		if _, err := io.WriteString(way[0], word); err != nil {
			return err
		}
		got := make([]byte, len(word))
		if _, err := io.ReadFull(way[1], got); err != nil {
			return err
		}
		if string(got) != word {
			return fmt.Errorf("%q came, %q was sent", got, word)
		}
	}
	return nil
}
