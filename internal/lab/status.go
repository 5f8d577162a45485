package lab

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Status is what runs.
type Status struct {
	Name   string `json:"name"`
	Dir    string `json:"dir"`
	API    string `json:"api,omitempty"`
	Auth   string `json:"auth,omitempty"`
	Clouds string `json:"clouds,omitempty"` // clouds.yaml, with the built-in identity
	// Server is "ready", "running" (but not ready), "down"; "" in a bare lab.
	Server string        `json:"server,omitempty"`
	Hosts  []HostStatus  `json:"hosts"`
	Guests []GuestStatus `json:"guests"`
}

// HostStatus is one host's.
type HostStatus struct {
	Name       string   `json:"name"`
	Mechanism  string   `json:"mechanism"`
	Netns      string   `json:"netns"`
	Underlay   string   `json:"underlay"`
	Management string   `json:"management"`
	Power      string   `json:"power"` // "on" or "off"
	Cut        []string `json:"cut,omitempty"`
	Without    []string `json:"without,omitempty"` // physical networks that do not reach it
	// Agent is as Status.Server; Switch is "running", "down", or "" without an Open vSwitch.
	Agent  string `json:"agent,omitempty"`
	Switch string `json:"switch,omitempty"`
}

// GuestStatus is one guest's.
type GuestStatus struct {
	Name   string   `json:"name"`
	Host   string   `json:"host"`
	PortID string   `json:"port_id"`
	MAC    string   `json:"mac"`
	IPs    []string `json:"ips"`
	Netns  string   `json:"netns"`
	Device string   `json:"device"` // on its host
	Booted bool     `json:"booted"` // false: the boot is not done, or was broken off
}

// The states of a daemon.
const (
	stateReady   = "ready"
	stateRunning = "running"
	stateDown    = "down"
)

// Status looks at every process of the lab, and asks server and agents whether they are ready.
func (l *Lab) Status(ctx context.Context) (*Status, error) {
	s, err := l.state()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	st := &Status{Name: s.Name, Dir: l.dir, API: s.API, Auth: s.Auth, Hosts: []HostStatus{}, Guests: []GuestStatus{}}
	if s.Bare {
		st.API, st.Auth = "", ""
	} else {
		st.Server = l.daemonState(ctx, s, "server", http.DefaultClient, "http://"+s.API+"/readyz")
	}
	if s.Auth == "dev" && !s.Bare {
		st.Clouds = l.path("server", "clouds.yaml")
	}
	for _, h := range s.Hosts {
		st.Hosts = append(st.Hosts, l.hostStatus(ctx, s, h))
	}
	for _, g := range s.Guests {
		st.Guests = append(st.Guests, GuestStatus{
			Name: g.Name, Host: g.Host, PortID: g.PortID, MAC: g.MAC, IPs: g.IPs, Netns: g.Netns, Device: g.Plug.Device,
			Booted: g.Plug.Device != "" && l.space(s, "guest", g.Name).Exists(),
		})
	}
	slices.SortFunc(st.Guests, func(a, b GuestStatus) int { return strings.Compare(a.Name, b.Name) })
	return st, nil
}

func (l *Lab) hostStatus(ctx context.Context, s *state, h *Host) HostStatus {
	in := l.space(s, "host", h.Name)
	st := HostStatus{
		Name: h.Name, Mechanism: h.Mechanism, Netns: in.Name, Underlay: s.underlay(h).Addr().String(),
		Management: s.management(h.Number).Addr().String(), Power: "on", Cut: h.Cut, Without: h.Without,
	}
	if h.Off || !in.Exists() {
		st.Power = "off"
	}
	if !s.Bare {
		st.Agent = l.daemonState(ctx, s, h.Name+"/agent", overSocket(l.agentSocket(h.Name)), "http://agent/readyz")
	}
	if h.Mechanism == OpenVSwitch {
		st.Switch = stateDown
		if s.Procs[h.Name+"/vswitch"].Alive() && s.Procs[h.Name+"/ovsdb"].Alive() {
			st.Switch = stateRunning
		}
	}
	return st
}

func (l *Lab) daemonState(ctx context.Context, s *state, name string, c *http.Client, url string) string {
	if !s.Procs[name].Alive() {
		return stateDown
	}
	if code, _, err := get(ctx, c, url); err == nil && code == http.StatusOK {
		return stateReady
	}
	return stateRunning
}

// text is the status as a table.
func (st *Status) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "lab %s in %s\n", st.Name, st.Dir)
	if st.Server != "" {
		fmt.Fprintf(&b, "server   %-8s http://%s  auth %s\n", st.Server, st.API, st.Auth)
	}
	for _, h := range st.Hosts {
		fmt.Fprintf(&b, "host     %-8s %-4s %-12s underlay %s", h.Name, h.Power, h.Mechanism, h.Underlay)
		if h.Switch != "" {
			fmt.Fprintf(&b, "  switch %s", h.Switch)
		}
		if h.Agent != "" {
			fmt.Fprintf(&b, "  agent %s", h.Agent)
		}
		if len(h.Cut) > 0 {
			fmt.Fprintf(&b, "  cut from %s", strings.Join(h.Cut, ", "))
		}
		b.WriteByte('\n')
	}
	for _, g := range st.Guests {
		fmt.Fprintf(&b, "guest    %-8s on %s  port %s  %s  %s", g.Name, g.Host, g.PortID, g.MAC, strings.Join(g.IPs, " "))
		if !g.Booted {
			b.WriteString("  (not booted)")
		}
		b.WriteByte('\n')
	}
	return b.String()
}
