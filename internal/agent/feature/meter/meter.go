// Package meter gives what the features of a host meter on the integration bridge numbers that no two of them share and that stay the same over
// restarts, so that a restarted agent finds its meters and the flows that name them right. The features that limit rates ask a Book; assemble opens
// it in the agent's folder. It makes no meter.
package meter

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"isospin/internal/dataplane/openflow"
)

// IDs are the numbers that a Book gives: below what the smallest datapath allows, and not those that people try first by hand.
func IDs() openflow.IDs { return openflow.IDs{First: 0x1000, Last: 0xffff} }

// Book knows which use has which number. A number follows from the use's name; only those whose number was another's are written down, so that
// a thousand uses cost nothing on the disk. Any goroutine may use it.
type Book struct {
	path string // "": in memory
	ids  openflow.IDs

	mu    sync.Mutex
	uses  map[string]uint32
	taken map[uint32]string
	moved map[string]bool // those whose number does not follow from their name
}

// ErrFull is that every number is in use.
var ErrFull = errors.New("all meters of the bridge are in use")

// Open reads the book in a folder; dir "" keeps it in memory. A book that cannot be read is begun anew: most numbers are what they were.
func Open(dir string, ids openflow.IDs) (*Book, error) {
	b := &Book{ids: ids, uses: map[string]uint32{}, taken: map[uint32]string{}, moved: map[string]bool{}}
	if dir == "" {
		return b, nil
	}
	b.path = filepath.Join(dir, "meters.json")
	text, err := os.ReadFile(b.path)
	if errors.Is(err, fs.ErrNotExist) {
		return b, nil
	}
	if err != nil {
		return nil, fmt.Errorf("meters: %w", err)
	}
	var kept map[string]uint32
	if json.Unmarshal(text, &kept) != nil {
		return b, nil
	}
	for use, id := range kept {
		if id >= ids.First && id <= ids.Last && b.taken[id] == "" {
			b.uses[use], b.taken[id], b.moved[use] = id, use, true
		}
	}
	return b, nil
}

// Of is the number of a use, such as "qos/<port>/egress/kbps", given now if it had none. With an error that is not ErrFull the number is good, but
// may be another after a restart.
func (b *Book) Of(use string) (uint32, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if id, ok := b.uses[use]; ok {
		return id, nil
	}
	size := b.ids.Last - b.ids.First + 1
	h := fnv.New32a()
	_, _ = h.Write([]byte(use)) // hash.Hash never fails
	for i := range size {
		id := b.ids.First + (h.Sum32()%size+i)%size
		if b.taken[id] != "" {
			continue
		}
		b.uses[use], b.taken[id] = id, use
		if i == 0 {
			return id, nil
		}
		b.moved[use] = true
		return id, b.write()
	}
	return 0, ErrFull
}

// Forget gives back a use's number.
func (b *Book) Forget(use string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	id, ok := b.uses[use]
	if !ok {
		return nil
	}
	delete(b.uses, use)
	delete(b.taken, id)
	if !b.moved[use] {
		return nil
	}
	delete(b.moved, use)
	return b.write()
}

// Uses are those that begin with a prefix and have a number.
func (b *Book) Uses(prefix string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	for use := range b.uses {
		if strings.HasPrefix(use, prefix) {
			out = append(out, use)
		}
	}
	return out
}

// write replaces the file.
func (b *Book) write() error {
	if b.path == "" {
		return nil
	}
	kept := make(map[string]uint32, len(b.moved))
	for use := range b.moved {
		kept[use] = b.uses[use]
	}
	text, err := json.Marshal(kept)
	if err == nil {
		err = os.WriteFile(b.path+".new", text, 0o600)
	}
	if err == nil {
		err = os.Rename(b.path+".new", b.path)
	}
	if err != nil {
		return fmt.Errorf("meters: %w", err)
	}
	return nil
}
