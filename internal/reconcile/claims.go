package reconcile

import (
	"cmp"
	"slices"
)

// claims is who wants what: the owners of every object, the winner first.
type claims[K comparable, V any] struct {
	priority map[string]int
	byOwner  map[Owner]map[K]struct{}
	byKey    map[K][]claim[V]
}

type claim[V any] struct {
	owner Owner
	value V
}

func newClaims[K comparable, V any](priority map[string]int) claims[K, V] {
	return claims[K, V]{
		priority: priority,
		byOwner:  map[Owner]map[K]struct{}{},
		byKey:    map[K][]claim[V]{},
	}
}

// replace sets all that o wants and calls changed for every key that o named before or names now.
func (c *claims[K, V]) replace(o Owner, want map[K]V, changed func(K)) {
	had := c.byOwner[o]
	for k := range had {
		if _, still := want[k]; !still {
			c.remove(k, o)
			changed(k)
		}
	}
	if len(want) == 0 {
		delete(c.byOwner, o)
		return
	}
	keys := make(map[K]struct{}, len(want))
	for k, v := range want {
		keys[k] = struct{}{}
		c.set(k, o, v)
		changed(k)
	}
	c.byOwner[o] = keys
}

func (c *claims[K, V]) set(k K, o Owner, v V) {
	list := c.byKey[k]
	at, found := slices.BinarySearchFunc(list, o, func(have claim[V], want Owner) int { return c.order(have.owner, want) })
	if found {
		list[at].value = v
		return
	}
	c.byKey[k] = slices.Insert(list, at, claim[V]{owner: o, value: v})
}

func (c *claims[K, V]) remove(k K, o Owner) {
	list := slices.DeleteFunc(c.byKey[k], func(have claim[V]) bool { return have.owner == o })
	if len(list) == 0 {
		delete(c.byKey, k)
		return
	}
	c.byKey[k] = list
}

// winner is the value that k shall have.
func (c *claims[K, V]) winner(k K) (v V, wanted bool) {
	list := c.byKey[k]
	if len(list) == 0 {
		return v, false
	}
	return list[0].value, true
}

func (c *claims[K, V]) order(a, b Owner) int {
	return cmp.Or(
		cmp.Compare(c.rank(a.Feature), c.rank(b.Feature)),
		cmp.Compare(a.Feature, b.Feature),
		cmp.Compare(a.Doc, b.Doc),
	)
}

func (c *claims[K, V]) rank(feature string) int {
	if r, named := c.priority[feature]; named {
		return r
	}
	return len(c.priority)
}
