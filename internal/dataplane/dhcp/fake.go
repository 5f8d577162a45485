package dhcp

import (
	"context"
	"fmt"
	"net"
	"sync"
)

// Fake is a set of interfaces in memory for tests of what drives a Server: its Open stands for OpenPacketLink.
// The zero value has every interface; all methods are safe for concurrent use.
type Fake struct {
	mu      sync.Mutex
	links   map[string]*fakeLink
	missing map[string]bool
	opened  int
}

// FakeFrame is what a Server sent through a Fake: an IPv4 packet and the frame's destination.
type FakeFrame struct {
	Packet []byte
	To     net.HardwareAddr
}

type fakeLink struct {
	in     chan fakePacket
	out    chan FakeFrame
	gone   chan struct{}
	closed chan struct{}
	once   sync.Once
}

type fakePacket struct {
	data []byte
	from [6]byte
}

// Open opens an interface that is not missing.
func (f *Fake) Open(_ context.Context, namespace, iface string) (Link, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := namespace + "/" + iface
	if f.missing[k] {
		return nil, fmt.Errorf("dhcp: open %s in %s: %w", iface, namespace, ErrGone)
	}
	f.opened++
	l := &fakeLink{in: make(chan fakePacket), out: make(chan FakeFrame, 1), gone: make(chan struct{}), closed: make(chan struct{})}
	if f.links == nil {
		f.links = map[string]*fakeLink{}
	}
	f.links[k] = l
	return l, nil
}

// Remove takes an interface away under the server, until Restore.
func (f *Fake) Remove(namespace, iface string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := namespace + "/" + iface
	if f.missing == nil {
		f.missing = map[string]bool{}
	}
	f.missing[k] = true
	if l := f.links[k]; l != nil {
		close(l.gone)
		delete(f.links, k)
	}
}

// Restore makes a removed interface, of which a server's socket knows nothing.
func (f *Fake) Restore(namespace, iface string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.missing, namespace+"/"+iface)
}

// Opened counts how often interfaces were opened.
func (f *Fake) Opened() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.opened
}

// Exchange delivers an IPv4 packet and waits until the server is done with it, which it is when it takes the
// next one: an empty packet that is sent behind. It returns the answer, or false for silence.
func (f *Fake) Exchange(namespace, iface string, packet []byte, from net.HardwareAddr) (FakeFrame, bool) {
	f.mu.Lock()
	l := f.links[namespace+"/"+iface]
	f.mu.Unlock()
	if l == nil {
		return FakeFrame{}, false
	}
	for _, p := range []fakePacket{{packet, hwaddr(from)}, {}} {
		select {
		case l.in <- p:
		case <-l.closed:
			return FakeFrame{}, false
		}
	}
	select {
	case out := <-l.out:
		return out, true
	default:
		return FakeFrame{}, false
	}
}

func (l *fakeLink) Receive(buf []byte) (int, [6]byte, bool, error) {
	select {
	case p := <-l.in:
		return copy(buf, p.data), p.from, true, nil
	case <-l.gone:
		return 0, hwaddr{}, false, ErrGone
	case <-l.closed:
		return 0, hwaddr{}, false, net.ErrClosed
	}
}

func (l *fakeLink) Send(packet []byte, to [6]byte) error {
	select {
	case l.out <- FakeFrame{append([]byte(nil), packet...), append([]byte(nil), to[:]...)}:
	case <-l.closed:
	}
	return nil
}

func (l *fakeLink) Gone() bool {
	select {
	case <-l.gone:
		return true
	default:
		return false
	}
}

func (l *fakeLink) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}
