package l3

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/service/agents"
	"isospin/internal/store"
)

// Schedule is the API of the placing: which agents serve which routers, by an administrator's hand. behaviour.md, section 15.
type Schedule struct{ *Plugin }

// Name is its name.
func (Schedule) Name() string { return "l3_agent_scheduler" }

// Bindings are the routers of an agent and the agents of a router.
func (s Schedule) Bindings() []rest.Binding {
	return []rest.Binding{rest.Special("l3-routers", rest.HandlerFunc(s.routers)), rest.Special("l3-agents", rest.HandlerFunc(s.agents))}
}

// agents answers GET /routers/{id}/l3-agents: agents with what they are to this router.
func (s Schedule) agents(ctx context.Context, c *rest.Call) error {
	switch {
	case len(c.Rest) > 0:
		return c.Nothing()
	case c.Method != http.MethodGet:
		return c.NotAllowed()
	}
	if err := c.May(ctx, "get_l3-agents", nil); err != nil {
		return err
	}
	list := []map[string]json.RawMessage{}
	err := c.Read(ctx, func(tx store.Tx) error {
		r, err := s.router(ctx, tx, c.Parent)
		if err != nil {
			return err
		}
		raw, err := c.Rows(ctx, tx, "agents", store.And(store.Eq("agent_type", model.AgentL3),
			store.Expr("host IN (SELECT host FROM router_hosts WHERE router_id = ?)", r.ID)))
		if err != nil {
			return err
		}
		if list = nil; json.Unmarshal(raw, &list) != nil {
			return fmt.Errorf("the agents of router %s are no list", r.ID)
		}
		rows, err := seats(ctx, tx, r.ID)
		if err != nil {
			return err
		}
		at := func(a map[string]json.RawMessage) int {
			return slices.IndexFunc(rows, func(x seat) bool { return string(a["host"]) == string(quoted(x.host)) })
		}
		for _, a := range list {
			if i := at(a); i >= 0 {
				describe(a, &r, rows[i], c.Known("l3-agent-scheduler-ha-chassis-priority"))
			}
		}
		slices.SortFunc(list, func(a, b map[string]json.RawMessage) int { return at(a) - at(b) })
		return nil
	})
	if err != nil {
		return err
	}
	return c.Answer(http.StatusOK, map[string]any{"agents": list})
}

// describe adds to an agent what it is to a router: its state where the router is highly available, and how much it is preferred.
func describe(a map[string]json.RawMessage, r *model.Router, x seat, priorities bool) {
	a["ha_state"] = json.RawMessage("null")
	if r.HA {
		state := x.state
		if state == "" {
			state = stateStandby // as Neutron says of an agent that has not spoken yet
		}
		a["ha_state"] = quoted(state)
	}
	if priorities {
		a["ha_chassis_priority"] = fmt.Append(nil, x.priority)
	}
}

func quoted(s string) json.RawMessage {
	raw, err := json.Marshal(s)
	if err != nil {
		return json.RawMessage(`""`) // a text always encodes
	}
	return raw
}

func (s Schedule) router(ctx context.Context, tx store.Tx, id string) (model.Router, error) {
	if rest.Plain(id) {
		r, err := s.Routers.Get(ctx, tx, id)
		if !store.IsNotFound(err) {
			return r, err
		}
	}
	return model.Router{}, fault.RouterNotFound(rest.Printable(id))
}

// keep locks a router: who places it waits.
func (s Schedule) keep(ctx context.Context, tx store.WriteTx, id string) (model.Router, error) {
	if !rest.Plain(id) {
		return model.Router{}, fault.RouterNotFound(rest.Printable(id))
	}
	return s.Lock(ctx, tx, id)
}

// agent reads an agent; only L3 agents are found.
func (s Schedule) agent(ctx context.Context, tx store.Tx, id string) (agents.Seen, error) {
	if !rest.Plain(id) {
		return agents.Seen{}, fault.AgentNotFound(rest.Printable(id))
	}
	a, err := s.Agents.Agents.Get(ctx, tx, id)
	switch {
	case store.IsNotFound(err):
		err = fault.AgentNotFound(rest.Printable(id))
	case err == nil && a.AgentType != model.AgentL3:
		err = fault.InvalidL3Agent(id)
	}
	return agents.Seen{Agent: a}, err
}

// routers answers /agents/{id}/l3-routers.
func (s Schedule) routers(ctx context.Context, c *rest.Call) error {
	switch {
	case len(c.Rest) == 0 && c.Method == http.MethodGet:
		return s.list(ctx, c)
	case len(c.Rest) == 0 && c.Method == http.MethodPost:
		return s.add(ctx, c)
	case len(c.Rest) == 1 && c.Method == http.MethodDelete:
		return s.remove(ctx, c, c.Rest[0])
	case len(c.Rest) == 1 && c.Method == http.MethodPut && c.Known("l3-agent-scheduler-ha-chassis-priority"):
		return s.prefer(ctx, c, c.Rest[0])
	case len(c.Rest) > 1:
		return c.Nothing()
	}
	return c.NotAllowed()
}

func (s Schedule) list(ctx context.Context, c *rest.Call) error {
	if err := c.May(ctx, "get_l3-routers", nil); err != nil {
		return err
	}
	list := json.RawMessage("[]")
	err := c.Read(ctx, func(tx store.Tx) error {
		a, err := s.agent(ctx, tx, c.Parent)
		if f := fault.Of(err); err != nil && f.Name == "InvalidL3Agent" {
			return nil // an agent of another kind serves none
		}
		if err != nil {
			return err
		}
		list, err = c.Rows(ctx, tx, "routers", store.Expr("id IN (SELECT router_id FROM router_hosts WHERE host = ?)", a.Host))
		return err
	})
	if err != nil {
		return err
	}
	return c.Answer(http.StatusOK, map[string]json.RawMessage{"routers": list})
}

// add gives a router to an agent.
func (s Schedule) add(ctx context.Context, c *rest.Call) error {
	if err := c.May(ctx, "create_l3-router", nil); err != nil {
		return err
	}
	in, err := c.Object("")
	if err != nil {
		return err
	}
	var router string
	if raw, ok := in["router_id"]; !ok || json.Unmarshal(raw, &router) != nil || router == "" {
		return fault.HTTPBadRequest("The request body lacks router_id.")
	}
	priority, err := priorityOf(c, in, "router_id")
	if err != nil {
		return err
	}
	err = c.Write(ctx, func(tx store.WriteTx) error {
		a, err := s.agent(ctx, tx, c.Parent)
		if err != nil {
			return err
		}
		r, err := s.keep(ctx, tx, router)
		if err != nil {
			return err
		}
		if priority != nil {
			a.HAChassisPriority = priority
		}
		return s.give(ctx, tx, &r, &a.Agent)
	})
	if err != nil {
		return err
	}
	return c.Answer(http.StatusCreated, nil)
}

// priorityOf reads ha_chassis_priority and refuses members besides it and the one named.
func priorityOf(c *rest.Call, in map[string]json.RawMessage, besides string) (*int64, error) {
	for name := range in {
		if name != besides && (name != "ha_chassis_priority" || !c.Known("l3-agent-scheduler-ha-chassis-priority")) {
			return nil, fault.HTTPBadRequest("Unrecognized attribute " + rest.Printable(name) + ".")
		}
	}
	raw, ok := in["ha_chassis_priority"]
	if !ok || string(raw) == "null" {
		return nil, nil
	}
	var n int64
	if json.Unmarshal(raw, &n) != nil || n < 0 || n > maxPriority {
		return nil, fault.InvalidHAChassisPriority(rest.Printable(string(raw)), rest.Printable(c.Parent), fmt.Sprintf("it is a number from 0 to %d.", maxPriority))
	}
	return &n, nil
}

// maxPriority is the highest priority that OVN knows (Gateway_Chassis in its schema).
const maxPriority = 32767

// give places a router on an agent that is made for it.
func (s Schedule) give(ctx context.Context, tx store.WriteTx, r *model.Router, a *model.Agent) error {
	switch m := mode(a); {
	case m == modeDVR || m == modeNoExt:
		return fault.DVRL3CannotAssignToDvrAgent()
	case m == modeLegacy && r.Distributed:
		return fault.RouterL3AgentMismatch(a.ID, r.ID)
	case !a.AdminStateUp || !suits(a, r):
		return fault.InvalidL3Agent(a.ID)
	}
	rows, err := seats(ctx, tx, r.ID)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(rows, func(x seat) bool { return x.host == a.Host }) {
		return nil
	}
	if len(rows) > 0 && !r.HA {
		return fault.RouterHostedByL3Agent(r.ID, rows[0].host)
	}
	if err := s.free(rows, a.HAChassisPriority); err != nil {
		return err
	}
	x, err := s.seat(ctx, tx, r, *a)
	if err != nil {
		return err
	}
	if err := s.bind(ctx, tx, r, append(rows, x)); err != nil {
		return err
	}
	return s.Dirty(ctx, tx, r.ID)
}

// free refuses a priority that another host of the router has; 0 is no priority.
func (s Schedule) free(rows []seat, priority *int64) error {
	if priority != nil && *priority > 0 && slices.ContainsFunc(rows, func(x seat) bool { return x.priority == *priority }) {
		return fault.HAChassisPriorityAlreadyAssigned(*priority)
	}
	return nil
}

// remove takes a router from an agent; one that does not have it is no error. By its next change the router is placed anew. A body is let
// pass: openstacksdk names the router there once more.
func (s Schedule) remove(ctx context.Context, c *rest.Call, router string) error {
	if err := c.May(ctx, "delete_l3-router", nil); err != nil {
		return err
	}
	// A body is let pass: openstacksdk names the resource there once more.
	err := c.Write(ctx, func(tx store.WriteTx) error {
		a, err := s.agent(ctx, tx, c.Parent)
		if err != nil {
			return err
		}
		if m := mode(&a.Agent); m == modeDVR || m == modeNoExt {
			return fault.DVRL3CannotRemoveFromDvrAgent()
		}
		r, err := s.keep(ctx, tx, router)
		if err != nil {
			return err
		}
		rows, err := seats(ctx, tx, r.ID)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(rows, func(x seat) bool { return x.host == a.Host })
		if i < 0 {
			return nil
		}
		if err := s.unseat(ctx, tx, r.ID, rows[i]); err != nil {
			return err
		}
		rows = slices.Delete(rows, i, i+1)
		if err := s.bind(ctx, tx, &r, rows); err != nil {
			return err
		}
		return s.Dirty(ctx, tx, r.ID)
	})
	if err != nil {
		return err
	}
	return c.Answer(http.StatusNoContent, nil)
}

// prefer answers PUT /agents/{id}/l3-routers/{router}: how much the agent is preferred for the router.
func (s Schedule) prefer(ctx context.Context, c *rest.Call, router string) error {
	if err := c.May(ctx, "update_l3-router", nil); err != nil {
		return err
	}
	in, err := c.Object("")
	if err != nil {
		return err
	}
	for _, name := range []string{"router", "l3_router", "agent"} { // clients wrap the attribute in various names
		var inner map[string]json.RawMessage
		if raw, ok := in[name]; ok && json.Unmarshal(raw, &inner) == nil && inner != nil {
			in = inner
			break
		}
	}
	priority, err := priorityOf(c, in, "")
	if err != nil {
		return err
	}
	if priority == nil {
		return fault.HTTPBadRequest("The request body lacks ha_chassis_priority.")
	}
	err = c.Write(ctx, func(tx store.WriteTx) error {
		a, err := s.agent(ctx, tx, c.Parent)
		if err != nil {
			return err
		}
		r, err := s.keep(ctx, tx, router)
		if err != nil {
			return err
		}
		rows, err := seats(ctx, tx, r.ID)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(rows, func(x seat) bool { return x.host == a.Host })
		if i < 0 {
			return fault.RouterNotHostedByL3Agent(r.ID, a.ID)
		}
		if err := s.free(slices.Delete(slices.Clone(rows), i, i+1), priority); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, store.Q("UPDATE router_hosts SET priority = ? WHERE router_id = ? AND host = ?", *priority, r.ID, a.Host)); err != nil {
			return err
		}
		if rows, err = seats(ctx, tx, r.ID); err != nil {
			return err
		}
		if err := s.bind(ctx, tx, &r, rows); err != nil {
			return err
		}
		return s.Dirty(ctx, tx, r.ID)
	})
	if err != nil {
		return err
	}
	return c.Answer(http.StatusOK, map[string]any{"router": map[string]any{"id": router, "ha_chassis_priority": *priority}})
}
