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
}

type place [16]byte

func newPlaces() places {
	return places{holder: map[place]Key{}, of: map[Key]place{}, lost: map[Key]Key{}}
}

func placeOf(f Flow) place {
	sum := sha256.Sum256([]byte(f.slot()))
	return place(sum[:16])
}

// claim gives k the place of f, or tells who keeps it. A claim is made before the write, so that of two flows in
// one batch the second is refused.
func (p *places) claim(k Key, f Flow) error {
	at := placeOf(f)
	old, held := p.holder[at]
	if held && old != k {
		if p.lost[k] == old {
			return fmt.Errorf("flow %s: another flow (%s) is wanted in its place", f, old)
		}
		p.lost[old] = k
	}
	delete(p.lost, k)
	p.holder[at], p.of[k] = k, at
	return nil
}

// unclaim takes back a claim whose write failed; the flow that was there before is there still.
func (p *places) unclaim(k Key) {
	at, ok := p.of[k]
	if !ok || p.holder[at] != k {
		return
	}
	delete(p.of, k)
	delete(p.holder, at)
	for old, by := range p.lost {
		if by == k {
			delete(p.lost, old)
			p.holder[at] = old
		}
	}
}

// leave notes that k was dropped, and tells whether a flow that it had replaced, and that is
// not among dropped, may be missed now.
func (p *places) leave(k Key, dropped map[Key]Flow) (uncovered bool) {
	if at, ok := p.of[k]; ok && p.holder[at] == k {
		delete(p.holder, at)
	}
	delete(p.of, k)
	delete(p.lost, k)
	for old, by := range p.lost {
		if by == k {
			delete(p.lost, old)
			if _, too := dropped[old]; !too {
				uncovered = true
			}
		}
	}
	return uncovered
}
