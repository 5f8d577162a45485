package vswitch

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"strconv"
	"strings"

	"isospin/internal/ovsdb"
	"isospin/internal/reconcile"
)

// Port is how a port of one interface shall be; both bear its key as their name.
type Port struct {
	Bridge      string
	Type        string // "" is a device of the kernel; "internal", "patch", "vxlan", "gre", "geneve"
	Options     map[string]string
	ExternalIDs map[string]string // of the interface
	Tag         int               // VLAN; 0 is none
	Trunks      []int             // VLANs; none is all
	MAC         string            // of an internal port; "" is left as it is
	MTU         int               // asked for, in bytes; 0 is left as it is
	OFPort      int               // asked for; 0 is left as it is
	// Fault is for views only: why ovs-vswitchd could not open it. A port with one is not as wanted; writing does not help, and its Put says so.
	Fault string
}

// Patch is one end of a pair that joins two bridges; peer is the name of the other end.
func Patch(bridge, peer string) Port {
	return Port{Bridge: bridge, Type: "patch", Options: map[string]string{"peer": peer}}
}

// Internal is a port whose device the switch itself makes. On the userspace datapath the device is gone from
// its namespace after a restart of ovs-vswitchd: use a veth pair and System there.
func Internal(bridge, mac string, mtu int, externalIDs map[string]string) Port {
	return Port{Bridge: bridge, Type: "internal", MAC: mac, MTU: mtu, ExternalIDs: externalIDs}
}

// System is a port on a device that is there already, such as one end of a veth pair.
func System(bridge string, externalIDs map[string]string) Port {
	return Port{Bridge: bridge, ExternalIDs: externalIDs}
}

// Tunnel says what differs between tunnels.
type Tunnel struct {
	Kind         string     // "vxlan", "gre", "geneve"
	Local        netip.Addr // the zero value leaves it to the kernel's routes
	Remote       netip.Addr // the zero value leaves it to the flows
	UDPPort      int        // 0 is the kind's own: 4789, 6081
	DontFragment bool       // sets DF in the outer header
	Checksum     bool       // of the outer header
	TOS          string     // "" is 0; "inherit"
}

// Port makes the port. The key (VNI) is the flows' matter.
func (t Tunnel) Port(bridge string) Port {
	opts := map[string]string{
		"key":        "flow",
		"remote_ip":  "flow",
		"df_default": strconv.FormatBool(t.DontFragment),
		"csum":       strconv.FormatBool(t.Checksum),
	}
	if t.Remote.IsValid() {
		opts["remote_ip"] = t.Remote.String()
	}
	if t.Local.IsValid() {
		opts["local_ip"] = t.Local.String()
	}
	if t.UDPPort != 0 {
		opts["dst_port"] = strconv.Itoa(t.UDPPort)
	}
	if t.TOS != "" {
		opts["tos"] = t.TOS
	}
	return Port{Bridge: bridge, Type: t.Kind, Options: opts}
}

// EqualPort says whether a port is as wanted.
func EqualPort(want, have Port) bool {
	return have.Fault == "" && sameRow(want, have)
}

// sameRow tells whether the database has what is wanted, whatever ovs-vswitchd made of it.
func sameRow(want, have Port) bool {
	return want.Bridge == have.Bridge && want.Type == have.Type && want.Tag == have.Tag &&
		maps.Equal(want.Options, have.Options) && maps.Equal(want.ExternalIDs, have.ExternalIDs) &&
		sameSet(want.Trunks, have.Trunks) &&
		(want.MAC == "" || strings.EqualFold(want.MAC, have.MAC)) &&
		(want.MTU == 0 || want.MTU == have.MTU) &&
		(want.OFPort == 0 || want.OFPort == have.OFPort)
}

// Ports is the driver of ports, keyed by name.
type Ports struct {
	client *ovsdb.Client
	owner  string
}

// NewPorts makes the driver. owner is the tag that marks what is ours; it stays the same over restarts.
func NewPorts(c *ovsdb.Client, owner string) *Ports { return &Ports{client: c, owner: owner} }

// List implements reconcile.Driver.
func (d *Ports) List(ctx context.Context) (map[string]Port, error) {
	s, err := d.client.Read(ctx)
	if err != nil {
		return nil, err
	}
	return d.in(s), nil
}

// Watch calls invalidate when ports of ours were changed, by whomever, until ctx ends. It returns nil.
func (d *Ports) Watch(ctx context.Context, invalidate func(reason string)) error {
	return watch(ctx, d.client, d.in, invalidate)
}

func (d *Ports) in(s *ovsdb.Snapshot) map[string]Port {
	out := map[string]Port{}
	for _, b := range s.Bridges {
		s.On(b, func(p ovsdb.Port, i ovsdb.Interface) {
			if p.ExternalIDs[ownerKey] != d.owner || p.Name != i.Name {
				return
			}
			out[p.Name] = Port{
				Bridge:      b.Name,
				Type:        strings.TrimPrefix(i.Type, "system"),
				Options:     i.Options,
				ExternalIDs: i.ExternalIDs,
				Tag:         p.Tag,
				Trunks:      p.Trunks,
				MAC:         i.MAC,
				MTU:         i.MTURequest,
				OFPort:      i.OFPortRequest,
				Fault:       i.Error,
			}
		})
	}
	return out
}

// Put implements reconcile.Driver. It does not wait for ovs-vswitchd: the number of a port, or why the
// device could not be opened, is found in the interface's row later. A port that is as wanted and could not be opened
// is an ErrFault, and ovs-vswitchd is asked to try again.
func (d *Ports) Put(ctx context.Context, batch map[string]Port) error {
	var mine map[string]Port
	return apply(ctx, d.client, batch, func(s *ovsdb.Snapshot, name string, want Port) ([]ovsdb.Op, error) {
		if mine == nil {
			mine = d.in(s)
		}
		if have, there := mine[name]; there && have.Fault != "" && sameRow(want, have) {
			return []ovsdb.Op{ovsdb.Again(s)}, fmt.Errorf("%w: %s", ErrFault, have.Fault)
		}
		bridge, there := s.Bridge(want.Bridge)
		if !there {
			return nil, ErrNoBridge
		}
		p, there := s.Port(name)
		if !there {
			return d.create(bridge.UUID, name, want), nil
		}
		i, there := s.Interface(name)
		if !there || p.ExternalIDs[ownerKey] != d.owner {
			return nil, ErrForeign
		}
		ops := []ovsdb.Op{
			ovsdb.Update(ovsdb.TablePort, p.UUID, portColumns(want)),
			ovsdb.Update(ovsdb.TableInterface, i.UUID, interfaceColumns(want)),
		}
		if from, there := holder(s, p.UUID); there && from.UUID != bridge.UUID {
			ops = append(ops,
				ovsdb.Remove(ovsdb.TableBridge, from.UUID, "ports", []ovsdb.UUID{p.UUID}),
				ovsdb.Add(ovsdb.TableBridge, bridge.UUID, "ports", []ovsdb.UUID{p.UUID}))
		}
		return ops, nil
	})
}

func (d *Ports) create(bridge ovsdb.UUID, name string, want Port) []ovsdb.Op {
	port, iface := rowName("p", name), rowName("i", name)
	irow, prow := interfaceColumns(want), portColumns(want)
	irow["name"] = name
	prow["name"], prow["interfaces"], prow["external_ids"] = name, []ovsdb.UUID{iface}, map[string]string{ownerKey: d.owner}
	return []ovsdb.Op{
		ovsdb.Insert(ovsdb.TableInterface, iface, irow),
		ovsdb.Insert(ovsdb.TablePort, port, prow),
		ovsdb.Add(ovsdb.TableBridge, bridge, "ports", []ovsdb.UUID{port}),
	}
}

// Drop implements reconcile.Driver.
func (d *Ports) Drop(ctx context.Context, batch map[string]Port) error {
	return apply(ctx, d.client, batch, func(s *ovsdb.Snapshot, name string, _ Port) ([]ovsdb.Op, error) {
		p, there := s.Port(name)
		if !there || p.ExternalIDs[ownerKey] != d.owner {
			return nil, nil
		}
		bridge, there := holder(s, p.UUID)
		if !there {
			return nil, nil
		}
		return []ovsdb.Op{ovsdb.Remove(ovsdb.TableBridge, bridge.UUID, "ports", []ovsdb.UUID{p.UUID})}, nil
	})
}

func portColumns(want Port) ovsdb.Row {
	return ovsdb.Row{"tag": optional(want.Tag), "trunks": append([]int{}, want.Trunks...)}
}

func interfaceColumns(want Port) ovsdb.Row {
	row := ovsdb.Row{
		"type":         want.Type,
		"options":      filled(want.Options),
		"external_ids": filled(want.ExternalIDs),
	}
	if want.MAC != "" {
		row["mac"] = optional(want.MAC)
	}
	if want.MTU != 0 {
		row["mtu_request"] = optional(want.MTU)
	}
	if want.OFPort != 0 {
		row["ofport_request"] = optional(want.OFPort)
	}
	return row
}

// filled is m, or an empty map for none.
func filled(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

// holder is the bridge that carries a port.
func holder(s *ovsdb.Snapshot, port ovsdb.UUID) (ovsdb.Bridge, bool) {
	for _, b := range s.Bridges {
		for _, id := range b.Ports {
			if id == port {
				return b, true
			}
		}
	}
	return ovsdb.Bridge{}, false
}

var _ reconcile.Driver[string, Port] = (*Ports)(nil)
