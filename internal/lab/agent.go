package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"isospin/internal/lab/cloud"
)

// agentConfig is D/hosts/h1/agent.conf.
func (l *Lab) agentConfig(s *state, h *Host) string {
	dir := l.path("hosts", h.Name)
	var b strings.Builder
	fmt.Fprintf(&b, "[DEFAULT]\nhost = %s\n", h.Name)
	b.WriteString("\n[agent]\nextensions = qos\n") // what a lab is for; a file of its own may say otherwise
	fmt.Fprintf(&b, "\n[isospin]\nenrolment = %s/enrolment\nstate_dir = %s/agent\nhttp_listen = unix:%s\n", dir, dir, l.agentSocket(h.Name))
	local := s.underlay(h).Addr()
	if h.Mechanism == LinuxBridge {
		fmt.Fprintf(&b, "l2_agent = linuxbridge\n\n[linux_bridge]\nphysical_interface_mappings = %s\n", h.mappings("eth2", "eth1"))
		fmt.Fprintf(&b, "\n[vxlan]\nenable_vxlan = true\nlocal_ip = %s\n", local)
		return b.String()
	}
	fmt.Fprintf(&b, "ovs_run_dir = %s\n", l.ovsDir(h.Name))
	fmt.Fprintf(&b, "\n[ovs]\nbridge_mappings = %s\nlocal_ip = %s\n", h.mappings("br-public", "br-physnet1"), local)
	fmt.Fprintf(&b, "ovsdb_connection = unix:%s\ndatapath_type = %s\nintegration_bridge = br-int\n", filepath.Join(l.ovsDir(h.Name), "db.sock"), s.Datapath)
	return b.String()
}

func (l *Lab) agentSocket(host string) string { return l.path("hosts", host, "agent.sock") }

// overSocket is a client whose every request goes to a unix socket.
func overSocket(path string) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		},
	}}
}

// startAgent starts a host's agent and returns when it is ready and the API shows it alive; while the
// server is away, or the host cut from it, when it answers at all.
func (l *Lab) startAgent(ctx context.Context, s *state, h *Host) error {
	conf := l.path("hosts", h.Name, "agent.conf")
	if err := writeFile(conf, l.agentConfig(s, h)); err != nil {
		return err
	}
	argv := append([]string{s.Binary, "agent"}, configArgs(conf, s)...)
	ref, err := l.daemon(s, h.Name+"/agent", "agent.log", h, argv...)
	if err != nil {
		return err
	}
	now, err := l.state()
	if err != nil {
		return err
	}
	alone := !now.Procs["server"].Alive() || len(now.host(h.Name).Cut) > 0
	page := "readyz"
	if alone {
		page = "healthz"
	}
	if err := waitReady(ctx, overSocket(l.agentSocket(h.Name)), "http://agent/"+page, ref); err != nil {
		return l.explain(fmt.Errorf("agent of host %s: %w", h.Name, err), "hosts", h.Name, "agent.log")
	}
	if alone {
		return nil
	}
	api, err := l.cloud(ctx, s)
	if err != nil {
		return err
	}
	return waitAlive(ctx, api, h.Name)
}

// waitAlive returns when the API shows a host's agents, all of them alive.
func waitAlive(ctx context.Context, api *cloud.Client, host string) error {
	limit, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		all, alive, err := api.AgentsAlive(limit, host)
		if err != nil {
			return err
		}
		if all > 0 && all == alive {
			return nil
		}
		select {
		case <-limit.Done():
			return fmt.Errorf("host %s: %d of %d agents are alive: %w", host, alive, all, limit.Err())
		case <-time.After(pause):
		}
	}
}

// AgentStart starts a stopped agent and returns when it is ready.
func (l *Lab) AgentStart(ctx context.Context, host string) error {
	s, h, err := l.host(host)
	if err != nil {
		return err
	}
	if s.Bare {
		return errors.New("this lab has no agents")
	}
	if s.Procs[host+"/agent"].Alive() {
		return fmt.Errorf("the agent of host %s is running", host)
	}
	return l.startAgent(ctx, s, h)
}

// AgentStop ends a host's agent in order. What it made in kernel and switch stays.
func (l *Lab) AgentStop(ctx context.Context, host string) error { return l.endAgent(ctx, host, false) }

// AgentKill ends a host's agent at once.
func (l *Lab) AgentKill(ctx context.Context, host string) error { return l.endAgent(ctx, host, true) }

// AgentRestart is stop, if it runs, and start.
func (l *Lab) AgentRestart(ctx context.Context, host string) error {
	if err := l.AgentStop(ctx, host); err != nil {
		return err
	}
	return l.AgentStart(ctx, host)
}

func (l *Lab) endAgent(ctx context.Context, host string, kill bool) error {
	if _, _, err := l.host(host); err != nil {
		return err
	}
	return l.end(ctx, host+"/agent", kill)
}
