package assemble

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"isospin/internal/agent"
	"isospin/internal/agent/link"
	"isospin/internal/agent/mirror"
	"isospin/internal/change"
	"isospin/internal/clock"
	"isospin/internal/document"
	"isospin/internal/ident"
	"isospin/internal/model"
	"isospin/internal/service/agents"
	"isospin/internal/service/status"
	"isospin/internal/session"
	"isospin/internal/store"
	"isospin/internal/wire"
	"isospin/test/sessiontest"
)

// torn is a kind of documents of which some end in the middle: those of ports whose device is called so.
type torn struct{ document.Kind }

func (k torn) Render(ctx context.Context, tx store.Tx, ids []string) (map[string]document.Rendered, error) {
	out, err := k.Kind.Render(ctx, tx, ids)
	for id, r := range out {
		if p, ok := r.Body.(*wire.Port); ok && p.GetDeviceId() == "torn" {
			p, _ = proto.Clone(p).(*wire.Port)
			p.ProtoReflect().SetUnknown(protoreflect.RawFields{0xa2, 0x06, 50}) // fifty bytes of field 100, which are not there
			r.Body = p
			out[id] = r
		}
	}
	return out, err
}

// speaker is a feature that says of each port whose document it sees that it is done.
type speaker struct{}

func (speaker) Name() string    { return wire.EntityL2 }
func (speaker) Kinds() []string { return []string{wire.KindPort} }

func (speaker) Sync(v agent.View, dirty []change.Key, _ bool) (r agent.Result) {
	for id := range v.All(wire.KindPort) {
		r.Ports = append(r.Ports, id)
	}
	for _, k := range dirty {
		r.Ports = append(r.Ports, k.ID)
	}
	return r
}

func (speaker) Report(v agent.View, id string) (agent.Report, bool) {
	m, ok := v.Get(wire.KindPort, id)
	p, _ := m.(*wire.Port)
	return agent.Report{PortState: agent.PortState{Generation: p.GetWiring(), State: wire.State_DONE}}, ok
}

// runAgent runs an agent without a kernel until the test ends.
func runAgent(t *testing.T, e wire.Enrolment) {
	t.Helper()
	log, facts := slog.New(slog.DiscardHandler), sessiontest.Facts(1)
	l, err := link.New(link.Options{Enrolment: e, Facts: facts, Clock: clock.System{}, IDs: ident.Random{}, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	state := newCondition(clock.System{}, facts, l.SetFacts)
	docs := mirror.Memory()
	a := &Agent{env: Env{Log: log}, host: &host{docs: docs, loop: &agent.Loop{Documents: docs, Features: []agent.Feature{speaker{}}, Report: l.Report, Clock: clock.System{}, Log: log,
		Troubled: func(rs []agent.Reason) { state.set(forPeople(rs, nil)) }}}}
	a.host.loop.Init()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for _, run := range []func() error{
		func() error { return a.host.loop.Run(ctx, nil) },
		func() error { return state.run(ctx) },
		func() error { _ = l.Run(ctx, sessionHandler{agent: a, ctx: ctx}); return nil }, // it ends with ctx's own error
	} {
		wg.Go(func() {
			if err := run(); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(func() { cancel(); wg.Wait() })
}

// TestADocumentThatCannotBeRead, from the server's rows to the operator's eyes: it is set aside and stops no other; its port is DOWN with a reason, and the
// host says so; and all is well when it can be read.
func TestADocumentThatCannotBeRead(t *testing.T) {
	c := sessiontest.New(t)
	c.Log = slog.New(slog.DiscardHandler)
	s := c.Start(sessiontest.Options{Config: func(sc *session.Config) {
		for i, k := range sc.Kinds {
			if k.Name() == wire.KindPort {
				sc.Kinds[i] = torn{k}
			}
		}
	}})
	eventually := func(what string, ok func(ctx context.Context, tx store.Tx) (bool, error)) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); ; <-time.After(5 * time.Millisecond) {
			done := false
			s.Read(func(ctx context.Context, tx store.Tx) (err error) { done, err = ok(ctx, tx); return err })
			if done {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("never: %s", what)
			}
		}
	}
	runAgent(t, c.Enrol("h1", s.Address))
	said := func(text string) func(context.Context, store.Tx) (bool, error) {
		return func(ctx context.Context, tx store.Tx) (bool, error) {
			all, err := s.Agents.All(ctx, tx)
			return slices.ContainsFunc(all, func(a agents.Seen) bool {
				return strings.Contains(strings.Join(reasonsOf(a.Configurations), "\n"), text) && (text != "" || len(reasonsOf(a.Configurations)) == 0)
			}), err
		}
	}
	eventually("the host is there", func(ctx context.Context, tx store.Tx) (bool, error) {
		all, err := s.Agents.All(ctx, tx)
		return len(all) == 2, err
	})
	n := s.Network(model.TypeVXLAN, 11)
	port := func(device string) model.Port {
		return s.Port(n, func(p *model.Port) { p.HostID, p.DeviceID = "h1", device })
	}
	first, bad, last := port("fine"), port("torn"), port("fine")
	is := func(id, want string) func(context.Context, store.Tx) (bool, error) {
		return func(ctx context.Context, tx store.Tx) (bool, error) {
			p, err := s.Ports.Get(ctx, tx, id)
			return p.Status == want, err
		}
	}
	eventually("the first port is ACTIVE", is(first.ID, model.StatusActive))
	eventually("the last port is ACTIVE", is(last.ID, model.StatusActive))
	eventually("the host says so", said("document port "+bad.ID+" is set aside: the port document is damaged"))
	var why status.Explanation
	eventually("the port is explained", func(ctx context.Context, tx store.Tx) (_ bool, err error) {
		why, err = s.Status.Why(ctx, tx, bad.ID)
		return slices.ContainsFunc(why.Reasons, func(r string) bool { return strings.Contains(r, "host h1 cannot read the port's document") }), err
	})
	if why.Status != model.StatusDown {
		t.Errorf("the port is %s", why.Status)
	}
	// One that was wired goes DOWN when its new document cannot be read.
	adjust := func(id, device string) {
		s.Write(func(ctx context.Context, tx store.WriteTx) error {
			_, err := s.ML2.AdjustPort(ctx, tx, id, func(p *model.Port) { p.DeviceID = device })
			return err
		})
	}
	adjust(last.ID, "torn")
	eventually("the last port is DOWN", is(last.ID, model.StatusDown))
	adjust(last.ID, "fine")
	adjust(bad.ID, "fine")
	eventually("the last port is ACTIVE again", is(last.ID, model.StatusActive))
	eventually("the bad port is ACTIVE", is(bad.ID, model.StatusActive))
	eventually("nothing is said any more", said(""))
}
