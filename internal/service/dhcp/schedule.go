package dhcp

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/service/agents"
	"isospin/internal/store"
)

// Schedule is the API of the placing: which agents serve which networks, by an administrator's hand. behaviour.md, section 15.
type Schedule struct{ *Plugin }

// Name is its name.
func (Schedule) Name() string { return "dhcp_agent_scheduler" }

// Bindings are the networks of an agent and the agents of a network.
func (s Schedule) Bindings() []rest.Binding {
	return []rest.Binding{rest.Special("dhcp-networks", rest.HandlerFunc(s.networks)), rest.Special("dhcp-agents", rest.HandlerFunc(s.agents))}
}

// agents answers GET /networks/{id}/dhcp-agents.
func (s Schedule) agents(ctx context.Context, c *rest.Call) error {
	switch {
	case len(c.Rest) > 0:
		return c.Nothing()
	case c.Method != http.MethodGet:
		return c.NotAllowed()
	}
	if err := c.May(ctx, "get_dhcp-agents", nil); err != nil {
		return err
	}
	var list json.RawMessage
	err := c.Read(ctx, func(tx store.Tx) (err error) {
		if err = s.exists(ctx, tx, c.Parent); err != nil {
			return err
		}
		list, err = c.Rows(ctx, tx, "agents", store.And(store.Eq("agent_type", model.AgentDHCP),
			store.Expr("host IN (SELECT host FROM dhcp_hosts WHERE network_id = ?)", c.Parent)))
		return err
	})
	if err != nil {
		return err
	}
	return c.Answer(http.StatusOK, map[string]json.RawMessage{"agents": list})
}

func (s Schedule) exists(ctx context.Context, tx store.Tx, network string) error {
	if rest.Plain(network) {
		_, err := s.Networks.Get(ctx, tx, network)
		if !store.IsNotFound(err) {
			return err
		}
	}
	return fault.NetworkNotFound(rest.Printable(network))
}

// networks answers /agents/{id}/dhcp-networks.
func (s Schedule) networks(ctx context.Context, c *rest.Call) error {
	switch {
	case len(c.Rest) == 0 && c.Method == http.MethodGet:
		return s.list(ctx, c)
	case len(c.Rest) == 0 && c.Method == http.MethodPost:
		return s.add(ctx, c)
	case len(c.Rest) == 1 && c.Method == http.MethodDelete:
		return s.remove(ctx, c, c.Rest[0])
	case len(c.Rest) > 1:
		return c.Nothing()
	}
	return c.NotAllowed()
}

// agent reads an agent; only those that serve DHCP are found.
func (s Schedule) agent(ctx context.Context, tx store.Tx, id string) (agents.Seen, error) {
	if !rest.Plain(id) {
		return agents.Seen{}, fault.AgentNotFound(rest.Printable(id))
	}
	a, err := s.Agents.Agents.Get(ctx, tx, id)
	switch {
	case store.IsNotFound(err):
		err = fault.AgentNotFound(rest.Printable(id))
	case err == nil && a.AgentType != model.AgentDHCP:
		err = fault.InvalidDHCPAgent(id)
	}
	return agents.Seen{Agent: a}, err
}

func (s Schedule) list(ctx context.Context, c *rest.Call) error {
	if err := c.May(ctx, "get_dhcp-networks", nil); err != nil {
		return err
	}
	list := json.RawMessage("[]")
	err := c.Read(ctx, func(tx store.Tx) error {
		a, err := s.agent(ctx, tx, c.Parent)
		if f := fault.Of(err); err != nil && f.Name == "InvalidDHCPAgent" {
			return nil // an agent of another kind serves none
		}
		if err != nil {
			return err
		}
		list, err = c.Rows(ctx, tx, "networks", store.Expr("id IN (SELECT network_id FROM dhcp_hosts WHERE host = ?)", a.Host))
		return err
	})
	if err != nil {
		return err
	}
	return c.Answer(http.StatusOK, map[string]json.RawMessage{"networks": list})
}

// add gives a network to an agent.
func (s Schedule) add(ctx context.Context, c *rest.Call) error {
	if err := c.May(ctx, "create_dhcp-network", nil); err != nil {
		return err
	}
	in, err := c.Object("")
	if err != nil {
		return err
	}
	var network string
	if raw, ok := in["network_id"]; !ok || len(in) != 1 || json.Unmarshal(raw, &network) != nil || network == "" {
		return fault.HTTPBadRequest("The request body has one member, network_id.")
	}
	err = c.Write(ctx, func(tx store.WriteTx) error {
		a, err := s.agent(ctx, tx, c.Parent)
		if err != nil {
			return err
		}
		if !a.AdminStateUp {
			return fault.InvalidDHCPAgent(c.Parent)
		}
		if err := s.keep(ctx, tx, network); err != nil {
			return err
		}
		return s.give(ctx, tx, network, a)
	})
	if err != nil {
		return err
	}
	return c.Answer(http.StatusCreated, nil)
}

// keep locks a network: who places it waits.
func (s Schedule) keep(ctx context.Context, tx store.WriteTx, network string) error {
	if rest.Plain(network) {
		_, err := s.Networks.GetForUpdate(ctx, tx, network)
		if !store.IsNotFound(err) {
			return err
		}
	}
	return fault.NetworkNotFound(rest.Printable(network))
}

func (s Schedule) give(ctx context.Context, tx store.WriteTx, network string, a agents.Seen) error {
	rows, err := hosting(ctx, tx, network)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(rows, func(r row) bool { return r.host == a.Host }) {
		return fault.NetworkHostedByDHCPAgent(network, a.ID)
	}
	if _, err := tx.Exec(ctx, store.Q("DELETE FROM dhcp_refused WHERE network_id = ? AND host = ?", network, a.Host)); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, store.Q("INSERT INTO dhcp_hosts (network_id, host, port_id) VALUES (?, ?, '')", network, a.Host)); err != nil {
		return err
	}
	changed(tx, network, append(rows, row{host: a.Host}))
	subnets, err := s.Subnets.Find(ctx, tx, store.List{Where: store.Eq("network_id", network)})
	if err != nil || !slices.ContainsFunc(subnets, func(s model.Subnet) bool { return s.EnableDHCP }) {
		return err // its first subnet with DHCP finds the agent waiting
	}
	if len(rows) == 0 {
		if err := dirty(ctx, tx, network); err != nil { // ports wait for DHCP from now on
			return err
		}
	}
	return owe(tx, network)
}

// remove takes a network from an agent; by itself it does not come back there.
func (s Schedule) remove(ctx context.Context, c *rest.Call, network string) error {
	if err := c.May(ctx, "delete_dhcp-network", nil); err != nil {
		return err
	}
	// A body is let pass: openstacksdk names the resource there once more.
	err := c.Write(ctx, func(tx store.WriteTx) error {
		a, err := s.agent(ctx, tx, c.Parent)
		if err != nil {
			return err
		}
		if err := s.keep(ctx, tx, network); err != nil {
			return err
		}
		return s.take(ctx, tx, network, a)
	})
	if err != nil {
		return err
	}
	return c.Answer(http.StatusNoContent, nil)
}

func (s Schedule) take(ctx context.Context, tx store.WriteTx, network string, a agents.Seen) error {
	rows, err := hosting(ctx, tx, network)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(rows, func(r row) bool { return r.host == a.Host })
	if at < 0 {
		return fault.NetworkNotHostedByDhcpAgent(network, a.ID)
	}
	if rows[at].port != "" {
		if err := s.Ports.DeletePort(ctx, tx, rows[at].port); err != nil && !store.IsNotFound(err) && !fault.IsNotFound(err) {
			return err
		}
	}
	if _, err := tx.Exec(ctx, store.Q("DELETE FROM dhcp_hosts WHERE network_id = ? AND host = ?", network, a.Host)); err != nil {
		return err
	}
	head, tail := tx.Dialect().InsertIgnore()
	if _, err := tx.Exec(ctx, store.Q(head+" dhcp_refused (network_id, host) VALUES (?, ?) "+tail, network, a.Host)); err != nil {
		return err
	}
	changed(tx, network, rows)
	if len(rows) > 1 {
		return nil
	}
	if err := dirty(ctx, tx, network); err != nil {
		return err
	}
	if s.Recheck != nil {
		return s.Recheck(ctx, tx, network)
	}
	return nil
}

// refused are the hosts that networks are kept off, by network; all networks where none is named. One statement.
func refused(ctx context.Context, tx store.Tx, network string) (map[string][]string, error) {
	q := store.Q("SELECT network_id, host FROM dhcp_refused")
	if network != "" {
		q = store.Q(q.SQL+" WHERE network_id = ?", network)
	}
	out := map[string][]string{}
	err := store.Each(ctx, tx, q, func(scan func(...any) error) error {
		var network, host string
		err := scan(&network, &host)
		out[network] = append(out[network], host)
		return err
	})
	return out, err
}
