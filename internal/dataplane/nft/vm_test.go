//go:build vm

package nft_test

import (
	"net/netip"
	"testing"

	"isospin/internal/dataplane/nft"
)

// TestTheKernelTracks needs conntrack on bridges: every term that asks for connections or bridges is put and read back.
func TestTheKernelTracks(t *testing.T) {
	ns := space(t)
	d := driver(t, ns)
	if yes, err := d.Tracks(t.Context()); err != nil || !yes {
		t.Fatalf("the kernel tracks connections on bridges: %v, %v", yes, err)
	}
	compare(t, d, nil)
	p4, p6 := netip.MustParsePrefix("192.0.2.128/25"), netip.MustParsePrefix("2001:db8:1::/47")
	all := everything()
	all[nft.SetKey("v6")] = nft.Object{Layout: nft.LayoutOf(nft.IP6Source())}
	all[nft.ChainKey("raw")] = nft.Object{Hook: &nft.Hook{Point: nft.Prerouting, Priority: -300}, Rules: []nft.Rule{
		nft.Do(nft.Verdict{}, nft.ZoneFrom("zones", nft.IBrName())),
		nft.Do(nft.Return(), nft.IBrName().Is([]byte("brq")), nft.NoTrack()),
		nft.Do(nft.Verdict{}, nft.OBrName().Is(nft.Name("brq1"))),
	}}
	all[nft.ChainKey("connections")] = nft.Object{Rules: []nft.Rule{
		nft.Do(nft.Accept(), nft.CTState(nft.StateEstablished|nft.StateRelated), nft.CTReply()),
		nft.Do(nft.Accept(), nft.CTState(nft.StateNew), nft.CTOriginal()),
		nft.Do(nft.Accept(), nft.BeganIP().Within(p4), nft.ForIP6().Within(p6), nft.ForProtocol().Is(nft.Num1(6)), nft.ForPort().Between(nft.Num2(1), nft.Num2(9))),
		nft.Do(nft.Accept(), nft.In("v6", nft.BeganIP6()), nft.ForIP().Is([]byte{10, 0, 0, 1}), nft.ForPort().Bits([]byte{0xff, 0}, []byte{8, 0})),
		nft.Do(nft.Drop(), nft.In("prefixes", nft.BeganIP())),
	}}
	if err := d.Put(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	compare(t, driver(t, ns), all)
	if n, _ := d.Sent(); n != 1 {
		t.Errorf("%d transactions", n)
	}
	t.Log(run(t, ns, "list", "chain", "bridge", "isospin", "connections"))
	if err := d.Drop(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	compare(t, d, nil)
}
