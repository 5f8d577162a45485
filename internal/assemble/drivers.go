package assemble

import (
	"fmt"
	"maps"
	"slices"

	"isospin/internal/config"
	"isospin/internal/ident"
	"isospin/internal/model"
	"isospin/internal/service/ml2"
	"isospin/internal/service/ml2/mechdriver/agentbased"
	"isospin/internal/service/ml2/mechdriver/macvtap"
	"isospin/internal/service/ml2/mechdriver/sriov"
	"isospin/internal/service/ml2/typedriver/claim"
	"isospin/internal/service/ml2/typedriver/flat"
	"isospin/internal/service/ml2/typedriver/local"
	"isospin/internal/service/ml2/typedriver/tunnel"
	"isospin/internal/service/ml2/typedriver/vlan"
)

// TypeDrivers makes the type drivers by the names that operators write in `type_drivers`.
func TypeDrivers() map[string]func(*config.Server, ident.Source) ml2.TypeDriver {
	return map[string]func(*config.Server, ident.Source) ml2.TypeDriver{
		model.TypeLocal: func(*config.Server, ident.Source) ml2.TypeDriver { return local.Driver{} },
		model.TypeFlat: func(c *config.Server, _ ident.Source) ml2.TypeDriver {
			return flat.Driver{Config: flat.Config{Networks: c.Flat.Networks, MTUs: mtus(c), MTUAll: int64(c.Host.MTU)}}
		},
		model.TypeVLAN: func(c *config.Server, ids ident.Source) ml2.TypeDriver {
			ranges := map[string][]claim.Range{}
			for _, r := range c.VLAN.Ranges {
				ranges[r.PhysicalNetwork] = append(ranges[r.PhysicalNetwork], vlanRange(r)...)
			}
			return vlan.Driver{Config: vlan.Config{Ranges: ranges, MTUs: mtus(c), MTUAll: int64(c.Host.MTU), IDs: ids}}
		},
		model.TypeVXLAN: func(c *config.Server, ids ident.Source) ml2.TypeDriver {
			return overlay(c, ids, model.TypeVXLAN, tunnel.MaxVNI, tunnel.OverheadVXLAN, c.VXLAN.Ranges)
		},
		model.TypeGRE: func(c *config.Server, ids ident.Source) ml2.TypeDriver {
			return overlay(c, ids, model.TypeGRE, tunnel.MaxGREKey, tunnel.OverheadGRE, c.GRE.Ranges)
		},
		model.TypeGeneve: func(c *config.Server, ids ident.Source) ml2.TypeDriver {
			return overlay(c, ids, model.TypeGeneve, tunnel.MaxVNI, int64(c.Geneve.MaxHeaderSize), c.Geneve.Ranges)
		},
	}
}

func overlay(c *config.Server, ids ident.Source, kind string, maxID, overhead int64, ranges []config.IDRange) ml2.TypeDriver {
	header := int64(20)
	if c.ML2.OverlayIPVersion == 6 {
		header = 40
	}
	rs := make([]claim.Range, len(ranges))
	for i, r := range ranges {
		rs[i] = claim.Range{Min: int64(r.Min), Max: int64(r.Max)}
	}
	return tunnel.Driver{Config: tunnel.Config{Type: kind, MaxID: maxID, Ranges: rs, Overhead: overhead, IPHeader: header,
		PathMTU: int64(c.ML2.PathMTU), MTUAll: int64(c.Host.MTU), IDs: ids}}
}

func vlanRange(r config.VLANRange) []claim.Range {
	if r.Min == 0 {
		return []claim.Range{}
	}
	return []claim.Range{{Min: int64(r.Min), Max: int64(r.Max)}}
}

func mtus(c *config.Server) map[string]int64 {
	out := make(map[string]int64, len(c.ML2.PhysicalNetworkMTUs))
	for name, n := range c.ML2.PhysicalNetworkMTUs {
		out[name] = int64(n)
	}
	return out
}

// MechanismDrivers makes the mechanism drivers by the names that operators write in `mechanism_drivers`. l2population is
// always on: forwarding by what the server knows is how agents work; the name is accepted.
func MechanismDrivers() map[string]func(*config.Server) ml2.MechanismDriver {
	return map[string]func(*config.Server) ml2.MechanismDriver{
		"openvswitch": func(c *config.Server) ml2.MechanismDriver {
			return agentbased.OpenVSwitch().Prohibit(c.OVSDriver.Prohibited).Tell("ovs_create_tap", c.OVSDriver.CreateTap)
		},
		"linuxbridge":    func(*config.Server) ml2.MechanismDriver { return agentbased.LinuxBridge() },
		"l2population":   func(*config.Server) ml2.MechanismDriver { return nil },
		"macvtap":        func(*config.Server) ml2.MechanismDriver { return macvtap.Driver{} },
		"sriovnicswitch": func(c *config.Server) ml2.MechanismDriver { return sriov.Driver{Prohibited: c.SRIOVDriver.Prohibited} },
	}
}

// chosen makes the drivers of a configured list, in its order; an unknown name is an error that lists the known ones.
func chosen[D any](option string, names []string, known map[string]D) ([]D, error) {
	var out []D
	for _, name := range names {
		make, ok := known[name]
		if !ok {
			return nil, fmt.Errorf("%s names %q, which is none of %v", option, name, slices.Sorted(maps.Keys(known)))
		}
		out = append(out, make)
	}
	return out, nil
}
