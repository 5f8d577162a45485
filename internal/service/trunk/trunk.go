package trunk

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/service/ml2"
	"isospin/internal/store"
)

// trunks is the controller of trunks (neutron/services/trunk/plugin.py).
type trunks struct{ *Plugin }

var (
	_ rest.Controller[model.Trunk] = trunks{}
	_ rest.Actor                   = trunks{}
)

// Create makes a trunk of a port that is in no other and, unless its host can bear it, not on a host yet.
func (p trunks) Create(ctx context.Context, tx store.WriteTx, in rest.Input[model.Trunk]) (model.Trunk, error) {
	t := in.Value
	wants := t.SubPorts
	now := model.Stamp(p.Clock.Now())
	t.ID, t.TenantID, t.CreatedAt, t.UpdatedAt, t.SubPorts = p.IDs.UUID(), t.ProjectID, now, now, []model.SubPort{}
	if t.Tags == nil {
		t.Tags = []string{}
	}
	ports, nets, err := p.read(ctx, tx, t.PortID, wants)
	if err != nil {
		return t, err
	}
	parent, ok := ports[t.PortID]
	if n := nets[parent.NetworkID]; !ok || !sees(ctx, &parent, &n) {
		return t, fault.PortNotFound(t.PortID)
	}
	if err := unused(&parent); err != nil {
		return t, err
	}
	if settled(&parent) {
		return t, fault.ParentPortInUse(parent.ID)
	}
	added, err := choose(ctx, &t, &parent, wants, ports, nets)
	if err != nil {
		return t, err
	}
	return t, p.join(ctx, tx, &t, added, ports, true)
}

// read keeps the ports of a request and reads their networks. Two statements.
func (p *Plugin) read(ctx context.Context, tx store.WriteTx, parent string, subs []model.SubPort) (map[string]model.Port, map[string]model.Network, error) {
	ids := []string{parent}
	for _, s := range subs {
		ids = append(ids, s.PortID)
	}
	ports, err := p.ports(ctx, tx, ids)
	if err != nil {
		return nil, nil, err
	}
	nets, err := p.networks(ctx, tx, ports)
	return ports, nets, err
}

// join puts ports into a trunk, and writes it.
func (p *Plugin) join(ctx context.Context, tx store.WriteTx, t *model.Trunk, added []model.SubPort, ports map[string]model.Port, fresh bool) error {
	parent := ports[t.PortID]
	t.SubPorts = append(slices.Clone(t.SubPorts), added...)
	if err := insert(ctx, tx, t.ID, added); err != nil {
		return err
	}
	for _, s := range added {
		sub := ports[s.PortID]
		sub.TrunkID = t.ID
		if err := p.Ports.Update(ctx, tx, &sub, -1); err != nil {
			return err
		}
		if onHost(&parent) {
			var err error
			if sub, err = p.follow(ctx, tx, sub.ID, &parent); err != nil {
				return err
			}
		}
		ports[s.PortID] = sub
	}
	if err := p.carry(ctx, tx, t, parent, added, ports); err != nil {
		return err
	}
	all, err := p.ports(ctx, tx, portsOf(t))
	if err != nil {
		return err
	}
	t.Status = judge(t, all)
	if fresh {
		return p.Trunks.Insert(ctx, tx, t)
	}
	return p.save(ctx, tx, t)
}

func (p *Plugin) save(ctx context.Context, tx store.WriteTx, t *model.Trunk) error {
	t.UpdatedAt = model.Stamp(p.Clock.Now())
	t.Revision++
	return p.Trunks.Update(ctx, tx, t, -1)
}

// carry writes what a port shows of the trunk that it carries. What it is to others does not change, so its revision stays.
func (p *Plugin) carry(ctx context.Context, tx store.WriteTx, t *model.Trunk, parent model.Port, added []model.SubPort, ports map[string]model.Port) error {
	old := parent
	d := &model.TrunkDetails{TrunkID: t.ID, SubPorts: []model.SubPortDetail{}}
	if parent.TrunkDetails != nil {
		d.SubPorts = slices.DeleteFunc(slices.Clone(parent.TrunkDetails.SubPorts), func(s model.SubPortDetail) bool {
			return !slices.Contains(t.SubPorts, s.SubPort)
		})
	}
	for _, s := range added {
		d.SubPorts = append(d.SubPorts, model.SubPortDetail{SubPort: s, MACAddress: ports[s.PortID].MACAddress})
	}
	parent.TrunkID, parent.TrunkDetails = t.ID, d
	if err := p.Ports.Update(ctx, tx, &parent, -1); err != nil {
		return err
	}
	ports[parent.ID] = parent
	ml2.Dirty(tx, &old, &parent)
	return nil
}

// Update changes name, description and administrative state.
func (p trunks) Update(ctx context.Context, tx store.WriteTx, cur model.Trunk, in rest.Input[model.Trunk]) (model.Trunk, error) {
	t := cur
	if err := in.Apply(&t); err != nil {
		return t, err
	}
	if t.Name == cur.Name && t.Description == cur.Description && t.AdminStateUp == cur.AdminStateUp {
		return cur, nil
	}
	return t, p.save(ctx, tx, &t)
}

// Delete ends a trunk; its ports stay.
func (p trunks) Delete(ctx context.Context, tx store.WriteTx, cur model.Trunk) error {
	if !cur.AdminStateUp {
		return fault.TrunkDisabled(cur.ID)
	}
	ports, err := p.ports(ctx, tx, portsOf(&cur))
	if err != nil {
		return err
	}
	parent := ports[cur.PortID]
	if settled(&parent) {
		return fault.TrunkInUse(cur.ID)
	}
	if err := p.leave(ctx, tx, &cur, cur.SubPorts, ports); err != nil {
		return err
	}
	old := parent
	parent.TrunkID, parent.TrunkDetails = "", nil
	if err := p.Ports.Update(ctx, tx, &parent, -1); err != nil {
		return err
	}
	ml2.Dirty(tx, &old, &parent)
	return p.Trunks.Delete(ctx, tx, cur.ID)
}

// leave takes ports out of a trunk: they are on no host any more.
func (p *Plugin) leave(ctx context.Context, tx store.WriteTx, t *model.Trunk, gone []model.SubPort, ports map[string]model.Port) error {
	if len(gone) == 0 {
		return nil
	}
	ids := make([]string, len(gone))
	for i, s := range gone {
		ids[i] = s.PortID
		sub := ports[s.PortID]
		sub.TrunkID = ""
		if err := p.Ports.Update(ctx, tx, &sub, -1); err != nil {
			return err
		}
		if _, err := p.follow(ctx, tx, sub.ID, nil); err != nil {
			return err
		}
	}
	where := store.And(store.Eq("trunk_id", t.ID), store.In("port_id", ids))
	_, err := tx.Exec(ctx, store.Q("DELETE FROM subports WHERE "+where.SQL, where.Args...))
	return err
}

// Act answers add_subports, remove_subports and get_subports.
func (p trunks) Act(ctx context.Context, tx store.WriteTx, id, action string, in json.RawMessage) (any, error) {
	t, err := p.Trunks.Get(ctx, tx, id)
	if err != nil {
		return nil, err
	}
	if action == "get_subports" {
		return map[string]any{"sub_ports": t.SubPorts}, nil
	}
	var asked struct {
		SubPorts []model.SubPort `json:"sub_ports"`
	}
	if err := json.Unmarshal(in, &asked); err != nil {
		return nil, fmt.Errorf("decode the action %s: %w", action, err)
	}
	if action == "add_subports" {
		err = p.add(ctx, tx, &t, asked.SubPorts)
	} else {
		err = p.remove(ctx, tx, &t, asked.SubPorts)
	}
	return &t, err
}

func (p trunks) add(ctx context.Context, tx store.WriteTx, t *model.Trunk, wants []model.SubPort) error {
	ports, nets, err := p.read(ctx, tx, t.PortID, wants)
	if err != nil {
		return err
	}
	parent := ports[t.PortID]
	added, err := choose(ctx, t, &parent, wants, ports, nets)
	switch {
	case err != nil:
		return err
	case !t.AdminStateUp:
		return fault.TrunkDisabled(t.ID)
	case t.Status == model.StatusError:
		return fault.TrunkInErrorState(t.ID)
	case len(added) == 0:
		return nil
	}
	return p.join(ctx, tx, t, added, ports, false)
}

func (p trunks) remove(ctx context.Context, tx store.WriteTx, t *model.Trunk, named []model.SubPort) error {
	if !t.AdminStateUp {
		return fault.TrunkDisabled(t.ID)
	}
	var gone []model.SubPort
	for _, s := range named {
		at := slices.IndexFunc(t.SubPorts, func(o model.SubPort) bool { return o.PortID == s.PortID })
		if at < 0 {
			return fault.SubPortNotFound(s.PortID, t.ID)
		}
		gone = append(gone, t.SubPorts[at])
	}
	if len(gone) == 0 {
		return nil
	}
	ports, err := p.ports(ctx, tx, portsOf(t))
	if err != nil {
		return err
	}
	if err := p.leave(ctx, tx, t, gone, ports); err != nil {
		return err
	}
	t.SubPorts = slices.DeleteFunc(slices.Clone(t.SubPorts), func(s model.SubPort) bool { return slices.Contains(gone, s) })
	if err := p.carry(ctx, tx, t, ports[t.PortID], nil, ports); err != nil {
		return err
	}
	t.Status = judge(t, ports)
	return p.save(ctx, tx, t)
}
