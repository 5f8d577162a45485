package dhcp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"golang.org/x/sync/errgroup"

	"isospin/internal/reconcile"
)

var (
	_ reconcile.Driver[string, Network]             = Networks{}
	_ reconcile.Driver[ReservationKey, Reservation] = Reservations{}
)

// abreast is how many networks are opened or closed at a time.
const abreast = 16

// Networks is the driver of networks; its keys are network ids. What it lists lives in this process alone: a
// restarted agent serves nothing until it is told.
type Networks struct{ Server *Server }

// List says what is being served. A network whose interface has gone is not, and is given up here: whoever still
// wants it puts it again.
func (d Networks) List(context.Context) (map[string]Network, error) {
	s := d.Server
	s.mu.Lock()
	all := maps.Clone(s.serving)
	s.mu.Unlock()
	out := make(map[string]Network, len(all))
	var errs []error
	for id, n := range all {
		if n.gone() {
			errs = append(errs, s.stop(id))
			continue
		}
		s.mu.Lock()
		out[id] = n.source.clone()
		s.mu.Unlock()
	}
	return out, errors.Join(errs...)
}

// Put serves networks, or changes what their clients are told from the next packet on, with the socket left open
// unless the network's place changed.
func (d Networks) Put(ctx context.Context, batch map[string]Network) error {
	return each(batch, func(id string, n Network) error { return d.Server.put(ctx, id, n) })
}

// Drop stops serving networks. Their reservations stay until they are dropped themselves.
func (d Networks) Drop(_ context.Context, batch map[string]Network) error {
	return each(batch, func(id string, _ Network) error { return d.Server.stop(id) })
}

// each runs f for all objects, a few at a time, and collects what failed.
func each[V any](batch map[string]V, f func(id string, v V) error) error {
	var mu sync.Mutex
	errs := reconcile.Errors[string]{}
	var g errgroup.Group
	g.SetLimit(abreast)
	for id, v := range batch {
		g.Go(func() error {
			if err := f(id, v); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs[id] = err
			}
			return nil
		})
	}
	_ = g.Wait() // every error is in errs
	return errs.Err()
}

// put is called for one network at a time, as the other ways to change n.source are: a reconciler has one goroutine.
func (s *Server) put(ctx context.Context, id string, network Network) error {
	if network.ID != id {
		return fmt.Errorf("dhcp: network %q under the key %q", network.ID, id)
	}
	network = network.clone()
	config, err := compile(network)
	if err != nil {
		return fmt.Errorf("dhcp: network %s: %w", id, err)
	}
	s.mu.Lock()
	n := s.serving[id]
	s.mu.Unlock()
	if n != nil && n.source.samePlace(network) && !n.gone() {
		s.mu.Lock()
		defer s.mu.Unlock()
		n.source = network
		n.config.Store(config)
		return nil
	}
	return s.start(ctx, network, config)
}

func (s *Server) stop(id string) error {
	s.mu.Lock()
	n := s.serving[id]
	delete(s.serving, id)
	s.forget(id)
	s.mu.Unlock()
	if n == nil {
		return nil
	}
	return s.retire(n)
}

// Reservations is the driver of reservations. One of them costs the same on a network of two ports and of ten thousand.
type Reservations struct{ Server *Server }

// List says what is reserved, on networks that are served and on others.
func (d Reservations) List(context.Context) (map[ReservationKey]Reservation, error) {
	s := d.Server
	s.mu.Lock()
	tables := maps.Clone(s.tables)
	s.mu.Unlock()
	out := map[ReservationKey]Reservation{}
	for network, t := range tables {
		t.each(func(port string, r Reservation) { out[ReservationKey{network, port}] = r.clone() })
	}
	return out, nil
}

// Put reserves from the next packet on. A reservation with an option that cannot be understood is served without
// that option, and reported.
func (d Reservations) Put(_ context.Context, batch map[ReservationKey]Reservation) error {
	errs := reconcile.Errors[ReservationKey]{}
	s := d.Server
	for k, r := range batch {
		r = r.clone()
		g, err := compileGrant(k.Port, r)
		if err != nil {
			errs[k] = fmt.Errorf("dhcp: port %s: %w", k.Port, err)
		}
		if g == nil {
			continue
		}
		s.mu.Lock()
		s.table(k.Network).put(k.Port, r, g)
		s.mu.Unlock()
	}
	return errs.Err()
}

// Drop takes reservations back: their clients get silence.
func (d Reservations) Drop(_ context.Context, batch map[ReservationKey]Reservation) error {
	s := d.Server
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range batch {
		if t := s.tables[k.Network]; t != nil {
			t.drop(k.Port)
			s.forget(k.Network)
		}
	}
	return nil
}

// Stages makes the two stages in the order in which they grow: reservations first, so that a new network never meets
// a client that it should know.
func (s *Server) Stages(opts ...reconcile.Option) (*reconcile.Reconciler[ReservationKey, Reservation], *reconcile.Reconciler[string, Network]) {
	return reconcile.New("dhcp-reservations", reconcile.Driver[ReservationKey, Reservation](Reservations{s}), Reservation.Equal, opts...),
		reconcile.New("dhcp-networks", reconcile.Driver[string, Network](Networks{s}), Network.Equal, opts...)
}
