package lab

import (
	"context"
	"errors"
	"fmt"
	"time"

	"isospin/internal/lab/cable"
	"isospin/internal/lab/cloud"
	"isospin/internal/lab/space"
)

// Migrate moves a guest to another host while it runs: its connections live on. The order is Nova's: the port
// gets a second binding, the new host is plugged and says that it could take the guest, then the binding becomes
// the active one and the guest's cable goes there, it announces itself as QEMU does, and the old host is cleaned.
// An API without bindings gets the new host_id instead. What fails before the guest has left leaves it where it was.
func (l *Lab) Migrate(ctx context.Context, name, to string) (*Guest, error) {
	s, target, err := l.host(to)
	if err != nil {
		return nil, err
	}
	g, ok := s.Guests[name]
	if !ok {
		return nil, fmt.Errorf("no guest is called %q", name)
	}
	source := s.host(g.Host)
	if source.Name == to || source.Off {
		return nil, fmt.Errorf("guest %s is on host %s, which is the target or off", name, source.Name)
	}
	api, err := l.cloud(ctx, s)
	if err != nil {
		return nil, err
	}
	m := &migration{Lab: l, s: s, api: api, was: g, source: source, target: target}
	defer m.close()
	if err := m.prepare(ctx); err != nil {
		after, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
		defer cancel()
		return nil, errors.Join(fmt.Errorf("migrate %s: %w", name, err), m.undo(after))
	}
	if err := m.leave(ctx); err != nil {
		return nil, fmt.Errorf("migrate %s: %w", name, err)
	}
	return m.now, m.settle(ctx)
}

// migration is one Migrate at work.
type migration struct {
	*Lab
	s              *state
	api            *cloud.Client
	was, now       *Guest
	source, target *Host

	several                  bool // the API has bindings, and the port one more by us
	guest, between, old, new *cable.Place
}

func (m *migration) close() {
	for _, p := range []*cable.Place{m.guest, m.between, m.old, m.new} {
		if p != nil {
			p.Close()
		}
	}
}

// prepare does all that can be done while the guest is where it is.
func (m *migration) prepare(ctx context.Context) error {
	plug, err := m.bind(ctx)
	if err != nil {
		return err
	}
	moved := *m.was
	moved.Host, moved.Plug, moved.Between = m.target.Name, plug, fmt.Sprintf("host%d", m.target.Number)
	m.now = &moved
	if err := m.open(); err != nil {
		return err
	}
	if err := m.new.Remove(plug.Device); err != nil {
		return err
	}
	if err := m.between.Remove(moved.Between); err != nil {
		return err
	}
	if err := cable.Pair(cable.End{In: m.new, Name: plug.Device}, cable.End{In: m.between, Name: moved.Between}, plug.MTU); err != nil {
		return err
	}
	if err := m.attach(ctx, m.s, m.target, m.now, m.new); err != nil {
		return err
	}
	if !m.several {
		return nil
	}
	_, err = m.api.WaitWired(ctx, m.was.PortID, m.target.Name, time.Minute)
	return err
}

// bind binds the port to the new host, besides the old one where the API can.
func (m *migration) bind(ctx context.Context) (Plug, error) {
	id, to := m.was.PortID, m.target.Name
	port, err := m.api.Port(ctx, id)
	if err != nil {
		return Plug{}, err
	}
	network, err := m.api.Network(ctx, port.Network)
	if err != nil {
		return Plug{}, err
	}
	b, several, err := m.api.AddBinding(ctx, id, to)
	if err != nil {
		return Plug{}, err
	}
	m.several = several
	if several {
		port.VIFType, port.VIFDetails = b.VIFType, b.VIFDetails
	} else if port, err = m.api.Move(ctx, id, to); err != nil {
		return Plug{}, err
	}
	if port.VIFType != "ovs" && port.VIFType != "bridge" {
		return Plug{}, fmt.Errorf("port %s cannot be bound to host %s: vif_type is %q", id, to, port.VIFType)
	}
	return plugOf(port, network), nil
}

// open opens the places, and makes the one between guest and hosts if the guest was never moved. In it a bridge holds
// the guest's cable and that to its host: a guest of QEMU's has a device on each host, one of which it speaks through.
func (m *migration) open() (err error) {
	in := m.space(m.s, "between", m.was.Name)
	if !in.Exists() {
		if err := in.Create(space.Plan{Sysctl: wiresOnly()}); err != nil {
			return err
		}
	}
	for _, p := range []struct {
		at   **cable.Place
		path string
	}{
		{&m.between, in.NetPath()}, {&m.guest, m.space(m.s, "guest", m.was.Name).NetPath()},
		{&m.old, m.space(m.s, "host", m.source.Name).NetPath()}, {&m.new, m.space(m.s, "host", m.target.Name).NetPath()},
	} {
		if *p.at, err = cable.Open(p.path); err != nil {
			return err
		}
	}
	return m.between.Bridge("nic")
}

// undo takes back what prepare did.
func (m *migration) undo(ctx context.Context) error {
	var errs []error
	if m.now != nil && m.new != nil {
		errs = append(errs, m.unplug(ctx, m.s, m.target, m.now))
	}
	if m.was.Between == "" {
		errs = append(errs, m.space(m.s, "between", m.was.Name).Delete())
	}
	if m.several {
		errs = append(errs, m.api.DropBinding(ctx, m.was.PortID, m.target.Name))
	}
	return errors.Join(errs...)
}

// leave is the moment of the move.
func (m *migration) leave(ctx context.Context) error {
	if m.several {
		if err := m.api.Activate(ctx, m.was.PortID, m.target.Name); err != nil {
			return errors.Join(err, m.undo(ctx))
		}
	}
	if err := m.swap(ctx); err != nil {
		return err
	}
	// From here on the guest is at its new host, whatever the API says next.
	err := m.guest.Announce("eth0")
	return errors.Join(err, m.record(func(s *state) { s.Guests[m.now.Name] = m.now }))
}

// swap changes the cable. The first time its end comes from the host into the place between.
func (m *migration) swap(ctx context.Context) error {
	device := m.was.Plug.Device
	if m.was.Between != "" {
		if err := m.between.Leave(m.was.Between); err != nil {
			return err
		}
		return m.between.Join(m.now.Between, "nic")
	}
	if err := m.between.Join(m.now.Between, "nic"); err != nil {
		return err
	}
	if err := m.unhook(ctx); err != nil {
		return err
	}
	if err := m.old.Send(device, m.between); err != nil {
		return err
	}
	return m.between.Join(device, "nic")
}

// unhook takes the device out of the old host's switch.
func (m *migration) unhook(ctx context.Context) error {
	if m.was.Plug.Type != "ovs" {
		return nil
	}
	return m.vsctl(ctx, m.s, m.source, "--", "--if-exists", "del-port", m.was.Plug.Bridge, m.was.Plug.Device)
}

// settle waits for the new host's word and cleans the old one.
func (m *migration) settle(ctx context.Context) error {
	var errs []error
	if m.was.Between != "" {
		errs = append(errs, m.unhook(ctx), m.between.Remove(m.was.Between))
	}
	_, err := m.api.WaitActive(ctx, m.was.PortID, time.Minute)
	errs = append(errs, err)
	if m.several {
		errs = append(errs, m.api.DropBinding(ctx, m.was.PortID, m.source.Name))
	}
	return errors.Join(errs...)
}
