package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"isospin/internal/lab/proc"
	"isospin/internal/lab/space"
)

// Up brings a lab up and returns when its server answers and its agents are alive. On error, and when ctx
// ends, what was made is taken down again; logs stay in the folder.
func Up(ctx context.Context, o Options) (*Lab, error) {
	l, err := at(o.Dir, o.Log)
	if err != nil {
		return nil, err
	}
	if o, err = o.complete(); err != nil {
		return nil, err
	}
	if err := l.claim(o); err != nil {
		return nil, err
	}
	if err := l.build(ctx, o); err != nil {
		after, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		return nil, errors.Join(err, l.down(after, true))
	}
	return l, nil
}

// complete fills what was left out and refuses what cannot be.
func (o Options) complete() (Options, error) {
	if os.Geteuid() != 0 {
		return o, errors.New("a lab is made of namespaces and needs root")
	}
	o.Hosts = slices.Clone(o.Hosts)
	if len(o.Hosts) == 0 {
		o.Hosts = []HostSpec{{Name: "h1"}}
	}
	if len(o.Hosts) > 200 {
		return o, fmt.Errorf("%d hosts: a lab has at most 200", len(o.Hosts))
	}
	seen := map[string]bool{}
	for i, h := range o.Hosts {
		if !validName.MatchString(h.Name) || reserved(h.Name) || seen[h.Name] {
			return o, fmt.Errorf("host name %q is not valid, reserved or given twice", h.Name)
		}
		seen[h.Name] = true
		for _, n := range h.Without {
			if n != netPhysnet1 && n != netPublic {
				return o, fmt.Errorf("host %s: %q is no physical network of a lab: %s and %s are", h.Name, n, netPhysnet1, netPublic)
			}
		}
		switch h.Mechanism {
		case "":
			o.Hosts[i].Mechanism = OpenVSwitch
		case OpenVSwitch, LinuxBridge:
		default:
			return o, fmt.Errorf("host %s: mechanism %q is neither %s nor %s", h.Name, h.Mechanism, OpenVSwitch, LinuxBridge)
		}
	}
	switch o.Datapath {
	case "":
		o.Datapath = Userspace
	case Userspace, Kernel:
	default:
		return o, fmt.Errorf("datapath %q is neither %s nor %s", o.Datapath, Userspace, Kernel)
	}
	switch o.Auth {
	case "":
		o.Auth = "dev"
	case "dev", "keystone", "noauth":
	default:
		return o, fmt.Errorf("auth %q is none of dev, keystone, noauth", o.Auth)
	}
	if o.Binary == "" {
		self, err := os.Executable()
		if err != nil {
			return o, fmt.Errorf("find this program: %w", err)
		}
		o.Binary = self
	}
	o.ConfigFiles = slices.Clone(o.ConfigFiles)
	for i, f := range o.ConfigFiles {
		abs, err := filepath.Abs(f)
		if err == nil {
			_, err = os.Stat(abs)
		}
		if err != nil {
			return o, fmt.Errorf("configuration file: %w", err)
		}
		o.ConfigFiles[i] = abs
	}
	return o, o.require()
}

// require looks for the programs that the lab runs and names the package of a missing one.
func (o Options) require() error {
	needs := map[string]string{"busybox": "busybox-static"}
	for _, h := range o.Hosts {
		if h.Mechanism == OpenVSwitch {
			for _, p := range []string{"ovsdb-server", "ovs-vswitchd", "ovs-vsctl", "ovsdb-tool"} {
				needs[p] = "openvswitch-switch"
			}
		}
	}
	for program, from := range needs {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("%s is missing: install Debian's package %s", program, from)
		}
	}
	return nil
}

// claim takes the folder for a new lab: its state is written before anything else is made, so that
// `down` always knows what to look for.
func (l *Lab) claim(o Options) error {
	if err := os.MkdirAll(l.dir, 0o755); err != nil {
		return fmt.Errorf("folder of lab: %w", err)
	}
	unlock, err := lock(l.path("lab.lock"))
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Stat(l.path("lab.json")); err == nil {
		return fmt.Errorf("%s: %w: see lab status, or remove it with lab down", l.dir, ErrExists)
	}
	s := &state{
		Machine: machine(), Net: -1, API: o.API, Auth: o.Auth, ConfigFiles: o.ConfigFiles, Binary: o.Binary, Bare: o.Bare, Datapath: o.Datapath,
		Guests: map[string]*Guest{}, Procs: map[string]proc.Ref{},
	}
	s.Name, s.ID = identify(l.dir)
	if left := space.Named(s.Name + "-"); len(left) > 0 {
		return fmt.Errorf("%s: %w, without its state: remove it with lab down", l.dir, ErrExists)
	}
	// What a former lab left to be read is not to be taken for this one's.
	for _, old := range []string{"server", "hosts", "guests"} {
		if err := os.RemoveAll(l.path(old)); err != nil {
			return fmt.Errorf("files of a former lab: %w", err)
		}
	}
	if o.API == "" && !o.Bare {
		if s.API, err = freeAddress("127.0.0.1"); err != nil {
			return err
		}
	}
	for i, h := range o.Hosts {
		s.Hosts = append(s.Hosts, &Host{Name: h.Name, Number: i + 1, Mechanism: h.Mechanism, Without: h.Without})
	}
	return l.save(s)
}

// atOnce is how many hosts are made at the same time: more would only wait for each other.
const atOnce = 16

// build makes the lab that the state describes. The server starts as soon as its address is there, and
// the hosts grow while it comes up.
func (l *Lab) build(ctx context.Context, o Options) error {
	began := time.Now()
	if err := space.PinDir(l.path("run")); err != nil {
		return err
	}
	s, err := l.makeFabric()
	if err != nil {
		return err
	}
	g, inner := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	if !o.Bare {
		g.Go(func() error { return l.startServer(inner, s) })
	}
	g.Go(func() error { return l.makeInternet(s) })
	for _, h := range s.Hosts {
		g.Go(func() error { return l.makeHost(inner, s, h) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	l.log.Info("hosts are up", "hosts", len(s.Hosts), "took", time.Since(began))
	if o.Bare {
		return nil
	}
	g, inner = errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for _, h := range s.Hosts {
		g.Go(func() error {
			if err := l.enrol(inner, s, h); err != nil {
				return err
			}
			return l.startAgent(inner, s, h)
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	l.log.Info("lab is up", "api", s.API, "took", time.Since(began))
	return nil
}

// freeAddress is an address with a port that nobody listens on at this moment.
func freeAddress(ip string) (string, error) {
	ln, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer ln.Close()
	return ln.Addr().String(), nil
}
