// Package claim makes segmentation ids exclusive: a claim's primary key decides who holds an id, and the free
// ranges say which ids project networks may still get: those of the configuration and those that administrators set, for all
// projects or for one. The type drivers share it; it knows no network type.
package claim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"isospin/internal/ident"
	"isospin/internal/model"
	"isospin/internal/service/ml2"
	"isospin/internal/store"
	"isospin/internal/store/freerange"
)

// Range is an inclusive range of segmentation ids.
type Range struct{ Min, Max int64 }

func (r Range) holds(id int64) bool { return id >= r.Min && id <= r.Max }

// ErrTaken says that somebody holds the id, ErrUnknown that nobody ever spoke of the physical network.
var (
	ErrTaken   = errors.New("claim: the id is in use")
	ErrUnknown = errors.New("claim: the physical network is not known")
)

// chunks is into how many free ranges a pool is cut at least, so that parallel reservations do not wait for each other.
const chunks = 16

// Pools are the ids of one network type.
type Pools struct {
	Type string
	// Ranges are those of the configuration by physical network ("" for tunnels).
	Ranges map[string][]Range
	IDs    ident.Source // spreads the choice
}

// pool is the ids of a type on one physical network: the configuration's, and what administrators made of them.
type pool struct {
	Pools
	physical string
	set      []ml2.IDRange
}

// name is the pool of what all projects may have, owned that of a range of one project.
func (p pool) name() string { return "segment:" + p.Type + ":" + p.physical }

func owned(rangeID string) string { return "segments:" + rangeID }

func value(id int64) freerange.Value { return freerange.Of(uint64(id)) }

func number(v freerange.Value) int64 { return int64(v.Uint64()) }

// shared is what all projects may have: the configured and the shared ranges without those of single projects.
func (p pool) shared() []Range {
	out := slices.Clone(p.Ranges[p.physical])
	for _, r := range p.set {
		if r.Project == "" {
			out = append(out, Range{r.Min, r.Max})
		}
	}
	for _, r := range p.set {
		if r.Project != "" {
			out = without(out, Range{r.Min, r.Max})
		}
	}
	return out
}

func without(rs []Range, cut Range) []Range {
	var out []Range
	for _, r := range rs {
		if cut.Max < r.Min || cut.Min > r.Max {
			out = append(out, r)
			continue
		}
		if r.Min < cut.Min {
			out = append(out, Range{r.Min, cut.Min - 1})
		}
		if r.Max > cut.Max {
			out = append(out, Range{cut.Max + 1, r.Max})
		}
	}
	return out
}

// of is the pool that an id comes out of and goes back to; "" for an id outside all ranges.
func (p pool) of(id int64) string {
	for _, r := range p.set {
		if r.Project != "" && (Range{r.Min, r.Max}).holds(id) {
			return owned(r.ID)
		}
	}
	if slices.ContainsFunc(p.shared(), func(r Range) bool { return r.holds(id) }) {
		return p.name()
	}
	return ""
}

// read reads what administrators set on one physical network ("*": on all of them), and keeps it. One statement.
func (p Pools) read(ctx context.Context, tx store.Tx, physical, lock string) (map[string]pool, error) {
	where := store.Eq("network_type", p.Type)
	if physical != "*" {
		where = store.And(where, store.Eq("physical_network", physical))
	}
	out := map[string]pool{}
	err := store.Each(ctx, tx, store.Q("SELECT physical_network, ranges FROM segment_pools WHERE "+where.SQL+" ORDER BY physical_network"+lock, where.Args...),
		func(scan func(...any) error) error {
			var name, ranges string
			if err := scan(&name, &ranges); err != nil {
				return err
			}
			x := pool{Pools: p, physical: name}
			if err := json.Unmarshal([]byte(ranges), &x.set); err != nil {
				return fmt.Errorf("ranges of %s on %q: %w", p.Type, name, err)
			}
			out[name] = x
			return nil
		})
	return out, err
}

// kept reads one pool for who takes or gives back an id.
func (p Pools) kept(ctx context.Context, tx store.WriteTx, physical string) (pool, error) {
	all, err := p.read(ctx, tx, physical, tx.Dialect().ForShare())
	x, ok := all[physical]
	if !ok {
		x = pool{Pools: p, physical: physical}
	}
	if _, configured := p.Ranges[physical]; err == nil && !configured && len(x.set) == 0 {
		err = ErrUnknown
	}
	return x, err
}

// Prepare brings the free ranges in line with the configured ranges, those of administrators and the ids that are in use.
func (p Pools) Prepare(ctx context.Context, tx store.WriteTx) error {
	for _, physical := range slices.Sorted(maps.Keys(p.Ranges)) {
		if err := p.Change(ctx, tx, physical, func(have []ml2.IDRange) ([]ml2.IDRange, error) { return have, nil }); err != nil {
			return err
		}
	}
	return nil
}

// Change lets an administrator's ranges on a physical network become what f makes of them. Others who take or give back ids there wait.
func (p Pools) Change(ctx context.Context, tx store.WriteTx, physical string, f func(have []ml2.IDRange) ([]ml2.IDRange, error)) error {
	head, tail := tx.Dialect().InsertIgnore()
	if _, err := tx.Exec(ctx, store.Q(head+" segment_pools (network_type, physical_network, ranges) VALUES (?, ?, '[]') "+tail, p.Type, physical)); err != nil {
		return err
	}
	all, err := p.read(ctx, tx, physical, tx.Dialect().ForUpdate(false))
	if err != nil {
		return err
	}
	x, ok := all[physical]
	if !ok {
		return fmt.Errorf("claim: the pool of %s on %q went", p.Type, physical)
	}
	before := slices.Clone(x.set)
	if x.set, err = f(x.set); err != nil {
		return err
	}
	if !slices.Equal(before, x.set) {
		text, err := json.Marshal(append([]ml2.IDRange{}, x.set...))
		if err != nil {
			return fmt.Errorf("encode ranges: %w", err)
		}
		if _, err := tx.Exec(ctx, store.Q("UPDATE segment_pools SET ranges = ? WHERE network_type = ? AND physical_network = ?", string(text), p.Type, physical)); err != nil {
			return err
		}
	}
	for _, r := range before {
		if r.Project != "" && !slices.ContainsFunc(x.set, func(o ml2.IDRange) bool { return o.ID == r.ID }) {
			if err := freerange.Drop(ctx, tx, owned(r.ID)); err != nil {
				return err
			}
		}
	}
	if slices.Equal(before, x.set) {
		before = nil // nothing changes but perhaps the configuration: all are looked at
	}
	return x.apply(ctx, tx, before)
}

// apply makes the free ranges what the ranges say; those of projects that are as before stay as they are.
func (p pool) apply(ctx context.Context, tx store.WriteTx, before []ml2.IDRange) error {
	if err := p.span(ctx, tx, p.name(), p.shared()); err != nil {
		return err
	}
	for _, r := range p.set {
		if r.Project != "" && !slices.Contains(before, r) {
			if err := p.span(ctx, tx, owned(r.ID), []Range{{r.Min, r.Max}}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p pool) span(ctx context.Context, tx store.WriteTx, name string, rs []Range) error {
	free := make([]freerange.Range, len(rs))
	for i, r := range rs {
		free[i] = freerange.Range{First: value(r.Min), Last: value(r.Max)}
	}
	_, err := freerange.SetRanges(ctx, tx, name, free, chunks, func() (used []freerange.Value, err error) {
		err = store.Each(ctx, tx, store.Q("SELECT segmentation_id FROM segment_claims WHERE network_type = ? AND physical_network = ?", p.Type, p.physical),
			func(scan func(...any) error) error {
				var id int64
				err := scan(&id)
				used = append(used, value(id))
				return err
			})
		return used, err
	})
	return err
}

// Any claims some free id for the segment on a physical network ("*": on whichever has one): out of the project's own ranges first,
// then out of those that all may have. ml2.ErrNoSegment when there is none.
func (p Pools) Any(ctx context.Context, tx store.WriteTx, segment, project, physical string) (on string, id int64, err error) {
	all, err := p.read(ctx, tx, physical, tx.Dialect().ForShare())
	if err != nil {
		return "", 0, err
	}
	for name := range p.Ranges {
		if _, ok := all[name]; !ok && (name == physical || physical == "*") {
			all[name] = pool{Pools: p, physical: name}
		}
	}
	names := slices.Sorted(maps.Keys(all))
	for _, name := range names {
		for _, r := range all[name].set {
			if project == "" || r.Project != project {
				continue
			}
			if id, err = all[name].take(ctx, tx, owned(r.ID), segment); !errors.Is(err, ml2.ErrNoSegment) {
				return name, id, err
			}
		}
	}
	for _, name := range names {
		if len(all[name].shared()) == 0 {
			continue
		}
		if id, err = all[name].take(ctx, tx, all[name].name(), segment); !errors.Is(err, ml2.ErrNoSegment) {
			return name, id, err
		}
	}
	return "", 0, ml2.ErrNoSegment
}

func (p pool) take(ctx context.Context, tx store.WriteTx, from, segment string) (int64, error) {
	v, err := freerange.Any(ctx, tx, from, p.IDs.Uint64())
	if errors.Is(err, freerange.ErrExhausted) {
		return 0, ml2.ErrNoSegment
	}
	if err != nil {
		return 0, err
	}
	return number(v), Hold(ctx, tx, p.Type, p.physical, number(v), segment)
}

// Bare tells whether a physical network is known and nobody could get an id there without naming it; ErrUnknown where it is not known.
func (p Pools) Bare(ctx context.Context, tx store.WriteTx, physical string) (bool, error) {
	x, err := p.kept(ctx, tx, physical)
	return len(x.shared()) == 0 && len(x.set) == 0, err
}

// Take claims the given id; ErrTaken when somebody holds it. Ids outside the ranges can be taken too.
func (p Pools) Take(ctx context.Context, tx store.WriteTx, segment, physical string, id int64) error {
	x, err := p.kept(ctx, tx, physical)
	if err != nil {
		return err
	}
	from, taken := x.of(id), false
	if from != "" {
		if taken, err = freerange.Take(ctx, tx, from, value(id)); err != nil {
			return err
		}
	}
	if err := Hold(ctx, tx, p.Type, physical, id, segment); err != nil || from == "" || taken {
		return err
	}
	// Nobody has it, and yet it was not free: whoever had it gave it back since.
	_, err = freerange.Take(ctx, tx, from, value(id))
	return err
}

// Release ends a segment's claim; an id of the ranges is free again.
func (p Pools) Release(ctx context.Context, tx store.WriteTx, s model.Segment) error {
	held, err := Drop(ctx, tx, s)
	if err != nil || !held {
		return err
	}
	x, err := p.kept(ctx, tx, s.PhysicalNetwork)
	if errors.Is(err, ErrUnknown) {
		return nil
	}
	if err != nil {
		return err
	}
	if to := x.of(s.SegmentationID); to != "" {
		return freerange.Give(ctx, tx, to, value(s.SegmentationID))
	}
	return nil
}

// Hold writes a claim; ErrTaken when somebody has it. One statement.
func Hold(ctx context.Context, tx store.WriteTx, networkType, physical string, id int64, segment string) error {
	_, err := tx.Exec(ctx, store.Q("INSERT INTO segment_claims (network_type, physical_network, segmentation_id, segment_id) VALUES (?, ?, ?, ?)",
		networkType, physical, id, segment))
	if _, dup := store.AsDuplicate(err); dup {
		return ErrTaken
	}
	return err
}

// Drop ends a claim, and tells whether there was one. One statement.
func Drop(ctx context.Context, tx store.WriteTx, s model.Segment) (bool, error) {
	n, err := tx.Exec(ctx, store.Q("DELETE FROM segment_claims WHERE network_type = ? AND physical_network = ? AND segmentation_id = ? AND segment_id = ?",
		s.NetworkType, s.PhysicalNetwork, s.SegmentationID, s.ID))
	return n > 0, err
}

// Configured are the configuration's ranges as an administrator's would be.
func (p Pools) Configured() map[string][]ml2.IDRange {
	out := map[string][]ml2.IDRange{}
	for name, rs := range p.Ranges {
		out[name] = []ml2.IDRange{}
		for _, r := range rs {
			out[name] = append(out[name], ml2.IDRange{Min: r.Min, Max: r.Max})
		}
	}
	return out
}
