package reconcile

import (
	"errors"
	"testing"
	"time"
)

// TestTroubles: what failed is told with how many are alike and since when, until it succeeds.
func TestTroubles(t *testing.T) {
	g := newRig(t)
	g.SetInSync(true)
	texts := func() (out []string) {
		for _, tr := range g.Troubles() {
			out = append(out, tr.String())
		}
		return out
	}
	expect := func(want ...string) {
		t.Helper()
		got := texts()
		if len(got) != len(want) {
			t.Fatalf("troubles %q, want %q", got, want)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("trouble %d is %q, want %q", i, got[i], want[i])
			}
		}
	}
	g.Replace(owner("first", "x"), map[string]int{"a": 1, "b": 2, "c": 3, "d": 4})
	expect() // nothing was tried
	no := errors.New("no such bridge")
	g.mem.Refuse = func(k string, _ int) error {
		switch k {
		case "a":
			return nil
		case "d":
			return errors.New("too long")
		}
		return no
	}
	began := g.clk.Now()
	_ = g.round(t) // the failures are what is looked at
	expect("things b and 1 more: no such bridge", "things d: too long")
	g.clk.Advance(time.Second)
	_ = g.round(t)
	if since := g.Troubles()[0].Since; !since.Equal(began) {
		t.Errorf("since %s, want %s", since, began)
	}
	g.mem.Refuse = nil
	g.mem.FailList = func() error { return errors.New("no answer") }
	g.Invalidate("test")
	g.clk.Advance(time.Minute)
	_ = g.round(t)
	expect("things cannot be read: no answer")
	g.mem.FailList = nil
	g.clk.Advance(time.Minute)
	if err := g.round(t); err != nil {
		t.Fatal(err)
	}
	expect()
}
