package assemble

import (
	"context"
	"slices"

	"isospin/internal/agent"
	"isospin/internal/agent/feature/meter"
	"isospin/internal/agent/feature/qos"
	"isospin/internal/config"
	"isospin/internal/dataplane/openflow"
	"isospin/internal/dataplane/vswitch"
	"isospin/internal/lifecycle"
	"isospin/internal/ovsdb"
	"isospin/internal/reconcile"
)

// meters are what the features of a host of Open vSwitch meter by. They are there whichever features are on: what one made that is off now goes.
type meters struct {
	book  *meter.Book
	stage *reconcile.Reconciler[uint32, openflow.Meter]
}

func newMeters(c *config.Agent, conn *openflow.Conn, opts ...reconcile.Option) (meters, error) {
	book, err := meter.Open(c.State.Dir, meter.IDs())
	return meters{book: book, stage: reconcile.New("meters", openflow.NewMeters(conn, meter.IDs()), openflow.SameMeter, opts...)}, err
}

// extension tells whether `[agent] extensions` names a feature.
func extension(c *config.Agent, name string) bool { return slices.Contains(c.L2.Extensions, name) }

// extensions are those that `[agent] extensions` names and that this kind of host has: an agent's row tells clients what it does, not what it was asked for.
func extensions(c *config.Agent, has ...string) []string {
	out := []string{}
	for _, name := range c.L2.Extensions {
		if slices.Contains(has, name) {
			out = append(out, name)
		}
	}
	return out
}

// qosFeatures are QoS on a host of Open vSwitch.
func (h *host) qosFeatures(c *config.Agent) []agent.Feature {
	if !extension(c, "qos") {
		return nil
	}
	cfg := qos.Config{Mappings: c.OVS.BridgeMappings, Queues: c.OVS.DatapathType != "netdev"}
	return []agent.Feature{qos.NewOVS(cfg, qos.Targets{Meters: h.meters.stage, Flows: h.flowStage, Guarantees: h.guarantees.stage}, h.watch, h.meters.book)}
}

// guarantees are the queues on the wires of the operator's bridges.
type guarantees struct {
	driver *vswitch.Guarantees
	stage  *reconcile.Reconciler[vswitch.GuaranteeKey, vswitch.Guarantee]
}

func newGuarantees(c *ovsdb.Client, opts ...reconcile.Option) guarantees {
	d := vswitch.NewGuarantees(c, vswitchOwner)
	return guarantees{driver: d, stage: reconcile.New("guarantees", d, vswitch.EqualGuarantee, opts...)}
}

// follow has the queues read back when somebody changed them.
func (g guarantees) follow(told func(reconcile.Stage) func(reason string)) lifecycle.Part {
	return lifecycle.Part{Name: "guarantees", Run: func(ctx context.Context) error { return g.driver.Watch(ctx, told(g.stage)) }}
}
