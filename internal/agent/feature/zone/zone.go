// Package zone gives each network of a host a conntrack zone of its own, so that equal addresses of two networks are two connections. The features
// that filter and translate ask a Book; assemble opens it in the agent's folder. It tracks no connection.
package zone

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// Book remembers which network has which zone, also over a restart: another zone would cut the network's connections. Any goroutine may use it.
type Book struct {
	path        string // "": in memory
	first, last uint16

	mu    sync.Mutex
	zones map[string]uint16
	taken map[uint16]string
	used  func(name string) bool
}

// ErrFull is that every zone is a network's.
var ErrFull = errors.New("all conntrack zones are in use")

// Open reads the book in a folder; dir "" keeps it in memory. Zones are of the range first to last, both included. A book that cannot be read is begun
// anew: zones follow from the networks' ids as far as no two want the same one, so most are what they were.
func Open(dir string, first, last uint16) (*Book, error) {
	b := &Book{first: first, last: last, zones: map[string]uint16{}, taken: map[uint16]string{}}
	if first == 0 || last < first {
		return nil, fmt.Errorf("conntrack zones %d to %d are no range", first, last)
	}
	if dir == "" {
		return b, nil
	}
	b.path = filepath.Join(dir, "zones.json")
	text, err := os.ReadFile(b.path)
	if errors.Is(err, fs.ErrNotExist) {
		return b, nil
	}
	if err != nil {
		return nil, fmt.Errorf("conntrack zones: %w", err)
	}
	var kept map[string]uint16
	if json.Unmarshal(text, &kept) != nil {
		return b, nil
	}
	for network, z := range kept {
		if z >= first && z <= last && b.taken[z] == "" {
			b.zones[network], b.taken[z] = z, network
		}
	}
	return b, nil
}

// Of is the network's zone, given now if it had none.
func (b *Book) Of(network string) (uint16, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if z, ok := b.zones[network]; ok {
		return z, nil
	}
	size := uint32(b.last) - uint32(b.first) + 1
	if len(b.taken) >= int(size) {
		b.sweep()
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(network)) // hash.Hash never fails
	for i := range size {
		z := b.first + uint16((h.Sum32()%size+i)%size)
		if b.taken[z] == "" {
			b.zones[network], b.taken[z] = z, network
			return z, b.write()
		}
	}
	return 0, ErrFull
}

// Reclaim tells which names still need their zones: when none is free, those of the others are given to new ones. Until then a zone stays its network's, whose
// connections may outlive it on this host. used is called by Of, in its goroutine.
func (b *Book) Reclaim(used func(name string) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used = used
}

// sweep frees the zones that nobody needs.
func (b *Book) sweep() {
	if b.used == nil {
		return
	}
	for name, z := range b.zones {
		if !b.used(name) {
			delete(b.zones, name)
			delete(b.taken, z)
		}
	}
}

// write replaces the file. A full disk costs a zone its being remembered, not the network its filter: the error is told and the zone is given.
func (b *Book) write() error {
	if b.path == "" {
		return nil
	}
	text, err := json.Marshal(b.zones)
	if err == nil {
		err = os.WriteFile(b.path+".new", text, 0o600)
	}
	if err == nil {
		err = os.Rename(b.path+".new", b.path)
	}
	if err != nil {
		return fmt.Errorf("conntrack zones: %w", err)
	}
	return nil
}
