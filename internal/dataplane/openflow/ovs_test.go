package openflow

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"isospin/internal/dataplane/vswitch/ovstest"
	"isospin/internal/reconcile"
)

// bridge makes a bridge on the userspace datapath with three ports that lead nowhere.
func bridge(t testing.TB) (*ovstest.OVS, string) {
	t.Helper()
	o := ovstest.Start(t)
	// With an identity of its own: one that follows from the ports ends all connections when it changes.
	o.Vsctl("add-br", "br-of", "--", "set", "bridge", "br-of", "datapath_type=netdev", "fail_mode=secure",
		"other_config:datapath-id=0000000000000001")
	for _, p := range []string{"p1", "p2", "p3"} {
		o.Vsctl("add-port", "br-of", p, "--", "set", "interface", p, "type=internal")
	}
	return o, "br-of"
}

// transports are the ways to a bridge of o, each of which must do the same.
func transports(t testing.TB, o *ovstest.OVS, br string) map[string]Transport {
	t.Helper()
	c := NewConn(o.RunDir, br)
	t.Cleanup(func() { _ = c.Close() })
	return map[string]Transport{"ofctl": NewOfctl(o.RunDir, br), "conn": c}
}

// TestSwitchAcceptsAndIsRecognised puts every kind of match and action into Open vSwitch and reads it back.
func TestSwitchAcceptsAndIsRecognised(t *testing.T) {
	o, br := bridge(t)
	tag := TagOf("accept")
	dumps := map[string]string{}
	for name, tr := range transports(t, o, br) {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			groups, meters := NewGroups(tr, IDs{1, 100}), NewMeters(tr, IDs{1, 100})
			if err := groups.Put(ctx, map[uint32]Group{5: {Buckets: []Bucket{{Actions: Do(Output(1))}}}}); err != nil {
				t.Fatal(err)
			}
			if err := meters.Put(ctx, map[uint32]Meter{6: {Rate: 1000, Burst: 100}}); err != nil {
				t.Fatal(err)
			}
			d := NewFlows(tr, tag)
			want, names := map[Key]Flow{}, map[Key]string{}
			for i, s := range append(matches(), actions()...) {
				s.flow.Priority = uint16(i)
				k := tag.Key(s.flow)
				want[k], names[k] = s.flow, s.name
			}
			var each reconcile.Errors[Key]
			if err := d.Put(ctx, want); errors.As(err, &each) {
				for k, why := range each {
					t.Errorf("%s: %v", names[k], why)
				}
			} else if err != nil {
				t.Fatal(err)
			}
			have, err := d.List(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for k := range want {
				if _, ok := have[k]; !ok {
					t.Errorf("%s: %s is not recognised", names[k], k)
				}
			}
			if len(have) != len(want) {
				t.Errorf("%d flows are there, want %d", len(have), len(want))
			}
			dumps[name] = of15(o, "--no-stats", "dump-flows", br)
			if err := d.Drop(ctx, want); err != nil {
				t.Error(err)
			}
			if left := of15(o, "--no-stats", "dump-flows", br); left != "" {
				t.Errorf("after dropping all the switch has %s", left)
			}
		})
	}
	// What one transport says the other must have said too.
	for name, dump := range dumps {
		if sortedLines(dump) != sortedLines(dumps["ofctl"]) {
			t.Errorf("by %s the switch has\n%s\nand by ofctl\n%s", name, sortedLines(dump), sortedLines(dumps["ofctl"]))
		}
	}
}

func sortedLines(dump string) string {
	lines := strings.Split(strings.TrimSpace(dump), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
