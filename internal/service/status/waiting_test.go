package status_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"isospin/internal/model"
	"isospin/internal/service/status"
	"isospin/internal/store"
	"isospin/internal/wire"
	"isospin/test/sessiontest"
)

// TestAHostThatWaits: what it says of a port is kept and shown, and counts for nothing before the port is there.
func TestAHostThatWaits(t *testing.T) {
	c := sessiontest.New(t)
	s := c.Start(sessiontest.Options{})
	for i, h := range []string{"h1", "h2", "h3"} {
		connect(t, s, h, sessiontest.Facts(i+1))
	}
	p := s.Port(s.Network(model.TypeVXLAN, 11), func(p *model.Port) { p.HostID = "h1" })
	report(t, s, "h1", word(p, wire.EntityL2, wire.State_DONE, p.Wiring))
	add := func(host string) {
		t.Helper()
		s.Write(func(ctx context.Context, tx store.WriteTx) error {
			_, err := s.ML2.AddBinding(ctx, tx, p.ID, model.PortBinding{Host: host, VNICType: model.VNICNormal, Profile: map[string]any{}})
			return err
		})
	}
	why := func() (e status.Explanation) {
		t.Helper()
		s.Read(func(ctx context.Context, tx store.Tx) (err error) {
			e, err = s.Status.Why(ctx, tx, p.ID)
			return err
		})
		return e
	}
	shown := func(want string) {
		t.Helper()
		var have []string
		for _, b := range why().Bindings {
			text := b.Host + " " + b.Status
			if b.Wired {
				text += " wired"
			}
			have = append(have, text)
		}
		if got := strings.Join(have, ", "); got != want {
			t.Errorf("bindings: %s, want %s", got, want)
		}
	}
	active := func(want string) {
		t.Helper()
		if got := get(t, s, p.ID).Status; got != want {
			t.Errorf("the port is %s, want %s", got, want)
		}
	}
	shown("h1 ACTIVE wired")
	add("h2")
	shown("h1 ACTIVE wired, h2 INACTIVE")
	report(t, s, "h2", word(p, wire.EntityL2, wire.State_FAILED, p.Wiring))
	active(model.StatusActive)
	shown("h1 ACTIVE wired, h2 INACTIVE")
	if e := why(); !slices.ContainsFunc(e.Entities, func(x status.Entity) bool { return x.Host == "h2" && x.State == "FAILED" && !x.Required }) || len(e.Reasons) > 0 {
		t.Errorf("%+v", e)
	}
	report(t, s, "h2", word(p, wire.EntityL2, wire.State_DONE, p.Wiring))
	report(t, s, "h3", word(p, wire.EntityL2, wire.State_DONE, p.Wiring)) // which is nobody to it
	shown("h1 ACTIVE wired, h2 INACTIVE wired")
	report(t, s, "h2", word(p, wire.EntityL2, wire.State_UNPLUGGED, p.Wiring))
	active(model.StatusActive)
	shown("h1 ACTIVE wired, h2 INACTIVE")
	report(t, s, "h2", word(p, wire.EntityL2, wire.State_DONE, p.Wiring))

	// The port moves: DOWN until the new host has done its part for the new generation, whatever the old one says.
	s.Write(func(ctx context.Context, tx store.WriteTx) error {
		_, err := s.ML2.ActivateBinding(ctx, tx, p.ID, "h2")
		return err
	})
	active(model.StatusDown)
	shown("h2 ACTIVE, h1 INACTIVE")
	report(t, s, "h1", word(p, wire.EntityL2, wire.State_UNPLUGGED, 0))
	report(t, s, "h2", word(p, wire.EntityL2, wire.State_DONE, p.Wiring+1))
	active(model.StatusActive)
	shown("h2 ACTIVE wired, h1 INACTIVE")

	// A binding that is dropped takes its host's word with it.
	add("h3")
	report(t, s, "h3", word(p, wire.EntityL2, wire.State_DONE, p.Wiring+1))
	shown("h2 ACTIVE wired, h1 INACTIVE, h3 INACTIVE wired")
	for _, h := range []string{"h3", "h1"} {
		s.Write(func(ctx context.Context, tx store.WriteTx) error { return s.ML2.DropBinding(ctx, tx, p.ID, h) })
	}
	shown("h2 ACTIVE wired")
	s.Read(func(ctx context.Context, tx store.Tx) error {
		left, _, err := store.Int(ctx, tx, store.Q("SELECT COUNT(*) FROM provisioning WHERE host <> 'h2'"))
		if left != 0 {
			t.Errorf("%d words of hosts that have nothing to say", left)
		}
		return err
	})
}
