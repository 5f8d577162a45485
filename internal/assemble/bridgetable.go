package assemble

import (
	"context"

	"isospin/internal/agent"
	"isospin/internal/agent/feature/qos"
	"isospin/internal/config"
	"isospin/internal/dataplane/nft"
	"isospin/internal/lifecycle"
	"isospin/internal/reconcile"
)

// bridgeTable is the table of nftables of a host of Linux bridges, and the features that write rules into it. It is there whichever features are
// on: the rules of one that is off now go.
func bridgeTable(c *config.Agent, env Env, told func(reconcile.Stage) func(reason string)) bridgeExtra {
	driver := nft.New("")
	stage := reconcile.New("nftables", driver, nft.Equal, reconcile.WithClock(env.Clock), reconcile.WithLogger(env.Log))
	var features []agent.Feature
	if extension(c, "qos") {
		features = append(features, qos.NewBridge(stage))
	}
	return bridgeExtra{stages: []reconcile.Stage{stage}, features: features, parts: []lifecycle.Part{
		{Name: "nftables", Run: func(ctx context.Context) error { return driver.Watch(ctx, told(stage)) },
			Stop: func(context.Context) error { driver.Close(); return nil }},
	}}
}
