package document_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"isospin/internal/change"
	"isospin/internal/document"
	"isospin/internal/document/dhcp"
	"isospin/internal/document/forward"
	localipdoc "isospin/internal/document/localip"
	logdoc "isospin/internal/document/log"
	"isospin/internal/document/network"
	"isospin/internal/document/port"
	qosdoc "isospin/internal/document/qos"
	"isospin/internal/document/reservation"
	"isospin/internal/document/secgroup"
	"isospin/internal/document/subnet"
	"isospin/internal/model"
	"isospin/internal/service/eventlog"
	"isospin/internal/service/localip"
	"isospin/internal/service/qos"
	secgroups "isospin/internal/service/secgroup"
	"isospin/internal/store"
	"isospin/internal/wire"
	"isospin/test/sessiontest"
)

func kinds(s *sessiontest.Server) []document.Kind {
	return []document.Kind{network.New(s.Networks), subnet.New(s.Subnets), port.New(s.Ports), forward.New(s.Ports),
		dhcp.New("example.org", -time.Second), reservation.New(s.Ports), secgroup.NewGroup(s.Groups), secgroup.NewRule(s.Rules), secgroup.NewMember(s.Ports),
		secgroup.NewAddress(addressGroups()), qosdoc.New(qos.NewRules()), localipdoc.New(localip.NewLocalIPs(), localip.NewAssociations()), logdoc.New(eventlog.NewLogs())}
}

func addressGroups() *secgroups.AddressGroups { return secgroups.NewAddressGroups() }

// TestKindsAreConsistent: a document that Members lists in a set says so itself, a document that says that it is in a set is
// listed there, and how many statements that takes does not depend on how many documents there are.
func TestKindsAreConsistent(t *testing.T) {
	c := sessiontest.New(t)
	s := c.Start(sessiontest.Options{})
	if err := s.Agents.Connected(context.Background(), "h1", sessiontest.Facts(1)); err != nil {
		t.Fatal(err)
	}
	n1, n2, g1, g2 := s.Network(model.TypeVXLAN, 11), s.Network(model.TypeVXLAN, 12), s.Group(), s.Group()
	s.Subnet(n1, "10.0.0.0/16", true)
	for deadline := time.Now().Add(20 * time.Second); ; <-time.After(time.Millisecond) {
		var n int64
		s.Read(func(ctx context.Context, tx store.Tx) (err error) {
			n, _, err = store.Int(ctx, tx, store.Q("SELECT COUNT(*) FROM dhcp_hosts WHERE port_id <> ''"))
			return err
		})
		if n == 1 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("nobody serves the network")
		}
	}
	var sets []change.Set
	ag := model.AddressGroup{Addresses: []string{"10.0.0.0/24", "2001:db8::/64"}}
	ag.ID, ag.ProjectID = "5b9c5d1e-0d83-4d0c-a1ff-7d8b4a8f7d00", "p"
	s.Write(func(ctx context.Context, tx store.WriteTx) error { return addressGroups().Insert(ctx, tx, &ag) })
	q1, bare := withRules(s, 1), withRules(s, 0)
	order(s, "p", true)
	order(s, "q", false)
	for family, names := range map[string][]string{wire.FamilyAddresses: {ag.ID}, wire.FamilyQoS: {q1, bare}, wire.FamilyLogs: {"p", "q"}, wire.FamilyHost: {"h1", "h2"}, wire.FamilyNetwork: {n1, n2}, wire.FamilyDHCP: {n1, n2},
		wire.FamilyGroup: {g1, g2}, wire.FamilyMembers: {g1, g2}} {
		for _, name := range names {
			sets = append(sets, change.NewSet(family, name))
		}
	}
	var statements []uint64
	for round := range 2 {
		s.Write(func(ctx context.Context, tx store.WriteTx) error {
			for i := range 1 + 30*round {
				port, err := s.NewPort(ctx, tx, []string{n1, n2}[i%2], func(p *model.Port) {
					p.HostID = []string{"h1", "h1", "", "h2"}[i%4] // bound, and on a host without an agent
					p.SecurityGroups = []string{g1, g2}[:(i+1)%3]
					if i%4 == 1 { // bound, and to move
						p.Bindings = []model.PortBinding{{Host: "h2", VIFType: model.VIFOVS, Status: model.BindingInactive}}
					}
				})
				if err != nil {
					return err
				}
				if err := stands(ctx, tx, &port); err != nil {
					return err
				}
				if _, err := tx.Exec(ctx, store.Q("INSERT INTO binding_levels (port_id, host, level, driver, segment_id) SELECT port_id, 'h2', level, driver, segment_id FROM binding_levels WHERE port_id = ? AND ? = 1",
					port.ID, int64(i%4))); err != nil {
					return err
				}
			}
			return nil
		})
		least, total := uint64(0), 0
		for range 3 { // the cloud's own work may fall into one
			before := s.Store.Stats().Statements
			total = 0
			s.Read(func(ctx context.Context, tx store.Tx) error {
				for _, k := range kinds(s) {
					total += consistent(ctx, t, tx, k, sets)
				}
				return nil
			})
			if n := s.Store.Stats().Statements - before; least == 0 || n < least {
				least = n
			}
		}
		statements = append(statements, least)
		t.Logf("%d documents, %d statements", total, statements[round])
	}
	if statements[0] != statements[1] {
		t.Errorf("%v statements for few and for many documents", statements)
	}
}

// order makes a project's order to log.
func order(s *sessiontest.Server, project string, enabled bool) {
	l := model.EventLog{Event: "ALL", Enabled: enabled}
	l.ID, l.ProjectID = "5b9c5d1e-0d83-4d0c-a1ff-7d8b4a8f7d0"+project, project
	s.Write(func(ctx context.Context, tx store.WriteTx) error { return eventlog.NewLogs().Insert(ctx, tx, &l) })
}

// stands makes a port stand for a local IP on its host, if it has one.
func stands(ctx context.Context, tx store.WriteTx, p *model.Port) error {
	address := "192.0.2.1"
	l := model.LocalIP{LocalPortID: p.ID, NetworkID: p.NetworkID, LocalIPAddress: &address, IPMode: "translate"}
	l.ID = p.ID
	if err := localip.NewLocalIPs().Insert(ctx, tx, &l); err != nil {
		return err
	}
	a := model.LocalIPAssociation{LocalIPID: l.ID, LocalIPAddress: address, FixedPortID: p.ID, FixedIP: &address, Host: p.HostID}
	a.ID = l.ID + "_" + p.ID
	return localip.NewAssociations().Insert(ctx, tx, &a)
}

// withRules makes a QoS policy with so many rules.
func withRules(s *sessiontest.Server, n int) string {
	id := fmt.Sprintf("00000000-0000-4000-8000-0000000000%02x", 16+n)
	s.Write(func(ctx context.Context, tx store.WriteTx) error {
		for i := range int64(n) {
			r := model.QoSRule{ID: fmt.Sprintf("%s%02x", id[:34], i), PolicyID: id, Type: model.QoSBandwidthLimit, Direction: model.DirectionEgress, MaxKbps: &i, MaxBurstKbps: &i}
			if err := qos.NewRules().Insert(ctx, tx, &r); err != nil {
				return err
			}
		}
		return nil
	})
	return id
}

// TestQoSIsFound: who holds a port or a network is told to hold the policies that they name, and what a policy says.
func TestQoSIsFound(t *testing.T) {
	s := sessiontest.New(t).Start(sessiontest.Options{})
	if err := s.Agents.Connected(context.Background(), "h1", sessiontest.Facts(1)); err != nil {
		t.Fatal(err)
	}
	policy := withRules(s, 1)
	set := change.NewSet(wire.FamilyQoS, policy)
	p := s.Port(s.Network(model.TypeVXLAN, 11), func(p *model.Port) { p.HostID, p.QoSPolicyID = "h1", &policy })
	s.Write(func(ctx context.Context, tx store.WriteTx) error {
		n, err := s.Networks.GetForUpdate(ctx, tx, p.NetworkID)
		if err != nil {
			return err
		}
		n.QoSPolicyID = &policy
		return s.Networks.Update(ctx, tx, &n, -1)
	})
	s.Read(func(ctx context.Context, tx store.Tx) error {
		for _, c := range []struct {
			kind document.Kind
			id   string
		}{{port.New(s.Ports), p.ID}, {network.New(s.Networks), p.NetworkID}} {
			docs, err := c.kind.Render(ctx, tx, []string{c.id})
			if err != nil {
				return err
			}
			if !slices.Contains(docs[c.id].Refs, set) {
				t.Errorf("%s refers to %v", c.kind.Name(), docs[c.id].Refs)
			}
		}
		docs, err := qosdoc.New(qos.NewRules()).Render(ctx, tx, []string{policy})
		if err != nil {
			return err
		}
		want := &wire.QoSPolicy{Id: policy, Rules: []*wire.QoSRule{{Type: model.QoSBandwidthLimit, Direction: model.DirectionEgress}}}
		if !proto.Equal(docs[policy].Body, want) {
			t.Errorf("the policy is %v", docs[policy].Body)
		}
		return nil
	})
}

// consistent checks a kind on the sets and counts its documents there.
func consistent(ctx context.Context, t *testing.T, tx store.Tx, k document.Kind, sets []change.Set) int {
	t.Helper()
	family := k.Families()[0]
	var mine []change.Set
	for _, s := range sets {
		if s.Family() == family {
			mine = append(mine, s)
		}
	}
	members, err := k.Members(ctx, tx, mine)
	if err != nil {
		t.Fatalf("%s: %v", k.Name(), err)
	}
	listed := map[string]bool{} // set and id
	var ids []string
	for s, list := range members {
		for _, id := range list {
			listed[fmt.Sprint(s, id)] = true
			ids = append(ids, id)
		}
	}
	docs, err := k.Render(ctx, tx, append(ids, "no-such-id", "no-such/id"))
	if err != nil {
		t.Fatalf("%s: %v", k.Name(), err)
	}
	for id, d := range docs {
		for _, s := range d.Sets {
			if s.Family() != family || !listed[fmt.Sprint(s, id)] {
				t.Errorf("%s %s says that it is in %s, where it is not listed", k.Name(), id, s)
			}
		}
		a, err := wire.Encode(k.Name(), id, d.Body)
		if err != nil || wire.New(k.Name()) == nil || fmt.Sprintf("%T", wire.New(k.Name())) != fmt.Sprintf("%T", d.Body) {
			t.Errorf("%s: a %T, %v", k.Name(), d.Body, err)
			continue
		}
		if a.Version == 0 || len(a.Body) == 0 || len(a.Body) > 1024 {
			t.Errorf("%s: version %d, %d bytes", k.Name(), a.Version, len(a.Body))
		}
	}
	if len(docs) == 0 {
		t.Errorf("no %s at all", k.Name())
	}
	return len(docs)
}
