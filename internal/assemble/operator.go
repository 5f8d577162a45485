package assemble

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
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
	Troubled []string         `json:"troubled"`
	// Parked are tasks that were given up, with the reason.
	Parked []string `json:"parked"`
}

// AgentStatus is one agent.
type AgentStatus struct {
	Host      string `json:"host"`
	AgentType string `json:"agent_type"`
	Alive     bool   `json:"alive"`
	AdminUp   bool   `json:"admin_state_up"`
}

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
	for _, st := range []string{"ACTIVE", "BUILD", "DOWN", "ERROR"} {
		if n := s.Ports[st]; n > 0 {
			say("ports %s\t%d", st, n)
		}
	}
	for _, id := range s.Troubled {
		say("bound, not ACTIVE\t%s (isospin why port %s)", id, id)
	}
	for _, t := range s.Parked {
		say("given up\t%s", t)
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
		Unready: s.env.Health.Unready(r.Context()), Ports: map[string]int64{}, Troubled: []string{}, Parked: []string{}}
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
			st.Agents = append(st.Agents, AgentStatus{Host: a.Host, AgentType: a.AgentType, Alive: a.Alive, AdminUp: a.AdminStateUp})
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
		return store.Each(ctx, tx, store.Q("SELECT id FROM ports WHERE host <> '' AND status <> 'ACTIVE' ORDER BY id LIMIT 100"), func(scan func(...any) error) error {
			var id string
			err := scan(&id)
			st.Troubled = append(st.Troubled, id)
			return err
		})
	})
}
