package assemble

import (
	"context"

	"isospin/internal/agent"
	"isospin/internal/agent/feature/seclog"
	"isospin/internal/config"
	"isospin/internal/lifecycle"
)

// logFeatures are security group logging on a host of Open vSwitch.
func (h *host) logFeatures(c *config.Agent) []agent.Feature {
	if !extension(c, "log") {
		return nil
	}
	book := seclog.NewBook()
	h.events = seclog.NewWriter(c.NetworkLog.File, book, h.env.Clock, h.env.Log)
	return []agent.Feature{seclog.New(seclog.Config{Rate: uint32(c.NetworkLog.Rate), Burst: uint32(c.NetworkLog.Burst)},
		seclog.Targets{Meters: h.meters.stage, Flows: h.flowStage}, h.watch, h.meters.book, book)}
}

// eventParts write down what the flows of logging tell.
func (h *host) eventParts() []lifecycle.Part {
	if h.events == nil {
		return nil
	}
	return []lifecycle.Part{{Name: "security group events", Run: func(ctx context.Context) error { return h.events.Run(ctx, h.conn) }}}
}
