package status

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"isospin/internal/auth"
	"isospin/internal/model"
	"isospin/internal/service/agents"
	"isospin/internal/service/ml2"
	"isospin/internal/store"
	"isospin/internal/wire"
)

// Explanation is how a port stands and, when it is not ACTIVE, who has not done its part.
type Explanation struct {
	Port         string `json:"port"`
	Name         string `json:"name"`
	Network      string `json:"network"`
	Status       string `json:"status"`
	AdminStateUp bool   `json:"admin_state_up"`
	Host         string `json:"host"`
	VIFType      string `json:"vif_type"`
	// Generation is the wiring generation that everybody must be done with.
	Generation int64 `json:"generation"`
	Bound      bool  `json:"bound"`
	// Reasons say in sentences what is missing; empty when nothing is.
	Reasons  []string `json:"reasons"`
	Agents   []Agent  `json:"agents"`
	Entities []Entity `json:"entities"`
	// Bindings are the hosts that have the port or wait for it, the one that has it first.
	Bindings []Binding `json:"bindings"`
	// Plugged are the hosts that report an interface of the port.
	Plugged []string `json:"plugged"`
}

// Agent is one agent of a host that has the port or waits for it, or one that serves its DHCP.
type Agent struct {
	Host         string `json:"host"`
	AgentType    string `json:"agent_type"`
	Alive        bool   `json:"alive"`
	AdminStateUp bool   `json:"admin_state_up"`
	Heard        string `json:"heartbeat_timestamp"`
	// Reasons are what keeps the host from being as it should be, in its own words; they may be the port's or not.
	Reasons []string `json:"reasons"`
}

// Entity is one part of the work and what its host said of it.
type Entity struct {
	Entity string `json:"entity"`
	Host   string `json:"host"`
	// Required tells whether the port waits for it.
	Required bool `json:"required"`
	// Said is false when the host has said nothing at all.
	Said       bool   `json:"said"`
	Generation int64  `json:"generation"`
	State      string `json:"state"`
	Detail     string `json:"detail"`
	Done       bool   `json:"done"` // with the present generation
	Alive      bool   `json:"alive"`
}

// Why explains a port; a *store.NotFound when there is none. A constant number of statements.
func (p *Plugin) Why(ctx context.Context, tx store.Tx, id string) (Explanation, error) {
	w := inquiry{Plugin: p}
	err := w.load(ctx, tx, id)
	if err == nil {
		w.binding()
		w.work()
	}
	return w.out, err
}

// inquiry is one Why at work.
type inquiry struct {
	*Plugin
	port     model.Port
	segments []model.Segment
	seen     []agents.Seen
	serves   []string
	words    map[slot]standing
	required []string
	out      Explanation
}

func (w *inquiry) load(ctx context.Context, tx store.Tx, id string) (err error) {
	if w.port, err = w.Ports.Get(ctx, tx, id); err != nil {
		return err
	}
	port := &w.port
	w.out = Explanation{Port: port.ID, Name: port.Name, Network: port.NetworkID, Status: port.Status, AdminStateUp: port.AdminStateUp, Host: port.HostID,
		VIFType: port.VIFType, Generation: port.Wiring, Reasons: []string{}, Agents: []Agent{}, Entities: []Entity{}, Bindings: []Binding{}, Plugged: []string{}}
	levels, err := ml2.LevelsOf(ctx, tx, []string{id})
	if err != nil {
		return err
	}
	w.out.Bound = slices.ContainsFunc(levels[id], func(l model.BindingLevel) bool { return l.Host == port.HostID })
	all, err := ml2.SegmentsOf(ctx, tx, []string{port.NetworkID})
	if err != nil {
		return err
	}
	w.segments = all[port.NetworkID]
	err = pairs(ctx, tx, store.Q("SELECT network_id, host FROM dhcp_hosts WHERE network_id = ? ORDER BY host", port.NetworkID), func(_, host string) { w.serves = append(w.serves, host) })
	if err != nil {
		return err
	}
	if w.seen, err = w.Plugin.Agents.OfHosts(ctx, tx, append(w.hosts(), w.serves...)); err != nil {
		return err
	}
	w.words = map[slot]standing{}
	if err := provisioned(ctx, tx, store.Eq("port_id", id), w.words); err != nil {
		return err
	}
	err = pairs(ctx, tx, store.Q("SELECT port_id, host FROM plugged_interfaces WHERE port_id = ? ORDER BY host", id), func(_, host string) { w.out.Plugged = append(w.out.Plugged, host) })
	if err != nil {
		return err
	}
	entities, err := Entities(ctx, tx, []model.Port{w.port})
	w.required = entities[id]
	if len(w.required) == 0 {
		w.required = []string{wire.EntityL2} // nothing holds the port back, but somebody must say that it is wired
	}
	return err
}

func (w *inquiry) because(format string, args ...any) {
	w.out.Reasons = append(w.out.Reasons, fmt.Sprintf(format, args...))
}

// binding explains why the port is bound to no segment.
func (w *inquiry) binding() {
	switch {
	case w.port.HostID == "":
		w.because("the port has no host (binding:host_id is empty), so nobody wires it")
		return
	case w.out.Bound:
		return
	case w.port.VNICType != model.VNICNormal:
		w.because("no driver binds binding:vnic_type %s on host %s", w.port.VNICType, w.port.HostID)
		return
	}
	any := false
	for _, s := range w.seen {
		if s.Host != w.port.HostID || s.AgentType != model.AgentOVS && s.AgentType != model.AgentLinuxBridge {
			continue
		}
		any = true
		switch {
		case !s.Alive:
			w.because("the %s of host %s is not alive: it was last heard at %s", s.AgentType, s.Host, model.AgentStamp(s.Heard))
		case !s.AdminStateUp:
			w.because("the %s of host %s is administratively down", s.AgentType, s.Host)
		default:
			for _, seg := range w.segments {
				w.carries(s, seg)
			}
		}
	}
	if !any {
		w.because("host %s has no %s and no %s: no agent of it ever opened a session", w.port.HostID, model.AgentOVS, model.AgentLinuxBridge)
	}
}

// carries says what keeps an agent from carrying a segment.
func (w *inquiry) carries(s agents.Seen, seg model.Segment) {
	conf := s.Configurations
	switch seg.NetworkType {
	case model.TypeLocal:
		return
	case model.TypeFlat, model.TypeVLAN:
		option := "bridge_mappings"
		if s.AgentType == model.AgentLinuxBridge {
			option = "interface_mappings"
		}
		if m, ok := conf[option].(map[string]any); !ok || m[seg.PhysicalNetwork] == nil {
			w.because("the %s of host %s has no %s for physical network %s", s.AgentType, s.Host, option, seg.PhysicalNetwork)
		}
		return
	}
	if ip, ok := conf["tunneling_ip"].(string); !ok || ip == "" {
		w.because("the %s of host %s has no address for tunnels (local_ip), and the network is a %s", s.AgentType, s.Host, seg.NetworkType)
		return
	}
	types, _ := conf["tunnel_types"].([]any)
	if !slices.Contains(types, any(seg.NetworkType)) {
		w.because("the %s of host %s ends no tunnels of type %s (tunnel_types)", s.AgentType, s.Host, seg.NetworkType)
	}
}

// work explains who has not done its part.
func (w *inquiry) work() {
	alive := map[[2]string]bool{}
	for _, s := range w.seen {
		entity := wire.EntityL2
		if s.AgentType == model.AgentDHCP {
			entity = wire.EntityDHCP
		}
		alive[[2]string{entity, s.Host}] = alive[[2]string{entity, s.Host}] || s.Alive
		w.out.Agents = append(w.out.Agents, Agent{Host: s.Host, AgentType: s.AgentType, Alive: s.Alive, AdminStateUp: s.AdminStateUp, Heard: model.AgentStamp(s.Heard), Reasons: reasons(s.Configurations)})
	}
	asked := map[slot]bool{}
	if w.port.HostID != "" {
		asked[slot{w.port.ID, wire.EntityL2, w.port.HostID}] = true
	}
	w.bindings()
	if slices.Contains(w.required, wire.EntityDHCP) {
		for _, host := range w.serves {
			asked[slot{w.port.ID, wire.EntityDHCP, host}] = true
		}
	}
	for k := range w.words {
		if _, known := asked[k]; !known {
			asked[k] = false // said without being asked, as by the host that the port was on before
		}
	}
	anyDHCP := false
	for k, required := range asked {
		v, said := w.words[k]
		e := Entity{Entity: k.entity, Host: k.host, Required: required, Said: said, Generation: v.generation, State: wire.State(v.state).String(), Detail: v.detail,
			Done: said && v.state == int64(wire.State_DONE) && v.generation == w.port.Wiring, Alive: alive[[2]string{k.entity, k.host}]}
		w.out.Entities = append(w.out.Entities, e)
		anyDHCP = anyDHCP || e.Done && e.Entity == wire.EntityDHCP
	}
	slices.SortFunc(w.out.Entities, func(a, b Entity) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Entity, b.Entity), cmp.Compare(a.Host, b.Host))
	})
	if !w.out.Bound || w.port.Status == model.StatusActive {
		return
	}
	if v := w.words[slot{w.port.ID, wire.EntityMirror, w.port.HostID}]; v.state == int64(wire.State_FAILED) {
		w.because("host %s cannot read the port's document: %s", w.port.HostID, v.detail)
	}
	for _, e := range w.out.Entities {
		if e.Required && !e.Done && !(e.Entity == wire.EntityDHCP && anyDHCP) {
			w.lacks(e)
		}
	}
	if !w.port.AdminStateUp {
		w.because("admin_state_up is false")
	}
}

// reasons are what an agent says of itself under "reasons"; agents that say nothing have none.
func reasons(configurations map[string]any) []string {
	out := []string{}
	list, _ := configurations["reasons"].([]any)
	for _, v := range list {
		if text, ok := v.(string); ok {
			out = append(out, text)
		}
	}
	return out
}

// rank puts L2 first, without which nothing works.
func rank(e Entity) int {
	if e.Entity == wire.EntityL2 {
		return 0
	}
	return 1
}

// lacks says why one entity is not done.
func (w *inquiry) lacks(e Entity) {
	switch {
	case !e.Alive:
		w.because("%s on host %s is not done, and its agent is not alive", e.Entity, e.Host)
	case e.Said && e.State == wire.State_FAILED.String():
		w.because("%s on host %s failed: %s", e.Entity, e.Host, e.Detail)
	case e.Said && e.State == wire.State_UNPLUGGED.String() && e.Detail != "": // what it stands on is away, or switched off
		w.because("%s on host %s: %s", e.Entity, e.Host, e.Detail)
	case e.Said && e.State == wire.State_UNPLUGGED.String() || e.Entity == wire.EntityL2 && !slices.Contains(w.out.Plugged, e.Host):
		w.because("no interface of the port is plugged on host %s", e.Host)
	case e.Said && e.Generation < w.port.Wiring:
		w.because("%s on host %s is done with generation %d and not yet with %d", e.Entity, e.Host, e.Generation, w.port.Wiring)
	case e.Said:
		w.because("%s on host %s is at work: %s", e.Entity, e.Host, e.Detail)
	default:
		w.because("%s on host %s has said nothing of the port", e.Entity, e.Host)
	}
}

// WhyHandler answers GET with the explanation of the port whose id is the path value "port", to administrators alone. Whoever
// mounts it has put the caller's principal into the context.
func (p *Plugin) WhyHandler() http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		caller := auth.From(r.Context())
		if caller == nil || !caller.HasRole(auth.RoleAdmin) {
			http.Error(rw, `{"error": "administrators only"}`, http.StatusForbidden)
			return
		}
		var e Explanation
		err := p.Store.Read(r.Context(), func(tx store.Tx) (err error) {
			e, err = p.Why(r.Context(), tx, r.PathValue("port"))
			return err
		})
		if store.IsNotFound(err) {
			http.Error(rw, `{"error": "there is no such port"}`, http.StatusNotFound)
			return
		}
		if err != nil {
			p.Log.Error("a port could not be explained", "port", r.PathValue("port"), "err", err)
			http.Error(rw, `{"error": "internal"}`, http.StatusInternalServerError)
			return
		}
		rw.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(rw).Encode(e); err != nil {
			p.Log.Debug("an answer was not read", "err", err)
		}
	})
}
