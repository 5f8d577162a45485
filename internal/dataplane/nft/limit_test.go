package nft_test

import (
	"context"
	"strings"
	"testing"

	"isospin/internal/dataplane/nft"
)

// TestLimitsAndMarks: the kernel takes them, nft shows them as they were meant, and they are read back as what was put.
func TestLimitsAndMarks(t *testing.T) {
	ns := space(t)
	d := driver(t, ns)
	want := map[nft.Key]nft.Object{nft.ChainKey("limited"): {Hook: &nft.Hook{Point: nft.Prerouting, Priority: -310}, Rules: []nft.Rule{
		nft.Do(nft.Drop(), nft.BeyondBytes(625000, 500000)),
		nft.Do(nft.Drop(), nft.BeyondBytes(625000, 1000000)),
		nft.Do(nft.Drop(), nft.BeyondPackets(1000, 800)),
		nft.Do(nft.Verdict{}, nft.Protocol().Is(nft.Num2(0x0800)), nft.MarkIP(46)),
		nft.Do(nft.Verdict{}, nft.Protocol().Is(nft.Num2(0x86dd)), nft.MarkIP6(46)),
		nft.Do(nft.Verdict{}, nft.Protocol().Is(nft.Num2(0x86dd)), nft.MarkIP6(0)),
	}}}
	if err := d.Put(context.Background(), want); err != nil {
		t.Fatal(err)
	}
	have, err := nft.New(ns).List(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for k, o := range want {
		if !nft.Equal(o, have[k]) {
			t.Errorf("%s: put %v, read %v", k, o, have[k])
		}
	}
	shown := run(t, ns, "list", "ruleset")
	for _, line := range []string{
		"limit rate over 625000 bytes/second drop", "limit rate over 625000 bytes/second burst 375000 bytes drop", "limit rate over 1000/second burst 800 packets drop",
		"ip dscp set ef", "ip6 dscp set ef", "ip6 dscp set cs0",
	} {
		if !strings.Contains(shown, line) {
			t.Errorf("nft does not show %q:\n%s", line, shown)
		}
	}
}
