package storetest

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"isospin/internal/store/open"
)

// Upgrade shows on an empty database that servers that start at once upgrade it once, and that a server that must
// not upgrade refuses a schema that is too old.
func Upgrade(t *testing.T, url string) {
	ctx := deadline(t)
	options := open.Options{Schema: Schema()}
	if s, err := open.Open(ctx, url, options); !errors.Is(err, open.ErrSchema) {
		t.Errorf("an empty database was opened: %v, %v", s, err)
	}
	var applied atomic.Int64
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() {
			n, err := open.Upgrade(ctx, url, options)
			if err != nil {
				t.Error(err)
			}
			applied.Add(int64(n))
		})
	}
	wg.Wait()
	have, want, err := open.Versions(ctx, url, options)
	must(t, err)
	if have != want || want != 9000 {
		t.Errorf("version %d, want %d", have, want)
	}
	if again, err := open.Upgrade(ctx, url, options); again != 0 || err != nil {
		t.Errorf("another upgrade applied %d versions: %v", again, err)
	}
	versions, err := Schema().Count()
	must(t, err)
	if n := applied.Load(); n != int64(versions) {
		t.Errorf("%d versions were applied, there are %d", n, versions)
	}
	s, err := open.Open(ctx, url, options)
	must(t, err)
	insert(t, s, thing(1))
	must(t, s.Close())
}
