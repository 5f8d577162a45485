package l2bridge

import (
	"errors"
	"slices"
	"testing"

	"isospin/internal/agent"
	"isospin/internal/wire"
)

// filter is one that needs what the test says.
type filter struct {
	docs   []string
	lacks  string
	broken error
}

func (f filter) Needs(agent.View, string) ([]string, string, error) {
	return f.docs, f.lacks, f.broken
}

// TestReportsStandOnTheFilter: a port is wired when what filters it is there, and fails where it cannot be filtered.
func TestReportsStandOnTheFilter(t *testing.T) {
	for name, c := range map[string]struct {
		filter filter
		want   wire.State
		detail string
	}{
		"there":   {filter{docs: []string{"filter/port"}}, wire.State_DONE, ""},
		"lacking": {filter{lacks: "its group has not come"}, wire.State_PENDING, "its group has not come"},
		"broken":  {filter{broken: errors.New("it cannot be")}, wire.State_FAILED, "it cannot be"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := hostConfig()
			cfg.Filter = c.filter
			w := newWorld(t, cfg)
			w.network(1, &wire.Segment{Id: "local", NetworkType: "local"})
			w.put(wire.KindPort, portID(1), &wire.Port{Id: portID(1), NetworkId: netID(1), MacAddress: mac(1), AdminStateUp: true, SegmentId: "local", Host: "here"})
			w.plug(1, 10)
			w.sync()
			r, ok := w.feature.Report(w.docs, portID(1))
			if !ok || r.State != c.want || r.Detail != c.detail {
				t.Errorf("said: %v %+v", ok, r)
			}
			if c.want == wire.State_DONE && !slices.Contains(r.Docs, "filter/port") {
				t.Errorf("it stands on %q", r.Docs)
			}
		})
	}
}
