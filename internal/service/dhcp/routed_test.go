package dhcp_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"isospin/internal/ident"
	"isospin/internal/model"
	"isospin/internal/service"
	"isospin/internal/service/dhcp"
	"isospin/internal/store"
	"isospin/test/sessiontest"
)

// TestRoutedNetworksAreServedOnEachSegment: a host serves the segment that it reaches, and has addresses there alone.
func TestRoutedNetworksAreServedOnEachSegment(t *testing.T) {
	c := sessiontest.New(t)
	s := c.Start(sessiontest.Options{})
	n := s.Network(model.TypeFlat, 0) // on "public"
	far := ident.Random{}.UUID()
	near := ""
	s.Write(func(ctx context.Context, tx store.WriteTx) error {
		err := store.Each(ctx, tx, store.Q("SELECT id FROM segments WHERE network_id = ?", n), func(scan func(...any) error) error { return scan(&near) })
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, store.Q("INSERT INTO segments (id, network_id, network_type, physical_network, segmentation_id, segment_index, is_dynamic, host) VALUES (?, ?, 'flat', 'rack2', 0, 1, 0, '')", far, n))
		return err
	})
	on := func(segment, cidr string) string {
		id := s.Subnet(n, cidr, false)
		s.Write(func(ctx context.Context, tx store.WriteTx) error {
			old, err := s.Subnets.GetForUpdate(ctx, tx, id)
			if err != nil {
				return err
			}
			sub := old
			sub.SegmentID, sub.EnableDHCP = &segment, true
			if err := s.Subnets.Update(ctx, tx, &sub, -1); err != nil {
				return err
			}
			return dhcp.SubnetFollower{Plugin: s.DHCP}.Follow(ctx, tx, service.Write[model.Subnet]{Op: service.Update, Old: &old, New: &sub})
		})
		return id
	}
	one, two := on(near, "10.0.0.0/24"), on(far, "10.0.1.0/24")
	reach := func(host string, i int, physical string) {
		f := sessiontest.Facts(i)
		for _, a := range f.Agents {
			a.Configurations = []byte(strings.Replace(string(a.Configurations), `"public"`, `"`+physical+`"`, 1))
		}
		if err := s.Agents.Connected(context.Background(), host, f); err != nil {
			t.Fatal(err)
		}
	}
	where := func(host string) []string {
		p, _ := get(t, s, hosts(s, n)[host])
		return subnets(p)
	}
	connect(t, s, "h1", 1)
	eventually(t, "the first segment is served", func() bool { return slices.Equal(where("h1"), []string{one}) })
	connect(t, s, "h2", 2) // reaches the same
	reach("h3", 3, "rack2")
	eventually(t, "the second segment is served", func() bool { return slices.Equal(where("h3"), []string{two}) })
	reach("h4", 4, "nowhere")
	if err := s.DHCP.Sweep(context.Background()); err != nil {
		t.Fatal(err)
	}
	if hs := hosts(s, n); len(hs) != 2 || hs["h1"] == "" || hs["h3"] == "" {
		t.Errorf("%v serve, want h1 and h3 alone", hs)
	}
	// A host that loses its segment serves no more, and another takes its place.
	reach("h1", 1, "elsewhere")
	if err := s.DHCP.Serve(context.Background(), n); err != nil {
		t.Fatal(err)
	}
	if hs := hosts(s, n); len(hs) != 2 || hs["h2"] == "" || hs["h3"] == "" {
		t.Errorf("%v serve, want h2 and h3", hs)
	}
}
