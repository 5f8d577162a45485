package trunk

import (
	"context"
	"strings"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/store"
)

// The ways in which subports are told apart: by a tag that the request names, or by that of the subport's own network.
const (
	byVLAN    = "vlan"
	byNetwork = "inherit"
)

const maxVLAN = 4094

// choose judges the ports that shall come into a trunk, one after the other, and settles their tags (neutron/services/trunk/rules.py).
func choose(ctx context.Context, t *model.Trunk, parent *model.Port, wants []model.SubPort, ports map[string]model.Port, nets map[string]model.Network) ([]model.SubPort, error) {
	type tag struct {
		kind string
		id   int64
	}
	taken := map[tag]bool{}
	for _, s := range t.SubPorts {
		taken[tag{s.SegmentationType, s.SegmentationID}] = true
	}
	most := nets[parent.NetworkID].MTU
	var out []model.SubPort
	for _, s := range wants {
		if s.PortID == parent.ID {
			return nil, fault.ParentPortInUse(s.PortID)
		}
		port, found := ports[s.PortID]
		n := nets[port.NetworkID]
		if !found || !sees(ctx, &port, &n) {
			return nil, fault.PortNotFound(s.PortID)
		}
		if most > 0 && n.MTU > most {
			return nil, fault.SubPortMtuGreaterThanTrunkPortMtu(n.MTU, s.PortID, most, parent.ID)
		}
		if s.SegmentationType == byNetwork {
			s.SegmentationType, s.SegmentationID = inherited(&n)
		}
		if err := judgeTag(s); err != nil {
			return nil, err
		}
		if err := unused(&port); err != nil {
			return nil, err
		}
		if port.DeviceID != "" {
			return nil, fault.PortInUse(port.ID, port.NetworkID, port.DeviceID)
		}
		at := tag{s.SegmentationType, s.SegmentationID}
		if taken[at] {
			return nil, fault.DuplicateSubPort(t.ID, s.SegmentationType, s.SegmentationID)
		}
		taken[at] = true
		out = append(out, s)
	}
	return out, nil
}

// inherited is the tag of a network of one segment.
func inherited(n *model.Network) (kind string, id int64) {
	a := n.ProviderAttributes
	if a == nil || a.NetworkType == nil || a.SegmentationID == nil {
		return byNetwork, 0
	}
	return *a.NetworkType, *a.SegmentationID
}

func judgeTag(s model.SubPort) error {
	switch {
	case s.SegmentationType == byNetwork:
		return fault.BadInput("subport %s cannot inherit its segmentation_type: its network has no one segment with an id.", s.PortID)
	case s.SegmentationType == "":
		return fault.BadInput("subport %s needs a segmentation_type and a segmentation_id.", s.PortID)
	case s.SegmentationType != byVLAN:
		return fault.BadInput("segmentation_type '%s' of subport %s is not one of vlan, inherit.", s.SegmentationType, s.PortID)
	case s.SegmentationID < 1 || s.SegmentationID > maxVLAN:
		return fault.BadInput("segmentation_id %d of subport %s is not in the range from 1 to %d.", s.SegmentationID, s.PortID, maxVLAN)
	}
	return nil
}

// unused refuses a port that is of a trunk.
func unused(p *model.Port) error {
	switch {
	case p.TrunkID == "":
		return nil
	case p.TrunkDetails != nil:
		return fault.ParentPortInUse(p.ID)
	}
	return fault.TrunkPortInUse(p.ID)
}

// insert writes which ports are in a trunk. One statement.
func insert(ctx context.Context, tx store.WriteTx, trunk string, subs []model.SubPort) error {
	if len(subs) == 0 {
		return nil
	}
	args := make([]any, 0, 4*len(subs))
	for _, s := range subs {
		args = append(args, s.PortID, trunk, s.SegmentationType, s.SegmentationID)
	}
	_, err := tx.Exec(ctx, store.Q("INSERT INTO subports (port_id, trunk_id, segmentation_type, segmentation_id) VALUES (?, ?, ?, ?)"+
		strings.Repeat(", (?, ?, ?, ?)", len(subs)-1), args...))
	return err
}
