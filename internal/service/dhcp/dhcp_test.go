package dhcp_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"isospin/internal/agent/simulate"
	"isospin/internal/model"
	"isospin/internal/service"
	"isospin/internal/service/dhcp"
	"isospin/internal/store"
	"isospin/internal/wire"
	"isospin/test/sessiontest"
)

func connect(t *testing.T, s *sessiontest.Server, host string, n int) {
	t.Helper()
	if err := s.Agents.Connected(context.Background(), host, sessiontest.Facts(n)); err != nil {
		t.Fatal(err)
	}
}

// hosts are who serves a network, by host: the port, "" while it is made.
func hosts(s *sessiontest.Server, network string) map[string]string {
	out := map[string]string{}
	s.Read(func(ctx context.Context, tx store.Tx) error {
		clear(out)
		return store.Each(ctx, tx, store.Q("SELECT host, port_id FROM dhcp_hosts WHERE network_id = ?", network), func(scan func(...any) error) error {
			var h, p string
			err := scan(&h, &p)
			out[h] = p
			return err
		})
	})
	return out
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !is(); <-time.After(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

func get(t *testing.T, s *sessiontest.Server, id string) (p model.Port, ok bool) {
	t.Helper()
	s.Read(func(ctx context.Context, tx store.Tx) error {
		var err error
		p, err = s.Ports.Get(ctx, tx, id)
		ok = err == nil
		if store.IsNotFound(err) {
			return nil
		}
		return err
	})
	return p, ok
}

func subnets(p model.Port) []string {
	var out []string
	for _, f := range p.FixedIPs {
		out = append(out, f.SubnetID)
	}
	slices.Sort(out)
	return out
}

func TestDeviceIDIsNeutrons(t *testing.T) {
	for _, host := range []string{"h1", "h1.example.org"} {
		if got, want := dhcp.DeviceID(host, "net"), "dhcp8839d356-f787-5a0b-8010-d454645c55f8-net"; got != want {
			t.Errorf("DeviceID(%s) = %s, want %s", host, got, want)
		}
	}
}

func TestANetworkIsServedWhileItHasDHCP(t *testing.T) {
	c := sessiontest.New(t)
	s := c.Start(sessiontest.Options{})
	h := c.Host(c.Enrol("h1", s.Address), sessiontest.Facts(1), nil)
	c.Wait(h, func(v simulate.View) bool { return v.Synced() })
	eventually(t, "the host is there", func() bool {
		var n int
		s.Read(func(ctx context.Context, tx store.Tx) error {
			x, err := s.Agents.Host(ctx, tx, "h1")
			n = len(x.Agents)
			return err
		})
		return n == 2
	})
	n := s.Network(model.TypeVXLAN, 11)
	s1 := s.Subnet(n, "10.0.0.0/24", true)
	s.Subnet(n, "10.0.1.0/24", false)
	eventually(t, "the network is served", func() bool { return hosts(s, n)["h1"] != "" })
	id := hosts(s, n)["h1"]
	p, _ := get(t, s, id)
	if p.DeviceOwner != "network:dhcp" || p.DeviceID != dhcp.DeviceID("h1", n) || p.HostID != "h1" || p.VIFType != model.VIFOVS || p.PortSecurityEnabled ||
		!slices.Equal(subnets(p), []string{s1}) || p.FixedIPs[0].IPAddress != "10.0.0.2" || p.ProjectID != "p1" {
		t.Errorf("the server's port: %+v", p)
	}
	// The host learns of it: its own port, the network, and the reservations of others.
	vm := s.Port(n, func(p *model.Port) { p.FixedIPs = []model.FixedIP{{SubnetID: s1}} })
	var doc wire.DHCPNetwork
	var res wire.Reservation
	c.Wait(h, func(v simulate.View) bool {
		return v.Get("host:h1", wire.KindDHCP, n, &doc) && doc.Ports["h1"] == id && v.Get("dhcp:"+n, wire.KindReservation, vm.ID, &res) &&
			v.Get("host:h1", wire.KindPort, id, &wire.Port{}) && v.Get("net:"+n, wire.KindSubnet, s1, &wire.Subnet{})
	})
	if doc.DnsDomain != "openstacklocal" || doc.LeaseDuration != 86400 || res.Hostname != "host-10-0-0-"+lastOctet(res.FixedIps[0].IpAddress) || res.MacAddress != vm.MACAddress {
		t.Errorf("the documents: %v, %v", &doc, &res)
	}
	// A second subnet is a second address of the same port.
	s3 := s.Subnet(n, "10.0.2.0/24", true)
	want := []string{s1, s3}
	slices.Sort(want)
	eventually(t, "the server has an address in both subnets", func() bool {
		p, _ := get(t, s, id)
		return slices.Equal(subnets(p), want)
	})
	// DHCP goes off, subnet by subnet; with the last the port goes.
	s.StopDHCP(s3)
	eventually(t, "the server has lost the second address", func() bool {
		p, _ := get(t, s, id)
		return slices.Equal(subnets(p), []string{s1})
	})
	s.StopDHCP(s1)
	eventually(t, "nobody serves the network", func() bool {
		_, there := get(t, s, id)
		return len(hosts(s, n)) == 0 && !there
	})
	c.Wait(h, func(v simulate.View) bool { return v.Sets()["host:h1"] == 0 && len(v.Sets()) == 1 })
}

func lastOctet(ip string) string {
	for i := len(ip) - 1; ; i-- {
		if ip[i] == '.' {
			return ip[i+1:]
		}
	}
}

func TestNetworksGoToTheLeastLoaded(t *testing.T) {
	c := sessiontest.New(t)
	s := c.Start(sessiontest.Options{})
	for i := range 3 {
		connect(t, s, fmt.Sprintf("h%d", i+1), i+1)
	}
	s.DHCP.PerNetwork = 2
	load := map[string]int{}
	for i := range 6 {
		n := s.Network(model.TypeVXLAN, int64(100+i))
		s.Subnet(n, "10.0.0.0/24", true)
		eventually(t, "two hosts serve the network", func() bool {
			hs := hosts(s, n)
			return len(hs) == 2 && !slices.Contains(ports(hs), "")
		})
		for h := range hosts(s, n) {
			load[h]++
		}
	}
	if load["h1"] != 4 || load["h2"] != 4 || load["h3"] != 4 {
		t.Errorf("load %v, want 4 each", load)
	}
}

func ports(hs map[string]string) []string {
	var out []string
	for _, p := range hs {
		out = append(out, p)
	}
	return out
}

func TestHostsThatComeServeWhatNobodyServes(t *testing.T) {
	c := sessiontest.New(t)
	s := c.Start(sessiontest.Options{})
	n := s.Network(model.TypeVXLAN, 11)
	s.Subnet(n, "10.0.0.0/24", true)
	if err := s.DHCP.Serve(context.Background(), n); err != nil {
		t.Fatal(err)
	}
	if hs := hosts(s, n); len(hs) != 0 {
		t.Fatalf("nobody is there, and %v serve", hs)
	}
	connect(t, s, "h1", 1)
	eventually(t, "the host that came serves the network", func() bool { return hosts(s, n)["h1"] != "" })
}

func TestADeadHostsNetworksMoveWithTheirAddresses(t *testing.T) {
	c := sessiontest.New(t)
	s := c.Start(sessiontest.Options{DownTime: time.Second})
	connect(t, s, "h1", 1)
	n := s.Network(model.TypeVXLAN, 11)
	s.Subnet(n, "10.0.0.0/24", true)
	eventually(t, "the network is served", func() bool { return hosts(s, n)["h1"] != "" })
	id := hosts(s, n)["h1"]
	before, _ := get(t, s, id)
	// Alone, it keeps the network however long it is gone.
	if err := s.Agents.Disconnected(context.Background(), "h1", time.Now().Add(-time.Minute)); err != nil {
		t.Fatal(err)
	}
	if err := s.DHCP.Serve(context.Background(), n); err != nil {
		t.Fatal(err)
	}
	if got := hosts(s, n); got["h1"] != id {
		t.Fatalf("with nobody else there, %v serve", got)
	}
	connect(t, s, "h2", 2)
	eventually(t, "the network has moved", func() bool { return hosts(s, n)["h2"] == id })
	after, _ := get(t, s, id)
	if after.HostID != "h2" || after.DeviceID != dhcp.DeviceID("h2", n) || !slices.Equal(after.FixedIPs, before.FixedIPs) || after.VIFType != model.VIFOVS || after.Wiring <= before.Wiring {
		t.Errorf("its port: %+v, before %+v", after, before)
	}
	// The first comes back and finds nothing to do.
	connect(t, s, "h1", 1)
	if err := s.DHCP.Sweep(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := hosts(s, n); len(got) != 1 || got["h2"] != id {
		t.Errorf("after the return %v serve", got)
	}
}

func TestZonesAreKept(t *testing.T) {
	c := sessiontest.New(t)
	s := c.Start(sessiontest.Options{})
	east := sessiontest.Facts(2)
	east.Agents[1].AvailabilityZone = "east"
	connect(t, s, "h1", 1)
	if err := s.Agents.Connected(context.Background(), "h2", east); err != nil {
		t.Fatal(err)
	}
	n := s.Network(model.TypeVXLAN, 11)
	s.Write(func(ctx context.Context, tx store.WriteTx) error {
		row, err := s.Networks.Get(ctx, tx, n)
		if err != nil {
			return err
		}
		row.AvailabilityZoneHints = []string{"east"}
		return s.Networks.Update(ctx, tx, &row, -1)
	})
	s.Subnet(n, "10.0.0.0/24", true)
	eventually(t, "a host of the zone serves the network", func() bool { return hosts(s, n)["h2"] != "" })
	if got := hosts(s, n); len(got) != 1 {
		t.Errorf("%v serve", got)
	}
}

func TestANetworkThatGoesTakesItsServersAlong(t *testing.T) {
	c := sessiontest.New(t)
	s := c.Start(sessiontest.Options{})
	connect(t, s, "h1", 1)
	n := s.Network(model.TypeVXLAN, 11)
	s.Subnet(n, "10.0.0.0/24", true)
	eventually(t, "the network is served", func() bool { return hosts(s, n)["h1"] != "" })
	s.Write(func(ctx context.Context, tx store.WriteTx) error {
		row, err := s.Networks.Get(ctx, tx, n)
		if err != nil {
			return err
		}
		return dhcp.NetworkFollower{Plugin: s.DHCP}.Follow(ctx, tx, service.Write[model.Network]{Op: service.Delete, Old: &row})
	})
	if got := hosts(s, n); len(got) != 0 {
		t.Errorf("%v still serve", got)
	}
}
