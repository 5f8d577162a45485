package assemble

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"isospin/internal/config"
	"isospin/internal/lifecycle"
	"isospin/internal/ovsdb"
)

// AgentMode says whether `isospin up` runs an agent.
type AgentMode string

// The modes of --agent.
const (
	AgentAuto     AgentMode = "auto"
	AgentOff      AgentMode = "off"
	AgentRequired AgentMode = "required"
)

// ParseAgentMode reads the value of --agent.
func ParseAgentMode(text string) (AgentMode, error) {
	switch m := AgentMode(text); m {
	case AgentAuto, AgentOff, AgentRequired:
		return m, nil
	}
	return "", fmt.Errorf("--agent is auto, off or required, not %q", text)
}

// able tells why this process cannot be an agent; nil when it can.
func able(ctx context.Context, c *config.Agent, env Env) error {
	if os.Geteuid() != 0 {
		return errors.New("it needs root")
	}
	client, err := ovsdb.New(c.OVSDB(), ovsdb.WithClock(env.Clock))
	if err != nil {
		return fmt.Errorf("it needs Open vSwitch: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- client.Run(ctx) }()
	ready := client.Ready(ctx)
	cancel()
	if err := <-ended; err != nil && ready == nil {
		return fmt.Errorf("it needs Open vSwitch: %w", err)
	}
	if ready != nil {
		return fmt.Errorf("it needs Open vSwitch, whose database does not answer at %s", c.OVSDB())
	}
	return nil
}

// Up is `isospin up`: server and agent in one process.
func Up(ctx context.Context, sc *config.Server, ac *config.Agent, mode AgentMode, env Env, out io.Writer) error {
	why := errors.New("it was switched off")
	if mode != AgentOff {
		if why = able(ctx, ac, env); why != nil && mode == AgentRequired {
			return fmt.Errorf("the agent cannot run: %w", why)
		}
	}
	s, err := NewServer(ctx, sc, env)
	if err != nil {
		return err
	}
	g := &lifecycle.Group{Log: env.Log}
	g.Add(s.Parts()...)
	if why == nil {
		a, err := s.ownAgent(ctx, ac)
		if err != nil {
			return errors.Join(fmt.Errorf("the agent cannot run: %w", err), s.Close())
		}
		g.Add(a.Parts()...)
	}
	g.Add(announce(out, s.greeting(why)))
	return errors.Join(g.Run(ctx, Grace), s.Close())
}

// ownAgent enrols this host anew at each start: the credential never leaves the process.
func (s *Server) ownAgent(ctx context.Context, ac *config.Agent) (*Agent, error) {
	e, err := s.keeper.Enrol(ctx, ac.Host.Host, []string{s.SessionAddress()})
	if err != nil {
		return nil, err
	}
	if s.cfg.Isospin.Memory {
		if ac.State.Dir, err = os.MkdirTemp("", "isospin-agent-"); err != nil {
			return nil, fmt.Errorf("folder of the agent's mirror: %w", err)
		}
	} else {
		ac.State.Dir = filepath.Join(ac.State.Dir, "agent")
	}
	if err := stateDir(ac.State.Dir); err != nil {
		return nil, err
	}
	return NewAgent(ac, s.env, e, nil, nil)
}

// place is the URL of a listener for people to copy; nobody can copy "all addresses".
func place(listens string) string {
	at, err := netip.ParseAddrPort(listens)
	if err != nil || !at.Addr().IsUnspecified() {
		return "http://" + listens
	}
	return fmt.Sprintf("http://127.0.0.1:%d and all addresses of this machine", at.Port())
}

// greeting is the line and the two exports that `up` prints when it is ready.
func (s *Server) greeting(agentOff error) string {
	line := "isospin: the API is at " + place(s.Address())
	if agentOff != nil {
		line += fmt.Sprintf(" (no agent on this host: %v)", agentOff)
	} else {
		line += " with an agent on this host"
	}
	if s.identity == nil {
		return line
	}
	return line + "\nexport OS_CLIENT_CONFIG_FILE=" + filepath.Join(s.cfg.State.Dir, "clouds.yaml") + "\nexport OS_CLOUD=isospin"
}
