//go:build integration

package fullstack

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"isospin/internal/lab"
)

// reach pings until an answer comes. The first packet of a new tunnel is lost on Open vSwitch's userspace datapath while
// it asks for the other host's MAC address.
func (s *stack) reach(t *testing.T, from, ip string) time.Duration {
	t.Helper()
	return until(t, 10*time.Second, from+" reaches "+ip, func() (bool, string) {
		out, err := s.Exec(t.Context(), from, "ping", "-c1", "-W0.2", ip)
		return err == nil, out
	})
}

// reachFull pings with the largest packet that the network's MTU allows.
func (s *stack) reachFull(t *testing.T, from, ip string, mtu int) {
	t.Helper()
	s.reach(t, from, ip)
	s.on(t, from, "ping", "-c2", "-i0.1", "-W1", "-M", "do", "-s", strconv.Itoa(mtu-28), ip)
}

// silent fails the test when anybody answers.
func (s *stack) silent(t *testing.T, from, ip string) {
	t.Helper()
	if out, err := s.Exec(t.Context(), from, "ping", "-c3", "-i0.1", "-W0.3", ip); err == nil {
		t.Errorf("%s has an answer from %s:\n%s", from, ip, out)
	}
}

// echoes counts a guest's pings: "InEchos" those that came to it, "OutEchos" those that it sent.
func (s *stack) echoes(t *testing.T, guest, which string) int {
	t.Helper()
	var names []string
	for line := range strings.Lines(s.on(t, guest, "cat", "/proc/net/snmp")) {
		fields := strings.Fields(line)
		if fields[0] != "Icmp:" {
			continue
		}
		if names == nil {
			names = fields
			continue
		}
		for i, n := range names {
			if n == which {
				count, err := strconv.Atoi(fields[i])
				must(t, err)
				return count
			}
		}
	}
	t.Fatalf("%s counts no pings", guest)
	return 0
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

// steady is a ping that runs on, an answer every 10 ms.
type steady struct {
	from, to string
	out      *buffer
	p        *lab.Process
}

// start pings and returns once answers come.
func (s *stack) start(t *testing.T, from, ip string) *steady {
	t.Helper()
	s.reach(t, from, ip)
	st := &steady{from: from, to: ip, out: &buffer{}}
	p, err := s.Spawn(t.Context(), from, st.out, st.out, "ping", "-i0.01", ip)
	must(t, err)
	st.p = p
	st.more(t, 10)
	return st
}

// seen are the numbers of the answers so far.
func (st *steady) seen(t *testing.T) map[int]bool {
	t.Helper()
	out := map[int]bool{}
	for _, m := range regexp.MustCompile(`icmp_seq=(\d+) ttl`).FindAllStringSubmatch(st.out.String(), -1) {
		n, err := strconv.Atoi(m[1])
		must(t, err)
		out[n] = true
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
func (st *steady) more(t *testing.T, count int) {
	t.Helper()
	want := last(st.seen(t)) + count
	until(t, 20*time.Second, "more answers from "+st.to, func() (bool, string) {
		n := last(st.seen(t))
		return n >= want, fmt.Sprintf("answer %d, want %d", n, want)
	})
}

// stop ends the ping after some more answers and tells how many did not come before them.
func (st *steady) stop(t *testing.T) (lost int) {
	t.Helper()
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
		t.Logf("ping from %s to %s: of %d, these were not answered: %v", st.from, st.to, last(seen), gaps)
	}
	return len(gaps)
}

// unharmed runs do under a ping of which no packet may be lost. do must not make or remove devices: tunnels of Open vSwitch's
// userspace datapath lose a packet now and then when it sees one come or go, also without any agent (docs/design/lab.md).
func (s *stack) unharmed(t *testing.T, from, ip string, do func()) {
	t.Helper()
	p := s.start(t, from, ip)
	do()
	if lost := p.stop(t); lost > 0 {
		t.Errorf("%d pings from %s to %s were lost", lost, from, ip)
	}
}

// transfer sends 4 MiB by TCP and compares what arrives.
func (s *stack) transfer(t *testing.T, from, to, ip string) {
	t.Helper()
	sent := bytes.Repeat([]byte("isospin!"), 1<<19)
	addr := &net.TCPAddr{IP: net.ParseIP(ip), Port: 5001}
	var listener *net.TCPListener
	var conn *net.TCPConn
	must(t, s.Within(to, func() (err error) { listener, err = net.ListenTCP("tcp", addr); return err }))
	defer listener.Close()
	must(t, s.Within(from, func() (err error) { conn, err = net.DialTCP("tcp", nil, addr); return err }))
	defer conn.Close()
	in, err := listener.Accept()
	must(t, err)
	defer in.Close()
	deadline := time.Now().Add(30 * time.Second)
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
		t.Errorf("TCP from %s to %s: what arrived is not what was sent", from, to)
	}
}

// leased is what a guest's DHCP client was told when it had its last lease.
func (s *stack) leased(t *testing.T, guest string) map[string]string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(s.Dir(), "guests", guest, "dhcp.lease"))
	must(t, err)
	return options(string(b))
}

func options(env string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(env) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			out[k] = v
		}
	}
	return out
}

// ask runs a DHCP client of its own in a guest, which changes nothing there, and returns what it was told; nil when
// nobody answered. asked are more options that it wants, by number or name.
func (s *stack) ask(t *testing.T, guest string, asked ...string) map[string]string {
	t.Helper()
	script := filepath.Join(t.TempDir(), "told")
	must(t, os.WriteFile(script, []byte("#!/bin/sh\n[ \"$1\" != bound ] || env\n"), 0o755))
	args := []string{"busybox", "udhcpc", "-f", "-n", "-q", "-i", "eth0", "-t", "4", "-T", "1", "-s", script}
	for _, a := range append([]string{"mtu", "staticroutes", "dns", "search"}, asked...) {
		args = append(args, "-O", a)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	out, err := s.Exec(ctx, guest, args...)
	var exit *lab.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	must(t, err)
	return options(out)
}

// flows are a host's flows on the integration bridge, without counters.
func (s *stack) flows(t *testing.T, host string) string {
	t.Helper()
	return s.on(t, host, "ovs-ofctl", "-O", "OpenFlow15", "--no-stats", "dump-flows", "br-int")
}

// metadata is what a network's flows carry: the first 64 bits of its id.
func metadata(network string) string {
	return "metadata=0x" + strings.TrimLeft(strings.ReplaceAll(network, "-", "")[:16], "0")
}
