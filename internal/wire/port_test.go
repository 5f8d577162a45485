package wire

import "testing"

// TestWaitsAt: who has a port and who waits for it, also in documents that do not say where it is.
func TestWaitsAt(t *testing.T) {
	moving := &Port{Host: "h1", SegmentId: "a", VifType: "ovs", Waiting: []*WaitingBinding{{Host: "h2", SegmentId: "b", VifType: "hw_veb"}, {Host: "h1", SegmentId: "c"}}}
	cases := []struct {
		name, host, segment string
		port                *Port
		waits               bool
	}{
		{"in force", "h1", "a", moving, false},
		{"waits", "h2", "b", moving, true},
		{"a third", "h3", "a", moving, false},
		{"on none", "h2", "b", &Port{SegmentId: "a", Waiting: moving.Waiting}, true},
		{"nobody says", "h2", "a", &Port{SegmentId: "a"}, false},
		{"none", "h2", "", nil, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if _, waits := c.port.WaitsAt(c.host); waits != c.waits || c.port.SegmentAt(c.host) != c.segment {
				t.Errorf("waits %v, on segment %q", waits, c.port.SegmentAt(c.host))
			}
			if got := c.port.SwitchedAt(c.host); got == (c.port.GetWaiting() != nil && c.host == "h2") {
				t.Errorf("switched %v", got)
			}
		})
	}
}
