package status

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"

	"isospin/internal/clock"
	"isospin/internal/model"
	"isospin/internal/service"
	"isospin/internal/service/agents"
	"isospin/internal/service/ml2"
	"isospin/internal/store"
	"isospin/internal/wire"
)

// Binder tries again to bind a port whose interface appeared; ml2.Plugin is one.
type Binder interface {
	Plugged(ctx context.Context, tx store.WriteTx, portID, host string) error
}

// Config is what the plugin is made of.
type Config struct {
	Store  store.Store
	Ports  *ml2.Ports
	Binder Binder
	Agents *agents.Plugin // for Why
	Clock  clock.Clock
	Log    *slog.Logger
	// Followers are told of ports whose status changes, in the same transaction.
	Followers []service.Follower[model.Port]
}

// Plugin writes what hosts report.
type Plugin struct{ Config }

// New makes the plugin.
func New(c Config) *Plugin { return &Plugin{c} }

// attempts bounds how often a report is tried that loses against other writers of the same ports.
const attempts = 8

// Report writes what hosts say, each host's words in their order, in one transaction: differences alone. What does not exist,
// and what is not the host's to say, is passed over.
func (p *Plugin) Report(ctx context.Context, reports map[string][]*wire.Status) error {
	b := batch{Plugin: p}
	for host, list := range reports {
		for _, s := range list {
			b.take(host, s)
		}
	}
	if len(b.said) == 0 {
		return nil
	}
	for try := 1; ; try++ {
		err := p.Store.Write(ctx, func(tx store.WriteTx) error { return b.write(ctx, tx) })
		if err == nil || !store.IsStale(err) || try == attempts {
			return err
		}
	}
}

// word is one status of one host.
type word struct {
	host string
	*wire.Status
}

// slot is where an entity's word on a port stands.
type slot struct{ port, entity, host string }

// standing is what was said.
type standing struct {
	generation int64
	state      int64
	detail     string
}

// batch is one Report at work; all but said is filled by each run of write.
type batch struct {
	*Plugin
	said []word
	ids  []string

	ports    map[string]*model.Port
	entities map[string][]string
	serves   map[string][]string // network: the hosts that serve its DHCP
	have     map[slot]standing
	want     map[slot]standing
	plugged  map[[2]string]bool // port, host
}

// take keeps a status that is about a port.
func (b *batch) take(host string, s *wire.Status) {
	switch {
	case s == nil || s.Id == "" || s.State == wire.State_STATE_UNSPECIFIED || len(s.Id) > 36:
		return
	case s.Entity == wire.EntityMirror:
		b.Log.Warn("a host cannot read a document", "host", host, "kind", s.Kind, "id", s.Id, "detail", s.Detail)
		if s.Kind != wire.KindPort {
			return
		}
	case (s.Entity == wire.EntityL2 || s.Entity == wire.EntityQoS) && s.Kind == wire.KindPort:
	case s.Entity == wire.EntityDHCP && (s.Kind == wire.KindReservation || s.Kind == wire.KindPort):
	default:
		b.Log.Debug("a status that is not about a port", "host", host, "kind", s.Kind, "entity", s.Entity)
		return
	}
	b.said = append(b.said, word{host: host, Status: s})
	if !slices.Contains(b.ids[max(0, len(b.ids)-1):], s.Id) {
		b.ids = append(b.ids, s.Id)
	}
}

// Recheck judges the ports of a network that are not ACTIVE anew: what they wait for may have become less.
func (p *Plugin) Recheck(ctx context.Context, tx store.WriteTx, network string) error {
	var all []string
	err := pairs(ctx, tx, store.Q("SELECT id, host FROM ports WHERE network_id = ? AND host <> '' AND status <> ? ORDER BY id", network, model.StatusActive), func(id, _ string) { all = append(all, id) })
	if err != nil {
		return err
	}
	for ids := range slices.Chunk(all, 1024) {
		b := batch{Plugin: p, ids: ids}
		if err := b.load(ctx, tx); err != nil {
			return err
		}
		for _, id := range ids {
			if port := b.ports[id]; port != nil {
				if err := b.judge(ctx, tx, port); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (b *batch) write(ctx context.Context, tx store.WriteTx) error {
	if err := b.load(ctx, tx); err != nil {
		return err
	}
	if err := b.interfaces(ctx, tx); err != nil {
		return err
	}
	for _, w := range b.said {
		b.hear(w)
	}
	if err := b.save(ctx, tx); err != nil {
		return err
	}
	var errs []error
	seen := map[string]bool{}
	for _, w := range b.said {
		if port := b.ports[w.Id]; port != nil && !seen[w.Id] {
			seen[w.Id] = true
			errs = append(errs, b.judge(ctx, tx, port))
		}
	}
	return errors.Join(errs...)
}

// load locks the ports, for two hosts at two servers may each bring the last word that the other lacks, and reads all that the
// batch is about, in a constant number of statements.
func (b *batch) load(ctx context.Context, tx store.Tx) error {
	in := store.In("id", b.ids)
	lock := store.Q("SELECT id FROM ports WHERE "+in.SQL+" ORDER BY id"+tx.Dialect().ForUpdate(false), in.Args...)
	if err := store.Each(ctx, tx, lock, func(func(...any) error) error { return nil }); err != nil {
		return err
	}
	rows, err := b.Ports.Find(ctx, tx, store.List{Where: store.In("id", b.ids)})
	if err != nil {
		return err
	}
	b.ports = make(map[string]*model.Port, len(rows))
	var networks []string
	for i := range rows {
		b.ports[rows[i].ID] = &rows[i]
		networks = append(networks, rows[i].NetworkID)
	}
	if b.entities, err = Entities(ctx, tx, rows); err != nil {
		return err
	}
	b.serves, b.have, b.want, b.plugged = map[string][]string{}, map[slot]standing{}, map[slot]standing{}, map[[2]string]bool{}
	slices.Sort(networks)
	in = store.In("network_id", slices.Compact(networks))
	err = pairs(ctx, tx, store.Q("SELECT network_id, host FROM dhcp_hosts WHERE "+in.SQL, in.Args...), func(network, host string) {
		b.serves[network] = append(b.serves[network], host)
	})
	if err != nil {
		return err
	}
	in = store.In("port_id", b.ids)
	err = pairs(ctx, tx, store.Q("SELECT port_id, host FROM plugged_interfaces WHERE "+in.SQL, in.Args...), func(port, host string) {
		b.plugged[[2]string{port, host}] = true
	})
	if err != nil {
		return err
	}
	return provisioned(ctx, tx, in, b.have)
}

func provisioned(ctx context.Context, tx store.Tx, where store.Cond, into map[slot]standing) error {
	return store.Each(ctx, tx, store.Q("SELECT port_id, entity, host, generation, state, detail FROM provisioning WHERE "+where.SQL, where.Args...), func(scan func(...any) error) error {
		var k slot
		var v standing
		err := scan(&k.port, &k.entity, &k.host, &v.generation, &v.state, &v.detail)
		into[k] = v
		return err
	})
}

func pairs(ctx context.Context, tx store.Tx, q store.Query, take func(a, b string)) error {
	return store.Each(ctx, tx, q, func(scan func(...any) error) error {
		var x, y string
		err := scan(&x, &y)
		take(x, y)
		return err
	})
}

// interfaces writes which interfaces came and went, and has ports bound whose interface came.
func (b *batch) interfaces(ctx context.Context, tx store.WriteTx) error {
	last := map[[2]string]bool{}
	var order [][2]string
	for _, w := range b.said {
		if w.Entity != wire.EntityL2 || w.State != wire.State_PLUGGED && w.State != wire.State_UNPLUGGED {
			continue
		}
		k := [2]string{w.Id, w.host}
		if _, known := last[k]; !known {
			order = append(order, k)
		}
		last[k] = w.State == wire.State_PLUGGED
	}
	for _, k := range order {
		on := last[k]
		var err error
		switch {
		case on == b.plugged[k]:
		case !on:
			_, err = tx.Exec(ctx, store.Q("DELETE FROM plugged_interfaces WHERE port_id = ? AND host = ?", k[0], k[1]))
		case b.ports[k[0]] != nil:
			_, err = tx.Exec(ctx, store.Q("INSERT INTO plugged_interfaces (port_id, host) VALUES (?, ?)", k[0], k[1]))
		}
		if err != nil {
			return err
		}
		port := b.ports[k[0]]
		if !on || port == nil || port.HostID != k[1] || bound(port.VIFType) {
			continue
		}
		if err := b.Binder.Plugged(ctx, tx, k[0], k[1]); err != nil {
			return err
		}
		bound, err := b.Ports.Get(ctx, tx, k[0])
		if err != nil {
			return err
		}
		*port = bound
	}
	return nil
}

// hear takes one word in, if it is the host's to say: L2 is of the port's own host and of those that wait for it, DHCP of those that serve
// its network.
func (b *batch) hear(w word) {
	port := b.ports[w.Id]
	if port == nil || w.State == wire.State_PLUGGED {
		return
	}
	own := w.host == port.HostID || slices.ContainsFunc(port.Bindings, func(b model.PortBinding) bool { return b.Host == w.host && bound(b.VIFType) })
	if w.Entity == wire.EntityDHCP {
		own = slices.Contains(b.serves[port.NetworkID], w.host)
	}
	k := slot{port: w.Id, entity: w.Entity, host: w.host}
	if w.Entity == wire.EntityQoS && w.State == wire.State_UNPLUGGED {
		b.want[k] = standing{} // there is nothing to keep any more
		return
	}
	if !own {
		if w.State == wire.State_UNPLUGGED {
			b.want[k] = standing{} // the port has left that host, and now its interface has too
		} else {
			b.Log.Debug("a host speaks of a port that is not its own", "host", w.host, "port", w.Id, "entity", w.Entity)
		}
		return
	}
	b.want[k] = standing{generation: w.Generation, state: int64(w.State), detail: w.Detail}
}

// bound tells whether a binding of this VIF type is one.
func bound(vif string) bool { return vif != model.VIFUnbound && vif != model.VIFBindingFailed }

// now is what an entity's word on a port is with this batch.
func (b *batch) now(k slot) (standing, bool) {
	if v, ok := b.want[k]; ok {
		return v, true
	}
	v, ok := b.have[k]
	return v, ok
}

// save writes the words that differ, new ones many at a time.
func (b *batch) save(ctx context.Context, tx store.WriteTx) error {
	var fresh []any
	for k, v := range b.want {
		before, known := b.have[k]
		switch {
		case v == (standing{}):
			if known {
				if _, err := tx.Exec(ctx, store.Q("DELETE FROM provisioning WHERE port_id = ? AND entity = ? AND host = ?", k.port, k.entity, k.host)); err != nil {
					return err
				}
			}
		case !known:
			fresh = append(fresh, k.port, k.entity, k.host, v.generation, v.state, v.detail)
		case before != v:
			if _, err := tx.Exec(ctx, store.Q("UPDATE provisioning SET generation = ?, state = ?, detail = ? WHERE port_id = ? AND entity = ? AND host = ?",
				v.generation, v.state, v.detail, k.port, k.entity, k.host)); err != nil {
				return err
			}
		}
	}
	const width, most = 6, 128
	for part := range slices.Chunk(fresh, width*most) {
		_, err := tx.Exec(ctx, store.Q("INSERT INTO provisioning (port_id, entity, host, generation, state, detail) VALUES "+
			strings.Repeat("(?, ?, ?, ?, ?, ?), ", len(part)/width-1)+"(?, ?, ?, ?, ?, ?)", part...))
		if err != nil {
			return err
		}
	}
	return nil
}

// judge makes a port's status what its entities say, and nothing while they say nothing of its present wiring. A port that is
// ACTIVE stays so when it is wired anew: the traffic goes on until somebody says otherwise.
func (b *batch) judge(ctx context.Context, tx store.WriteTx, port *model.Port) error {
	want := port.Status
	l2, ok := b.now(slot{port: port.ID, entity: wire.EntityL2, host: port.HostID})
	mirror, spoken := b.now(slot{port: port.ID, entity: wire.EntityMirror, host: port.HostID})
	switch {
	case port.HostID == "":
		return nil
	case spoken && mirror.state == int64(wire.State_FAILED): // the host does not know the port as it is now, and has cut it off
		want = model.StatusDown
	case !ok:
		return nil
	case l2.state == int64(wire.State_UNPLUGGED):
		want = model.StatusDown
	case l2.state == int64(wire.State_FAILED) && l2.generation == port.Wiring: // it stands too long to be mended by the host alone
		want = model.StatusDown
	case l2.state != int64(wire.State_DONE) || l2.generation != port.Wiring:
		return nil
	case !port.AdminStateUp: // the agent has cut it off, as it was told (behaviour.md, section 11)
		want = model.StatusDown
	case b.complete(port):
		want = model.StatusActive
	}
	if want == port.Status {
		return nil
	}
	old := port.Clone()
	port.Status = want
	port.Revision++
	port.UpdatedAt = model.Stamp(b.Clock.Now())
	if err := b.Ports.Update(ctx, tx, port, old.Revision); err != nil {
		return err
	}
	w := service.Write[model.Port]{Op: service.Update, Old: &old, New: port}
	for _, f := range b.Followers {
		if err := f.Follow(ctx, tx, w); err != nil {
			return err
		}
	}
	return nil
}

// complete tells whether everybody whose word a port needs is done with its present wiring.
func (b *batch) complete(port *model.Port) bool {
	done := func(entity string, host string) bool {
		v, ok := b.now(slot{port: port.ID, entity: entity, host: host})
		return ok && v.state == int64(wire.State_DONE) && v.generation == port.Wiring
	}
	for _, e := range b.entities[port.ID] {
		if e != wire.EntityDHCP {
			if !done(e, port.HostID) {
				return false
			}
			continue
		}
		// One DHCP server that knows the port is enough.
		if !slices.ContainsFunc(b.serves[port.NetworkID], func(host string) bool { return done(e, host) }) {
			return false
		}
	}
	return true
}
