package ovsdb

import (
	"maps"
	"slices"

	"github.com/ovn-kubernetes/libovsdb/model"
)

// Table names.
const (
	TableRoot      = "Open_vSwitch"
	TableBridge    = "Bridge"
	TablePort      = "Port"
	TableInterface = "Interface"
	TableQoS       = "QoS"
	TableQueue     = "Queue"
)

// The rows as the library reads them: the monitored columns and no others, so that counters that change
// every few seconds never reach this process. CloneModel and CloneModelInto spare the library a detour
// through JSON for each of its copies.

type rootRow struct {
	UUID          string            `ovsdb:"_uuid"`
	Bridges       []string          `ovsdb:"bridges"`
	CurCfg        int               `ovsdb:"cur_cfg"`
	NextCfg       int               `ovsdb:"next_cfg"`
	ExternalIDs   map[string]string `ovsdb:"external_ids"`
	OtherConfig   map[string]string `ovsdb:"other_config"`
	Version       *string           `ovsdb:"ovs_version"`
	DatapathTypes []string          `ovsdb:"datapath_types"`
}

type bridgeRow struct {
	UUID         string            `ovsdb:"_uuid"`
	Name         string            `ovsdb:"name"`
	Ports        []string          `ovsdb:"ports"`
	DatapathType string            `ovsdb:"datapath_type"`
	FailMode     *string           `ovsdb:"fail_mode"`
	Protocols    []string          `ovsdb:"protocols"`
	STP          bool              `ovsdb:"stp_enable"`
	RSTP         bool              `ovsdb:"rstp_enable"`
	OtherConfig  map[string]string `ovsdb:"other_config"`
	ExternalIDs  map[string]string `ovsdb:"external_ids"`
}

type portRow struct {
	UUID        string            `ovsdb:"_uuid"`
	Name        string            `ovsdb:"name"`
	Interfaces  []string          `ovsdb:"interfaces"`
	Tag         *int              `ovsdb:"tag"`
	Trunks      []int             `ovsdb:"trunks"`
	VLANMode    *string           `ovsdb:"vlan_mode"`
	QoS         *string           `ovsdb:"qos"`
	OtherConfig map[string]string `ovsdb:"other_config"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

type interfaceRow struct {
	UUID          string            `ovsdb:"_uuid"`
	Name          string            `ovsdb:"name"`
	Type          string            `ovsdb:"type"`
	OFPort        *int              `ovsdb:"ofport"`
	OFPortRequest *int              `ovsdb:"ofport_request"`
	Options       map[string]string `ovsdb:"options"`
	ExternalIDs   map[string]string `ovsdb:"external_ids"`
	MAC           *string           `ovsdb:"mac"`
	MACInUse      *string           `ovsdb:"mac_in_use"`
	MTU           *int              `ovsdb:"mtu"`
	MTURequest    *int              `ovsdb:"mtu_request"`
	AdminState    *string           `ovsdb:"admin_state"`
	LinkState     *string           `ovsdb:"link_state"`
	Error         *string           `ovsdb:"error"`
}

type qosRow struct {
	UUID        string            `ovsdb:"_uuid"`
	Type        string            `ovsdb:"type"`
	Queues      map[int]string    `ovsdb:"queues"`
	OtherConfig map[string]string `ovsdb:"other_config"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

type queueRow struct {
	UUID        string            `ovsdb:"_uuid"`
	OtherConfig map[string]string `ovsdb:"other_config"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

func clientModel() (model.ClientDBModel, error) {
	return model.NewClientDBModel("Open_vSwitch", map[string]model.Model{
		TableRoot:      &rootRow{},
		TableBridge:    &bridgeRow{},
		TablePort:      &portRow{},
		TableInterface: &interfaceRow{},
		TableQoS:       &qosRow{},
		TableQueue:     &queueRow{},
	})
}

// columns are what the monitor asks for.
func columns(table string) []string {
	switch table {
	case TableRoot:
		return []string{"bridges", "cur_cfg", "next_cfg", "external_ids", "other_config", "ovs_version", "datapath_types"}
	case TableBridge:
		return []string{"name", "ports", "datapath_type", "fail_mode", "protocols", "stp_enable", "rstp_enable",
			"other_config", "external_ids"}
	case TablePort:
		return []string{"name", "interfaces", "tag", "trunks", "vlan_mode", "qos", "other_config", "external_ids"}
	case TableQoS:
		return []string{"type", "queues", "other_config", "external_ids"}
	case TableQueue:
		return []string{"other_config", "external_ids"}
	default:
		return []string{"name", "type", "ofport", "ofport_request", "options", "external_ids", "mac", "mac_in_use",
			"mtu", "mtu_request", "admin_state", "link_state", "error"}
	}
}

func tables() []string {
	return []string{TableRoot, TableBridge, TablePort, TableInterface, TableQoS, TableQueue}
}

// put takes one row into the snapshot under construction.
func (s *Snapshot) put(row model.Model) {
	switch r := row.(type) {
	case *rootRow:
		s.Root = Root{UUID: UUID(r.UUID), Bridges: ids(r.Bridges), CurCfg: r.CurCfg, NextCfg: r.NextCfg,
			ExternalIDs: r.ExternalIDs, OtherConfig: r.OtherConfig, Version: value(r.Version), DatapathTypes: r.DatapathTypes}
	case *bridgeRow:
		s.Bridges[UUID(r.UUID)] = Bridge{UUID: UUID(r.UUID), Name: r.Name, Ports: ids(r.Ports), DatapathType: r.DatapathType,
			FailMode: value(r.FailMode), Protocols: sorted(r.Protocols), STP: r.STP, RSTP: r.RSTP,
			OtherConfig: r.OtherConfig, ExternalIDs: r.ExternalIDs}
	case *portRow:
		s.Ports[UUID(r.UUID)] = Port{UUID: UUID(r.UUID), Name: r.Name, Interfaces: ids(r.Interfaces), Tag: value(r.Tag),
			Trunks: sorted(r.Trunks), VLANMode: value(r.VLANMode), QoS: UUID(value(r.QoS)), OtherConfig: r.OtherConfig, ExternalIDs: r.ExternalIDs}
	case *qosRow:
		queues := make(map[int]UUID, len(r.Queues))
		for n, id := range r.Queues {
			queues[n] = UUID(id)
		}
		s.QoS[UUID(r.UUID)] = QoS{UUID: UUID(r.UUID), Type: r.Type, Queues: queues, OtherConfig: r.OtherConfig, ExternalIDs: r.ExternalIDs}
	case *queueRow:
		s.Queues[UUID(r.UUID)] = Queue{UUID: UUID(r.UUID), OtherConfig: r.OtherConfig, ExternalIDs: r.ExternalIDs}
	case *interfaceRow:
		s.Interfaces[UUID(r.UUID)] = Interface{UUID: UUID(r.UUID), Name: r.Name, Type: r.Type, OFPort: value(r.OFPort),
			OFPortRequest: value(r.OFPortRequest), Options: r.Options, ExternalIDs: r.ExternalIDs, MAC: value(r.MAC),
			MACInUse: value(r.MACInUse), MTU: value(r.MTU), MTURequest: value(r.MTURequest),
			AdminState: value(r.AdminState), LinkState: value(r.LinkState), Error: value(r.Error)}
	}
}

// remove takes one row out.
func (s *Snapshot) remove(table, uuid string) {
	switch table {
	case TableBridge:
		delete(s.Bridges, UUID(uuid))
	case TablePort:
		delete(s.Ports, UUID(uuid))
	case TableInterface:
		delete(s.Interfaces, UUID(uuid))
	case TableQoS:
		delete(s.QoS, UUID(uuid))
	case TableQueue:
		delete(s.Queues, UUID(uuid))
	}
}

func emptySnapshot() *Snapshot {
	return &Snapshot{Bridges: map[UUID]Bridge{}, Ports: map[UUID]Port{}, Interfaces: map[UUID]Interface{}, QoS: map[UUID]QoS{}, Queues: map[UUID]Queue{}}
}

func rowID(row model.Model) string {
	switch r := row.(type) {
	case *rootRow:
		return r.UUID
	case *bridgeRow:
		return r.UUID
	case *portRow:
		return r.UUID
	case *interfaceRow:
		return r.UUID
	case *qosRow:
		return r.UUID
	case *queueRow:
		return r.UUID
	}
	return ""
}

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

func pointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

func ids(in []string) []UUID {
	out := make([]UUID, len(in))
	for i, s := range in {
		out[i] = UUID(s)
	}
	slices.Sort(out)
	return out
}

func sorted[T int | string](in []T) []T {
	out := slices.Clone(in)
	slices.Sort(out)
	return out
}

// CloneModel implements the library's model.CloneableModel.
func (r *rootRow) CloneModel() model.Model { c := &rootRow{}; r.CloneModelInto(c); return c }

// CloneModelInto implements the library's model.CloneableModel.
func (r *rootRow) CloneModelInto(m model.Model) {
	c, ok := m.(*rootRow)
	if !ok {
		return
	}
	*c = *r
	c.Bridges, c.DatapathTypes = slices.Clone(r.Bridges), slices.Clone(r.DatapathTypes)
	c.ExternalIDs, c.OtherConfig = maps.Clone(r.ExternalIDs), maps.Clone(r.OtherConfig)
	c.Version = pointer(r.Version)
}

// CloneModel implements the library's model.CloneableModel.
func (r *bridgeRow) CloneModel() model.Model { c := &bridgeRow{}; r.CloneModelInto(c); return c }

// CloneModelInto implements the library's model.CloneableModel.
func (r *bridgeRow) CloneModelInto(m model.Model) {
	c, ok := m.(*bridgeRow)
	if !ok {
		return
	}
	*c = *r
	c.Ports, c.Protocols = slices.Clone(r.Ports), slices.Clone(r.Protocols)
	c.ExternalIDs, c.OtherConfig = maps.Clone(r.ExternalIDs), maps.Clone(r.OtherConfig)
	c.FailMode = pointer(r.FailMode)
}

// CloneModel implements the library's model.CloneableModel.
func (r *portRow) CloneModel() model.Model { c := &portRow{}; r.CloneModelInto(c); return c }

// CloneModelInto implements the library's model.CloneableModel.
func (r *portRow) CloneModelInto(m model.Model) {
	c, ok := m.(*portRow)
	if !ok {
		return
	}
	*c = *r
	c.Interfaces, c.Trunks = slices.Clone(r.Interfaces), slices.Clone(r.Trunks)
	c.ExternalIDs, c.OtherConfig = maps.Clone(r.ExternalIDs), maps.Clone(r.OtherConfig)
	c.Tag, c.VLANMode, c.QoS = pointer(r.Tag), pointer(r.VLANMode), pointer(r.QoS)
}

// CloneModel implements the library's model.CloneableModel.
func (r *interfaceRow) CloneModel() model.Model { c := &interfaceRow{}; r.CloneModelInto(c); return c }

// CloneModelInto implements the library's model.CloneableModel.
func (r *interfaceRow) CloneModelInto(m model.Model) {
	c, ok := m.(*interfaceRow)
	if !ok {
		return
	}
	*c = *r
	c.Options, c.ExternalIDs = maps.Clone(r.Options), maps.Clone(r.ExternalIDs)
	c.OFPort, c.OFPortRequest, c.MTU, c.MTURequest = pointer(r.OFPort), pointer(r.OFPortRequest), pointer(r.MTU), pointer(r.MTURequest)
	c.MAC, c.MACInUse, c.AdminState = pointer(r.MAC), pointer(r.MACInUse), pointer(r.AdminState)
	c.LinkState, c.Error = pointer(r.LinkState), pointer(r.Error)
}

// CloneModel implements the library's model.CloneableModel.
func (r *qosRow) CloneModel() model.Model { c := &qosRow{}; r.CloneModelInto(c); return c }

// CloneModelInto implements the library's model.CloneableModel.
func (r *qosRow) CloneModelInto(m model.Model) {
	c, ok := m.(*qosRow)
	if !ok {
		return
	}
	*c = *r
	c.Queues, c.OtherConfig, c.ExternalIDs = maps.Clone(r.Queues), maps.Clone(r.OtherConfig), maps.Clone(r.ExternalIDs)
}

// CloneModel implements the library's model.CloneableModel.
func (r *queueRow) CloneModel() model.Model { c := &queueRow{}; r.CloneModelInto(c); return c }

// CloneModelInto implements the library's model.CloneableModel.
func (r *queueRow) CloneModelInto(m model.Model) {
	c, ok := m.(*queueRow)
	if !ok {
		return
	}
	*c = *r
	c.OtherConfig, c.ExternalIDs = maps.Clone(r.OtherConfig), maps.Clone(r.ExternalIDs)
}

var (
	_ model.CloneableModel = (*qosRow)(nil)
	_ model.CloneableModel = (*queueRow)(nil)
	_ model.CloneableModel = (*rootRow)(nil)
	_ model.CloneableModel = (*bridgeRow)(nil)
	_ model.CloneableModel = (*portRow)(nil)
	_ model.CloneableModel = (*interfaceRow)(nil)
)
