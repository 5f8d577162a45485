package vswitch

import (
	"context"
	"fmt"
	"slices"
	"time"

	"isospin/internal/ovsdb"
	"isospin/internal/reconcile"
)

// Bridge is how a bridge shall be. A zero field is left as it is.
type Bridge struct {
	DatapathType string   // "system", "netdev"
	FailMode     string   // "secure", "standalone"
	Protocols    []string // OpenFlow versions: these and no others
	OtherConfig  map[string]string
	// Existing is a bridge that somebody else makes and owns, such as one of bridge_mappings: it is an error
	// while it is not there, and stays when it is wanted no more.
	Existing bool
	// STP is for views only: a bridge of ours never runs a spanning tree. Of an Existing one it is not looked at.
	STP bool
}

// Integration is a bridge on which only the agent's flows forward: nothing passes before they are there.
func Integration(datapathType string) Bridge {
	return Bridge{
		DatapathType: datapathType,
		FailMode:     "secure",
		Protocols:    []string{"OpenFlow13", "OpenFlow14", "OpenFlow15"},
	}
}

// EqualBridge says whether a bridge is as wanted.
func EqualBridge(want, have Bridge) bool {
	return (want.DatapathType == "" || want.DatapathType == have.DatapathType) &&
		(want.FailMode == "" || want.FailMode == have.FailMode) &&
		(len(want.Protocols) == 0 || sameSet(want.Protocols, have.Protocols)) &&
		has(have.OtherConfig, want.OtherConfig) &&
		(want.Existing || !have.STP)
}

// Bridges is the driver of bridges, keyed by name.
type Bridges struct {
	client *ovsdb.Client
	owner  string
}

// NewBridges makes the driver. owner is the tag that marks what is ours; it stays the same over restarts.
func NewBridges(c *ovsdb.Client, owner string) *Bridges { return &Bridges{client: c, owner: owner} }

// List implements reconcile.Driver.
func (d *Bridges) List(ctx context.Context) (map[string]Bridge, error) {
	s, err := d.client.Read(ctx)
	if err != nil {
		return nil, err
	}
	return d.in(s), nil
}

// Watch calls invalidate when bridges of ours were changed, by whomever, until ctx ends. It returns nil.
func (d *Bridges) Watch(ctx context.Context, invalidate func(reason string)) error {
	return watch(ctx, d.client, d.in, invalidate)
}

func (d *Bridges) in(s *ovsdb.Snapshot) map[string]Bridge {
	out := map[string]Bridge{}
	for _, b := range s.Bridges {
		if b.ExternalIDs[ownerKey] != d.owner {
			continue
		}
		out[b.Name] = Bridge{
			DatapathType: datapathType(b),
			FailMode:     b.FailMode,
			Protocols:    b.Protocols,
			OtherConfig:  b.OtherConfig,
			Existing:     b.ExternalIDs[adoptedKey] != "",
			STP:          b.STP || b.RSTP,
		}
	}
	return out
}

// Put implements reconcile.Driver. After it made a bridge it waits a little for ovs-vswitchd to set it up,
// because flows come next.
func (d *Bridges) Put(ctx context.Context, batch map[string]Bridge) error {
	made := false
	err := apply(ctx, d.client, batch, func(s *ovsdb.Snapshot, name string, want Bridge) ([]ovsdb.Op, error) {
		b, there := s.Bridge(name)
		switch {
		case there:
			return d.correct(b, want), nil
		case want.Existing:
			return nil, ErrNoBridge
		}
		made = true
		return d.create(s.Root.UUID, name, want), nil
	})
	if made {
		settle, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		// Without ovs-vswitchd the rows are right all the same, and it will read them when it comes.
		_ = d.client.Settle(settle)
	}
	return err
}

func (d *Bridges) create(root ovsdb.UUID, name string, want Bridge) []ovsdb.Op {
	bridge, port, iface := rowName("b", name), rowName("p", name), rowName("i", name)
	row := columnsOf(want)
	row["name"], row["ports"], row["external_ids"] = name, []ovsdb.UUID{port}, map[string]string{ownerKey: d.owner}
	if len(want.OtherConfig) > 0 {
		row["other_config"] = want.OtherConfig
	}
	return []ovsdb.Op{
		ovsdb.Insert(ovsdb.TableInterface, iface, ovsdb.Row{"name": name, "type": "internal"}),
		ovsdb.Insert(ovsdb.TablePort, port, ovsdb.Row{"name": name, "interfaces": []ovsdb.UUID{iface}}),
		ovsdb.Insert(ovsdb.TableBridge, bridge, row),
		ovsdb.Add(ovsdb.TableRoot, root, "bridges", []ovsdb.UUID{bridge}),
	}
}

// correct changes what differs, and marks a bridge that was there before us.
func (d *Bridges) correct(b ovsdb.Bridge, want Bridge) []ovsdb.Op {
	row := columnsOf(want)
	if !want.Existing {
		row["stp_enable"], row["rstp_enable"] = false, false
	}
	var ops []ovsdb.Op
	if len(row) > 0 {
		ops = append(ops, ovsdb.Update(ovsdb.TableBridge, b.UUID, row))
	}
	if !has(b.OtherConfig, want.OtherConfig) {
		ops = append(ops,
			ovsdb.Remove(ovsdb.TableBridge, b.UUID, "other_config", keys(want.OtherConfig)),
			ovsdb.Add(ovsdb.TableBridge, b.UUID, "other_config", want.OtherConfig))
	}
	if b.ExternalIDs[ownerKey] != d.owner {
		ops = append(ops,
			ovsdb.Remove(ovsdb.TableBridge, b.UUID, "external_ids", []string{ownerKey, adoptedKey}),
			ovsdb.Add(ovsdb.TableBridge, b.UUID, "external_ids", map[string]string{ownerKey: d.owner, adoptedKey: "true"}))
	}
	return ops
}

// Drop implements reconcile.Driver. A bridge that was there before us only loses our mark.
func (d *Bridges) Drop(ctx context.Context, batch map[string]Bridge) error {
	return apply(ctx, d.client, batch, func(s *ovsdb.Snapshot, name string, _ Bridge) ([]ovsdb.Op, error) {
		b, there := s.Bridge(name)
		switch {
		case !there || b.ExternalIDs[ownerKey] != d.owner:
			return nil, nil
		case b.ExternalIDs[adoptedKey] != "":
			return []ovsdb.Op{ovsdb.Remove(ovsdb.TableBridge, b.UUID, "external_ids", []string{ownerKey, adoptedKey})}, nil
		}
		return []ovsdb.Op{ovsdb.Remove(ovsdb.TableRoot, s.Root.UUID, "bridges", []ovsdb.UUID{b.UUID})}, nil
	})
}

func columnsOf(want Bridge) ovsdb.Row {
	row := ovsdb.Row{}
	if want.DatapathType != "" {
		row["datapath_type"] = want.DatapathType
	}
	if want.FailMode != "" {
		row["fail_mode"] = want.FailMode
	}
	if len(want.Protocols) > 0 {
		row["protocols"] = want.Protocols
	}
	return row
}

// datapathType spells the default out.
func datapathType(b ovsdb.Bridge) string {
	if b.DatapathType == "" {
		return "system"
	}
	return b.DatapathType
}

func keys(m map[string]string) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// String tells a bridge in logs.
func (b Bridge) String() string {
	return fmt.Sprintf("%s %s %v %v", b.DatapathType, b.FailMode, b.Protocols, b.OtherConfig)
}

var _ reconcile.Driver[string, Bridge] = (*Bridges)(nil)
