package ovsdb

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ovn-kubernetes/libovsdb/cache"
	"github.com/ovn-kubernetes/libovsdb/client"
	"github.com/ovn-kubernetes/libovsdb/model"
)

// session is one connection: it ends once and is never mended. The library can reconnect by itself, but
// then its cache changes under the reader and its end cannot be waited for; a new session starts clean.
type session struct {
	lib  client.Client
	lost chan struct{} // closed when the connection is gone
	quit chan struct{} // closed to stop waiting for lost

	mu   sync.Mutex
	live *Snapshot // as the monitor has it; nil until it is whole
}

// dial connects and returns when the monitored tables are here. changed is called, from another goroutine, after each change.
func dial(ctx context.Context, endpoint string, changed func()) (*session, error) {
	m, err := clientModel()
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	lib, err := client.NewOVSDBClient(m, client.WithEndpoint(endpoint))
	if err != nil {
		return nil, err
	}
	s := &session{lib: lib, lost: make(chan struct{}), quit: make(chan struct{})}
	// The library tells of a lost connection once, and only to who listens at that moment: listen first.
	go func() {
		defer close(s.lost)
		select {
		case <-lib.DisconnectNotify():
		case <-s.quit:
		}
	}()
	if err := lib.Connect(ctx); err != nil {
		close(s.quit)
		<-s.lost
		return nil, err
	}
	lib.Cache().AddEventHandler(&cache.EventHandlerFuncs{
		AddFunc:    func(table string, row model.Model) { s.event(table, row, changed) },
		UpdateFunc: func(table string, _, row model.Model) { s.event(table, row, changed) },
		DeleteFunc: func(table string, row model.Model) { s.event(table, row, changed) },
	})
	if err := s.monitor(ctx); err != nil {
		s.end()
		return nil, fmt.Errorf("monitor: %w", err)
	}
	return s, nil
}

// end closes the connection and waits until the library has let go of it.
func (s *session) end() {
	s.lib.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	select {
	case <-s.lost:
	case <-ctx.Done(): // it was lost at a moment when nobody listened
		close(s.quit)
		<-s.lost
	}
}

func (s *session) isLost() bool {
	select {
	case <-s.lost:
		return true
	default:
		return s.lib.CurrentEndpoint() == ""
	}
}

func (s *session) monitor(ctx context.Context) error {
	req := s.lib.NewMonitor()
	for _, t := range tables() {
		req.Tables = append(req.Tables, client.TableMonitor{Table: t, Fields: columns(t)})
	}
	if _, err := s.lib.Monitor(ctx, req); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	live := emptySnapshot()
	for _, t := range tables() {
		table := s.lib.Cache().Table(t)
		if table == nil {
			return fmt.Errorf("table %s is not in the schema", t)
		}
		for _, row := range table.Rows() {
			live.put(row)
		}
	}
	s.live = live
	return nil
}

// event takes over one row as the library's cache has it now: an event may be older than that.
func (s *session) event(table string, row model.Model, changed func()) {
	id := rowID(row)
	s.mu.Lock()
	if s.live == nil { // monitor reads all rows when it is done
		s.mu.Unlock()
		return
	}
	if c := s.lib.Cache(); c != nil {
		if now := c.Table(table).Row(id); now != nil {
			s.live.put(now)
		} else {
			s.live.remove(table, id)
		}
	}
	s.mu.Unlock()
	changed()
}

// snapshot is a copy of what the monitor has.
func (s *session) snapshot() *Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live.clone()
}

// read is what the server had when asked. The server sends all updates of the monitor before it answers
// anything, and the library takes them into its cache in that order; so an answered echo is a barrier.
// Selects would do without the library's cache, at a hundred times the cost.
func (s *session) read(ctx context.Context) (*Snapshot, error) {
	for range 100 {
		if err := s.lib.Echo(ctx); err != nil {
			return nil, err
		}
		lib := s.lib.Cache()
		if lib == nil {
			return nil, ErrNotConnected
		}
		snap := emptySnapshot()
		for _, t := range tables() {
			for _, row := range lib.Table(t).RowsShallow() {
				snap.put(row)
			}
		}
		// An update may have come between two tables; then rows refer to rows that are not there, or nobody refers to them.
		if snap.whole() {
			snap.index()
			return snap, nil
		}
	}
	return nil, errors.New("tables do not fit together")
}
