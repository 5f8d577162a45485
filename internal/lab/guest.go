package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"isospin/internal/ident"
	"isospin/internal/lab/cable"
	"isospin/internal/lab/cloud"
	"isospin/internal/lab/space"
)

// stopGrace is how long a daemon may take to end in order.
const stopGrace = 15 * time.Second

// BootOptions say what guest to boot.
type BootOptions struct {
	Name string
	Host string
	// Network (name or id) gets a new port for the guest; or Port (name or id) is taken.
	Network, Port string
	// NoDHCP sets addresses, routes and MTU from the API, as a config drive would.
	NoDHCP bool
	// Timeout bounds the wait for ACTIVE, and that for addresses; 0: a minute each.
	Timeout time.Duration
}

// Guest is a booted one: a network namespace with the interface eth0.
type Guest struct {
	Name   string   `json:"name"`
	PortID string   `json:"port_id"`
	MAC    string   `json:"mac"`
	IPs    []string `json:"ips"`
	Host   string   `json:"host"`
	// Netns is the guest's network namespace by its name in /run/netns.
	Netns string `json:"netns"`
	// Plug is how its host holds it.
	Plug Plug `json:"plug"`
	// Between is set once the guest was moved: its cable ends in a place of its own, and this device there is the end of the
	// one to its host.
	Between string `json:"between,omitempty"`
	// Device is the guest's id towards the API.
	Device string `json:"device_id"`
	// Owned: the lab made the port, and deletes it with the guest.
	Owned bool `json:"owned"`
	// Setup is what eth0 needs once it has a cable.
	Setup Setup `json:"setup"`
}

// Plug is what os-vif is told of a port.
type Plug struct {
	Device string `json:"device"` // tap...
	Type   string `json:"type"`   // vif_type: ovs or bridge
	Bridge string `json:"bridge"` // br-int or brq...
	MTU    int    `json:"mtu"`    // of the network
	Via    string `json:"netdev"` // datapath_type of the bridge, "" for the kernel's
}

// Setup is how a guest gets its addresses.
type Setup struct {
	DHCP4  bool         `json:"dhcp4"`
	DHCP6  bool         `json:"dhcp6"`
	Await  []netip.Addr `json:"await,omitempty"` // addresses that the guest makes itself from router advertisements
	Static []Static     `json:"static,omitempty"`
}

// Static is one address with what its subnet says.
type Static struct {
	Address netip.Prefix      `json:"address"`
	Gateway string            `json:"gateway,omitempty"`
	Routes  []cloud.HostRoute `json:"routes,omitempty"`
}

// summary is what `lab boot` prints.
func (g *Guest) summary() map[string]any {
	return map[string]any{"name": g.Name, "port_id": g.PortID, "mac": g.MAC, "ips": g.IPs, "host": g.Host, "netns": g.Netns}
}

// Boot makes a guest as Nova does: a port bound to the host, a cable as os-vif would plug it, the wait
// for ACTIVE, and then a DHCP client inside. On error nothing of the guest remains, and a port that was
// made for it neither.
func (l *Lab) Boot(ctx context.Context, o BootOptions) (*Guest, error) {
	s, h, err := l.host(o.Host)
	if err != nil {
		return nil, err
	}
	if !validName.MatchString(o.Name) || reserved(o.Name) || s.host(o.Name) != nil {
		return nil, fmt.Errorf("guest name %q is not valid, reserved or a host's", o.Name)
	}
	if (o.Network == "") == (o.Port == "") {
		return nil, errors.New("give a network or a port, one of them")
	}
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
	g := &Guest{Name: o.Name, Host: o.Host, Device: ident.Random{}.UUID(), Netns: l.space(s, "guest", o.Name).Name}
	// The name is taken in the state before anything is made, so that a second boot of it is refused.
	s, err = l.update(func(s *state) error {
		if _, taken := s.Guests[o.Name]; taken {
			return fmt.Errorf("a guest is called %q already", o.Name)
		}
		s.Guests[o.Name] = g
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := l.boot(ctx, s, h, g, o); err != nil {
		after, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
		defer cancel()
		return nil, errors.Join(fmt.Errorf("boot %s: %w", o.Name, err), l.delete(after, g))
	}
	return g, nil
}

func (l *Lab) boot(ctx context.Context, s *state, h *Host, g *Guest, o BootOptions) error {
	made := make(chan error, 1)
	go func() { made <- l.makeGuest(s, g) }() // While the API works.
	api, port, err := l.obtain(ctx, s, g, o)
	if err = errors.Join(err, <-made); err != nil {
		return err
	}
	if err := l.record(func(s *state) { s.Guests[g.Name] = g }); err != nil {
		return err
	}
	if err := l.plug(ctx, s, h, g); err != nil {
		return err
	}
	if _, err := api.WaitActive(ctx, port.ID, o.Timeout); err != nil {
		return err
	}
	if err := l.configure(ctx, s, g, o.Timeout); err != nil {
		return err
	}
	return l.record(func(s *state) { s.Guests[g.Name] = g })
}

// obtain gets the guest's port from the API, bound to its host, and all that must be known of it.
func (l *Lab) obtain(ctx context.Context, s *state, g *Guest, o BootOptions) (*cloud.Client, cloud.Port, error) {
	api, err := l.cloud(ctx, s)
	if err != nil {
		return nil, cloud.Port{}, err
	}
	plug := cloud.Plug{Device: g.Device, Host: o.Host}
	var port cloud.Port
	var network cloud.Network
	if o.Port != "" {
		if port, err = api.FindPort(ctx, o.Port); err == nil {
			port, err = api.Bind(ctx, port.ID, plug)
		}
		if err == nil {
			g.PortID = port.ID
			network, err = api.Network(ctx, port.Network)
		}
	} else if network, err = api.Network(ctx, o.Network); err == nil {
		if port, err = api.Create(ctx, network, o.Name, plug); err == nil {
			g.PortID, g.Owned = port.ID, true
		}
	}
	if err != nil {
		return nil, port, err
	}
	if port.VIFType == "binding_failed" || port.VIFType == "unbound" || port.VIFType == "" {
		return nil, port, fmt.Errorf("port %s is not bound to host %s: vif_type is %q", port.ID, o.Host, port.VIFType)
	}
	g.MAC = port.MAC
	g.Plug = plugOf(port, network)
	for _, ip := range port.FixedIPs {
		g.IPs = append(g.IPs, ip.IP.String())
	}
	g.Setup, err = setupOf(ctx, api, port, o.NoDHCP)
	return api, port, err
}

// plugOf reads what Nova would hand to os-vif out of a bound port. Names are Nova's: see DESIGN on
// contracts with others.
func plugOf(p cloud.Port, n cloud.Network) Plug {
	plug := Plug{Device: "tap" + p.ID[:11], Type: p.VIFType, Bridge: "br-int", MTU: n.MTU}
	if p.VIFType == "bridge" {
		plug.Bridge = "brq" + n.ID[:11]
	}
	if b, ok := p.VIFDetails["bridge_name"].(string); ok && b != "" {
		plug.Bridge = b
	}
	plug.Via, _ = p.VIFDetails["datapath_type"].(string)
	return plug
}

// setupOf decides how each address of a port comes to the guest.
func setupOf(ctx context.Context, api *cloud.Client, p cloud.Port, static bool) (Setup, error) {
	var s Setup
	subnets, err := api.Subnets(ctx, p.Network)
	if err != nil {
		return s, err
	}
	byID := map[string]cloud.Subnet{}
	for _, sub := range subnets {
		byID[sub.ID] = sub
	}
	var routed map[string]bool
	for _, ip := range p.FixedIPs {
		sub, ok := byID[ip.Subnet]
		switch {
		case !ok:
			return s, fmt.Errorf("subnet %s of port %s is not to be seen", ip.Subnet, p.ID)
		case static:
			s.Static = append(s.Static, Static{netip.PrefixFrom(ip.IP, sub.CIDR.Bits()), sub.Gateway, sub.HostRoutes})
		case ip.IP.Is4():
			s.DHCP4 = s.DHCP4 || sub.DHCP
		case sub.AddrMode == "dhcpv6-stateful":
			s.DHCP6 = true
		case sub.AddrMode != "" && sub.RAMode != "":
			// Without a router nobody advertises, and there is nothing to wait for.
			if routed == nil {
				ids, err := api.Routed(ctx, p.Network)
				if err != nil {
					return s, err
				}
				routed = map[string]bool{}
				for _, id := range ids {
					routed[id] = true
				}
			}
			if routed[sub.ID] {
				s.Await = append(s.Await, ip.IP)
			}
		}
	}
	return s, nil
}

// makeGuest makes a guest's namespace. IPv6 is off on eth0 until the port is ACTIVE: its first router
// solicitation would be lost, and the next comes after four seconds. Duplicate address detection is off,
// since it would be the longest part of a boot.
func (l *Lab) makeGuest(s *state, g *Guest) error {
	resolv := l.path("guests", g.Name, "resolv.conf")
	if err := writeFile(resolv, ""); err != nil {
		return err
	}
	in := l.space(s, "guest", g.Name)
	err := in.Create(space.Plan{
		Bind: map[string]string{"/etc/resolv.conf": resolv},
		Sysctl: map[string]string{
			"net/ipv6/conf/default/disable_ipv6": "1", "net/ipv6/conf/default/dad_transmits": "0",
			"net/ipv6/conf/default/router_solicitation_delay": "0",
		},
	})
	if err != nil {
		return err
	}
	inside, err := cable.Open(in.NetPath())
	if err != nil {
		return err
	}
	defer inside.Close()
	if err := in.Sysctl(map[string]string{"net/ipv6/conf/lo/disable_ipv6": "0"}); err != nil {
		return err
	}
	return inside.Up("lo")
}

// plug lays the cable between a guest and its host and plugs it as os-vif does.
func (l *Lab) plug(ctx context.Context, s *state, h *Host, g *Guest) error {
	mac, err := net.ParseMAC(g.MAC)
	if err != nil {
		return fmt.Errorf("MAC address of port: %w", err)
	}
	guest, err := cable.Open(l.space(s, "guest", g.Name).NetPath())
	if err != nil {
		return err
	}
	defer guest.Close()
	host, err := cable.Open(l.space(s, "host", h.Name).NetPath())
	if err != nil {
		return err
	}
	defer host.Close()
	if err := host.Remove(g.Plug.Device); err != nil {
		return err
	}
	err = cable.Pair(cable.End{In: host, Name: g.Plug.Device}, cable.End{In: guest, Name: "eth0", MAC: mac}, 0)
	if err != nil {
		return err
	}
	return l.attach(ctx, s, h, g, host)
}

// attach puts the host's end of a guest's cable into its bridge.
func (l *Lab) attach(ctx context.Context, s *state, h *Host, g *Guest, host *cable.Place) error {
	if g.Plug.MTU > 0 {
		if err := host.MTU(g.Plug.Device, g.Plug.MTU); err != nil {
			return err
		}
	}
	switch g.Plug.Type {
	case "ovs":
		return l.vsctl(ctx, s, h, g.Plug.ovsArgs(g)...)
	case "bridge":
		if err := host.Bridge(g.Plug.Bridge); err != nil {
			return err
		}
		return host.Join(g.Plug.Device, g.Plug.Bridge)
	}
	return fmt.Errorf("vif_type %q is not one that the lab can plug", g.Plug.Type)
}

// ovsArgs is os-vif's plug of an interface into Open vSwitch (vif_plug_ovs/ovsdb/ovsdb_lib.py): the port
// is made anew, so that nothing of a former life stays.
func (p Plug) ovsArgs(g *Guest) []string {
	args := []string{"--", "--may-exist", "add-br", p.Bridge}
	if p.Via != "" && p.Via != "system" {
		args = append(args, "--", "set", "Bridge", p.Bridge, "datapath_type="+p.Via)
	}
	return append(args, "--", "--if-exists", "del-port", p.Bridge, p.Device, "--", "add-port", p.Bridge, p.Device,
		"--", "set", "Interface", p.Device, "external_ids:iface-id="+g.PortID, "external_ids:iface-status=active",
		"external_ids:attached-mac="+quote(g.MAC), "external_ids:vm-uuid="+g.Device)
}

// quote makes one value of a text with colons for ovs-vsctl.
func quote(text string) string {
	b, _ := json.Marshal(text) // A string always has a JSON form.
	return string(b)
}

// unplug takes a guest's cable out of its host; one that is out already is not an error.
func (l *Lab) unplug(ctx context.Context, s *state, h *Host, g *Guest) error {
	if g.Plug.Device == "" || h.Off {
		return nil
	}
	var err error
	if g.Plug.Type == "ovs" && s.Procs[h.Name+"/ovsdb"].Alive() {
		err = l.vsctl(ctx, s, h, "--", "--if-exists", "del-port", g.Plug.Bridge, g.Plug.Device)
	}
	return errors.Join(err, l.removeDevice(l.space(s, "host", h.Name), g.Plug.Device))
}

// Delete removes a guest, and its port when the lab made it; a port that was brought is unbound.
func (l *Lab) Delete(ctx context.Context, name string) error {
	s, err := l.state()
	if err != nil {
		return err
	}
	g, ok := s.Guests[name]
	if !ok {
		return fmt.Errorf("no guest is called %q", name)
	}
	return l.delete(ctx, g)
}

// delete goes on past a part that fails, so that a second delete has less to do.
func (l *Lab) delete(ctx context.Context, g *Guest) error {
	s, err := l.state()
	if err != nil {
		return err
	}
	in := l.space(s, "guest", g.Name)
	errs := []error{l.endProcesses(ctx, s, g.Name+"/", []space.Space{in}, "")}
	if h := s.host(g.Host); h != nil {
		errs = append(errs, l.unplug(ctx, s, h, g))
	}
	errs = append(errs, in.Delete(), l.space(s, "between", g.Name).Delete())
	if g.PortID != "" && !s.Bare {
		errs = append(errs, l.giveBack(ctx, s, g))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("delete %s: %w", g.Name, err)
	}
	if err := os.RemoveAll(filepath.Join(l.dir, "guests", g.Name)); err != nil {
		return fmt.Errorf("files of guest: %w", err)
	}
	return l.record(func(s *state) {
		delete(s.Guests, g.Name)
		for name := range s.Procs {
			if ofHost(name, g.Name) {
				delete(s.Procs, name)
			}
		}
	})
}

func (l *Lab) giveBack(ctx context.Context, s *state, g *Guest) error {
	api, err := l.cloud(ctx, s)
	if err != nil {
		return err
	}
	if g.Owned {
		return api.Delete(ctx, g.PortID)
	}
	return api.Unbind(ctx, g.PortID)
}
