package dhcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"isospin/internal/clock"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"golang.org/x/sys/unix"
)

const (
	scaleNetworks = 500
	scalePorts    = 20
)

// TestFiveHundredNetworks starts cold with a namespace each, answers in the first and the last, and holds the floors:
// 10 seconds and 250 MB.
func TestFiveHundredNetworks(t *testing.T) {
	prefixName := fmt.Sprintf("dhcps%d", os.Getpid())
	var names, links, ups, del bytes.Buffer
	for i := range scaleNetworks {
		fmt.Fprintf(&names, "netns add %s-%d\n", prefixName, i)
		fmt.Fprintf(&links, "link add name g%d type veth peer name tap netns %s-%d\n", i, prefixName, i)
		fmt.Fprintf(&del, "netns del %s-%d\n", prefixName, i)
	}
	home := prefixName + "-home" // the guests' ends
	asked := []int{0, scaleNetworks - 1}
	for _, i := range asked {
		fmt.Fprintf(&ups, "link set g%d up\n", i)
	}
	t.Cleanup(func() { batch(t, "netns del "+home+"\n"+del.String(), "-force") })
	batch(t, "netns add "+home+"\n"+names.String())
	batch(t, links.String()+ups.String(), "-n", home)
	for _, i := range asked {
		batch(t, "link set tap up\n", "-n", fmt.Sprintf("%s-%d", prefixName, i))
	}
	networks, reservations := map[string]Network{}, map[ReservationKey]Reservation{}
	for i := range scaleNetworks {
		n := testNetwork()
		n.ID, n.Namespace = fmt.Sprintf("net-%d", i), fmt.Sprintf("%s-%d", prefixName, i)
		networks[n.ID] = n
		for p := range scalePorts {
			reservations[ReservationKey{n.ID, strconv.Itoa(p)}] = Reservation{
				MAC: []byte{0xfa, 0x16, 0x3e, byte(i >> 8), byte(i), byte(p)}, IPs: []netip.Addr{netip.AddrFrom4([4]byte{10, 0, 0, byte(10 + p)})}}
		}
	}
	runtime.GC()
	before := resident(t)
	srv := New(Options{Logger: quiet(), Clock: clock.System{}})
	begun := time.Now()
	if err := (Reservations{srv}).Put(t.Context(), reservations); err != nil {
		t.Fatal(err)
	}
	if err := (Networks{srv}).Put(t.Context(), networks); err != nil {
		t.Fatal(err)
	}
	took, after := time.Since(begun), resident(t)
	t.Logf("%d networks of %d ports: cold in %v, %d kB resident (%d kB before), %d threads", scaleNetworks, scalePorts, took, after, before, threads(t))
	if took > 10*time.Second || after > 250<<10 {
		t.Errorf("beyond the floor of 10 s and 250 MB")
	}
	begun = time.Now()
	have, err := Networks{srv}.List(t.Context())
	if err != nil || len(have) != scaleNetworks {
		t.Fatalf("list: %d, %v", len(have), err)
	}
	t.Logf("read-back in %v", time.Since(begun))
	for _, i := range asked {
		begun = time.Now()
		guestExchange(t, home, i)
		t.Logf("network %d answers in %v", i, time.Since(begun))
	}
	begun = time.Now()
	if err := srv.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("closed in %v", time.Since(begun))
}

// guestExchange asks from the other end of a network's interface, again and again until the link is up.
func guestExchange(t *testing.T, home string, i int) {
	g, err := openRaw(home, fmt.Sprintf("g%d", i))
	if err != nil {
		t.Fatal(err)
	}
	defer g.conn.Close()
	hw := mac(fmt.Sprintf("fa:16:3e:%02x:%02x:00", i>>8, i&255))
	frame := ethernet(mac("ff:ff:ff:ff:ff:ff"), hw, wrap(message(t, discover, dhcpv4.WithHwAddr(hw)), netip.IPv4Unspecified(), broadcastAddress()))
	buf := make([]byte, 2048)
	for range 300 {
		if err := g.send(frame); err != nil && !errors.Is(err, unix.ENETDOWN) {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		n, err := g.receive(ctx, buf)
		cancel()
		if err == nil && n > 14+headers && buf[23] == 17 {
			if a := open(t, FakeFrame{Packet: buf[14:n]}); a.YourIPAddr.String() != "10.0.0.10" {
				t.Fatalf("offered %s", a.YourIPAddr)
			}
			return
		}
	}
	t.Fatalf("network %d does not answer", i)
}

func batch(t testing.TB, commands string, options ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "ip", append(options, "-batch", "-")...)
	cmd.Stdin = strings.NewReader(commands)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("ip %v: %v: %s", options, err, out)
	}
}

func status(t testing.TB, field string) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(field + `:\s+(\d+)`).FindSubmatch(b)
	if m == nil {
		t.Fatalf("no %s in status", field)
	}
	n, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func resident(t testing.TB) int { return status(t, "VmRSS") }
func threads(t testing.TB) int  { return status(t, "Threads") }
