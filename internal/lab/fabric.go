package lab

import (
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"

	"isospin/internal/lab/cable"
	"isospin/internal/lab/space"
)

// The networks of the fabric: a bridge each.
const (
	netManagement = "mgmt"     // server and hosts
	netUnderlay   = "underlay" // tunnels
	netPhysnet1   = "physnet1"
	netPublic     = "public"
)

// cables are a host's devices and the fabric's network that each is plugged into.
var cables = []struct{ device, network string }{
	{"mgmt0", netManagement}, {"eth0", netUnderlay}, {"eth1", netPhysnet1}, {"eth2", netPublic},
}

// port is the fabric's end of a host's cable.
func port(network string, h *Host) string { return fmt.Sprintf("%.8s-%d", network, h.Number) }

// hardware is the MAC address of a host's device. It stays the same when the host is switched off and on,
// as a card's does: its neighbours remember it.
func (s *state) hardware(h *Host, device int) net.HardwareAddr {
	id, err := hex.DecodeString(s.ID)
	if err != nil || len(id) != 3 {
		return nil // The kernel's choice; ids are made as three octets in hex.
	}
	return net.HardwareAddr{0x02, id[0], id[1], id[2], byte(h.Number), byte(device)}
}

// wiresOnly are the settings of a place that is nothing but cables: it says nothing itself, and no firewall may look into its frames.
func wiresOnly() map[string]string {
	return map[string]string{
		"net/ipv6/conf/all/disable_ipv6": "1", "net/ipv6/conf/default/disable_ipv6": "1",
		"net/bridge/bridge-nf-call-iptables": "0", "net/bridge/bridge-nf-call-ip6tables": "0", "net/bridge/bridge-nf-call-arptables": "0",
	}
}

// makeFabric makes the switch room: a namespace with a bridge for every network, and the server's way to
// the management network. It chooses the lab's addresses while it holds a lock on the machine, so that
// labs that come up together choose differently.
func (l *Lab) makeFabric() (*state, error) {
	s, err := l.state()
	if err != nil {
		return nil, err
	}
	in := l.space(s, "fabric", "")
	err = in.Create(space.Plan{Sysctl: wiresOnly()})
	if err != nil {
		return nil, err
	}
	fabric, err := cable.Open(in.NetPath())
	if err != nil {
		return nil, err
	}
	defer fabric.Close()
	for _, c := range cables {
		if err := fabric.Bridge(c.network); err != nil {
			return nil, err
		}
	}
	root, err := cable.Open("")
	if err != nil {
		return nil, err
	}
	defer root.Close()
	unlock, err := lock("/run/isospin-lab.lock")
	if err != nil {
		return nil, err
	}
	defer unlock()
	if s.Net, err = freeNet(s.ID); err != nil {
		return nil, err
	}
	err = cable.Pair(cable.End{In: root, Name: s.rootDevice()}, cable.End{In: fabric, Name: "server", Bridge: netManagement}, 0)
	if err != nil {
		return nil, err
	}
	if err := root.Address(s.rootDevice(), s.management(0)); err != nil {
		return nil, err
	}
	session := ""
	if !s.Bare {
		if session, err = freeAddress(s.management(0).Addr().String()); err != nil {
			return nil, err
		}
	}
	return l.update(func(now *state) error {
		now.Net, now.Session = s.Net, session
		return nil
	})
}

// freeNet chooses the third octet of the lab's networks: the first that no address or route of the
// machine knows, beginning at one that the id gives.
func freeNet(id string) (int, error) {
	var start int
	if _, err := fmt.Sscanf(id[len(id)-2:], "%x", &start); err != nil {
		return 0, fmt.Errorf("id of lab %q: %w", id, err)
	}
	routes, err := netlink.RouteList(nil, netlink.FAMILY_V4)
	if err != nil {
		return 0, fmt.Errorf("routes of the machine: %w", err)
	}
	addrs, err := netlink.AddrList(nil, netlink.FAMILY_V4)
	if err != nil {
		return 0, fmt.Errorf("addresses of the machine: %w", err)
	}
	var taken []*net.IPNet
	for _, r := range routes {
		if ones := 0; r.Dst != nil {
			if ones, _ = r.Dst.Mask.Size(); ones > 0 {
				taken = append(taken, r.Dst)
			}
		}
	}
	for _, a := range addrs {
		taken = append(taken, a.IPNet)
	}
	for i := range 256 {
		n := (start + i) % 256
		base := net.IPv4(10, 223, byte(n), 0)
		if !slices.ContainsFunc(taken, func(t *net.IPNet) bool {
			return t.Contains(base) || t.IP.Mask(net.CIDRMask(24, 32)).Equal(base)
		}) {
			return n, nil
		}
	}
	return 0, fmt.Errorf("no network of 10.223.0.0/16 is free on this machine")
}

// makeInternet makes the outside: a namespace on the network public.
func (l *Lab) makeInternet(s *state) error {
	in := l.space(s, "outside", "internet")
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
	err = cable.Pair(cable.End{In: inside, Name: "eth0"}, cable.End{In: fabric, Name: "internet", Bridge: netPublic}, 0)
	if err != nil {
		return err
	}
	return inside.Address("eth0", internetAddresses()...)
}

func internetAddresses() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("203.0.113.1/24"), netip.MustParsePrefix("2001:db8:cafe::1/64")}
}
