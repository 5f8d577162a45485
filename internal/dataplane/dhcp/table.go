package dhcp

import (
	"slices"
	"sync"
)

// table is one network's reservations, by port and by what a client shows. Grants in it are never changed.
type table struct {
	network string
	mu      sync.RWMutex
	ports   map[string]entry
	byMAC   map[hwaddr][]*grant // the last one answers; more than one only while a port's MAC is moving to another
	byID    map[string][]*grant
}

type entry struct {
	source Reservation
	grant  *grant
}

func newTable(network string) *table {
	return &table{network: network, ports: map[string]entry{}, byMAC: map[hwaddr][]*grant{}, byID: map[string][]*grant{}}
}

// find looks a client up: by its client identifier if a port claims that, else by its MAC address.
func (t *table) find(mac hwaddr, clientID []byte) *grant {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if len(clientID) > 0 {
		if gs := t.byID[string(clientID)]; len(gs) > 0 {
			return gs[len(gs)-1]
		}
	}
	if gs := t.byMAC[mac]; len(gs) > 0 {
		return gs[len(gs)-1]
	}
	return nil
}

func (t *table) put(port string, r Reservation, g *grant) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.remove(port)
	t.ports[port] = entry{r, g}
	t.byMAC[g.mac] = append(t.byMAC[g.mac], g)
	if g.clientID != "" {
		t.byID[g.clientID] = append(t.byID[g.clientID], g)
	}
}

func (t *table) drop(port string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.remove(port)
}

func (t *table) remove(port string) {
	e, ok := t.ports[port]
	if !ok {
		return
	}
	delete(t.ports, port)
	without(t.byMAC, e.grant.mac, e.grant)
	without(t.byID, e.grant.clientID, e.grant)
}

func without[K comparable](m map[K][]*grant, k K, g *grant) {
	i := slices.Index(m[k], g)
	switch {
	case i < 0:
	case len(m[k]) == 1:
		delete(m, k)
	default:
		m[k] = slices.Delete(m[k], i, i+1)
	}
}

func (t *table) empty() bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.ports) == 0
}

func (t *table) each(f func(port string, r Reservation)) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for port, e := range t.ports {
		f(port, e.source)
	}
}
