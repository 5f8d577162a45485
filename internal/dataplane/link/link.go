// Package link makes veth pairs real: one end in a namespace, the other where the switch is. The agent's
// features fill its driver's target. It gives no addresses and plugs nothing into a switch.
//
// A restarted agent knows its pairs by the link group of the end outside, a number made from the driver's
// tag and set by the kernel at the moment of creation; the alias of that end says which pair it is. Devices
// of other groups are never touched.
package link

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"isospin/internal/dataplane/device"
	"isospin/internal/dataplane/netns"
	"isospin/internal/reconcile"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// ErrForeign is a pair one of whose names belongs to a device that is not ours.
var ErrForeign = device.ErrForeign

// Key is the end inside: namespace ("" is the host's) and name, which has at most 15 bytes.
type Key struct{ NS, Name string }

// String tells the key in logs.
func (k Key) String() string { return k.NS + "/" + k.Name }

// Veth is how a pair shall be. Both ends are up.
type Veth struct {
	Peer   string // name of the end outside
	PeerNS string // namespace of the end outside; "" is the host's
	MAC    string // of the end inside; "" leaves it to the kernel
	MTU    int    // of both ends, in bytes; 0 leaves it to the kernel
	// NoOffload turns transmit checksum offload off at both ends: a userspace datapath passes on what it reads,
	// and nobody would fill the checksum in. False leaves it as it is.
	NoOffload bool
	// Fault is for views only: why the pair is not whole.
	Fault string
}

// Equal says whether a pair is as wanted.
func Equal(want, have Veth) bool {
	return have.Fault == "" && want.Peer == have.Peer && want.PeerNS == have.PeerNS &&
		(want.MAC == "" || strings.EqualFold(want.MAC, have.MAC)) &&
		(want.MTU == 0 || want.MTU == have.MTU) &&
		(!want.NoOffload || have.NoOffload)
}

// Veths is the driver of pairs.
type Veths struct {
	group uint32
	homes netns.Own
}

// NewVeths makes the driver. tag marks what is ours; it stays the same over restarts. The ends outside are
// looked for in the host's namespace and in those that homes holds for; nil holds for none.
func NewVeths(tag string, homes netns.Own) *Veths {
	return &Veths{group: device.Group(tag), homes: homes}
}

// List implements reconcile.Driver.
func (d *Veths) List(ctx context.Context) (map[Key]Veth, error) {
	homes := []string{""}
	if d.homes != nil {
		names, err := netns.List(d.homes)
		if err != nil {
			return nil, err
		}
		homes = append(homes, names...)
	}
	out := map[Key]Veth{}
	inside := map[string][]found{}
	for _, ns := range homes {
		pairs, err := d.outside(ctx, ns)
		if errors.Is(err, fs.ErrNotExist) && ns != "" {
			continue // gone meanwhile
		}
		if err != nil {
			return nil, err
		}
		for _, p := range pairs {
			inside[p.key.NS] = append(inside[p.key.NS], p)
		}
	}
	for ns, pairs := range inside {
		if err := complete(ctx, ns, pairs); err != nil {
			return nil, err
		}
		for _, p := range pairs {
			out[p.key] = p.veth
		}
	}
	return out, nil
}

// found is a pair whose end outside was seen.
type found struct {
	key         Key
	veth        Veth
	index, peer int // interface indexes: of the end outside, and of its other end
}

// outside reads the ends in one namespace that bear our group.
func (d *Veths) outside(ctx context.Context, ns string) ([]found, error) {
	var out []found
	err := device.Within(ctx, ns, func(h *netlink.Handle) error {
		links, err := netns.Dump(h.LinkList)
		if err != nil {
			return fmt.Errorf("links of namespace %q: %w", ns, err)
		}
		for _, l := range links {
			a := l.Attrs()
			if a.Group != d.group || l.Type() != "veth" {
				continue
			}
			key, known := parseAlias(a.Alias)
			v := Veth{Peer: a.Name, PeerNS: ns, MTU: a.MTU}
			if !known { // made, and not named any more
				key, v.Fault = Key{NS: ns, Name: a.Name}, "unnamed"
			}
			off, err := offload(a.Name)
			if err != nil {
				return err
			}
			v.NoOffload = !off
			if a.RawFlags&unix.IFF_UP == 0 {
				v.Fault = "down"
			}
			out = append(out, found{key: key, veth: v, index: a.Index, peer: a.ParentIndex})
		}
		return nil
	})
	// The end inside may be in the same namespace: it bears the group too, and no name.
	insides := map[int]bool{}
	for _, p := range out {
		if p.key.NS == ns && p.key.Name != p.veth.Peer {
			insides[p.peer] = true
		}
	}
	return slices.DeleteFunc(out, func(p found) bool { return p.key.Name == p.veth.Peer && insides[p.index] }), err
}

// complete reads the ends in one namespace and adds what they say.
func complete(ctx context.Context, ns string, pairs []found) error {
	err := device.Within(ctx, ns, func(h *netlink.Handle) error {
		for i := range pairs {
			p := &pairs[i]
			l, err := h.LinkByName(p.key.Name)
			if device.Missing(err) || err == nil && (l.Attrs().ParentIndex != p.index || l.Attrs().Index != p.peer) {
				p.veth.Fault = "torn"
				continue
			}
			if err != nil {
				return fmt.Errorf("link %s: %w", p.key, err)
			}
			a := l.Attrs()
			off, err := offload(a.Name)
			if err != nil {
				return err
			}
			p.veth.MAC = a.HardwareAddr.String()
			p.veth.NoOffload = p.veth.NoOffload && !off
			if a.RawFlags&unix.IFF_UP == 0 {
				p.veth.Fault = "down"
			}
			if a.MTU != p.veth.MTU {
				p.veth.MTU = -1
			}
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) { // the namespace has lost its name
		for i := range pairs {
			pairs[i].veth.Fault = "torn"
		}
		return nil
	}
	return err
}

// The alias of the end outside names the end inside.

func alias(k Key) string { return "isospin " + k.NS + "/" + k.Name }

func parseAlias(s string) (Key, bool) {
	rest, ours := strings.CutPrefix(s, "isospin ")
	ns, name, cut := strings.Cut(rest, "/")
	return Key{NS: ns, Name: name}, ours && cut && name != ""
}

func sortedKeys(batch map[Key]Veth) []Key {
	keys := make([]Key, 0, len(batch))
	for k := range batch {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b Key) int { return strings.Compare(a.String(), b.String()) })
	return keys
}

var _ reconcile.Driver[Key, Veth] = (*Veths)(nil)
