package nft_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"isospin/internal/dataplane/netns"
	"isospin/internal/dataplane/nft"
	"isospin/internal/reconcile"
	"isospin/internal/reconcile/reconciletest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// space makes a namespace of the test's own.
func space(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("n%d-%d", os.Getpid(), time.Now().UnixNano()%1e9)
	if err := netns.Create(name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := netns.Delete(name); err != nil {
			t.Error(err)
		}
	})
	return name
}

func run(t testing.TB, ns string, args ...string) string {
	t.Helper()
	out, err := exec.Command("ip", append([]string{"netns", "exec", ns, "nft"}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("nft %v: %v: %s", args, err, out)
	}
	return string(out)
}

func driver(t testing.TB, ns string) *nft.Driver {
	d := nft.New(ns)
	t.Cleanup(d.Close)
	return d
}

func mac(n int) []byte { return []byte{0xfa, 0x16, 0x3e, 0, 0, byte(n)} }

func macs() nft.Layout     { return nft.LayoutOf(nft.IIfName(), nft.EtherSource()) }
func verdicts() nft.Layout { return nft.LayoutOf(nft.IIfName()).To(nft.Verdicts) }
func zones() nft.Layout    { return nft.LayoutOf(nft.IBrName()).To(nft.Numbers) }
func prefixes() nft.Layout { return nft.LayoutOf(nft.IPSource()).Ranges() }
func pairs() nft.Layout {
	return nft.LayoutOf(nft.IIfName(), nft.EtherSource(), nft.IPSource()).Ranges()
}

// everyRule is every term, but those that need what only full kernels have.
func everyRule() []nft.Rule {
	p4, p6 := netip.MustParsePrefix("192.0.2.128/25"), netip.MustParsePrefix("2001:db8:1::/47")
	return []nft.Rule{
		nft.Do(nft.Jump("target"), nft.IIfName().Is([]byte("tap"))),
		nft.Do(nft.Return(), nft.OIfName().Is(nft.Name("tap1"))),
		nft.Do(nft.Return(), nft.IIfName().Like("tap........-..")),
		nft.Do(nft.Drop(), nft.In("macs", nft.IIfName(), nft.EtherSource())),
		nft.Do(nft.Accept(), nft.NotIn("macs", nft.OIfName(), nft.EtherTarget())),
		nft.Do(nft.Verdict{}, nft.Vmap("verdicts", nft.IIfName())),
		nft.Do(nft.Drop(), nft.EtherType().Not(nft.Num2(0x0800)), nft.EtherTarget().Bits([]byte{1, 0, 0, 0, 0, 0}, make([]byte, 6))),
		nft.Do(nft.Accept(), nft.EtherType().Is(nft.Num2(0x0800)), nft.IPSource().Within(p4), nft.IPTarget().Within(netip.MustParsePrefix("192.0.2.1/32"))),
		nft.Do(nft.Accept(), nft.IP6Source().Within(p6), nft.IP6Target().Within(netip.MustParsePrefix("::/128")), nft.IP6Length().Above(nft.Num2(40))),
		nft.Do(nft.Accept(), nft.In("prefixes", nft.IPSource())),
		nft.Do(nft.Accept(), nft.In("pairs", nft.IIfName(), nft.EtherSource(), nft.IPSource())),
		nft.Do(nft.Goto("target"), nft.L4Protocol().Is(nft.Num1(6)), nft.TargetPort().Between(nft.Num2(80), nft.Num2(443))).For("a rule's id"),
		nft.Do(nft.Goto("target"), nft.L4Protocol().Is(nft.Num1(17)), nft.SourcePort().Is(nft.Num2(67)), nft.TargetPort().Is(nft.Num2(68))),
		nft.Do(nft.Accept(), nft.Protocol().Is(nft.Num2(0x0806)), nft.In("arp", nft.ARPTargetIP())),
		nft.Do(nft.Accept(), nft.ICMPType().Is(nft.Num1(8)), nft.ICMPCode().Is(nft.Num1(0))),
		nft.Do(nft.Drop(), nft.Fragment(), nft.ICMPType().Between(nft.Num1(130), nft.Num1(136))),
		nft.Do(nft.Drop(), nft.ARPHead().Not([]byte{0, 1, 8, 0, 6, 4}), nft.ARPOperation().Is(nft.Num2(1)), nft.ARPSenderIP().Is(make([]byte, 4))),
		nft.Do(nft.Drop(), nft.NotIn("macs", nft.IIfName(), nft.ARPSenderMAC()), nft.NDOption(24).Is(nft.Num1(2))),
		nft.Do(nft.Drop(), nft.NotIn("macs", nft.IIfName(), nft.NDOptionMAC(24)), nft.NDTarget().Within(p6)),
	}
}

// put gathers objects.
func put(into map[nft.Key]nft.Object, k nft.Key, o nft.Object) { into[k] = o }

// everything is one object of each kind at least, with all that they refer to.
func everything() map[nft.Key]nft.Object {
	all := map[nft.Key]nft.Object{
		nft.SetKey("macs"):      {Layout: macs()},
		nft.SetKey("verdicts"):  {Layout: verdicts()},
		nft.SetKey("zones"):     {Layout: zones()},
		nft.SetKey("prefixes"):  {Layout: prefixes()},
		nft.SetKey("pairs"):     {Layout: pairs()},
		nft.SetKey("arp"):       {Layout: nft.LayoutOf(nft.ARPTargetIP())},
		nft.ChainKey("target"):  {},
		nft.ChainKey("rules"):   {Rules: everyRule()},
		nft.ChainKey("forward"): {Hook: &nft.Hook{Point: nft.Postrouting, Priority: 10}, Rules: []nft.Rule{nft.Do(nft.Jump("rules"))}},
	}
	for n := range 3 {
		k, o := macs().Element("macs", nft.Name(fmt.Sprint("tap", n)), mac(n))
		put(all, k, o)
	}
	k, o := verdicts().Element("verdicts", nft.Name("tap1"))
	o.Verdict = nft.Goto("target")
	put(all, k, o)
	k, o = zones().Element("zones", nft.Name("brq1"))
	o.Number = 4711
	put(all, k, o)
	for _, p := range []string{"10.0.0.0/8", "11.0.0.0/8", "192.0.2.1/32", "255.0.0.0/8"} {
		k, o := prefixes().Prefix("prefixes", netip.MustParsePrefix(p))
		put(all, k, o)
		k, o = pairs().Prefix("pairs", netip.MustParsePrefix(p), nft.Name("tap1"), mac(1))
		put(all, k, o)
	}
	return all
}

func TestWhatIsPutIsReadBack(t *testing.T) {
	ns := space(t)
	d := driver(t, ns)
	want := everything()
	if err := d.Put(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	if n, _ := d.Sent(); n != 1 {
		t.Errorf("%d transactions", n)
	}
	compare(t, driver(t, ns), want)
	if text := run(t, ns, "list", "table", "bridge", "isospin"); !strings.Contains(text, `comment "a rule's id"`) {
		t.Errorf("nft shows %s", text)
	}
	if err := d.Drop(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	compare(t, d, nil)
}

func compare(t *testing.T, d *nft.Driver, want map[nft.Key]nft.Object) {
	t.Helper()
	have, err := d.List(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for k, w := range want {
		h, there := have[k]
		if !there {
			t.Errorf("%s is missing", nft.Show(k, w))
			continue
		}
		if !nft.Equal(w, h) {
			t.Errorf("%s is read as %s", nft.Show(k, w), nft.Show(k, h))
			for i := range min(len(w.Rules), len(h.Rules)) {
				if !nft.Equal(nft.Object{Rules: w.Rules[i : i+1]}, nft.Object{Rules: h.Rules[i : i+1]}) {
					t.Errorf("rule %d: %s", i, w.Rules[i])
				}
			}
		}
	}
	for k, h := range have {
		if _, wanted := want[k]; !wanted {
			t.Errorf("%s is there", nft.Show(k, h))
		}
	}
}

// subject is what the suite plays with: every value can be put whatever else is there, so chains jump nowhere and rules ask no sets.
func subject(open func(t *testing.T) reconciletest.World[nft.Key, nft.Object], sequences int) reconciletest.Subject[nft.Key, nft.Object] {
	rules := slices.DeleteFunc(everyRule(), func(r nft.Rule) bool {
		return strings.Contains(r.String(), "@") || strings.Contains(r.String(), "target")
	})
	hook := &nft.Hook{Point: nft.Prerouting, Priority: -150}
	objects := map[nft.Key][]nft.Object{
		nft.SetKey("plain"):   {{Layout: macs()}, {Layout: pairs()}},
		nft.ChainKey("plain"): {{Rules: rules[:3]}, {}, {Rules: append(slices.Clone(rules[:1]), rules[2:4]...)}, {Rules: rules}},
		nft.ChainKey("base"):  {{Hook: hook, Rules: rules[:2]}, {Hook: &nft.Hook{Point: nft.Postrouting}, Rules: rules[1:2]}},
	}
	bad := map[nft.Key]nft.Object{
		nft.ChainKey("stray"): {Rules: []nft.Rule{nft.Do(nft.Accept(), nft.In("nowhere", nft.IPSource()))}},
		nft.ChainKey(""):      {},
		nft.SetKey("void"):    {},
	}
	k, o := macs().Element("nowhere", nft.Name("tap1"), mac(1))
	bad[k] = o
	return reconciletest.Subject[nft.Key, nft.Object]{New: open, Equal: nft.Equal, Objects: objects, Bad: bad, Sequences: sequences}
}

func TestDriverConforms(t *testing.T) {
	ns := space(t)
	run(t, ns, "add table bridge theirs; add set bridge theirs s { type ifname; }; add chain bridge theirs c; add rule bridge theirs c iifname @s drop")
	before := run(t, ns, "list", "table", "bridge", "theirs")
	reconciletest.Run(t, subject(func(t *testing.T) reconciletest.World[nft.Key, nft.Object] {
		return reconciletest.World[nft.Key, nft.Object]{
			Open: func() reconcile.Driver[nft.Key, nft.Object] { return driver(t, ns) },
			Meddle: func(k nft.Key) {
				switch k.Name + fmt.Sprint(k.Kind == nft.KindSet) {
				case "plaintrue":
					run(t, ns, "delete", "set", "bridge", "isospin", k.Name)
				case "plainfalse":
					run(t, ns, "insert", "rule", "bridge", "isospin", k.Name, "drop")
				default:
					run(t, ns, "flush", "chain", "bridge", "isospin", k.Name)
				}
			},
			Stranger: func() {
				if now := run(t, ns, "list", "table", "bridge", "theirs"); now != before {
					t.Errorf("another's table was %s, is %s", before, now)
				}
			},
		}
	}, 6))
}

func TestFakeConforms(t *testing.T) {
	reconciletest.Run(t, subject(func(*testing.T) reconciletest.World[nft.Key, nft.Object] {
		fake := nft.NewFake()
		return reconciletest.World[nft.Key, nft.Object]{
			Open: func() reconcile.Driver[nft.Key, nft.Object] { return fake },
			Meddle: func(k nft.Key) {
				fake.Meddle(func(m map[nft.Key]nft.Object) { delete(m, k) })
			},
		}
	}, 0))
}

// TestElementsConform plays with elements in sets that stand, and ones whose value changes.
func TestElementsConform(t *testing.T) {
	ns := space(t)
	fixed := map[nft.Key]nft.Object{nft.SetKey("macs"): {Layout: macs()}, nft.SetKey("verdicts"): {Layout: verdicts()}, nft.SetKey("zones"): {Layout: zones()},
		nft.SetKey("prefixes"): {Layout: prefixes()}, nft.SetKey("pairs"): {Layout: pairs()}, nft.ChainKey("a"): {}, nft.ChainKey("b"): {}}
	if err := driver(t, ns).Put(t.Context(), fixed); err != nil {
		t.Fatal(err)
	}
	objects := map[nft.Key][]nft.Object{}
	k, o := verdicts().Element("verdicts", nft.Name("tap1"))
	for _, v := range []nft.Verdict{nft.Goto("a"), nft.Jump("b"), nft.Drop()} {
		o.Verdict = v
		objects[k] = append(objects[k], o)
	}
	k, o = zones().Element("zones", nft.Name("brq1"))
	for _, n := range []uint16{1, 2, 65535} {
		o.Number = n
		objects[k] = append(objects[k], o)
	}
	for _, p := range []string{"10.0.0.0/8", "11.0.0.0/8", "192.0.2.1/32", "224.0.0.0/3"} {
		k, o := prefixes().Prefix("prefixes", netip.MustParsePrefix(p))
		objects[k] = []nft.Object{o}
		k, o = pairs().Prefix("pairs", netip.MustParsePrefix(p), nft.Name("tap1"), mac(1))
		objects[k] = []nft.Object{o}
	}
	for n := range 3 {
		k, o := macs().Element("macs", nft.Name("tap1"), mac(n))
		objects[k] = []nft.Object{o}
	}
	short := nft.Key{Kind: nft.KindElement, Name: "macs", Item: "x"}
	reconciletest.Run(t, reconciletest.Subject[nft.Key, nft.Object]{Equal: nft.Equal, Objects: objects, Sequences: 6, Bad: map[nft.Key]nft.Object{short: {Layout: macs()}},
		New: func(t *testing.T) reconciletest.World[nft.Key, nft.Object] {
			return reconciletest.World[nft.Key, nft.Object]{
				Open: func() reconcile.Driver[nft.Key, nft.Object] { return without{driver(t, ns), fixed} },
				Meddle: func(k nft.Key) {
					what := "set"
					if k.Name == "verdicts" || k.Name == "zones" {
						what = "map"
					}
					run(t, ns, "flush", what, "bridge", "isospin", k.Name)
				},
			}
		}})
}

// without hides objects that stand throughout.
type without struct {
	*nft.Driver
	fixed map[nft.Key]nft.Object
}

func (w without) List(ctx context.Context) (map[nft.Key]nft.Object, error) {
	all, err := w.Driver.List(ctx)
	for k := range w.fixed {
		delete(all, k)
	}
	return all, err
}

// TestATransactionIsAsLargeAsTheChange counts changes.
func TestATransactionIsAsLargeAsTheChange(t *testing.T) {
	ns := space(t)
	d := driver(t, ns)
	all := everything()
	var rules []nft.Rule
	for n := range 1000 {
		rules = append(rules, nft.Do(nft.Accept(), nft.TargetPort().Is(nft.Num2(n))).For(fmt.Sprint("rule ", n)))
	}
	all[nft.ChainKey("group")] = nft.Object{Rules: rules}
	for n := range 5000 {
		k, o := macs().Element("macs", nft.Name("tap9"), []byte{2, 0, 0, 0, byte(n >> 8), byte(n)})
		all[k] = o
	}
	if err := d.Put(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	cost := func(what string, most uint64, change func() error) {
		t.Helper()
		before, changes := d.Sent()
		if err := change(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		after, now := d.Sent()
		if after-before != 1 || now-changes > most {
			t.Errorf("%s: %d transactions, %d changes, more than %d", what, after-before, now-changes, most)
		}
	}
	k, o := macs().Element("macs", nft.Name("tap9"), mac(9))
	cost("an element more", 1, func() error { return d.Put(t.Context(), map[nft.Key]nft.Object{k: o}) })
	cost("an element less", 1, func() error { return d.Drop(t.Context(), map[nft.Key]nft.Object{k: o}) })
	more := slices.Insert(slices.Clone(rules), 500, nft.Do(nft.Drop(), nft.TargetPort().Is(nft.Num2(1))))
	cost("a rule more", 1, func() error {
		return d.Put(t.Context(), map[nft.Key]nft.Object{nft.ChainKey("group"): {Rules: more}})
	})
	all[nft.ChainKey("group")] = nft.Object{Rules: more}
	compare(t, driver(t, ns), all)
	cost("a rule another", 2, func() error {
		more = slices.Clone(more)
		more[0] = nft.Do(nft.Drop())
		return d.Put(t.Context(), map[nft.Key]nft.Object{nft.ChainKey("group"): {Rules: more}})
	})
	cost("a rule less", 1, func() error {
		more = slices.Delete(slices.Clone(more), 999, 1000)
		return d.Put(t.Context(), map[nft.Key]nft.Object{nft.ChainKey("group"): {Rules: more}})
	})
	all[nft.ChainKey("group")] = nft.Object{Rules: more}
	compare(t, driver(t, ns), all)
}

// TestAStrangersDeedsDoNotStopIt has the table changed between a read-back and a write.
func TestAStrangersDeedsDoNotStopIt(t *testing.T) {
	ns := space(t)
	d := driver(t, ns)
	all := everything()
	for _, meddle := range [][]string{{"delete", "table", "bridge", "isospin"}, {"flush", "set", "bridge", "isospin", "macs"}, {"flush", "chain", "bridge", "isospin", "rules"}} {
		if err := d.Put(t.Context(), all); err != nil {
			t.Fatal(err)
		}
		run(t, ns, meddle...)
		if err := d.Drop(t.Context(), all); err != nil {
			t.Errorf("dropping after %v: %v", meddle, err)
		}
		compare(t, driver(t, ns), nil)
	}
}

func TestANamespaceThatIsGone(t *testing.T) {
	d := driver(t, "isospin-nowhere")
	if _, err := d.List(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("reading answered %v", err)
	}
	if err := d.Put(t.Context(), everything()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("writing answered %v", err)
	}
}
