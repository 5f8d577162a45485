package conntrack_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"isospin/internal/dataplane/conntrack"
	"isospin/internal/dataplane/netns"

	"github.com/vishvananda/netlink"
)

// table is the connections of a namespace, by zone and first source.
func table(t *testing.T, ns string) (out []string) {
	t.Helper()
	err := netns.Do(t.Context(), ns, func(context.Context) error {
		for _, family := range []netlink.InetFamily{netlink.FAMILY_V4, netlink.FAMILY_V6} {
			flows, err := netlink.ConntrackTableList(netlink.ConntrackTable, family)
			if err != nil {
				return err
			}
			for _, f := range flows {
				out = append(out, fmt.Sprint(f.Zone, " ", f.Forward.SrcIP))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

// connection makes the kernel see one; where it is sent to the port 7 it is in zone 7.
func connection(t *testing.T, ns string, zone int, from, to string) {
	t.Helper()
	err := netns.Do(t.Context(), ns, func(context.Context) error {
		c, err := net.DialUDP("udp", &net.UDPAddr{IP: net.ParseIP(from)}, &net.UDPAddr{IP: net.ParseIP(to), Port: max(zone, 1)})
		if err != nil {
			return err
		}
		_, err = c.Write([]byte("hello"))
		return errors.Join(err, c.Close())
	})
	if err != nil {
		t.Fatalf("connection of %s to %s: %v", from, to, err)
	}
}

func run(t *testing.T, stdin string, args ...string) {
	t.Helper()
	c := exec.Command(args[0], args[1:]...)
	c.Stdin = strings.NewReader(stdin)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v: %s", args, err, out)
	}
}

const zones = `table inet zones {
	chain out { type filter hook output priority -300; udp dport 7 ct zone set 7; }
	chain in { type filter hook prerouting priority -300; udp dport 7 ct zone set 7; }
	chain track { type filter hook output priority 0; ct state new accept; }
}`

// TestLeaving: who leaves takes the connections along, of both families and either direction, in that zone; others stay.
func TestLeaving(t *testing.T) {
	ns := fmt.Sprintf("ct%d-%d", os.Getpid(), time.Now().UnixNano()%1e9)
	if err := netns.Create(ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := netns.Delete(ns); err != nil {
			t.Errorf("cleaning up: %v", err)
		}
	})
	run(t, "", "ip", "-n", ns, "link", "set", "lo", "up")
	for _, a := range []string{"192.0.2.1/32", "192.0.2.2/32", "192.0.2.3/32", "192.0.2.4/32"} {
		run(t, "", "ip", "-n", ns, "addr", "add", a, "dev", "lo")
	}
	for _, a := range []string{"2001:db8::1/128", "2001:db8::2/128"} {
		run(t, "", "ip", "-n", ns, "addr", "add", a, "dev", "lo", "nodad")
	}
	run(t, zones, "ip", "netns", "exec", ns, "nft", "-f", "-")
	for _, zone := range []int{0, 7} {
		connection(t, ns, zone, "192.0.2.1", "192.0.2.2")
		connection(t, ns, zone, "192.0.2.2", "192.0.2.3")
		connection(t, ns, zone, "192.0.2.4", "192.0.2.1")
		connection(t, ns, zone, "2001:db8::1", "2001:db8::2")
	}
	if got := table(t, ns); len(got) != 8 {
		t.Fatalf("the kernel holds %q", got)
	}
	d := conntrack.New(ns)
	here := map[conntrack.Key]conntrack.Here{}
	for _, a := range []string{"192.0.2.1", "2001:db8::2", "192.0.2.9"} {
		here[conntrack.Key{Zone: 7, Addr: netip.MustParseAddr(a)}] = conntrack.Here{}
	}
	if err := d.Put(t.Context(), here); err != nil {
		t.Fatal(err)
	}
	if got, err := d.List(t.Context()); err != nil || len(got) != 3 {
		t.Errorf("here are %v (%v)", got, err)
	}
	if err := d.Drop(t.Context(), here); err != nil {
		t.Fatal(err)
	}
	want := []string{"0 192.0.2.1", "0 192.0.2.2", "0 192.0.2.4", "0 2001:db8::1", "7 192.0.2.2"}
	if got := table(t, ns); !slices.Equal(got, want) {
		t.Errorf("left are %q, not %q", got, want)
	}
	if got, err := d.List(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("here are still %v (%v)", got, err)
	}
	if err := d.Drop(t.Context(), here); err != nil {
		t.Errorf("a second time: %v", err)
	}
}
