package storetest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"isospin/internal/change"
	"isospin/internal/store"
	"isospin/internal/store/engine"
	"isospin/internal/store/freerange"
)

// Bench measures commits alone and side by side, a transaction like a port's, and lists.
func Bench(b *testing.B, database NewDatabase) {
	for _, parallel := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("Commit/%d", parallel), func(b *testing.B) { benchCommits(b, database(b), parallel, false) })
	}
	for _, parallel := range []int{1, 8} {
		b.Run(fmt.Sprintf("LikePort/%d", parallel), func(b *testing.B) { benchCommits(b, database(b), parallel, true) })
	}
	b.Run("Get", func(b *testing.B) { benchGet(b, database(b)) })
	b.Run("Bodies10000", func(b *testing.B) { benchBodies(b, database(b), store.List{}) })
	b.Run("BodiesPage1000", func(b *testing.B) { benchBodies(b, database(b), store.List{Limit: 1000, Offset: 5000}) })
}

// benchCommits writes rows of a kilobyte with a change each; like a port's, a transaction also reads three such
// rows, looks two things up and takes an address: ten statements.
func benchCommits(b *testing.B, open Open, parallel int, likePort bool) {
	s := open(b, engine.Options{})
	things, ctx := Things(), context.Background()
	var next atomic.Int64
	var wg sync.WaitGroup
	insert(b, s, padded(10_000_000), padded(10_000_001), padded(10_000_002))
	write(b, s, func(tx store.WriteTx) error {
		return freerange.Seed(ctx, tx, "bench", []freerange.Range{span(1, 1<<30)}, 16)
	})
	used := cpu()
	b.ResetTimer()
	for range parallel {
		wg.Go(func() {
			for {
				n := int(next.Add(1))
				if n > b.N {
					return
				}
				err := s.Write(ctx, func(tx store.WriteTx) error {
					v := padded(n)
					if likePort {
						if err := preparePort(ctx, tx, things, uint64(n)); err != nil {
							return err
						}
					}
					tx.Changed(change.Key{Kind: "thing", ID: v.ID}, "host:h1", "net:x")
					return things.Insert(ctx, tx, &v)
				})
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
	b.ReportMetric(float64(cpu()-used)/float64(b.N)/1e3, "cpu-us/op")
}

func preparePort(ctx context.Context, tx store.WriteTx, things *store.Table[Thing], n uint64) error {
	for i := range 3 {
		if _, err := things.Get(ctx, tx, uid(10_000_000+i)); err != nil {
			return err
		}
	}
	for range 2 {
		if _, _, err := store.Int(ctx, tx, store.Q("SELECT slot FROM things WHERE project_id = ? AND name = ?", "p0", "thing-0001")); err != nil {
			return err
		}
	}
	_, err := freerange.Any(ctx, tx, "bench", n*0x9e3779b97f4a7c15)
	return err
}

// cpu is the process's time on the processor, user's and kernel's: it does not depend on what else the machine does.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func benchGet(b *testing.B, open Open) {
	s := open(b, engine.Options{})
	things, ctx := Things(), context.Background()
	insert(b, s, padded(1))
	for b.Loop() {
		must(b, s.Read(ctx, func(tx store.Tx) error { _, err := things.Get(ctx, tx, uid(1)); return err }))
	}
}

func benchBodies(b *testing.B, open Open, l store.List) {
	s := open(b, engine.Options{})
	things, ctx := Things(), context.Background()
	vs := make([]Thing, 10_000)
	for i := range vs {
		vs[i] = padded(i)
	}
	insert(b, s, vs...)
	b.ReportAllocs()
	used := cpu()
	for b.Loop() {
		must(b, s.Read(ctx, func(tx store.Tx) error {
			rows, err := things.Bodies(ctx, tx, l)
			if len(rows) == 0 {
				b.Error("no rows")
			}
			return err
		}))
	}
	b.ReportMetric(float64(cpu()-used)/float64(b.N)/1e3, "cpu-us/op")
}
