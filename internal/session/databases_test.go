//go:build integration

package session_test

import (
	"context"
	"fmt"
	"testing"

	"isospin/internal/agent/simulate"
	"isospin/internal/model"
	"isospin/internal/store"
	"isospin/internal/store/dbtest"
	"isospin/test/sessiontest"
)

// TestOnDatabaseServers runs hosts, statuses and DHCP with two servers that meet in PostgreSQL and in MariaDB.
func TestOnDatabaseServers(t *testing.T) {
	for name, begin := range map[string]func() (*dbtest.Server, error){"postgres": dbtest.Postgres, "mariadb": dbtest.MariaDB} {
		t.Run(name, func(t *testing.T) {
			db, err := begin()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := db.Stop(); err != nil {
					t.Error(err)
				}
			})
			url, err := db.Create("isospin")
			if err != nil {
				t.Fatal(err)
			}
			c := sessiontest.On(t, url)
			c.Log = quiet()
			day(t, c)
		})
	}
}

// day is what happens in a small cloud.
func day(t *testing.T, c *sessiontest.Cloud) {
	a, b := c.Start(sessiontest.Options{}), c.Start(sessiontest.Options{})
	hs := map[string]*simulate.Host{}
	for i := range 10 {
		s := []*sessiontest.Server{a, b}[i%2]
		name := fmt.Sprintf("h%d", i)
		hs[name] = c.Host(c.Enrol(name, s.Address), sessiontest.Facts(i+1), func(o *simulate.Options) { o.Answers = true })
	}
	for name, h := range hs {
		c.Wait(h, synced)
		live(t, a, name)
	}
	n, g := a.Network(model.TypeVXLAN, 11), a.Group()
	sub := a.Subnet(n, "10.0.0.0/16", true)
	eventually(t, b, "the network is served", func(ctx context.Context, tx store.Tx) (bool, error) {
		k, _, err := store.Int(ctx, tx, store.Q("SELECT COUNT(*) FROM dhcp_hosts WHERE port_id <> ''"))
		return k == 1, err
	})
	const ports = 60
	for i := range ports {
		s := []*sessiontest.Server{b, a}[i%2]
		s.Port(n, func(p *model.Port) { p.HostID, p.SecurityGroups = fmt.Sprintf("h%d", i%10), []string{g} })
	}
	eventually(t, a, "all ports are ACTIVE", func(ctx context.Context, tx store.Tx) (bool, error) {
		k, _, err := store.Int(ctx, tx, store.Q("SELECT COUNT(*) FROM ports WHERE status = 'ACTIVE'"))
		return k == ports+1, err
	})
	for name, h := range hs {
		c.Wait(h, func(v simulate.View) bool {
			have := v.Sets()
			own := have["host:"+name]
			return v.Synced() && have["net:"+n] == 2+ports+1 && have["sgm:"+g] == ports && have["sg:"+g] == 2 && (own == ports/10 || own == ports/10+2 && have["dhcp:"+n] == ports)
		})
	}
	// Everything goes again.
	b.Write(func(ctx context.Context, tx store.WriteTx) error {
		all, err := b.Ports.Find(ctx, tx, store.List{Where: store.Eq("device_owner", "compute:nova")})
		for i := range all {
			if err := b.ML2.DeletePort(ctx, tx, all[i].ID); err != nil {
				return err
			}
		}
		return err
	})
	b.Write(func(ctx context.Context, tx store.WriteTx) error {
		s, err := b.Subnets.Get(ctx, tx, sub)
		if err != nil {
			return err
		}
		s.EnableDHCP = false
		return b.Subnets.Update(ctx, tx, &s, -1)
	})
	if err := b.DHCP.Serve(context.Background(), n); err != nil {
		t.Fatal(err)
	}
	for name, h := range hs {
		c.Wait(h, holds(map[string]int{"host:" + name: 0}))
	}
	a.Read(func(ctx context.Context, tx store.Tx) error {
		k, _, err := store.Int(ctx, tx, store.Q("SELECT COUNT(*) FROM provisioning"))
		if k != 0 {
			t.Errorf("%d words on ports that are gone", k)
		}
		return err
	})
}
