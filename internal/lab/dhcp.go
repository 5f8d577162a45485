package lab

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"isospin/internal/lab/cable"
	"isospin/internal/lab/proc"
	"isospin/internal/lab/space"
)

// What the DHCP clients run at each event.
var (
	//go:embed udhcpc.sh
	script4 string
	//go:embed dhclient6.sh
	script6 string
)

// configure gives a guest whose port is ACTIVE its addresses, and returns when it has them.
func (l *Lab) configure(ctx context.Context, s *state, g *Guest, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	in := l.space(s, "guest", g.Name)
	if err := in.Sysctl(map[string]string{"net/ipv6/conf/eth0/disable_ipv6": "0", "net/ipv6/conf/default/disable_ipv6": "0"}); err != nil {
		return err
	}
	inside, err := cable.Open(in.NetPath())
	if err != nil {
		return err
	}
	defer inside.Close()
	if len(g.Setup.Static) > 0 {
		if err := g.fixed(inside); err != nil {
			return err
		}
	}
	both, ctx := errgroup.WithContext(ctx)
	if g.Setup.DHCP4 {
		both.Go(func() error { return l.lease4(ctx, s, g, in) })
	}
	if g.Setup.DHCP6 {
		// Its client waits up to a second before the first word, as RFC 8415 (18.2.1) wants.
		both.Go(func() error {
			if err := awaitLinkLocal(ctx, inside); err != nil {
				return err
			}
			return l.lease6(ctx, s, g, in)
		})
	}
	both.Go(func() error { return awaitAddresses(ctx, inside, g.Setup.Await) })
	return both.Wait()
}

// fixed sets addresses, routes and MTU without any client.
func (g *Guest) fixed(inside *cable.Place) error {
	if g.Plug.MTU > 0 {
		if err := inside.MTU("eth0", g.Plug.MTU); err != nil {
			return err
		}
	}
	for _, a := range g.Setup.Static {
		if err := inside.Address("eth0", a.Address); err != nil {
			return err
		}
		for _, r := range a.Routes {
			if err := inside.Route("eth0", r.To, r.Via); err != nil {
				return err
			}
		}
		if a.Gateway == "" {
			continue
		}
		via, err := netip.ParseAddr(a.Gateway)
		if err != nil {
			return fmt.Errorf("gateway: %w", err)
		}
		everywhere := netip.PrefixFrom(netip.IPv4Unspecified(), 0)
		if via.Is6() {
			everywhere = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
		}
		if err := inside.Route("eth0", everywhere, via); err != nil {
			return err
		}
	}
	return nil
}

// lease4 starts busybox' DHCP client, which stays to renew, and returns when it has a lease. It asks for
// classless routes (121) and the MTU (26) besides the usual options.
func (l *Lab) lease4(ctx context.Context, s *state, g *Guest, in space.Space) error {
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		return fmt.Errorf("DHCP client: %w", err)
	}
	script := l.path("guests", g.Name, "udhcpc.sh")
	return l.client(ctx, s, g, in, "dhcp", script, "#!"+busybox+" sh\n"+script4, busybox, "udhcpc", "-f", "-i", "eth0",
		"-s", script, "-t", "5", "-T", "1", "-A", "1", "-O", "staticroutes", "-O", "mtu", "-O", "dns", "-O", "search",
		"-x", "hostname:"+g.Name)
}

// lease6 starts ISC's client for stateful DHCPv6; busybox as Debian builds it has none.
func (l *Lab) lease6(ctx context.Context, s *state, g *Guest, in space.Space) error {
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		return fmt.Errorf("DHCP client: %w", err)
	}
	dhclient, err := exec.LookPath("dhclient")
	if err != nil {
		return errors.New("dhclient is missing, which stateful DHCPv6 needs: install Debian's package isc-dhcp-client")
	}
	dir := l.path("guests", g.Name)
	if err := writeFile(dir+"/dhclient6.conf", "request dhcp6.name-servers, dhcp6.domain-search;\n"); err != nil {
		return err
	}
	script := dir + "/dhclient6.sh"
	return l.client(ctx, s, g, in, "dhcp6", script, "#!"+busybox+" sh\n"+script6, dhclient, "-6", "-d", "-sf", script,
		"-cf", dir+"/dhclient6.conf", "-lf", dir+"/dhclient6.leases", "-pf", dir+"/dhclient6.pid", "-e", "LEASE="+dir+"/dhcp6.lease", "eth0")
}

// client starts a DHCP client in a guest and waits for the file that its script writes with each lease.
func (l *Lab) client(ctx context.Context, s *state, g *Guest, in space.Space, name, script, text string, argv ...string) error {
	if err := writeFile(script, text); err != nil {
		return err
	}
	if err := os.Chmod(script, 0o755); err != nil {
		return fmt.Errorf("script of DHCP client: %w", err)
	}
	lease := l.path("guests", g.Name, name+".lease")
	if err := os.Remove(lease); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("old lease: %w", err)
	}
	log := l.path("guests", g.Name, name+".log")
	ref, err := l.daemons.Start(proc.Spec{Argv: argv, Env: []string{s.mark(), "LEASE=" + lease}, Log: log, In: &in})
	if err != nil {
		return err
	}
	if err := l.record(func(s *state) { s.Procs[g.Name+"/"+name] = ref }); err != nil {
		return err
	}
	for pause := time.Millisecond; ; pause = min(2*pause, 10*time.Millisecond) {
		if _, err := os.Stat(lease); err == nil {
			return nil
		}
		if !ref.Alive() {
			return l.explain(errors.New("the DHCP client has ended"), "guests", g.Name, name+".log")
		}
		select {
		case <-ctx.Done():
			return l.explain(fmt.Errorf("no lease: %w", ctx.Err()), "guests", g.Name, name+".log")
		case <-time.After(pause):
		}
	}
}

// awaitAddresses returns when eth0 has all of want, which only router advertisements bring.
func awaitAddresses(ctx context.Context, inside *cable.Place, want []netip.Addr) error {
	if len(want) == 0 {
		return nil
	}
	err := awaitOn(ctx, inside, func(have []netip.Prefix) bool {
		want = slices.DeleteFunc(want, func(a netip.Addr) bool {
			return slices.ContainsFunc(have, func(p netip.Prefix) bool { return p.Addr() == a })
		})
		return len(want) == 0
	})
	if err != nil {
		return fmt.Errorf("addresses %v by router advertisement: %w", want, err)
	}
	return nil
}

// awaitLinkLocal returns when eth0 has a link-local address that can be used; the DHCPv6 client does not
// wait for it but ends.
func awaitLinkLocal(ctx context.Context, inside *cable.Place) error {
	err := awaitOn(ctx, inside, func(have []netip.Prefix) bool {
		return slices.ContainsFunc(have, func(p netip.Prefix) bool { return p.Addr().Is6() && p.Addr().IsLinkLocalUnicast() })
	})
	if err != nil {
		return fmt.Errorf("link-local address: %w", err)
	}
	return nil
}

// awaitOn looks at eth0's addresses until enough says that they are.
func awaitOn(ctx context.Context, inside *cable.Place, enough func([]netip.Prefix) bool) error {
	for pause := time.Millisecond; ; pause = min(2*pause, 10*time.Millisecond) {
		have, err := inside.Addresses("eth0")
		if err != nil {
			return err
		}
		if enough(have) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// endClients ends a guest's DHCP clients.
func (l *Lab) endClients(ctx context.Context, s *state, guest string) error {
	var errs []error
	for name, ref := range s.Procs {
		if ofHost(name, guest) {
			errs = append(errs, ref.Kill(ctx))
		}
	}
	return errors.Join(errs...)
}

// resume plugs a guest into its host that has come back, as Nova does with resume_guests_state_on_host_boot.
// The server need not be there: what is known of the port is enough.
func (l *Lab) resume(ctx context.Context, s *state, g *Guest) error {
	h := s.host(g.Host)
	// The switch's database still has the port of before. Were it to find the new device under that name, and then the port
	// made anew, it could take the device down, as it was found, after it took it up again.
	if err := l.unplug(ctx, s, h, g); err != nil {
		return fmt.Errorf("resume %s: %w", g.Name, err)
	}
	if err := l.plug(ctx, s, h, g); err != nil {
		return fmt.Errorf("resume %s: %w", g.Name, err)
	}
	if s.Procs["server"].Alive() {
		api, err := l.cloud(ctx, s)
		if err == nil {
			_, err = api.WaitActive(ctx, g.PortID, time.Minute)
		}
		if err != nil {
			return fmt.Errorf("resume %s: %w", g.Name, err)
		}
	}
	if err := l.configure(ctx, s, g, time.Minute); err != nil {
		return fmt.Errorf("resume %s: %w", g.Name, err)
	}
	return nil
}
