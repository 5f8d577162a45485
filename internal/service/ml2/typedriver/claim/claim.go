// Package claim makes segmentation ids exclusive: a claim's primary key decides who holds an id, and the free
// ranges say which ids project networks may still get. The type drivers share it; it knows no network type.
package claim

import (
	"context"
	"errors"

	"isospin/internal/ident"
	"isospin/internal/model"
	"isospin/internal/service/ml2"
	"isospin/internal/store"
	"isospin/internal/store/freerange"
)

// Range is an inclusive range of segmentation ids.
type Range struct{ Min, Max int64 }

// ErrTaken says that somebody holds the id.
var ErrTaken = errors.New("claim: the id is in use")

// chunks is into how many free ranges a pool is cut at least, so that parallel reservations do not wait for each other.
const chunks = 16

// Pool is the ids of one network type on one physical network ("" for tunnels).
type Pool struct {
	Type, PhysicalNetwork string
	Ranges                []Range
	IDs                   ident.Source // spreads the choice
}

func (p Pool) name() string { return "segment:" + p.Type + ":" + p.PhysicalNetwork }

func value(id int64) freerange.Value { return freerange.Of(uint64(id)) }

func number(v freerange.Value) int64 { return int64(v.Uint64()) }

func (p Pool) free() []freerange.Range {
	out := make([]freerange.Range, len(p.Ranges))
	for i, r := range p.Ranges {
		out[i] = freerange.Range{First: value(r.Min), Last: value(r.Max)}
	}
	return out
}

// Holds tells whether the id is in the ranges for project networks.
func (p Pool) Holds(id int64) bool {
	for _, r := range p.Ranges {
		if id >= r.Min && id <= r.Max {
			return true
		}
	}
	return false
}

// Prepare brings the free ranges in line with the configured ranges and the ids that are in use.
func (p Pool) Prepare(ctx context.Context, tx store.WriteTx) error {
	_, err := freerange.SetRanges(ctx, tx, p.name(), p.free(), chunks, func() (used []freerange.Value, err error) {
		err = store.Each(ctx, tx, store.Q("SELECT segmentation_id FROM segment_claims WHERE network_type = ? AND physical_network = ?", p.Type, p.PhysicalNetwork),
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

// Any claims some free id for the segment; ml2.ErrNoSegment when there is none.
func (p Pool) Any(ctx context.Context, tx store.WriteTx, segment string) (int64, error) {
	v, err := freerange.Any(ctx, tx, p.name(), p.IDs.Uint64())
	if errors.Is(err, freerange.ErrExhausted) {
		return 0, ml2.ErrNoSegment
	}
	if err != nil {
		return 0, err
	}
	return number(v), p.write(ctx, tx, segment, number(v))
}

// Take claims the given id; ErrTaken when somebody holds it. Ids outside the ranges can be taken too.
func (p Pool) Take(ctx context.Context, tx store.WriteTx, segment string, id int64) error {
	if p.Holds(id) {
		if _, err := freerange.Take(ctx, tx, p.name(), value(id)); err != nil {
			return err
		}
	}
	return p.write(ctx, tx, segment, id)
}

func (p Pool) write(ctx context.Context, tx store.WriteTx, segment string, id int64) error {
	_, err := tx.Exec(ctx, store.Q("INSERT INTO segment_claims (network_type, physical_network, segmentation_id, segment_id) VALUES (?, ?, ?, ?)",
		p.Type, p.PhysicalNetwork, id, segment))
	if _, dup := store.AsDuplicate(err); dup {
		return ErrTaken
	}
	return err
}

// Release ends a segment's claim; an id of the ranges is free again.
func (p Pool) Release(ctx context.Context, tx store.WriteTx, s model.Segment) error {
	n, err := tx.Exec(ctx, store.Q("DELETE FROM segment_claims WHERE network_type = ? AND physical_network = ? AND segmentation_id = ? AND segment_id = ?",
		p.Type, p.PhysicalNetwork, s.SegmentationID, s.ID))
	if err != nil || n == 0 || !p.Holds(s.SegmentationID) {
		return err
	}
	return freerange.Give(ctx, tx, p.name(), value(s.SegmentationID))
}
