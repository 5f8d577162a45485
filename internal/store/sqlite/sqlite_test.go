package sqlite_test

import (
	"context"
	"path/filepath"
	"testing"

	"isospin/internal/store/engine"
	"isospin/internal/store/open"
	"isospin/internal/store/storetest"
)

func onFile(t testing.TB) storetest.Open {
	url := "sqlite://" + filepath.Join(t.TempDir(), "isospin.db")
	return func(t testing.TB, o engine.Options) *engine.Engine { return start(t, url, o) }
}

func start(t testing.TB, url string, o engine.Options) *engine.Engine {
	t.Helper()
	s, err := open.Open(context.Background(), url, open.Options{Options: o, Upgrade: true, Schema: storetest.Schema()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestConformance(t *testing.T) { storetest.Run(t, onFile) }
