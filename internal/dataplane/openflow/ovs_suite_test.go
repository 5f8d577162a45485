//go:build integration

package openflow

import (
	"fmt"
	"testing"

	"isospin/internal/reconcile/reconciletest"
)

// TestSwitchSuites plays the drivers' suite against Open vSwitch.
func TestSwitchSuites(t *testing.T) {
	o, br := bridge(t)
	for name, tr := range transports(t, o, br) {
		empty := func(*testing.T) {
			of15(o, "del-flows", br)
			of15(o, "del-groups", br)
			of15(o, "del-meters", br)
		}
		t.Run(name+"/flows", func(t *testing.T) {
			reconciletest.Run(t, flowSubject(tr, empty, func(k Key) {
				of15(o, "del-flows", br, fmt.Sprintf("cookie=%#x/-1", k.Cookie))
			}, 3))
		})
		t.Run(name+"/groups", func(t *testing.T) {
			reconciletest.Run(t, groupSubject(tr, empty, func(id uint32) {
				of15(o, "mod-group", br, fmt.Sprintf("group_id=%d,type=all,bucket=bucket_id:1,actions=output:3", id))
			}))
		})
		t.Run(name+"/meters", func(t *testing.T) {
			reconciletest.Run(t, meterSubject(tr, empty, func(id uint32) {
				of15(o, "mod-meter", br, fmt.Sprintf("meter=%d,kbps,band=type=drop,rate=7", id))
			}))
		})
	}
}
