package claim

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"isospin/internal/service/ml2"
)

// TestPlan: which pool an id is of, by what the configuration and administrators say.
func TestPlan(t *testing.T) {
	p := pool{Pools: Pools{Type: "vlan", Ranges: map[string][]Range{"p": {{10, 20}, {30, 40}}}}, physical: "p", set: []ml2.IDRange{
		{ID: "m", Project: "m", Min: 15, Max: 32}, {ID: "all", Min: 50, Max: 60}, {ID: "o", Project: "o", Min: 55, Max: 55}, {ID: "far", Project: "o", Min: 100, Max: 101},
	}}
	if diff := cmp.Diff([]Range{{10, 14}, {33, 40}, {50, 54}, {56, 60}}, p.shared()); diff != "" {
		t.Errorf("what all may have: %s", diff)
	}
	for id, want := range map[int64]string{9: "", 10: "segment:vlan:p", 14: "segment:vlan:p", 15: "segments:m", 25: "segments:m", 32: "segments:m", 33: "segment:vlan:p",
		45: "", 55: "segments:o", 56: "segment:vlan:p", 100: "segments:far", 102: ""} {
		if got := p.of(id); got != want {
			t.Errorf("%d is of %q, want %q", id, got, want)
		}
	}
}
