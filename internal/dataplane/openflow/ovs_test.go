package openflow

import (
	"context"
	"testing"

	"isospin/internal/dataplane/vswitch/ovstest"
)

// bridge makes a bridge on the userspace datapath with three ports that lead nowhere.
func bridge(t testing.TB) (*ovstest.OVS, string) {
	t.Helper()
	o := ovstest.Start(t)
	o.Vsctl("add-br", "br-of", "--", "set", "bridge", "br-of", "datapath_type=netdev", "fail_mode=secure")
	for _, p := range []string{"p1", "p2", "p3"} {
		o.Vsctl("add-port", "br-of", p, "--", "set", "interface", p, "type=internal")
	}
	return o, "br-of"
}

// transports are the ways to a bridge of o, each of which must do the same.
func transports(t testing.TB, o *ovstest.OVS, br string) map[string]Transport {
	t.Helper()
	return map[string]Transport{"ofctl": NewOfctl(o.RunDir, br)}
}

// TestSwitchAcceptsAndIsRecognised puts every kind of match and action into Open vSwitch and reads it back.
func TestSwitchAcceptsAndIsRecognised(t *testing.T) {
	o, br := bridge(t)
	tag := TagOf("accept")
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
			var prev string
			for i, s := range append(matches(), actions()...) {
				d := NewFlows(tr, tag)
				s.flow.Priority = uint16(i)
				want := tag.Want(s.flow)
				if err := d.Put(ctx, want); err != nil {
					t.Errorf("%s: %v", s.name, err)
					continue
				}
				have, err := d.List(ctx)
				if err != nil {
					t.Fatal(err)
				}
				for k := range want {
					if _, ok := have[k]; !ok || len(have) != 1 {
						t.Errorf("%s: %s is not recognised in %v after %s", s.name, k, have, prev)
					}
				}
				if testing.Verbose() {
					t.Logf("%s: %s", s.name, o.Ofctl("-O", "OpenFlow15", "--no-stats", "dump-flows", br, tagFilter(tag)))
				}
				if err := d.Drop(ctx, want); err != nil {
					t.Errorf("%s: %v", s.name, err)
				}
				prev = s.name
			}
		})
	}
}
