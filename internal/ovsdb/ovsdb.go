// Package ovsdb speaks with an Open vSwitch database server: one connection that heals itself, a monitor of
// the few tables and columns that Isospin looks at, typed rows, and transactions. The dataplane package
// vswitch calls it; it is the only one that knows the library underneath. It never decides what the
// database should hold, and never polls.
package ovsdb

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ErrNotConnected is the answer while there is no connection.
var ErrNotConnected = errors.New("not connected to the database server")

// UUID names a row; within a transaction also a row that an Insert of the same transaction makes.
type UUID string

// Root is the one row of table Open_vSwitch.
type Root struct {
	UUID          UUID
	Bridges       []UUID
	CurCfg        int // what ovs-vswitchd has applied
	NextCfg       int // what clients have asked for
	ExternalIDs   map[string]string
	OtherConfig   map[string]string
	Version       string // of Open vSwitch; "" if ovs-vswitchd has never run
	DatapathTypes []string
}

// Bridge is a row of table Bridge.
type Bridge struct {
	UUID         UUID
	Name         string
	Ports        []UUID
	DatapathType string // "system", "netdev"; "" is system
	FailMode     string // "secure", "standalone"; "" is standalone
	Protocols    []string
	STP, RSTP    bool
	OtherConfig  map[string]string
	ExternalIDs  map[string]string
}

// Port is a row of table Port.
type Port struct {
	UUID        UUID
	Name        string
	Interfaces  []UUID
	Tag         int // 0 is none
	Trunks      []int
	VLANMode    string
	QoS         UUID // "" is none
	OtherConfig map[string]string
	ExternalIDs map[string]string
}

// Interface is a row of table Interface.
type Interface struct {
	UUID          UUID
	Name          string
	Type          string // "", "internal", "patch", "vxlan", ...
	OFPort        int    // 0 is not assigned yet, -1 is a device that could not be opened
	OFPortRequest int    // 0 is none
	Options       map[string]string
	ExternalIDs   map[string]string
	MAC           string // asked for
	MACInUse      string
	MTU           int // in use; 0 is unknown
	MTURequest    int // 0 is none
	AdminState    string
	LinkState     string
	Error         string // why ovs-vswitchd could not set it up
}

// QoS is how a port queues what it sends.
type QoS struct {
	UUID        UUID
	Type        string // "linux-htb", ...
	Queues      map[int]UUID
	OtherConfig map[string]string
	ExternalIDs map[string]string
}

// Queue is one queue of a QoS.
type Queue struct {
	UUID        UUID
	OtherConfig map[string]string
	ExternalIDs map[string]string
}

// Snapshot is the database at one moment. It is shared: read only.
type Snapshot struct {
	Root       Root
	Bridges    map[UUID]Bridge
	Ports      map[UUID]Port
	Interfaces map[UUID]Interface
	QoS        map[UUID]QoS
	Queues     map[UUID]Queue

	bridges, ports, interfaces map[string]UUID // by name
}

// Bridge finds a bridge by its name.
func (s *Snapshot) Bridge(name string) (Bridge, bool) {
	b, ok := s.Bridges[s.bridges[name]]
	return b, ok
}

// Port finds a port by its name, whichever bridge it is on.
func (s *Snapshot) Port(name string) (Port, bool) {
	p, ok := s.Ports[s.ports[name]]
	return p, ok
}

// Interface finds an interface by its name.
func (s *Snapshot) Interface(name string) (Interface, bool) {
	i, ok := s.Interfaces[s.interfaces[name]]
	return i, ok
}

// On is what a bridge carries, port by port, each with its interfaces. Rows that have not come yet are left out.
func (s *Snapshot) On(b Bridge, each func(Port, Interface)) {
	for _, pid := range b.Ports {
		p, ok := s.Ports[pid]
		if !ok {
			continue
		}
		for _, iid := range p.Interfaces {
			if i, ok := s.Interfaces[iid]; ok {
				each(p, i)
			}
		}
	}
}

// index finds rows by name. Two rows of one name stand side by side only while an update is half seen.
func (s *Snapshot) index() {
	s.bridges = make(map[string]UUID, len(s.Bridges))
	s.ports = make(map[string]UUID, len(s.Ports))
	s.interfaces = make(map[string]UUID, len(s.Interfaces))
	for id, b := range s.Bridges {
		s.bridges[b.Name] = id
	}
	for id, p := range s.Ports {
		s.ports[p.Name] = id
	}
	for id, i := range s.Interfaces {
		s.interfaces[i.Name] = id
	}
}

func (s *Snapshot) clone() *Snapshot {
	c := &Snapshot{
		Root:       s.Root,
		Bridges:    maps.Clone(s.Bridges),
		Ports:      maps.Clone(s.Ports),
		Interfaces: maps.Clone(s.Interfaces),
		QoS:        maps.Clone(s.QoS),
		Queues:     maps.Clone(s.Queues),
	}
	c.index()
	return c
}

// whole says whether all references lead to rows and all ports and interfaces are referred to, as the
// database has it at the end of every transaction.
func (s *Snapshot) whole() bool {
	bridges, ports, interfaces := 0, 0, 0
	for _, id := range s.Root.Bridges {
		if _, ok := s.Bridges[id]; ok {
			bridges++
		}
	}
	for _, b := range s.Bridges {
		for _, id := range b.Ports {
			if _, ok := s.Ports[id]; !ok {
				return false
			}
			ports++
		}
	}
	for _, p := range s.Ports {
		for _, id := range p.Interfaces {
			if _, ok := s.Interfaces[id]; !ok {
				return false
			}
			interfaces++
		}
	}
	return bridges == len(s.Bridges) && len(s.Bridges) == len(s.Root.Bridges) && ports == len(s.Ports) && interfaces == len(s.Interfaces)
}

// checkEndpoint takes what operators write in ovsdb_connection: unix:/path, tcp:host:port.
func checkEndpoint(endpoint string) error {
	kind, rest, ok := strings.Cut(endpoint, ":")
	if !ok || rest == "" || !slices.Contains([]string{"unix", "tcp"}, kind) {
		return fmt.Errorf("endpoint %q is neither unix:/path nor tcp:host:port", endpoint)
	}
	return nil
}
