package storetest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"isospin/internal/change"
	"isospin/internal/store"
	"isospin/internal/store/engine"
)

// Bench measures commits alone and side by side, a transaction like a port's, and lists.
func Bench(b *testing.B, database NewDatabase) {
	for _, parallel := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("Commit/%d", parallel), func(b *testing.B) { benchCommits(b, database(b), parallel, 1) })
	}
	for _, parallel := range []int{1, 8} {
		b.Run(fmt.Sprintf("TenStatements/%d", parallel), func(b *testing.B) { benchCommits(b, database(b), parallel, 10) })
	}
	b.Run("Get", func(b *testing.B) { benchGet(b, database(b)) })
	b.Run("Bodies10000", func(b *testing.B) { benchBodies(b, database(b), store.List{}) })
	b.Run("BodiesPage1000", func(b *testing.B) { benchBodies(b, database(b), store.List{Limit: 1000, Offset: 5000}) })
}

// benchCommits writes rows of a kilobyte; beside the row a transaction has a change, and reads to fill it up to statements.
func benchCommits(b *testing.B, open Open, parallel, statements int) {
	s := open(b, engine.Options{})
	things, ctx := Things(), context.Background()
	var next atomic.Int64
	var wg sync.WaitGroup
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
					for range statements - 2 {
						if _, err := things.Get(ctx, tx, uid(n/2)); err != nil && !store.IsNotFound(err) {
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
	for b.Loop() {
		must(b, s.Read(ctx, func(tx store.Tx) error {
			rows, err := things.Bodies(ctx, tx, l)
			if len(rows) == 0 {
				b.Error("no rows")
			}
			return err
		}))
	}
}
