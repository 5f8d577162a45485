package openflow

import (
	"crypto/sha256"
	"fmt"
)

// places knows which of a driver's flows stands at which table, priority and match. A flow added in another's
// place replaces it; that is how a flow is changed, and the replaced key is dropped soon after. If it is put again
// instead, two features want one place: then the flow that holds it stays, and the other is refused, so
// that the two do not replace each other for ever.
type places struct {
	holder map[place]Key
	of     map[Key]place
	lost   map[Key]Key // a flow that was replaced, and by which; neither was dropped since
	over   map[Key]Key // the same, the other way
}

type place [16]byte

func newPlaces() places {
	return places{holder: map[place]Key{}, of: map[Key]place{}, lost: map[Key]Key{}, over: map[Key]Key{}}
}

func placeOf(f Flow) place {
	sum := sha256.Sum256(f.appendSlot(make([]byte, 0, 160)))
	return place(sum[:16])
}

// claim gives k the place of f, or tells who keeps it. fresh is what else was claimed in the same batch: both are
// wanted, so the second is refused.
func (p *places) claim(k Key, f Flow, fresh map[Key]bool) error {
	at := placeOf(f)
	old, held := p.holder[at]
	if held && old != k {
		if fresh[old] {
			p.lost[k], p.over[old] = old, k
		}
		if p.lost[k] == old {
			return fmt.Errorf("flow %s: another flow (%s) is wanted in its place", f, old)
		}
		p.find(k)
		p.lost[old], p.over[k] = k, old
	}
	p.holder[at], p.of[k] = k, at
	fresh[k] = true
	return nil
}

// find forgets that k was lost.
func (p *places) find(k Key) {
	if by, ok := p.lost[k]; ok {
		delete(p.lost, k)
		delete(p.over, by)
	}
}

// unclaim takes back a claim whose write failed; the flow that was there before is there still.
func (p *places) unclaim(k Key) {
	at, ok := p.of[k]
	if !ok || p.holder[at] != k {
		return
	}
	delete(p.of, k)
	delete(p.holder, at)
	if old, ok := p.over[k]; ok {
		p.find(old)
		p.holder[at] = old
	}
}

// leave notes that k was dropped, and tells whether a flow that it had replaced, and that is
// not among dropped, may be missed now.
func (p *places) leave(k Key, dropped map[Key]Flow) (uncovered bool) {
	if at, ok := p.of[k]; ok && p.holder[at] == k {
		delete(p.holder, at)
	}
	delete(p.of, k)
	p.find(k)
	if old, ok := p.over[k]; ok {
		p.find(old)
		_, too := dropped[old]
		return !too
	}
	return false
}
