package session

import (
	"context"
	"fmt"
	"slices"

	"isospin/internal/change"
	"isospin/internal/document"
	"isospin/internal/store"
	"isospin/internal/wire"
)

// job is what the renderer reads in one transaction.
type job struct {
	load   []change.Set // sets to read whole
	keys   []change.Key // documents to render again
	forget []change.Set // sets that the hub no longer has
}

func (j job) empty() bool { return len(j.load) == 0 && len(j.keys) == 0 && len(j.forget) == 0 }

// result is a job's answer, all of one state of the database: a document that is in a set of the hub's or of the result
// refers only to sets of the hub's or of the result.
type result struct {
	// docs are the documents looked at; nil for those that do not exist.
	docs   map[change.Key]*doc
	loaded map[change.Set]bool // the sets read whole
}

// renderer reads documents. It belongs to one goroutine.
type renderer struct {
	store  store.Store
	kinds  []document.Kind
	byName map[string]document.Kind
	// have mirrors the hub's sets: what a result holds becomes the hub's when it is applied, which is before the next job.
	have map[change.Set]bool
}

func newRenderer(st store.Store, kinds []document.Kind) *renderer {
	r := &renderer{store: st, kinds: kinds, byName: map[string]document.Kind{}, have: map[change.Set]bool{}}
	for _, k := range kinds {
		r.byName[k.Name()] = k
	}
	return r
}

// Statements have room for some ten thousand arguments; longer lists are cut.
const argumentsAtOnce = 8192

func (r *renderer) do(ctx context.Context, j job) (*result, error) {
	for _, s := range j.forget {
		delete(r.have, s)
	}
	var out *result
	if len(j.load) == 0 && len(j.keys) == 0 {
		return &result{}, nil
	}
	err := r.store.Read(ctx, func(tx store.Tx) error {
		out = &result{docs: map[change.Key]*doc{}, loaded: map[change.Set]bool{}}
		have := func(s change.Set) bool { return r.have[s] || out.loaded[s] }
		todo, keys := j.load, j.keys
		for len(todo) > 0 || len(keys) > 0 {
			for _, s := range todo {
				out.loaded[s] = true
			}
			members, err := r.members(ctx, tx, todo)
			if err != nil {
				return err
			}
			fresh, err := r.render(ctx, tx, out, append(members, keys...))
			if err != nil {
				return err
			}
			todo, keys = missing(fresh, have), nil
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("render documents: %w", err)
	}
	for s := range out.loaded {
		r.have[s] = true
	}
	return out, nil
}

// missing are the sets that documents refer to, where somebody holds the document, and that are nowhere yet.
func missing(docs []*doc, have func(change.Set) bool) []change.Set {
	var out []change.Set
	seen := map[change.Set]bool{}
	for _, d := range docs {
		if !slices.ContainsFunc(d.sets, have) {
			continue
		}
		for _, s := range d.refs {
			if !seen[s] && !have(s) {
				seen[s] = true
				out = append(out, s)
			}
		}
	}
	return out
}

// members lists the documents of sets.
func (r *renderer) members(ctx context.Context, tx store.Tx, sets []change.Set) ([]change.Key, error) {
	families := map[string][]change.Set{}
	for _, s := range sets {
		families[s.Family()] = append(families[s.Family()], s)
	}
	var out []change.Key
	for _, k := range r.kinds {
		for _, f := range k.Families() {
			for part := range slices.Chunk(families[f], argumentsAtOnce) {
				ids, err := k.Members(ctx, tx, part)
				if err != nil {
					return nil, fmt.Errorf("members of kind %s: %w", k.Name(), err)
				}
				for _, list := range ids {
					for _, id := range list {
						out = append(out, change.Key{Kind: k.Name(), ID: id})
					}
				}
			}
		}
	}
	return out, nil
}

// render renders those of the keys that the result does not have yet, and returns them.
func (r *renderer) render(ctx context.Context, tx store.Tx, out *result, keys []change.Key) ([]*doc, error) {
	ids := map[string][]string{}
	for _, k := range keys {
		if _, done := out.docs[k]; done || r.byName[k.Kind] == nil {
			continue
		}
		out.docs[k] = nil
		ids[k.Kind] = append(ids[k.Kind], k.ID)
	}
	var fresh []*doc
	for _, k := range r.kinds {
		for part := range slices.Chunk(ids[k.Name()], argumentsAtOnce) {
			rendered, err := k.Render(ctx, tx, part)
			if err != nil {
				return nil, fmt.Errorf("render kind %s: %w", k.Name(), err)
			}
			for id, d := range rendered {
				m, err := wire.Encode(k.Name(), id, d.Body)
				if err != nil {
					return nil, fmt.Errorf("encode %s %s: %w", k.Name(), id, err)
				}
				key := change.Key{Kind: k.Name(), ID: id}
				x := &doc{key: key, wire: m, hash: m.Hash(), sets: d.Sets, refs: d.Refs}
				out.docs[key] = x
				fresh = append(fresh, x)
			}
		}
	}
	return fresh, nil
}
