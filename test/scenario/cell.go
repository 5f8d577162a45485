package scenario

import (
	"slices"
	"strings"
	"time"

	"isospin/internal/lab"
)

// Kind is a kind of network, by Neutron's word.
type Kind string

// The kinds of network that hosts share.
const (
	VLAN   Kind = "vlan"
	VXLAN  Kind = "vxlan"
	Flat   Kind = "flat"
	GRE    Kind = "gre"
	Geneve Kind = "geneve"
)

// Family is a family of addresses.
type Family string

// The families.
const (
	IPv4 Family = "IPv4"
	IPv6 Family = "IPv6"
)

// Setup is a cloud of two hosts, h1 and h2, and the kinds of network that both can carry.
type Setup struct {
	Name string
	// Mechanisms of h1 and h2.
	Mechanisms [2]string
	// Datapath of Open vSwitch, where a host has it.
	Datapath string
	Kinds    []Kind
}

// Cell is one place of the table.
type Cell struct {
	Setup
	Kind   Kind
	Family Family
	// Thrifty as the Pace.
	Thrifty bool
}

// Pace is how fast the machine is.
type Pace struct {
	// Factor multiplies the time that a state may take to come: 1 on a usual machine.
	Factor int
	// Beat is the time between two packets of a stream in which none may be lost.
	Beat time.Duration
	// Bulk is how much a transfer by TCP carries, in bytes.
	Bulk int
	// Thrifty tries rows for which it makes little difference how networks are carried on the first kind of a setup only.
	Thrifty bool
}

// Native is the pace of a usual machine.
func Native() Pace { return Pace{Factor: 1, Beat: 10 * time.Millisecond, Bulk: 4 << 20} }

// Emulated is that of a machine whose processor is emulated: it proves logic, never speed.
func Emulated() Pace {
	return Pace{Factor: 15, Beat: 50 * time.Millisecond, Bulk: 1 << 20, Thrifty: true}
}

// within stretches a limit.
func (p Pace) within(d time.Duration) time.Duration { return time.Duration(p.Factor) * d }

// beat is Beat as ping reads it.
func (p Pace) beat() string { return strings.TrimSuffix(p.Beat.String(), "ms") }

// OpenVSwitch is both hosts with Open vSwitch.
func OpenVSwitch(name, datapath string) Setup {
	return Setup{name, [2]string{lab.OpenVSwitch, lab.OpenVSwitch}, datapath, []Kind{VLAN, VXLAN, Flat, GRE, Geneve}}
}

// LinuxBridge is both hosts with bridges; kinds depend on what the kernel has.
func LinuxBridge(name string, kinds ...Kind) Setup {
	return Setup{name, [2]string{lab.LinuxBridge, lab.LinuxBridge}, "", kinds}
}

// Mixed is one host of either.
func Mixed(name, datapath string, kinds ...Kind) Setup {
	return Setup{name, [2]string{lab.OpenVSwitch, lab.LinuxBridge}, datapath, kinds}
}

func (s Setup) hosts() []lab.HostSpec {
	return []lab.HostSpec{{Name: "h1", Mechanism: s.Mechanisms[0]}, {Name: "h2", Mechanism: s.Mechanisms[1]}}
}

// mechanism of a host.
func (s Setup) mechanism(host string) string {
	if host == "h1" {
		return s.Mechanisms[0]
	}
	return s.Mechanisms[1]
}

// hasLeases: IPv6 addresses of a stage are set by hand.
func hasLeases(c Cell) bool { return c.Family == IPv4 }

func isFlat(c Cell) bool { return c.Kind == Flat }

// onOpenVSwitch: the far host of the stage, h2, has an Open vSwitch. Once a kind is enough.
func onOpenVSwitch(c Cell) bool { return oncePerKind(c) && c.mechanism("h2") == lab.OpenVSwitch }

// once narrows a row to the first kind of a setup, where the pace is thrifty; in may be nil.
func once(in func(Cell) bool) func(Cell) bool {
	return func(c Cell) bool { return (!c.Thrifty || c.Kind == c.Kinds[0]) && (in == nil || in(c)) }
}

// oncePerKind is for rows in which the family makes no difference.
func oncePerKind(c Cell) bool { return c.Family == IPv4 }

// provider is what a network of a kind is asked for with.
func provider(kind Kind, physical string, id int) Object {
	o := Object{"provider:network_type": string(kind)}
	if physical != "" {
		o["provider:physical_network"] = physical
	}
	if id != 0 {
		o["provider:segmentation_id"] = id
	}
	return o
}

// networks are the networks of a stage: its own, and two that are as near to it as can be.
func (s Setup) networks(kind Kind) (own, near, nearer Object) {
	switch kind {
	case Flat:
		return provider(Flat, "public", 0), provider(Flat, "physnet1", 0), provider(VLAN, "public", 4001).or(s.can(VLAN), provider(VXLAN, "", 4001))
	case VLAN:
		return provider(VLAN, "physnet1", 101), provider(VLAN, "physnet1", 102), provider(VLAN, "public", 101)
	case VXLAN:
		return provider(VXLAN, "", 4001), provider(VXLAN, "", 4002), provider(GRE, "", 4001).or(s.can(GRE), provider(VXLAN, "", 0x4001))
	default:
		return provider(kind, "", 4001), provider(kind, "", 4002), provider(VXLAN, "", 4001)
	}
}

// filters tells whether security groups can be kept. Hosts with bridges need conntrack on bridges, which kernels have that have VLAN devices
// too; on others a port in a group fails, and networks of a stage are without port security.
func (s Setup) filters() bool {
	return s.can(VLAN) || s.Mechanisms == [2]string{lab.OpenVSwitch, lab.OpenVSwitch}
}

func (s Setup) can(kind Kind) bool { return slices.Contains(s.Kinds, kind) }

func (o Object) or(fits bool, other Object) Object {
	if fits {
		return o
	}
	return other
}
