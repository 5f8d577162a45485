package seclog

import (
	"slices"
	"sync"
)

// Entry is who has the packets of a port written down: the port's project, and the orders by what they ask for.
type Entry struct {
	Project      string
	Accept, Drop []string
}

// Book knows the ports of which packets are written down. The feature writes it, whoever hears of packets reads it; any goroutine may.
type Book struct {
	mu    sync.Mutex
	ports map[string]Entry
}

// NewBook makes an empty one.
func NewBook() *Book { return &Book{ports: map[string]Entry{}} }

func (b *Book) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.ports)
}

// put replaces a port's entry; one without orders takes it away.
func (b *Book) put(port string, e Entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(e.Accept)+len(e.Drop) == 0 {
		delete(b.ports, port)
		return
	}
	b.ports[port] = e
}

// find gives the project of a port and the orders that an event is for. None where the orders are gone by now.
func (b *Book) find(event, port string) (project string, orders []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.ports[port]
	if event == eventAccept {
		return e.Project, slices.Clone(e.Accept)
	}
	return e.Project, slices.Clone(e.Drop)
}

// mark is a flow's own data: what happened, and to whom.
func mark(event, port string) []byte { return []byte(event[:1] + port) }

// unmark reads it.
func unmark(data []byte) (event, port string, ok bool) {
	if len(data) < 2 {
		return "", "", false
	}
	switch data[0] {
	case eventAccept[0]:
		event = eventAccept
	case eventDrop[0]:
		event = eventDrop
	default:
		return "", "", false
	}
	return event, string(data[1:]), true
}
