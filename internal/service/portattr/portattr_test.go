package portattr

import (
	"encoding/json"
	"testing"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/service"
)

func TestProfile(t *testing.T) {
	yes, no, switchdev := true, false, "switchdev"
	for _, c := range []struct {
		op   service.Op
		port model.Port
		want string
	}{
		{service.Create, model.Port{}, `null`},
		{service.Create, model.Port{Trusted: &yes}, `{"trusted":true}`},
		{service.Update, model.Port{Trusted: &no, Profile: map[string]any{"trusted": true, "a": "b"}}, `{"a":"b","trusted":false}`},
		{service.Create, model.Port{HardwareOffloadType: &switchdev}, `{"capabilities":["switchdev"]}`},
		{service.Create, model.Port{HardwareOffloadType: &switchdev, Profile: map[string]any{"capabilities": []any{"x", "switchdev"}}}, `{"capabilities":["x","switchdev"]}`},
		{service.Create, model.Port{HardwareOffloadType: &switchdev, Profile: map[string]any{"capabilities": "odd"}}, `{"capabilities":["switchdev"]}`},
		{service.Update, model.Port{HardwareOffloadType: &switchdev, Profile: map[string]any{}}, `{}`},
	} {
		given, err := json.Marshal(c.port.Profile)
		if err != nil {
			t.Fatal(err)
		}
		p := c.port
		if err := (Ports{}).Guard(t.Context(), nil, service.Write[model.Port]{Op: c.op, Old: &model.Port{}, New: &p}); err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(p.Profile)
		if err != nil || string(got) != c.want {
			t.Errorf("%s, %v: %s, not %s", given, err, got, c.want)
		}
		if after, err := json.Marshal(c.port.Profile); err != nil || string(after) != string(given) {
			t.Errorf("the profile given was changed from %s to %s", given, after)
		}
	}
}

func TestBoundPortsKeepTheirAffinity(t *testing.T) {
	socket := "socket"
	for vif, free := range map[string]bool{model.VIFOVS: false, model.VIFUnbound: true, model.VIFBindingFailed: true} {
		w := service.Write[model.Port]{Op: service.Update, Old: &model.Port{VIFType: vif, HostID: "h"}, New: &model.Port{VIFType: vif, NUMAAffinityPolicy: &socket},
			Given: func(name string) bool { return name == "numa_affinity_policy" }}
		err := (Ports{}).Guard(t.Context(), nil, w)
		if (err == nil) != free || err != nil && fault.Of(err).Name != "PortBoundNUMAAffinityPolicy" {
			t.Errorf("%s: %v", vif, err)
		}
	}
}
