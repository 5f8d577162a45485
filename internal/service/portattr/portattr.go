// Package portattr keeps the attributes of ports that say how a device is made and fed: trust, hardware offload and NUMA
// affinity. assemble lists it among the guards of ports. It binds nothing and asks no host; what its attributes do
// is for Nova and for the agents, who read them from the port.
package portattr

import (
	"context"
	"slices"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/service"
	"isospin/internal/store"
)

// Keys of binding:profile by which Nova learns of an attribute.
const (
	keyTrusted      = "trusted"
	keyCapabilities = "capabilities"
)

// Ports takes part in the writes of ports. It keeps nothing.
type Ports struct{}

var _ service.Guard[model.Port] = Ports{}

// Guard hands trust and offload on to the binding profile, and keeps the NUMA affinity of a bound port as it is.
func (Ports) Guard(_ context.Context, _ store.WriteTx, w service.Write[model.Port]) error {
	if w.Op == service.Delete {
		return nil
	}
	if w.Op == service.Update && w.Gave("numa_affinity_policy") && bound(w.Old) {
		return fault.PortBoundNUMAAffinityPolicy(w.Old.ID, w.Old.HostID, text(w.New.NUMAAffinityPolicy))
	}
	if w.New.Trusted != nil {
		w.New.Profile = with(w.New.Profile, keyTrusted, *w.New.Trusted)
	}
	if w.Op == service.Create && w.New.HardwareOffloadType != nil {
		w.New.Profile = with(w.New.Profile, keyCapabilities, capable(w.New.Profile[keyCapabilities], *w.New.HardwareOffloadType))
	}
	return nil
}

// with is a profile with one key set; the profile given is left alone.
func with(profile map[string]any, key string, value any) map[string]any {
	out := make(map[string]any, len(profile)+1)
	for k, v := range profile {
		out[k] = v
	}
	out[key] = value
	return out
}

// capable is a list of capabilities with one more, where it is a list at all.
func capable(have any, more string) []any {
	list, _ := have.([]any) //nolint:errcheck // what is no list says nothing
	if slices.Contains(list, any(more)) {
		return list
	}
	return append(slices.Clone(list), more)
}

// bound tells whether a host has the port (VIF_UNPLUGGED_TYPES in neutron-lib's api/definitions/portbindings.py are the others).
func bound(p *model.Port) bool {
	return p.VIFType != "" && p.VIFType != model.VIFUnbound && p.VIFType != model.VIFBindingFailed
}

func text(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}
