package assemble

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"isospin/internal/agent"
	"isospin/internal/clock"
	"isospin/internal/ovsdb"
	"isospin/internal/wire"
)

// reasonsKey is where the agents' configurations list what keeps the host from being as it should be; operators read it in the
// agents API, in `isospin status` and in `isospin why port`.
const reasonsKey = "reasons"

// condition is what a host says of itself besides how it is configured. It tells the session, not more often than a person can read.
type condition struct {
	clock clock.Clock
	facts *wire.Facts // without reasons
	tell  func(*wire.Facts)
	wake  chan struct{}

	mu      sync.Mutex
	reasons []agent.Reason
}

func newCondition(c clock.Clock, facts *wire.Facts, tell func(*wire.Facts)) *condition {
	return &condition{clock: c, facts: facts, tell: tell, wake: make(chan struct{}, 1)}
}

// set takes what the loop found. It does not block.
func (c *condition) set(reasons []agent.Reason) {
	c.mu.Lock()
	c.reasons = reasons
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *condition) now() []agent.Reason {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reasons
}

// ready says why the host does not do its work as a whole.
func (c *condition) ready(context.Context) error {
	var errs []error
	for _, r := range c.now() {
		if r.Whole {
			errs = append(errs, errors.New(r.Text))
		}
	}
	return errors.Join(errs...)
}

// unsteady is how long reasons that come and go are gathered: each time they are told is a write to the database.
const unsteady = time.Second

// run tells the session until ctx ends.
func (c *condition) run(ctx context.Context) error {
	for {
		select {
		case <-c.wake:
		case <-ctx.Done():
			return nil
		}
		facts, err := withReasons(c.facts, c.now())
		if err != nil {
			return err
		}
		c.tell(facts)
		select {
		case <-c.clock.After(unsteady):
		case <-ctx.Done():
			return nil
		}
	}
}

// withReasons adds reasons to what each of the host's agents says.
func withReasons(facts *wire.Facts, reasons []agent.Reason) (*wire.Facts, error) {
	out := &wire.Facts{TunnelIp: facts.GetTunnelIp(), TunnelTypes: facts.GetTunnelTypes()}
	texts := make([]string, len(reasons))
	for i, r := range reasons {
		texts[i] = r.Text
	}
	for _, a := range facts.GetAgents() {
		conf := map[string]any{}
		if err := json.Unmarshal(a.GetConfigurations(), &conf); err != nil {
			return nil, fmt.Errorf("configurations of the %s: %w", a.GetAgentType(), err)
		}
		conf[reasonsKey] = texts
		raw, err := json.Marshal(conf)
		if err != nil {
			return nil, fmt.Errorf("configurations of the %s: %w", a.GetAgentType(), err)
		}
		out.Agents = append(out.Agents, &wire.AgentFacts{AgentType: a.GetAgentType(), Binary: a.GetBinary(), Topic: a.GetTopic(), AvailabilityZone: a.GetAvailabilityZone(),
			Configurations: raw, StartedAt: a.GetStartedAt()})
	}
	return out, nil
}

// reasonsOf reads the reasons in an agent's configurations.
func reasonsOf(configurations map[string]any) []string {
	list, _ := configurations[reasonsKey].([]any)
	out := make([]string, 0, len(list))
	for _, v := range list {
		if text, ok := v.(string); ok {
			out = append(out, text)
		}
	}
	return out
}

// switchReady says whether the Open vSwitch database answers; it does not wait for it.
func switchReady(c *ovsdb.Client, at string) error {
	st := c.State()
	if st.Connected {
		return nil
	}
	if st.Err == nil {
		st.Err = ovsdb.ErrNotConnected
	}
	return fmt.Errorf("the database of Open vSwitch does not answer at %s (is it running?): %w", at, st.Err)
}

// forPeople makes reasons what a person can act on: one for a switch that is away, not one for each kind of object in it.
func forPeople(reasons []agent.Reason, away error) []agent.Reason {
	var out []agent.Reason
	for _, r := range reasons {
		if away != nil && strings.Contains(r.Text, ovsdb.ErrNotConnected.Error()) {
			r = agent.Reason{Text: away.Error(), Whole: true}
		}
		if r.Whole && strings.Contains(r.Text, "openflow connection") {
			r.Text = "ovs-vswitchd does not answer (is it running?): " + r.Text
		}
		r.Text = oneLine(r.Text)
		if !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	return out
}

func oneLine(text string) string { return strings.Join(strings.Split(text, "\n"), ": ") }
