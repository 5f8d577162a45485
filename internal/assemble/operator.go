package assemble

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"

	"isospin/internal/auth"
	"isospin/internal/model"
	"isospin/internal/service/status"
	"isospin/internal/store"
)

// Paths of what operators ask; they are Isospin's own, beside the API.
const (
	StatusPath = "/isospin/status"
	WhyPath    = "/isospin/why/port/"
)

// Status is what runs.
type Status struct {
	Server   string            `json:"server"`
	API      string            `json:"api"`
	Sessions string            `json:"sessions"`
	Database string            `json:"database"`
	Unready  map[string]string `json:"unready"`
	Agents   []AgentStatus     `json:"agents"`
	// Ports counts ports by status; Troubled are bound ports that are not ACTIVE, the first hundred.
	Ports    map[string]int64 `json:"ports"`
	Troubled []TroubledPort   `json:"troubled"`
	// Parked are tasks that were given up, with the reason.
	Parked []string `json:"parked"`
}

// AgentStatus is one agent.
type AgentStatus struct {
	Host      string `json:"host"`
	AgentType string `json:"agent_type"`
	Alive     bool   `json:"alive"`
	AdminUp   bool   `json:"admin_state_up"`
	// Reasons are what keeps the host from being as it should be, in its own words.
	Reasons []string `json:"reasons"`
}

// TroubledPort is a bound port that is not ACTIVE.
type TroubledPort struct {
	ID   string `json:"id"`
	Host string `json:"host"`
	// Reasons are why, as far as they were asked for: of the first twenty ports.
	Reasons []string `json:"reasons"`
}

// explained is of how many troubled ports the status says why.
const explained = 20

// Print writes the status for people, tab separated.
func (s Status) Print(w io.Writer) {
	// A failing writer is told of by the caller's flush.
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }
	say("server\t%s", s.Server)
	say("API\thttp://%s", s.API)
	say("sessions\t%s", s.Sessions)
	say("database\t%s", s.Database)
	for part, why := range s.Unready {
		say("NOT READY\t%s: %s", part, why)
	}
	for _, a := range s.Agents {
		state := "alive"
		if !a.Alive {
			state = "DEAD"
		}
		if !a.AdminUp {
			state += ", administratively down"
		}
		say("%s\t%s, %s", a.Host, a.AgentType, state)
	}
	for host, reasons := range s.reasons() {
		for _, r := range reasons {
			say("%s\tNOT WELL: %s", host, r)
		}
	}
	for _, st := range []string{"ACTIVE", "BUILD", "DOWN", "ERROR"} {
		if n := s.Ports[st]; n > 0 {
			say("ports %s\t%d", st, n)
		}
	}
	for _, p := range s.Troubled {
		why := "isospin why port " + p.ID
		if len(p.Reasons) > 0 {
			why = strings.Join(p.Reasons, "; ")
		}
		say("bound, not ACTIVE\t%s on %s: %s", p.ID, p.Host, why)
	}
	for _, t := range s.Parked {
		say("given up\t%s", t)
	}
}

// reasons are the hosts' words in the order of their names, once although each of a host's agents says them.
func (s Status) reasons() iter.Seq2[string, []string] {
	return func(yield func(string, []string) bool) {
		for i, a := range s.Agents {
			if i > 0 && s.Agents[i-1].Host == a.Host && slices.Equal(s.Agents[i-1].Reasons, a.Reasons) {
				continue
			}
			if !yield(a.Host, a.Reasons) {
				return
			}
		}
	}
}

// Why is what `isospin why port` shows.
type Why struct{ status.Explanation }

// Print writes the explanation for people.
func (y Why) Print(w io.Writer) {
	e := y.Explanation
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) } // the terminal is gone when this fails
	say("port %s %s is %s", e.Port, e.Name, e.Status)
	if e.Host != "" {
		say("  bound to host %s: %s, wiring generation %d", e.Host, e.VIFType, e.Generation)
	}
	for _, b := range e.Bindings {
		if b.Status != model.BindingInactive {
			continue
		}
		switch {
		case b.Wired:
			say("  may move to %s (%s): that host is ready for it", b.Host, b.VIFType)
		case b.VIFType == model.VIFUnbound:
			say("  was on %s, which is no longer bound", b.Host)
		default:
			say("  may move to %s (%s): that host is not ready for it yet", b.Host, b.VIFType)
		}
	}
	for _, r := range e.Reasons {
		say("  because %s", r)
	}
	for _, x := range e.Entities {
		if !x.Required && !x.Said {
			continue
		}
		say("  %s on %s: %s, generation %d %s", x.Entity, x.Host, x.State, x.Generation, x.Detail)
	}
	for i, a := range e.Agents {
		if i > 0 && e.Agents[i-1].Host == a.Host && slices.Equal(e.Agents[i-1].Reasons, a.Reasons) {
			continue
		}
		for _, r := range a.Reasons {
			say("  host %s is not well: %s", a.Host, r)
		}
	}
	if len(e.Reasons) == 0 {
		say("  everybody has done his part")
	}
}

// operators mounts what operators ask, for administrators alone.
func (s *Server) operators(m *Mux) {
	admin := func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			p, err := s.who.Authenticate(r)
			if err != nil {
				auth.Refuse(w, r, s.who, err)
				return
			}
			if !p.HasRole(auth.RoleAdmin) {
				auth.WriteError(w, http.StatusForbidden, "Forbidden", "Only administrators may ask this.")
				return
			}
			h.ServeHTTP(w, r.WithContext(auth.With(r.Context(), p)))
		})
	}
	m.Handle("GET "+WhyPath+"{port}", admin(s.core.Status.WhyHandler()))
	m.Handle("GET "+StatusPath, admin(http.HandlerFunc(s.status)))
}

func (s *Server) status(w http.ResponseWriter, r *http.Request) {
	st := Status{Server: s.cfg.Host.Host, API: s.Address(), Sessions: s.SessionAddress(), Database: s.store.Dialect().Name(),
		Unready: s.env.Health.Unready(r.Context()), Ports: map[string]int64{}, Troubled: []TroubledPort{}, Parked: []string{}}
	if err := s.gather(r.Context(), &st); err != nil {
		s.env.Log.Error("status could not be gathered", "err", err)
		auth.WriteError(w, http.StatusInternalServerError, "Internal Server Error", "The status could not be gathered.")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(st); err != nil {
		s.env.Log.Debug("an answer was not read", "err", err)
	}
}

func (s *Server) gather(ctx context.Context, st *Status) error {
	parked, err := s.store.Parked(ctx)
	if err != nil {
		return err
	}
	for _, t := range parked {
		st.Parked = append(st.Parked, fmt.Sprintf("task %s %s: %s", t.Name, t.Payload, t.Reason))
	}
	return s.store.Read(ctx, func(tx store.Tx) error {
		all, err := s.core.Agents.All(ctx, tx)
		if err != nil {
			return err
		}
		st.Agents = []AgentStatus{}
		for _, a := range all {
			st.Agents = append(st.Agents, AgentStatus{Host: a.Host, AgentType: a.AgentType, Alive: a.Alive, AdminUp: a.AdminStateUp, Reasons: reasonsOf(a.Configurations)})
		}
		slices.SortFunc(st.Agents, func(a, b AgentStatus) int {
			return strings.Compare(a.Host+"\x00"+a.AgentType, b.Host+"\x00"+b.AgentType)
		})
		err = store.Each(ctx, tx, store.Q("SELECT status, COUNT(*) FROM ports GROUP BY status"), func(scan func(...any) error) error {
			var name string
			var n int64
			err := scan(&name, &n)
			st.Ports[name] = n
			return err
		})
		if err != nil {
			return err
		}
		return s.troubled(ctx, tx, st)
	})
}

// troubled finds the ports that somebody waits for, and asks of the first of them why.
func (s *Server) troubled(ctx context.Context, tx store.Tx, st *Status) error {
	q := store.Q("SELECT id, host FROM ports WHERE host <> '' AND status <> 'ACTIVE' ORDER BY id LIMIT 100")
	err := store.Each(ctx, tx, q, func(scan func(...any) error) error {
		p := TroubledPort{Reasons: []string{}}
		err := scan(&p.ID, &p.Host)
		st.Troubled = append(st.Troubled, p)
		return err
	})
	if err != nil {
		return err
	}
	for i := range st.Troubled[:min(explained, len(st.Troubled))] {
		e, err := s.core.Status.Why(ctx, tx, st.Troubled[i].ID)
		if err != nil {
			return err
		}
		st.Troubled[i].Reasons = e.Reasons
	}
	return nil
}
