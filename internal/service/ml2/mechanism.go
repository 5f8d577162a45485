package ml2

import (
	"context"
	"strconv"

	"isospin/internal/model"
)

// maxLevels bounds hierarchical binding (MAX_BINDING_LEVELS in neutron's plugins/ml2/managers.py).
const maxLevels = 10

// MechanismManager asks the mechanism drivers in their configured order; the first success wins.
type MechanismManager struct {
	drivers []MechanismDriver
	hosts   Hosts
}

// NewMechanismManager keeps the drivers in the order of `mechanism_drivers`.
func NewMechanismManager(drivers []MechanismDriver, hosts Hosts) *MechanismManager {
	return &MechanismManager{drivers: drivers, hosts: hosts}
}

// outcome is a binding tried to its end.
type outcome struct {
	bound   bool
	remote  bool // a remote driver must be asked, which cannot be done in a transaction
	levels  []model.BindingLevel
	vifType string
	details map[string]any
	status  string // "": as it is
}

// reserve finds or makes the segment of the next level.
type reserve func(ctx context.Context, want model.Segment) (model.Segment, error)

// tree tries to bind from a level down. ask tells whether remote drivers may be asked.
func (m *MechanismManager) tree(ctx context.Context, r BindRequest, ask bool, next reserve) (outcome, error) {
	if r.Level >= maxLevels {
		return outcome{}, nil
	}
	for _, d := range m.drivers {
		b, ok, remote, err := m.try(ctx, d, r, ask)
		if err != nil || remote {
			return outcome{remote: remote}, err
		}
		if !ok {
			continue
		}
		level := model.BindingLevel{PortID: r.Port.ID, Host: r.Host.Name, Level: r.Level, Driver: d.Name(), SegmentID: b.Segment.ID}
		if len(b.Next) == 0 {
			return finish(level, b), nil
		}
		below := r
		below.Level++
		below.Segments = nil
		for _, want := range b.Next {
			s, err := next(ctx, want)
			if err != nil {
				return outcome{}, err
			}
			below.Segments = append(below.Segments, s)
		}
		o, err := m.tree(ctx, below, ask, next)
		if err != nil || o.remote {
			return o, err
		}
		if o.bound {
			o.levels = append([]model.BindingLevel{level}, o.levels...)
			return withDrivers(o), nil
		}
	}
	return outcome{}, nil
}

func (m *MechanismManager) try(ctx context.Context, d MechanismDriver, r BindRequest, ask bool) (b Binding, ok, remote bool, err error) {
	far, isRemote := d.(Remote)
	if !isRemote {
		b, ok = d.Bind(r)
		return b, ok, false, nil
	}
	if !far.Claims(r) {
		return b, false, false, nil
	}
	if !ask {
		return b, false, true, nil
	}
	b, ok, err = far.BindRemote(ctx, r)
	return b, ok, false, err
}

func finish(level model.BindingLevel, b Binding) outcome {
	details := map[string]any{}
	for k, v := range b.VIFDetails {
		details[k] = v
	}
	return withDrivers(outcome{bound: true, levels: []model.BindingLevel{level}, vifType: b.VIFType, details: details, status: b.Status})
}

// withDrivers records in vif_details which driver bound which level, as Nova's and operators' tools read it.
func withDrivers(o outcome) outcome {
	names := map[string]any{}
	for i, l := range o.levels {
		names[strconv.Itoa(i)] = l.Driver
	}
	o.details["bound_drivers"] = names
	return o
}

// remotes lists the remote drivers among the levels, by name.
func (m *MechanismManager) remotes(levels []model.BindingLevel) []string {
	var out []string
	for _, l := range levels {
		if d, ok := m.driver(l.Driver).(Remote); ok {
			out = append(out, d.Name())
		}
	}
	return out
}

func (m *MechanismManager) driver(name string) MechanismDriver {
	for _, d := range m.drivers {
		if d.Name() == name {
			return d
		}
	}
	return nil
}
