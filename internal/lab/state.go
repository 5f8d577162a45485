package lab

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"isospin/internal/lab/proc"
)

// state is lab.json: all that one command of the lab leaves to the next.
type state struct {
	Name string `json:"name"`
	ID   string `json:"id"`
	// Machine is the boot of the machine in which the processes below were started.
	Machine string `json:"machine"`
	// Net is the third octet of the lab's addresses: 10.222.Net.0/24 is its underlay, 10.223.Net.0/24
	// its management network.
	Net         int               `json:"net"`
	API         string            `json:"api,omitempty"`
	Session     string            `json:"session,omitempty"`
	Auth        string            `json:"auth,omitempty"`
	ConfigFiles []string          `json:"config_files,omitempty"`
	Binary      string            `json:"binary,omitempty"`
	Bare        bool              `json:"bare,omitempty"`
	Datapath    string            `json:"datapath,omitempty"`
	Hosts       []*Host           `json:"hosts"`
	Guests      map[string]*Guest `json:"guests"`
	// Procs are the daemons: "server", "h1/agent", "h1/ovsdb", "h1/vswitch", "vm1/dhcp", "vm1/dhcp6".
	Procs map[string]proc.Ref `json:"procs"`
}

// Host is one host of a lab.
type Host struct {
	Name      string `json:"name"`
	Number    int    `json:"number"` // from 1
	Mechanism string `json:"mechanism"`
	// Off: stopped by `lab host stop`.
	Off bool `json:"off,omitempty"`
	// Cut are the networks whose cable is unplugged.
	Cut []string `json:"cut,omitempty"`
	// Without are the physical networks that do not reach the host.
	Without []string `json:"without,omitempty"`
}

// has tells whether a network of the fabric reaches the host.
func (h *Host) has(network string) bool { return !slices.Contains(h.Without, network) }

// mappings are the host's physical networks, each with what the operator's end of it is called.
func (h *Host) mappings(public, physnet1 string) string {
	var m []string
	if h.has(netPublic) {
		m = append(m, netPublic+":"+public)
	}
	if h.has(netPhysnet1) {
		m = append(m, netPhysnet1+":"+physnet1)
	}
	return strings.Join(m, ",")
}

// tunnels is the device of a host that has its underlay address. Tunnels of the userspace datapath start at a bridge.
func (s *state) tunnels(h *Host) string {
	if h.Mechanism == OpenVSwitch && s.Datapath != Kernel {
		return "br-underlay"
	}
	return "eth0"
}

func (s *state) host(name string) *Host {
	for _, h := range s.Hosts {
		if h.Name == name {
			return h
		}
	}
	return nil
}

// underlay is a host's tunnel endpoint.
func (s *state) underlay(h *Host) netip.Prefix { return s.address(222, 10+h.Number) }

// management is a host's address towards the server; number 0 is not a host's: the server's.
func (s *state) management(number int) netip.Prefix {
	if number == 0 {
		return s.address(223, 1)
	}
	return s.address(223, 10+number)
}

func (s *state) address(second, last int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(second), byte(s.Net), byte(last)}), 24)
}

// rootDevice is the lab's one device in the machine's own namespace: the server's end of the management
// network.
func (s *state) rootDevice() string { return "il-" + s.ID }

func machine() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // Without it no process is believed stale.
	return strings.TrimSpace(string(b))
}

// state reads lab.json.
func (l *Lab) state() (*state, error) {
	b, err := os.ReadFile(l.path("lab.json"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", l.dir, ErrNoLab)
	}
	if err != nil {
		return nil, fmt.Errorf("read the lab's state: %w", err)
	}
	s := &state{}
	if err := json.Unmarshal(b, s); err != nil {
		return nil, fmt.Errorf("read the lab's state: %w", err)
	}
	if s.Guests == nil {
		s.Guests = map[string]*Guest{}
	}
	s.Datapath = cmp.Or(s.Datapath, Userspace)
	if s.Procs == nil {
		s.Procs = map[string]proc.Ref{}
	}
	if s.Machine != machine() {
		clear(s.Procs)
	}
	return s, nil
}

// update changes lab.json under the lab's lock; others see it before or after, never between. It returns
// the new state.
func (l *Lab) update(change func(*state) error) (*state, error) {
	unlock, err := lock(l.path("lab.lock"))
	if err != nil {
		return nil, err
	}
	defer unlock()
	s, err := l.state()
	if err != nil {
		return nil, err
	}
	if err := change(s); err != nil {
		return nil, err
	}
	return s, l.save(s)
}

// record is update for changes that cannot fail.
func (l *Lab) record(change func(*state)) error {
	_, err := l.update(func(s *state) error { change(s); return nil })
	return err
}

func (l *Lab) save(s *state) error {
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("write the lab's state: %w", err)
	}
	next := l.path("lab.json.new")
	if err := os.WriteFile(next, b, 0o600); err != nil {
		return fmt.Errorf("write the lab's state: %w", err)
	}
	if err := os.Rename(next, l.path("lab.json")); err != nil {
		return fmt.Errorf("write the lab's state: %w", err)
	}
	return nil
}

// lock takes an exclusive lock on a file, which is made when missing; it waits for it.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	for err = unix.EINTR; errors.Is(err, unix.EINTR); {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { _ = f.Close() }, nil
}
