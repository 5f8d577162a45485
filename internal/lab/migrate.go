package lab

import (
	"context"
	"errors"
	"fmt"
	"time"

	"isospin/internal/lab/cable"
	"isospin/internal/lab/cloud"
)

// Migrate moves a guest to another host while it runs: its connections live on. The port gets a second
// binding there, which becomes the active one with the move, as in Nova's live migration; an API without
// bindings gets the new host_id. The cable itself is moved, so that eth0 keeps addresses and routes; the
// guest then announces itself, as QEMU does.
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
	plug, several, err := l.prepare(ctx, api, g, to)
	if err != nil {
		return nil, err
	}
	if err := l.carry(ctx, s, source, target, g, plug); err != nil {
		return nil, err
	}
	moved := *g
	moved.Host, moved.Plug = to, plug
	// From here on the guest is at its new host, whatever the API says next.
	if err := l.record(func(s *state) { s.Guests[name] = &moved }); err != nil {
		return nil, err
	}
	if several {
		if err := api.Activate(ctx, g.PortID, to); err != nil {
			return nil, err
		}
	}
	if _, err := api.WaitActive(ctx, g.PortID, time.Minute); err != nil {
		return nil, err
	}
	guest, err := cable.Open(l.space(s, "guest", name).NetPath())
	if err != nil {
		return nil, err
	}
	defer guest.Close()
	err = guest.Announce("eth0")
	if several {
		err = errors.Join(err, api.DropBinding(ctx, g.PortID, source.Name))
	}
	return &moved, err
}

// prepare binds the port to the new host, besides the old one where the API can.
func (l *Lab) prepare(ctx context.Context, api *cloud.Client, g *Guest, to string) (Plug, bool, error) {
	port, err := api.Port(ctx, g.PortID)
	if err != nil {
		return Plug{}, false, err
	}
	network, err := api.Network(ctx, port.Network)
	if err != nil {
		return Plug{}, false, err
	}
	b, several, err := api.AddBinding(ctx, g.PortID, to)
	if err != nil {
		return Plug{}, false, err
	}
	if several {
		port.VIFType, port.VIFDetails = b.VIFType, b.VIFDetails
	} else if port, err = api.Move(ctx, g.PortID, to); err != nil {
		return Plug{}, false, err
	}
	if port.VIFType != "ovs" && port.VIFType != "bridge" {
		err = fmt.Errorf("port %s cannot be bound to host %s: vif_type is %q", port.ID, to, port.VIFType)
		if several {
			err = errors.Join(err, api.DropBinding(ctx, g.PortID, to))
		}
		return Plug{}, false, err
	}
	return plugOf(port, network), several, nil
}

// carry moves the host's end of a guest's cable.
func (l *Lab) carry(ctx context.Context, s *state, from, to *Host, g *Guest, plug Plug) error {
	old, err := cable.Open(l.space(s, "host", from.Name).NetPath())
	if err != nil {
		return err
	}
	defer old.Close()
	host, err := cable.Open(l.space(s, "host", to.Name).NetPath())
	if err != nil {
		return err
	}
	defer host.Close()
	if g.Plug.Type == "ovs" {
		if err := l.vsctl(ctx, s, from, "--", "--if-exists", "del-port", g.Plug.Bridge, g.Plug.Device); err != nil {
			return err
		}
	}
	if err := old.Send(g.Plug.Device, host); err != nil {
		return err
	}
	moved := *g
	moved.Plug = plug
	return l.attach(ctx, s, to, &moved, host)
}
