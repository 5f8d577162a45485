// Package lab is a cloud of namespaces on one machine: a server, hosts with an Open vSwitch and an agent
// each, guests, and an outside. The command `isospin lab`, the demo and the full tests stand on it. It
// builds and drives what a real cloud would have around Isospin and never does any of Isospin's own work:
// no flow, no lease and no route of a guest's network is its doing.
package lab

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"regexp"
	"strings"

	"isospin/internal/lab/cloud"
	"isospin/internal/lab/proc"
	"isospin/internal/lab/space"
)

// The mechanism drivers that a host can be made for.
const (
	OpenVSwitch = "openvswitch"
	LinuxBridge = "linuxbridge"
)

// The datapaths of Open vSwitch on a lab's hosts.
const (
	// Userspace needs nothing of the kernel but packet sockets.
	Userspace = "netdev"
	// Kernel is the kernel's module: each host's namespace has a datapath of its own.
	Kernel = "system"
)

// Options say what lab to bring up.
type Options struct {
	// Dir is the lab's folder: configuration, state, logs. Its path gives the lab its name. At most
	// 70 characters, since sockets below it may have 107.
	Dir string
	// Hosts are made in this order; none: one host h1.
	Hosts []HostSpec
	// API is the server's address, "127.0.0.1:9696"; "": loopback and a free port.
	API string
	// Auth is dev (the default), keystone or noauth. With keystone the lab's own client takes its
	// credentials from OS_CLIENT_CONFIG_FILE and OS_CLOUD.
	Auth string
	// ConfigFiles are given to server and agents after the lab's own, and so win.
	ConfigFiles []string
	// Binary is the isospin to run; "": this program.
	Binary string
	// Bare leaves server and agents out: hosts with an Open vSwitch only.
	Bare bool
	// Datapath of Open vSwitch on all hosts is Userspace ("" too) or Kernel.
	Datapath string
	// Log hears of each step; nil: nobody.
	Log *slog.Logger
}

// HostSpec is a host to make.
type HostSpec struct {
	Name string
	// Mechanism is OpenVSwitch ("" too) or LinuxBridge.
	Mechanism string
	// Without are physical networks (physnet1, public) that do not reach the host: it has no cable, no
	// bridge and no mapping for them.
	Without []string
}

// Lab is one that is up, or what remains of one. Its methods are safe for concurrent use, also from
// several processes: state is in the folder, behind a lock. Daemons outlive the process that started them.
type Lab struct {
	dir     string
	log     *slog.Logger
	daemons proc.Group
}

var (
	// ErrExists says that there is a lab in the folder already.
	ErrExists = errors.New("a lab is there already")
	// ErrNoLab says that there is none.
	ErrNoLab = errors.New("no lab there")

	validName = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9._-]{0,30}[a-zA-Z0-9])?$`)
)

// reserved are names that `lab exec` knows for places of every lab.
func reserved(name string) bool { return name == "internet" || name == "fabric" || name == "server" }

// Open finds the lab of a folder.
func Open(dir string, log *slog.Logger) (*Lab, error) {
	l, err := at(dir, log)
	if err != nil {
		return nil, err
	}
	if _, err := l.state(); err != nil {
		return nil, err
	}
	return l, nil
}

func at(dir string, log *slog.Logger) (*Lab, error) {
	if dir == "" {
		return nil, errors.New("no folder given for the lab: use --dir or ISOSPIN_LAB")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("folder of lab: %w", err)
	}
	if len(abs) > 70 {
		return nil, fmt.Errorf("folder of lab %s: %d characters, sockets below it allow 70", abs, len(abs))
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Lab{dir: abs, log: log}, nil
}

// Dir is the lab's folder.
func (l *Lab) Dir() string { return l.dir }

// identify derives the lab's name and id from its folder: "demo-3fa2c1" and "3fa2c1". The name is in
// every namespace, the id in every device of the machine's own.
func identify(dir string) (name, id string) {
	sum := sha256.Sum256([]byte(dir))
	id = hex.EncodeToString(sum[:3])
	base := regexp.MustCompile(`[^a-zA-Z0-9]+`).ReplaceAllString(filepath.Base(dir), "-")
	base = strings.Trim(base[:min(len(base), 16)], "-")
	if base == "" {
		base = "lab"
	}
	return base + "-" + id, id
}

// mark is in the environment of everything the lab starts, so that `down` finds it even when the lab
// was killed before it could write the process down.
func (s *state) mark() string { return "ISOSPIN_LAB_MEMBER=" + s.Name }

func (l *Lab) path(parts ...string) string {
	return filepath.Join(append([]string{l.dir}, parts...)...)
}

// space is the place of a host, a guest, or of one of the names that every lab has. The fabric has no
// mounts of its own.
func (l *Lab) space(s *state, kind, name string) space.Space {
	switch kind {
	case "fabric":
		return space.Space{Name: s.Name + "-fabric"}
	case "between": // a guest that was moved, and its host; the network namespace is all of it
		return space.Space{Name: s.Name + "-nic-" + name}
	case "guest":
		return space.Space{Name: s.Name + "-vm-" + name, Mount: l.path("run", "vm-"+name)}
	default:
		return space.Space{Name: s.Name + "-" + name, Mount: l.path("run", name)}
	}
}

// find is the place that a name of `lab exec` means.
func (l *Lab) find(s *state, name string) (space.Space, error) {
	if _, ok := s.Guests[name]; ok {
		return l.space(s, "guest", name), nil
	}
	if h := s.host(name); h != nil {
		if h.Off {
			return space.Space{}, fmt.Errorf("host %s is switched off", name)
		}
		return l.space(s, "host", name), nil
	}
	switch name {
	case "fabric":
		return l.space(s, "fabric", name), nil
	case "internet":
		return l.space(s, "outside", name), nil
	}
	return space.Space{}, fmt.Errorf("nothing in the lab is called %q", name)
}

// Cloud opens a client of the lab's API with admin rights.
func (l *Lab) Cloud(ctx context.Context) (*cloud.Client, error) {
	s, err := l.state()
	if err != nil {
		return nil, err
	}
	return l.cloud(ctx, s)
}

func (l *Lab) cloud(ctx context.Context, s *state) (*cloud.Client, error) {
	if s.Bare {
		return nil, errors.New("this lab has no server")
	}
	a := cloud.Access{URL: "http://" + s.API}
	switch s.Auth {
	case "noauth":
		a.NoAuth = true
	case "dev":
		a.Clouds, a.Cloud = l.path("server", "clouds.yaml"), "isospin"
	}
	c, err := cloud.New(ctx, a)
	if errors.Is(err, cloud.ErrNobody) {
		err = fmt.Errorf("the lab's server wants Keystone's tokens: %w", err)
	}
	return c, err
}
