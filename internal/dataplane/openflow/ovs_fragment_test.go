package openflow

import (
	"strings"
	"testing"
)

// TestSwitchShowsFragments: who connects has the bridge show fragments with the ports that they have, also after ovs-vswitchd has begun anew.
func TestSwitchShowsFragments(t *testing.T) {
	o, br := bridge(t)
	c := NewConn(o.RunDir, br)
	t.Cleanup(func() { _ = c.Close() })
	for range 2 {
		if _, err := c.ListFlows(t.Context(), TagOf("fragments")); err != nil {
			t.Fatal(err)
		}
		if mode := o.Ofctl("get-frags", o.RunDir+"/"+br+".mgmt"); !strings.Contains(mode, "nx-match") {
			t.Errorf("fragments are shown as %s", mode)
		}
		o.RestartVswitchd()
	}
}
