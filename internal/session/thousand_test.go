//go:build integration

package session_test

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"isospin/internal/agent/simulate"
	"isospin/internal/model"
	"isospin/internal/store"
	"isospin/test/sessiontest"
)

func TestAThousandHostsReconnect(t *testing.T) {
	const hosts, perHost, networks = 1000, 4, 40
	c := sessiontest.New(t)
	c.Log = quiet()
	s := c.Start(sessiontest.Options{})
	hs := herd(c, hosts, s.Address, nil)
	all(c, hs, synced)
	everyoneLives(t, s, hosts)
	nets := make([]string, networks)
	for i := range nets {
		nets[i] = s.Network(model.TypeVXLAN, int64(100+i))
	}
	g := s.Group()
	for part := range hosts / 50 {
		s.Write(func(ctx context.Context, tx store.WriteTx) error {
			for i := range 50 * perHost {
				host := part*50 + i/perHost
				if _, err := s.NewPort(ctx, tx, nets[(host+i%perHost)%networks], func(p *model.Port) {
					p.HostID = fmt.Sprintf("h%d", host+1)
					if host < 50 {
						p.SecurityGroups = []string{g}
					}
				}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	all(c, hs, func(v simulate.View) bool {
		return v.Synced() && total(v, "host:") == perHost && total(v, "net:") == perHost*(1+hosts*perHost/networks)
	})
	address, before := s.Address, hs[7].Counts()
	s.Stop()

	// All come back to another server, with their mirrors.
	start, spent := time.Now(), cpu(t)
	s = c.Start(sessiontest.Options{Address: address})
	all(c, hs, func(v simulate.View) bool { return v.Synced() && v.Counts().Sessions == 2 })
	synced := time.Since(start)
	everyoneLives(t, s, hosts)
	took := time.Since(start)
	t.Logf("%d hosts of %d ports were back after %v, and alive for all to see after %v (processors: %v); server: %+v", hosts, perHost, synced, took, cpu(t)-spent, s.Session.Stats())
	if cost := cpu(t) - spent; took > 10*time.Second && cost > 10*time.Second {
		t.Errorf("it took %v and %v of processors", took, cost)
	}
	if got := hs[7].Counts(); got.Documents != before.Documents {
		t.Errorf("%d documents travelled to a host that had all of them", got.Documents-before.Documents)
	}
	s.Stop()

	// And once more with empty disks.
	for _, h := range hs {
		h.Forget()
	}
	start, spent = time.Now(), cpu(t)
	s = c.Start(sessiontest.Options{Address: address})
	all(c, hs, func(v simulate.View) bool { return v.Synced() && v.Counts().Sessions == 3 })
	took = time.Since(start)
	t.Logf("with empty mirrors after %v (processors: %v); server: %+v", took, cpu(t)-spent, s.Session.Stats())
	if cost := cpu(t) - spent; took > 10*time.Second && cost > 15*time.Second { // the hosts' own hashing, all in this process, is most of it
		t.Errorf("with empty mirrors it took %v and %v of processors", took, cost)
	}
}

// cpu is what this process, servers and hosts together, has used of processors: what counts where others use them too.
func cpu(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func total(v simulate.View, family string) int {
	n := 0
	for name, docs := range v.Sets() {
		if len(name) > len(family) && name[:len(family)] == family {
			n += docs
		}
	}
	return n
}

func TestAMemberOfALargeGroupIsOneDocumentAHost(t *testing.T) { oneMember(t, 200, 2000) }
