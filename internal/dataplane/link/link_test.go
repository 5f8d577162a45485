package link_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"isospin/internal/dataplane/link"
	"isospin/internal/dataplane/netns"
	"isospin/internal/reconcile"
	"isospin/internal/reconcile/reconciletest"

	"go.uber.org/goleak"
)

const tag = "link-test"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// spaces makes namespaces of the test's own and returns their common prefix.
func spaces(t *testing.T, names ...string) string {
	t.Helper()
	p := fmt.Sprintf("l%d-%d-", os.Getpid(), time.Now().UnixNano()%1e6)
	t.Cleanup(func() {
		names, err := netns.List(netns.Prefixes(p))
		for _, n := range names {
			err = errors.Join(err, netns.Delete(n))
		}
		if err != nil {
			t.Errorf("cleaning up: %v", err)
		}
	})
	for _, n := range names {
		if err := netns.Create(p + n); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func ip(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("ip", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("ip %v: %v: %s", args, err, out)
	}
	return string(out)
}

func TestVethsConform(t *testing.T) {
	p := spaces(t, "host", "a", "b")
	host, a, b := p+"host", p+"a", p+"b"
	ip(t, "-n", host, "link", "add", "theirs0", "type", "veth", "peer", "name", "theirs1")
	ip(t, "-n", host, "link", "add", "br0", "type", "bridge")
	strangers := func() string { return ip(t, "-n", host, "-o", "link", "show", "theirs0") }
	before := strangers()
	pair := func(peer, mac string, mtu int, noOffload bool) link.Veth {
		return link.Veth{Peer: peer, PeerNS: host, MAC: mac, MTU: mtu, NoOffload: noOffload}
	}
	reconciletest.Run(t, reconciletest.Subject[link.Key, link.Veth]{
		New: func(t *testing.T) reconciletest.World[link.Key, link.Veth] {
			return reconciletest.World[link.Key, link.Veth]{
				Open: func() reconcile.Driver[link.Key, link.Veth] { return link.NewVeths(tag, netns.Prefixes(host)) },
				Meddle: func(k link.Key) {
					switch k.Name {
					case "ns-1":
						ip(t, "-n", k.NS, "link", "del", k.Name)
					case "ns-2":
						ip(t, "-n", k.NS, "link", "set", k.Name, "down") // older kernels rename nothing that is up
						ip(t, "-n", k.NS, "link", "set", k.Name, "name", "renamed")
					default:
						ip(t, "-n", k.NS, "link", "set", k.Name, "down", "mtu", "1000")
					}
				},
				Stranger: func() {
					if now := strangers(); now != before {
						t.Errorf("the other's device was %s and is %s", before, now)
					}
				},
			}
		},
		Equal: link.Equal,
		Objects: map[link.Key][]link.Veth{
			{NS: a, Name: "ns-1"}:  {pair("tap-1", "fa:16:3e:00:00:01", 1450, true), pair("tap-1", "fa:16:3e:00:00:11", 1400, true)},
			{NS: a, Name: "ns-2"}:  {pair("tap-2", "", 0, false), pair("tap-2b", "fa:16:3e:00:00:02", 9000, false)},
			{NS: b, Name: "ns-1"}:  {pair("tap-3", "FA:16:3E:00:00:03", 1500, true)},
			{NS: b, Name: "rfp-4"}: {{Peer: "fpr-4", PeerNS: host, MTU: 1500}},
			// Both ends in one namespace, as between two bridges.
			{NS: host, Name: "int-5"}: {pair("phy-5", "", 1500, false), pair("phy-5b", "", 1400, false)},
		},
		Bad: map[link.Key]link.Veth{
			{NS: p + "gone", Name: "ns-5"}: pair("tap-5", "", 0, false),
			{NS: a, Name: "ns-6"}:          pair("theirs0", "", 0, false),
			{NS: a, Name: "ns-7"}:          pair("much-too-long-for-a-device", "", 0, false),
			{NS: a, Name: "ns-8"}:          pair("tap-8", "no mac", 0, false),
			{NS: a, Name: "lo"}:            pair("tap-9", "", 0, false),
		},
		Sequences: 3,
	})
}

func TestAPairCarriesWhatItWasGiven(t *testing.T) {
	p := spaces(t, "host", "a")
	d := link.NewVeths(tag, netns.Prefixes(p+"host"))
	k := link.Key{NS: p + "a", Name: "ns-1"}
	want := link.Veth{Peer: "tap-1", PeerNS: p + "host", MAC: "fa:16:3e:00:00:01", MTU: 1400, NoOffload: true}
	if err := d.Put(t.Context(), map[link.Key]link.Veth{k: want}); err != nil {
		t.Fatal(err)
	}
	if out := ip(t, "-n", k.NS, "link", "show", "ns-1"); !strings.Contains(out, "mtu 1400") || !strings.Contains(out, "fa:16:3e:00:00:01") ||
		!strings.Contains(out, ",UP,") { // the operational state follows in its own time
		t.Errorf("inside: %s", out)
	}
	// Another agent's driver does not see it, and may not take its names.
	other := link.NewVeths("another", netns.Prefixes(p+"host"))
	have, err := other.List(t.Context())
	if err != nil || len(have) != 0 {
		t.Errorf("another tag sees %v, %v", have, err)
	}
	if err := other.Put(t.Context(), map[link.Key]link.Veth{k: want}); !errors.Is(err, link.ErrForeign) {
		t.Errorf("another tag takes the names: %v", err)
	}
	if err := other.Drop(t.Context(), map[link.Key]link.Veth{k: want}); err != nil {
		t.Error(err)
	}
	if have, err := d.List(t.Context()); err != nil || !link.Equal(want, have[k]) {
		t.Errorf("ours is %+v, %v", have, err)
	}
	// The namespace goes, and the pair with it; dropping it is fine.
	if err := netns.Delete(k.NS); err != nil {
		t.Fatal(err)
	}
	if err := d.Drop(t.Context(), map[link.Key]link.Veth{k: want}); err != nil {
		t.Error(err)
	}
}

// TestAPairMadeHalfwayIsKnown plays a crash between the creation of a pair and its naming.
func TestAPairMadeHalfwayIsKnown(t *testing.T) {
	p := spaces(t, "host", "a")
	host := p + "host"
	d := link.NewVeths(tag, netns.Prefixes(host))
	k := link.Key{NS: p + "a", Name: "ns-1"}
	want := link.Veth{Peer: "tap-1", PeerNS: host, MTU: 1400}
	put := func() {
		t.Helper()
		if err := d.Put(t.Context(), map[link.Key]link.Veth{k: want}); err != nil {
			t.Fatal(err)
		}
	}
	halfway := func() {
		put()
		ip(t, "-n", host, "link", "set", "tap-1", "alias", "")
		ip(t, "-n", k.NS, "link", "set", "ns-1", "group", "default")
	}
	halfway()
	have, err := d.List(t.Context())
	if err != nil || len(have) != 1 || link.Equal(want, have[k]) {
		t.Fatalf("an unnamed pair is seen as %v, %v", have, err)
	}
	put()
	if have, err := d.List(t.Context()); err != nil || len(have) != 1 || !link.Equal(want, have[k]) {
		t.Errorf("after the put: %v, %v", have, err)
	}
	halfway()
	if have, err = d.List(t.Context()); err == nil {
		err = d.Drop(t.Context(), have)
	}
	if err != nil {
		t.Fatal(err)
	}
	if out := ip(t, "-n", host, "-br", "link"); strings.Contains(out, "tap-1") {
		t.Errorf("it was not dropped: %s", out)
	}
}

func BenchmarkListOf100PairsIn100Namespaces(b *testing.B) {
	p := fmt.Sprintf("lb%d-", os.Getpid())
	own := netns.Prefixes(p)
	d := link.NewVeths("link-bench", own)
	batch := map[link.Key]link.Veth{}
	if err := netns.Create(p + "host"); err != nil {
		b.Fatal(err)
	}
	for i := range 100 {
		ns := fmt.Sprint(p, i)
		if err := netns.Create(ns); err != nil {
			b.Fatal(err)
		}
		batch[link.Key{NS: ns, Name: "ns-1"}] = link.Veth{Peer: fmt.Sprint("tap-", i), PeerNS: p + "host", MTU: 1450, NoOffload: true}
	}
	b.Cleanup(func() {
		names, err := netns.List(own)
		for _, n := range names {
			err = errors.Join(err, netns.Delete(n))
		}
		if err != nil {
			b.Errorf("cleaning up: %v", err)
		}
	})
	start := time.Now()
	if err := d.Put(b.Context(), batch); err != nil {
		b.Fatal(err)
	}
	b.Logf("100 pairs made in %v", time.Since(start))
	only := link.NewVeths("link-bench", netns.Prefixes(p+"host"))
	for b.Loop() {
		if have, err := only.List(b.Context()); err != nil || len(have) != 100 {
			b.Fatalf("%d pairs, %v", len(have), err)
		}
	}
}
