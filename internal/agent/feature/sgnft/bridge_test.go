package sgnft

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"isospin/internal/dataplane/netns"
	"isospin/internal/dataplane/nft"
	"isospin/internal/reconcile"
)

// lan is a bridge of the kernel with guests and an uplink, filtered by what a world wants.
type lan struct {
	*world
	t      *testing.T
	ns     string
	ends   map[string]*end
	driver *nft.Driver
	stage  *reconcile.Reconciler[nft.Key, nft.Object]
	number uint16
	addr   map[string]string // of an end, for what always arrives
	bridge string            // the network that devices join
}

// end is a device in a namespace of its own, and what it hears.
type end struct {
	mac string
	fd  int
}

// newLAN makes guests 1 to n, which need ports of their own, and "up", which stands for other hosts.
func newLAN(t *testing.T, c Config, guests int) *lan {
	t.Helper()
	pin(t)
	l := &lan{t: t, world: newWorld(t, c), ends: map[string]*end{}, addr: map[string]string{"up": "192.0.2.254"}, bridge: netID(1), ns: fmt.Sprintf("s%d-%d", os.Getpid(), time.Now().UnixNano()%1e6)}
	l.make(l.ns)
	l.ip("-n", l.ns, "link", "add", "brq"+netID(1)[:11], "up", "type", "bridge", "forward_delay", "0", "mcast_snooping", "0")
	l.join("up", "uplink0", mac(0xee))
	for n := 1; n <= guests; n++ {
		l.addr[fmt.Sprint(n)] = fmt.Sprint("192.0.2.", n)
		l.join(fmt.Sprint(n), "tap"+portID(n)[:11], mac(n))
	}
	l.driver = nft.New(l.ns)
	t.Cleanup(l.driver.Close)
	l.stage = reconcile.New("nft", l.driver, nft.Equal)
	l.stage.SetInSync(true)
	return l
}

// pin keeps the test on one processor: frames sent on two can overtake each other.
func pin(t *testing.T) {
	t.Helper()
	runtime.LockOSThread()
	var before, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		t.Fatal(err)
	}
	for cpu := range 1024 {
		if before.IsSet(cpu) {
			one.Set(cpu)
			break
		}
	}
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.SchedSetaffinity(0, &before); err != nil {
			t.Error(err)
		}
		runtime.UnlockOSThread()
	})
}

func (l *lan) make(ns string) {
	l.t.Helper()
	if err := netns.Create(ns); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		if err := netns.Delete(ns); err != nil {
			l.t.Error(err)
		}
	})
}

func (l *lan) ip(args ...string) {
	l.t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		l.t.Fatalf("ip %v: %v: %s", args, err, out)
	}
}

// run runs a program in the bridge's namespace.
func (l *lan) run(args ...string) string {
	l.t.Helper()
	out, err := exec.Command("ip", append([]string{"netns", "exec", l.ns}, args...)...).CombinedOutput()
	if err != nil {
		l.t.Fatalf("%v: %v: %s", args, err, out)
	}
	return string(out)
}

// join plugs a device into the bridge whose other end is in a namespace, silent but for what a test sends.
func (l *lan) join(name, device, mac string) {
	l.t.Helper()
	ns := l.ns + "-" + name
	l.make(ns)
	silence := func(context.Context) error {
		return os.WriteFile("/proc/sys/net/ipv6/conf/default/disable_ipv6", []byte("1"), 0)
	}
	for _, where := range []string{ns, l.ns} {
		if err := netns.Do(l.t.Context(), where, silence); err != nil {
			l.t.Fatal(err)
		}
	}
	l.ip("-n", l.ns, "link", "add", device, "up", "type", "veth", "peer", "name", "eth0", "address", mac, "netns", ns)
	l.ip("-n", ns, "link", "set", "eth0", "up", "arp", "off")
	l.ip("-n", l.ns, "link", "set", device, "master", "brq"+l.bridge[:11])
	e := &end{mac: mac}
	err := netns.Do(l.t.Context(), ns, func(context.Context) error {
		all := int(uint16(unix.ETH_P_ALL)<<8 | uint16(unix.ETH_P_ALL)>>8)
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, all)
		if err != nil {
			return err
		}
		e.fd = fd
		ifr, err := unix.NewIfreq("eth0")
		if err != nil {
			return err
		}
		if err := unix.IoctlIfreq(fd, unix.SIOCGIFINDEX, ifr); err != nil {
			return err
		}
		return unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: uint16(all), Ifindex: int(ifr.Uint32())})
	})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = unix.Close(e.fd) })
	tv := unix.Timeval{Sec: 10}
	if err := unix.SetsockoptTimeval(e.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv); err != nil {
		l.t.Fatal(err)
	}
	l.ends[name] = e
}

// apply makes what the world wants real.
func (l *lan) apply() {
	l.t.Helper()
	l.sync()
	l.stage.Replace(reconcile.Owner{Feature: "test"}, l.all())
	if err := errors.Join(l.stage.Grow(l.t.Context()), l.stage.Shrink(l.t.Context())); err != nil {
		l.t.Fatal(err)
	}
}

// send sends a frame, and then another that always arrives; it tells whether the first arrived at an end before that did.
func (l *lan) send(from, to string, kind uint16, body []byte, change ...func(*frame)) bool {
	l.t.Helper()
	l.number += 2
	src := l.ends[from]
	f := frame{src: src.mac, dst: l.ends[to].mac, kind: kind, body: body, number: l.number}
	for _, c := range change {
		c(&f)
	}
	// A probe for an address of its own is what everybody may send and gets.
	kind, body = arp(1, src.mac, l.addr[from], l.addr[from])
	mark := frame{src: src.mac, dst: everybody, kind: kind, body: body, number: l.number + 1}
	for _, b := range [][]byte{f.bytes(), mark.bytes()} {
		if _, err := unix.Write(src.fd, b); err != nil {
			l.t.Fatal(err)
		}
	}
	return l.hear(to, l.number+1, l.number)
}

// expect is send, and compares.
func (l *lan) expect(what string, want bool, from, to string, kind uint16, body []byte, change ...func(*frame)) {
	l.t.Helper()
	if got := l.send(from, to, kind, body, change...); got != want {
		l.t.Errorf("%s, from %s to %s: arrived: %v", what, from, to, got)
	}
}

// trial sends a frame that may pass a port which passes nothing else; a third end, which hears all that is flooded, tells when it has arrived if it ever does.
func (l *lan) trial(from, to, open string) bool {
	l.t.Helper()
	kind, body := udpTo("192.0.2.1", "192.0.2.250", 1, 2)
	if from == "up" {
		kind, body = udpTo("192.0.2.250", "192.0.2.1", 1, 2)
	}
	l.number += 2
	f := frame{src: l.ends[from].mac, dst: everybody, kind: kind, body: body, number: l.number}
	if _, err := unix.Write(l.ends[from].fd, f.bytes()); err != nil {
		l.t.Fatal(err)
	}
	// All is done on one processor, one after the other.
	kind, body = arp(1, l.ends[open].mac, "192.0.2.2", "192.0.2.2")
	mark := frame{src: l.ends[open].mac, dst: everybody, kind: kind, body: body, number: l.number + 1}
	if _, err := unix.Write(l.ends[open].fd, mark.bytes()); err != nil {
		l.t.Fatal(err)
	}
	until := to
	if to != "up" {
		until = "up"
	}
	arrived := l.hear(until, l.number+1, l.number)
	if to == until {
		return arrived
	}
	return l.pending(to, l.number)
}

// hear reads until a frame, and tells whether another came before.
func (l *lan) hear(at string, last, wanted uint16) (came bool) {
	l.t.Helper()
	buf := make([]byte, 4096)
	for {
		n, _, err := unix.Recvfrom(l.ends[at].fd, buf, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			l.t.Fatalf("what always arrives did not, at %s: %v", at, err)
		}
		switch numberOf(buf[:n]) {
		case wanted:
			came = true
		case last:
			return came
		}
	}
}

// pending tells whether a frame is among those that have come.
func (l *lan) pending(at string, wanted uint16) bool {
	l.t.Helper()
	buf := make([]byte, 4096)
	for {
		n, _, err := unix.Recvfrom(l.ends[at].fd, buf, unix.MSG_DONTWAIT)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return false
		}
		if numberOf(buf[:n]) == wanted {
			return true
		}
	}
}
