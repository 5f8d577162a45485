package assemble

import (
	"slices"

	"isospin/internal/agent"
	"isospin/internal/agent/feature/meter"
	"isospin/internal/agent/feature/qos"
	"isospin/internal/config"
	"isospin/internal/dataplane/openflow"
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

// qosFeatures are QoS on a host of Open vSwitch.
func (h *host) qosFeatures(c *config.Agent) []agent.Feature {
	if !extension(c, "qos") {
		return nil
	}
	return []agent.Feature{qos.NewOVS(qos.Targets{Meters: h.meters.stage, Flows: h.flowStage}, h.watch, h.meters.book)}
}
