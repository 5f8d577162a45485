package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"isospin/internal/lab/cable"
	"isospin/internal/lab/space"
)

// makeHost makes a host without its agent: the namespace, the cables and, by its mechanism, an Open
// vSwitch or plain devices. Its disk (database of Open vSwitch, the agent's state) is kept when there.
func (l *Lab) makeHost(ctx context.Context, s *state, h *Host) error {
	in := l.space(s, "host", h.Name)
	if err := in.Create(space.Plan{}); err != nil {
		return err
	}
	inside, err := cable.Open(in.NetPath())
	if err != nil {
		return err
	}
	defer inside.Close()
	fabric, err := cable.Open(l.space(s, "fabric", "").NetPath())
	if err != nil {
		return err
	}
	defer fabric.Close()
	if err := inside.Up("lo"); err != nil {
		return err
	}
	for i, c := range cables {
		if !h.has(c.network) {
			continue
		}
		err := cable.Pair(cable.End{In: inside, Name: c.device, MAC: s.hardware(h, i)}, cable.End{In: fabric, Name: port(c.network, h), Bridge: c.network}, 0)
		if err != nil {
			return fmt.Errorf("host %s: %w", h.Name, err)
		}
	}
	if err := inside.Address("mgmt0", s.management(h.Number)); err != nil {
		return err
	}
	if h.Mechanism == OpenVSwitch {
		if err := l.startVSwitch(ctx, s, h); err != nil {
			return fmt.Errorf("host %s: %w", h.Name, err)
		}
	}
	tunnels := s.tunnels(h)
	if err := inside.Address(tunnels, s.underlay(h)); err != nil {
		return err
	}
	return inside.Up(tunnels)
}

// HostCut unplugs a host's cables in the fabric; no networks named: those to the server and to other
// hosts' tunnels (mgmt, underlay).
func (l *Lab) HostCut(_ context.Context, host string, networks ...string) error {
	return l.replug(host, networks, true)
}

// HostMend plugs cables in again; no networks named: all.
func (l *Lab) HostMend(_ context.Context, host string, networks ...string) error {
	return l.replug(host, networks, false)
}

func (l *Lab) replug(host string, networks []string, cut bool) error {
	s, h, err := l.host(host)
	if err != nil {
		return err
	}
	if len(networks) == 0 && cut {
		networks = []string{netManagement, netUnderlay}
	} else if len(networks) == 0 {
		for _, c := range cables {
			networks = append(networks, c.network)
		}
	}
	networks = slices.DeleteFunc(slices.Clone(networks), func(n string) bool { return !h.has(n) })
	fabric, err := cable.Open(l.space(s, "fabric", "").NetPath())
	if err != nil {
		return err
	}
	defer fabric.Close()
	for _, n := range networks {
		set := fabric.Up
		if cut {
			set = fabric.Down
		}
		if err := set(port(n, h)); err != nil {
			return fmt.Errorf("cable of host %s to %s: %w", host, n, err)
		}
	}
	return l.record(func(s *state) {
		h := s.host(host)
		h.Cut = slices.DeleteFunc(h.Cut, func(n string) bool { return slices.Contains(networks, n) })
		if cut {
			h.Cut = append(h.Cut, networks...)
		}
	})
}

// HostStop switches a host off, as by its power button: every process on it ends at once and its
// namespaces go; its disk stays, and so do its guests, without a cable.
func (l *Lab) HostStop(ctx context.Context, host string) error {
	s, h, err := l.host(host)
	if err != nil {
		return err
	}
	return l.powerOff(ctx, s, h)
}

func (l *Lab) powerOff(ctx context.Context, s *state, h *Host) error {
	host := h.Name
	if err := l.endProcesses(ctx, s, h.Name+"/", []space.Space{l.space(s, "host", host)}, ""); err != nil {
		return err
	}
	// The kernel would free the cables later, by itself, and the names of their other ends with them.
	fabric, err := cable.Open(l.space(s, "fabric", "").NetPath())
	if err != nil {
		return err
	}
	defer fabric.Close()
	var errs []error
	for _, c := range cables {
		errs = append(errs, fabric.Remove(port(c.network, h)))
	}
	for _, g := range s.Guests {
		if g.Host == host {
			errs = append(errs, l.endClients(ctx, s, g.Name), l.removeDevice(l.space(s, "guest", g.Name), "eth0"), l.space(s, "between", g.Name).Delete())
		}
	}
	errs = append(errs, l.space(s, "host", host).Delete(), l.record(func(s *state) {
		h := s.host(host)
		h.Off, h.Cut = true, nil
		for _, g := range s.Guests {
			if g.Host == host {
				g.Between = ""
			}
		}
		for name := range s.Procs {
			if ofHost(name, host) {
				delete(s.Procs, name)
			}
		}
	}))
	return errors.Join(errs...)
}

// HostStart switches a stopped host on: Open vSwitch and agent start from what is on its disk, and the
// host's guests are plugged again as Nova does when it resumes guests at boot.
func (l *Lab) HostStart(ctx context.Context, host string) error {
	s, err := l.state()
	if err != nil {
		return err
	}
	h := s.host(host)
	if h == nil {
		return fmt.Errorf("no host is called %q", host)
	}
	if !h.Off {
		return fmt.Errorf("host %s is on", host)
	}
	if err := l.makeHost(ctx, s, h); err != nil {
		return errors.Join(err, l.powerOff(context.WithoutCancel(ctx), s, h))
	}
	if s, err = l.update(func(s *state) error { s.host(host).Off = false; return nil }); err != nil {
		return err
	}
	h = s.host(host)
	if !s.Bare {
		if err := l.startAgent(ctx, s, h); err != nil {
			return err
		}
	}
	var errs []error
	for _, g := range s.Guests {
		if g.Host == host {
			errs = append(errs, l.resume(ctx, s, g))
		}
	}
	return errors.Join(errs...)
}

// host reads the state and finds a host that is on.
func (l *Lab) host(name string) (*state, *Host, error) {
	s, err := l.state()
	if err != nil {
		return nil, nil, err
	}
	h := s.host(name)
	if h == nil {
		return nil, nil, fmt.Errorf("no host is called %q", name)
	}
	if h.Off {
		return nil, nil, fmt.Errorf("host %s is switched off", name)
	}
	return s, h, nil
}

func (l *Lab) removeDevice(in space.Space, device string) error {
	p, err := cable.Open(in.NetPath())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer p.Close()
	return p.Remove(device)
}
