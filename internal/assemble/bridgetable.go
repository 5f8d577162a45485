package assemble

import (
	"context"
	"fmt"

	"isospin/internal/agent"
	"isospin/internal/agent/feature/qos"
	"isospin/internal/agent/feature/sgnft"
	"isospin/internal/agent/feature/zone"
	"isospin/internal/config"
	"isospin/internal/dataplane/conntrack"
	"isospin/internal/dataplane/nft"
	"isospin/internal/lifecycle"
	"isospin/internal/reconcile"
)

// bridgeTable is the table of nftables of a host of Linux bridges, and the features that write rules into it. It is there whichever features are
// on: the rules of one that is off now go.
func bridgeTable(c *config.Agent, env Env, zones *zone.Book, told func(reconcile.Stage) func(reason string)) (bridgeExtra, error) {
	driver := nft.New("")
	stage := reconcile.New("nftables", driver, nft.Equal, reconcile.WithClock(env.Clock), reconcile.WithLogger(env.Log))
	// Before the table, so that it shrinks after: what the table still lets through would be tracked anew.
	connections := reconcile.New("connections", conntrack.New(""), conntrack.Equal, reconcile.WithClock(env.Clock), reconcile.WithLogger(env.Log))
	filter, err := bridgeFilter(c, env, zones, driver, sgnft.Targets{Table: stage, Here: connections})
	if err != nil {
		driver.Close()
		return bridgeExtra{}, err
	}
	var features []agent.Feature
	if extension(c, "qos") {
		features = append(features, qos.NewBridge(stage))
	}
	return bridgeExtra{stages: []reconcile.Stage{connections, stage}, before: []agent.Feature{filter}, features: features, filter: filter, parts: []lifecycle.Part{
		{Name: "nftables", Run: func(ctx context.Context) error { return driver.Watch(ctx, told(stage)) },
			Stop: func(context.Context) error { driver.Close(); return nil }},
	}}, nil
}

// bridgeFilter is the feature of security groups. Whether the kernel can track connections on bridges is found out once: its modules do not go.
func bridgeFilter(c *config.Agent, env Env, zones *zone.Book, driver *nft.Driver, t sgnft.Targets) (*sgnft.Feature, error) {
	choices, err := filterConfig(c)
	if err != nil {
		return nil, err
	}
	tracks, err := driver.Tracks(context.Background()) // the kernel answers at once
	if err != nil {
		return nil, fmt.Errorf("asking the kernel for connection tracking on bridges: %w", err)
	}
	if !tracks && !choices.Off {
		env.Log.Warn("kernel does not track connections on bridges; ports in security groups with state fail")
	}
	return sgnft.New(sgnft.Config{Off: choices.Off, Ethertypes: choices.Ethertypes, Tracks: tracks}, t, zones), nil
}
