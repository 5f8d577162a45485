package ml2

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"isospin/internal/model"
	"isospin/internal/store"
)

// Networks, Subnets and Ports are the tables of the core resources; other plugins read through them.
type (
	Networks = store.Table[model.Network]
	Subnets  = store.Table[model.Subnet]
	Ports    = store.Table[model.Port]
	Segments = store.Table[model.NetworkSegment]
)

// NewNetworks declares the table of networks.
func NewNetworks() *Networks {
	return store.NewTable("networks",
		func(n *model.Network) string { return n.ID }, func(n *model.Network) string { return n.ProjectID },
		store.Column[model.Network]{Name: "revision", Attr: "revision_number", Of: func(n *model.Network) any { return n.Revision }},
		store.Column[model.Network]{Name: "name", Attr: "name", Of: func(n *model.Network) any { return n.Name }},
		store.Column[model.Network]{Name: "default_external", Of: func(n *model.Network) any {
			if n.IsDefault != nil && *n.IsDefault {
				return "1"
			}
			return nil
		}},
		store.Column[model.Network]{Name: "qos_policy_id", Of: func(n *model.Network) any { return orNil(n.QoSPolicyID) }},
	).Counted("network")
}

// NewSubnets declares the table of subnets.
func NewSubnets() *Subnets {
	return store.NewTable("subnets",
		func(s *model.Subnet) string { return s.ID }, func(s *model.Subnet) string { return s.ProjectID },
		store.Column[model.Subnet]{Name: "revision", Attr: "revision_number", Of: func(s *model.Subnet) any { return s.Revision }},
		store.Column[model.Subnet]{Name: "network_id", Attr: "network_id", Of: func(s *model.Subnet) any { return s.NetworkID }},
		store.Column[model.Subnet]{Name: "name", Attr: "name", Of: func(s *model.Subnet) any { return s.Name }},
		store.Column[model.Subnet]{Name: "segment_id", Attr: "segment_id", Of: func(s *model.Subnet) any { return orNull(s.SegmentID) }},
		store.Column[model.Subnet]{Name: "subnetpool_id", Attr: "subnetpool_id", Of: func(s *model.Subnet) any { return orNil(s.SubnetPoolID) }},
	).Counted("subnet")
}

// NewPorts declares the table of ports.
func NewPorts() *Ports {
	return store.NewTable("ports",
		func(p *model.Port) string { return p.ID }, func(p *model.Port) string { return p.ProjectID },
		store.Column[model.Port]{Name: "revision", Attr: "revision_number", Of: func(p *model.Port) any { return p.Revision }},
		store.Column[model.Port]{Name: "network_id", Attr: "network_id", Of: func(p *model.Port) any { return p.NetworkID }},
		store.Column[model.Port]{Name: "mac_address", Attr: "mac_address", Of: func(p *model.Port) any { return p.MACAddress }},
		store.Column[model.Port]{Name: "name", Attr: "name", Of: func(p *model.Port) any { return p.Name }},
		store.Column[model.Port]{Name: "device_id", Attr: "device_id", Of: func(p *model.Port) any { return p.DeviceID }},
		store.Column[model.Port]{Name: "device_owner", Attr: "device_owner", Of: func(p *model.Port) any { return p.DeviceOwner }},
		store.Column[model.Port]{Name: "status", Attr: "status", Of: func(p *model.Port) any { return p.Status }},
		store.Column[model.Port]{Name: "host", Attr: "binding:host_id", Of: func(p *model.Port) any { return p.HostID }},
		store.Column[model.Port]{Name: "wiring", Of: func(p *model.Port) any { return p.Wiring }, Load: loadWiring},
		store.Column[model.Port]{Name: "qos_policy_id", Of: func(p *model.Port) any { return orNil(p.QoSPolicyID) }},
		store.Column[model.Port]{Name: "trunk_id", Of: func(p *model.Port) any { return p.TrunkID }, Load: loadText(func(p *model.Port, id string) { p.TrunkID = id })},
		store.Column[model.Port]{Name: "bindings", Of: bindingsOf, Load: loadBindings},
	).Counted("port")
}

// orNil is a text as a column holds it.
func orNil(s *string) any {
	if s == nil {
		return nil
	}
	return *s
}

func loadWiring(p *model.Port, raw any) error {
	n, ok := raw.(int64)
	if !ok {
		return fmt.Errorf("ml2: wiring is a %T", raw)
	}
	p.Wiring = n
	return nil
}

// NewSegments declares the table of segments, dynamic ones too.
func NewSegments() *Segments {
	type segment = model.NetworkSegment
	return store.NewTable("segments",
		func(s *segment) string { return s.ID }, func(*segment) string { return "" },
		store.Column[segment]{Name: "revision", Attr: "revision_number", Of: func(s *segment) any { return s.Revision }},
		store.Column[segment]{Name: "name", Attr: "name", Of: func(s *segment) any { return orNull(s.Name) }},
		store.Column[segment]{Name: "network_id", Attr: "network_id", Of: func(s *segment) any { return s.NetworkID }},
		store.Column[segment]{Name: "network_type", Attr: "network_type", Of: func(s *segment) any { return s.NetworkType }},
		store.Column[segment]{Name: "physical_network", Attr: "physical_network", Of: func(s *segment) any { return deref(s.PhysicalNetwork) }},
		store.Column[segment]{Name: "segmentation_id", Attr: "segmentation_id", Of: func(s *segment) any { return deref(s.SegmentationID) }},
		store.Column[segment]{Name: "segment_index", Of: func(s *segment) any { return s.Index }, Load: loadNumber(func(s *segment, n int64) { s.Index = n })},
		store.Column[segment]{Name: "is_dynamic", Of: func(s *segment) any { return truth(s.Dynamic) }, Load: loadNumber(func(s *segment, n int64) { s.Dynamic = n != 0 })},
		store.Column[segment]{Name: "host", Of: func(s *segment) any { return s.Host }, Load: loadText(func(s *segment, host string) { s.Host = host })},
		store.Column[segment]{Name: "dynamic_of", Of: func(s *segment) any { return dynamicOf(s.Segment()) }},
	)
}

func orNull(s *string) any {
	if s == nil {
		return nil
	}
	return *s
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// loadNumber and loadText put a column's value back into a row.
func loadNumber[T any](set func(*T, int64)) func(*T, any) error {
	return func(v *T, raw any) error {
		n, ok := raw.(int64)
		if !ok {
			return fmt.Errorf("ml2: a column is a %T and no number", raw)
		}
		set(v, n)
		return nil
	}
}

func loadText[T any](set func(*T, string)) func(*T, any) error {
	return func(v *T, raw any) error {
		switch text := raw.(type) {
		case string:
			set(v, text)
		case []byte:
			set(v, string(text))
		default:
			return fmt.Errorf("ml2: a column is a %T and no text", raw)
		}
		return nil
	}
}

const segmentColumns = "id, network_id, network_type, physical_network, segmentation_id, segment_index, is_dynamic, host"

// SegmentsOf reads the segments of networks, a network's own first and in their order. One statement.
func SegmentsOf(ctx context.Context, tx store.Tx, networks []string) (map[string][]model.Segment, error) {
	return segmentsWhere(ctx, tx, store.In("network_id", networks), "")
}

// SegmentsByID reads single segments, keyed by id. One statement.
func SegmentsByID(ctx context.Context, tx store.Tx, ids []string) (map[string]model.Segment, error) {
	return segmentsByID(ctx, tx, ids, "")
}

// segmentsByID reads single segments; lock is a suffix that keeps them.
func segmentsByID(ctx context.Context, tx store.Tx, ids []string, lock string) (map[string]model.Segment, error) {
	byNetwork, err := segmentsWhere(ctx, tx, store.In("id", ids), lock)
	out := map[string]model.Segment{}
	for _, list := range byNetwork {
		for _, s := range list {
			out[s.ID] = s
		}
	}
	return out, err
}

func segmentsWhere(ctx context.Context, tx store.Tx, where store.Cond, lock string) (map[string][]model.Segment, error) {
	out := map[string][]model.Segment{}
	err := store.Each(ctx, tx, store.Q("SELECT "+segmentColumns+" FROM segments WHERE "+where.SQL+" ORDER BY network_id, is_dynamic, segment_index, id"+lock, where.Args...),
		func(scan func(...any) error) error {
			var s model.Segment
			var dynamic int64
			err := scan(&s.ID, &s.NetworkID, &s.NetworkType, &s.PhysicalNetwork, &s.SegmentationID, &s.Index, &dynamic, &s.Host)
			s.Dynamic = dynamic != 0
			out[s.NetworkID] = append(out[s.NetworkID], s)
			return err
		})
	return out, err
}

// dynamicOf is the same for dynamic segments that serve the same, of which a network has one: the index refuses another.
func dynamicOf(s model.Segment) any {
	if !s.Dynamic {
		return nil
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{s.NetworkID, s.NetworkType, s.PhysicalNetwork, s.Host}, "\n")))
	return hex.EncodeToString(sum[:])
}

func deleteSegment(ctx context.Context, tx store.WriteTx, id string) error {
	_, err := tx.Exec(ctx, store.Q("DELETE FROM segments WHERE id = ?", id))
	return err
}

// LevelsOf reads the binding levels of ports, keyed by port, top first. One statement.
func LevelsOf(ctx context.Context, tx store.Tx, ports []string) (map[string][]model.BindingLevel, error) {
	where := store.In("port_id", ports)
	out := map[string][]model.BindingLevel{}
	err := store.Each(ctx, tx, store.Q("SELECT port_id, host, level, driver, segment_id FROM binding_levels WHERE "+where.SQL+" ORDER BY port_id, host, level", where.Args...),
		func(scan func(...any) error) error {
			var l model.BindingLevel
			err := scan(&l.PortID, &l.Host, &l.Level, &l.Driver, &l.SegmentID)
			out[l.PortID] = append(out[l.PortID], l)
			return err
		})
	return out, err
}
