package eventlog

import (
	"testing"

	"isospin/internal/model"
)

func TestAble(t *testing.T) {
	for _, x := range []struct {
		vif, vnic string
		want      bool
	}{
		{model.VIFUnbound, model.VNICNormal, true}, {model.VIFUnbound, "direct", false}, {model.VIFBindingFailed, model.VNICNormal, true},
		{model.VIFOVS, model.VNICNormal, true}, {model.VIFOVS, "direct", true}, {"vhostuser", model.VNICNormal, true},
		{model.VIFBridge, model.VNICNormal, false}, {"hw_veb", "direct", false}, {"", model.VNICNormal, false},
	} {
		if got := able(&model.Port{VIFType: x.vif, VNICType: x.vnic}); got != x.want {
			t.Errorf("a port bound as %q of type %q can be logged at: %v", x.vif, x.vnic, got)
		}
	}
}
