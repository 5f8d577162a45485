package assemble

import (
	"isospin/internal/service/ml2"
	"isospin/internal/service/segments"
	"isospin/internal/service/trunk"
	"isospin/internal/store"
)

// trunking is the plugins about segments of networks and about trunks.
type trunking struct {
	segments *segments.Plugin
	trunks   *trunk.Plugin
}

// trunking makes them.
func (k *Core) trunking(env Env) trunking {
	t := trunking{
		segments: segments.New(segments.Config{Segments: ml2.NewSegments(), Ranges: segments.NewRanges(), Networks: k.Networks, Subnets: k.Subnets,
			Owner: k.ML2, Types: k.Types, Clock: env.Clock, IDs: env.IDs}),
		trunks: trunk.New(trunk.Config{Trunks: trunk.NewTrunks(), Ports: k.Ports, Networks: k.Networks, Binder: k.ML2, Clock: env.Clock, IDs: env.IDs}),
	}
	k.Segments = t.segments
	return t
}

func (t trunking) plugins() []plugin { return []plugin{t.segments, t.trunks} }

// guards adds who takes part in the writes of subnets and ports.
func (t trunking) guards(g ml2.Guards) ml2.Guards {
	g.Subnets = append(g.Subnets, segments.Subnets{Plugin: t.segments})
	g.SubnetsWritten = append(g.SubnetsWritten, segments.Subnets{Plugin: t.segments})
	g.Ports = append(g.Ports, trunk.Ports{Plugin: t.trunks})
	g.PortsWritten = append(g.PortsWritten, trunk.Ports{Plugin: t.trunks})
	return g
}

// trunkTables are what db check reads of them.
func trunkTables() []store.Checker {
	return []store.Checker{ml2.NewSegments(), segments.NewRanges(), trunk.NewTrunks()}
}
