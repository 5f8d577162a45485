package segments

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/service/ml2"
	"isospin/internal/store"
)

// This file is about the ranges of ids that project networks get theirs from (neutron/services/network_segment_range/plugin.py,
// neutron/objects/network_segment_range.py): those of the configuration, which nobody can change, and those that administrators set.
// What a range means for reservations is the type driver's; a row and what the driver keeps are written in one transaction, under the
// driver's lock.

// Ranges is the table of network segment ranges.
type Ranges = store.Table[model.SegmentRange]

// NewRanges declares the table of network segment ranges.
func NewRanges() *Ranges {
	return store.NewTable("network_segment_ranges",
		func(r *model.SegmentRange) string { return r.ID }, func(r *model.SegmentRange) string { return text(r.ProjectID) },
		store.Column[model.SegmentRange]{Name: "revision", Attr: "revision_number", Of: func(r *model.SegmentRange) any { return r.Revision }},
		store.Column[model.SegmentRange]{Name: "name", Attr: "name", Of: func(r *model.SegmentRange) any { return r.Name }},
		store.Column[model.SegmentRange]{Name: "network_type", Attr: "network_type", Of: func(r *model.SegmentRange) any { return r.NetworkType }},
		store.Column[model.SegmentRange]{Name: "physical_network", Attr: "physical_network", Of: func(r *model.SegmentRange) any { return text(r.PhysicalNetwork) }},
		store.Column[model.SegmentRange]{Name: "is_default", Of: func(r *model.SegmentRange) any {
			if r.Default {
				return int64(1)
			}
			return int64(0)
		}},
	)
}

// ranges is the controller of ranges.
type ranges struct{ *Plugin }

var (
	_ rest.Controller[model.SegmentRange] = ranges{}
	_ rest.Splicer                        = ranges{}
)

const resource = "network_segment_range"

// Create sets a range.
func (p ranges) Create(ctx context.Context, tx store.WriteTx, in rest.Input[model.SegmentRange]) (model.SegmentRange, error) {
	r := in.Value
	d, ok := p.Types.Ranged(r.NetworkType)
	if !ok {
		return r, fault.NetworkSegmentRangeNetTypeNotSupported(r.NetworkType)
	}
	switch {
	case r.NetworkType != model.TypeVLAN:
		r.PhysicalNetwork = nil
	case text(r.PhysicalNetwork) == "":
		return r, fault.BadRequest(resource, "a range of VLANs needs a physical_network.")
	}
	if err := judge(&r, d); err != nil {
		return r, err
	}
	if r.Shared {
		r.ProjectID = nil
	} else if text(r.ProjectID) == "" {
		return r, fault.BadInput("A range that is not shared needs a project_id.")
	}
	p.stamp(&r)
	err := d.ChangeRanges(ctx, tx, text(r.PhysicalNetwork), func(have []ml2.IDRange) ([]ml2.IDRange, error) {
		return put(have, &r)
	})
	if err != nil {
		return r, err
	}
	return r, p.Ranges.Insert(ctx, tx, &r)
}

func (p *Plugin) stamp(r *model.SegmentRange) {
	now := model.Stamp(p.Clock.Now())
	r.ID, r.CreatedAt, r.UpdatedAt, r.TenantID = p.IDs.UUID(), now, now, nil
	if r.Tags == nil {
		r.Tags = []string{}
	}
}

// judge refuses a range that ends before it begins, or that the type cannot carry.
func judge(r *model.SegmentRange, d ml2.RangedDriver) error {
	least, most := d.Bounds()
	why := ""
	switch {
	case r.Minimum > r.Maximum:
		why = "it ends before it begins."
	case r.Minimum < least || r.Maximum > most:
		why = fmt.Sprintf("ids of %s are %d to %d.", r.NetworkType, least, most)
	default:
		return nil
	}
	ids := fmt.Sprintf("%d:%d", r.Minimum, r.Maximum)
	if r.NetworkType == model.TypeVLAN {
		return fault.NetworkVlanRangeError(text(r.PhysicalNetwork)+":"+ids, why)
	}
	return fault.NetworkTunnelRangeError(ids, why)
}

// put adds a range to those that are there, or puts it in the place of its earlier self; it overlaps no other.
func put(have []ml2.IDRange, r *model.SegmentRange) ([]ml2.IDRange, error) {
	out := slices.DeleteFunc(slices.Clone(have), func(o ml2.IDRange) bool { return o.ID == r.ID })
	for _, o := range out {
		if r.Minimum <= o.Max && r.Maximum >= o.Min {
			return nil, fault.NetworkSegmentRangeOverlaps(o.ID)
		}
	}
	return append(out, ml2.IDRange{ID: r.ID, Project: text(r.ProjectID), Min: r.Minimum, Max: r.Maximum}), nil
}

// Update changes a range; ids that networks have stay in it.
func (p ranges) Update(ctx context.Context, tx store.WriteTx, cur model.SegmentRange, in rest.Input[model.SegmentRange]) (model.SegmentRange, error) {
	if cur.Default {
		return cur, fault.NetworkSegmentRangeDefaultReadOnly(cur.ID)
	}
	r := cur
	if err := in.Apply(&r); err != nil {
		return r, err
	}
	moved := r.Minimum != cur.Minimum || r.Maximum != cur.Maximum
	if !moved && r.Name == cur.Name && r.Description == cur.Description {
		return cur, nil
	}
	if moved {
		d, ok := p.Types.Ranged(r.NetworkType)
		if !ok {
			return r, fault.NetworkSegmentRangeNetTypeNotSupported(r.NetworkType)
		}
		if err := judge(&r, d); err != nil {
			return r, err
		}
		err := d.ChangeRanges(ctx, tx, text(r.PhysicalNetwork), func(have []ml2.IDRange) ([]ml2.IDRange, error) {
			if err := free(ctx, tx, &cur, store.Expr("(segmentation_id < ? OR segmentation_id > ?)", r.Minimum, r.Maximum)); err != nil {
				return nil, err
			}
			return put(have, &r)
		})
		if err != nil {
			return r, err
		}
	}
	r.UpdatedAt = model.Stamp(p.Clock.Now())
	r.Revision++
	return r, p.Ranges.Update(ctx, tx, &r, cur.Revision)
}

// free refuses what would take ids of a range from networks that have them. One statement.
func free(ctx context.Context, tx store.Tx, r *model.SegmentRange, more store.Cond) error {
	where := store.And(within(r, ""), more)
	n, _, err := store.Int(ctx, tx, store.Q("SELECT COUNT(*) FROM segment_claims WHERE "+where.SQL, where.Args...))
	if err == nil && n > 0 {
		err = fault.NetworkSegmentRangeReferencedByProject(r.ID)
	}
	return err
}

// within is the condition of claims on ids of a range.
func within(r *model.SegmentRange, prefix string) store.Cond {
	return store.Expr(prefix+"network_type = ? AND "+prefix+"physical_network = ? AND "+prefix+"segmentation_id BETWEEN ? AND ?",
		r.NetworkType, text(r.PhysicalNetwork), r.Minimum, r.Maximum)
}

// Delete ends a range of which nobody has an id.
func (p ranges) Delete(ctx context.Context, tx store.WriteTx, cur model.SegmentRange) error {
	if cur.Default {
		return fault.NetworkSegmentRangeDefaultReadOnly(cur.ID)
	}
	d, ok := p.Types.Ranged(cur.NetworkType)
	if !ok {
		return p.Ranges.Delete(ctx, tx, cur.ID)
	}
	err := d.ChangeRanges(ctx, tx, text(cur.PhysicalNetwork), func(have []ml2.IDRange) ([]ml2.IDRange, error) {
		if err := free(ctx, tx, &cur, store.Cond{}); err != nil {
			return nil, err
		}
		return slices.DeleteFunc(slices.Clone(have), func(o ml2.IDRange) bool { return o.ID == cur.ID }), nil
	})
	if err != nil {
		return err
	}
	return p.Ranges.Delete(ctx, tx, cur.ID)
}

// shown bounds how many free ids of a range are listed; a whole range of VLANs has as many.
const shown = 4094

// Splice adds which ids are in use, by which projects, and the first of those that are free. One statement.
func (p ranges) Splice(ctx context.Context, tx store.Tx, page *rest.Page) error {
	if !page.Wants("available") && !page.Wants("used") {
		return nil
	}
	rows := make([]model.SegmentRange, len(page.Rows))
	all := make([]store.Cond, len(page.Rows))
	for i := range page.Rows {
		if err := json.Unmarshal(page.Rows[i].Body, &rows[i]); err != nil {
			return fmt.Errorf("decode a range: %w", err)
		}
		all[i] = within(&rows[i], "c.")
	}
	where := store.Cond{SQL: "1 = 1"}
	if len(all) <= 200 {
		where = store.Or(all...)
	}
	type place struct{ kind, physical string }
	used := map[place]map[int64]string{}
	err := store.Each(ctx, tx, store.Q("SELECT c.network_type, c.physical_network, c.segmentation_id, n.project_id FROM segment_claims c"+
		" JOIN segments s ON s.id = c.segment_id JOIN networks n ON n.id = s.network_id WHERE "+where.SQL, where.Args...), func(scan func(...any) error) error {
		var at place
		var id int64
		var project *string
		err := scan(&at.kind, &at.physical, &id, &project)
		if used[at] == nil {
			used[at] = map[int64]string{}
		}
		used[at][id] = text(project)
		return err
	})
	if err != nil {
		return err
	}
	for i := range rows {
		if err := show(page, i, &rows[i], used[place{rows[i].NetworkType, text(rows[i].PhysicalNetwork)}]); err != nil {
			return err
		}
	}
	return nil
}

func show(page *rest.Page, i int, r *model.SegmentRange, used map[int64]string) error {
	if page.Wants("used") {
		mine := map[string]string{}
		for id, project := range used {
			if id >= r.Minimum && id <= r.Maximum {
				mine[strconv.FormatInt(id, 10)] = project
			}
		}
		raw, err := json.Marshal(mine)
		if err != nil {
			return fmt.Errorf("encode the ids in use: %w", err)
		}
		page.Splice(i, "used", raw)
	}
	if page.Wants("available") {
		left := []int64{}
		for id := r.Minimum; id <= r.Maximum && len(left) < shown; id++ {
			if _, taken := used[id]; !taken {
				left = append(left, id)
			}
		}
		raw, err := json.Marshal(left)
		if err != nil {
			return fmt.Errorf("encode the free ids: %w", err)
		}
		page.Splice(i, "available", raw)
	}
	return nil
}

// Prepare makes the ranges of the configuration rows: those that are there stay, those that the configuration no longer has go. Called
// once at start, in a transaction, by every server.
func (p *Plugin) Prepare(ctx context.Context, tx store.WriteTx) error {
	have, err := p.Ranges.Find(ctx, tx, store.List{Where: store.Eq("is_default", int64(1)), Lock: true})
	if err != nil {
		return err
	}
	for _, kind := range p.Types.Types() {
		d, ok := p.Types.Ranged(kind)
		if !ok {
			continue
		}
		for physical, list := range d.Configured() {
			for _, x := range list {
				at := slices.IndexFunc(have, func(r model.SegmentRange) bool {
					return r.NetworkType == kind && text(r.PhysicalNetwork) == physical && r.Minimum == x.Min && r.Maximum == x.Max
				})
				if at >= 0 {
					have = slices.Delete(have, at, at+1)
					continue
				}
				r := model.SegmentRange{Default: true, Shared: true, NetworkType: kind, Minimum: x.Min, Maximum: x.Max}
				if physical != "" {
					r.PhysicalNetwork = &physical
				}
				p.stamp(&r)
				if err := p.Ranges.Insert(ctx, tx, &r); err != nil {
					return err
				}
			}
		}
	}
	for i := range have {
		if err := rest.ForgetTags(ctx, tx, have[i].ID); err != nil {
			return err
		}
		if err := p.Ranges.Delete(ctx, tx, have[i].ID); err != nil {
			return err
		}
	}
	return nil
}
