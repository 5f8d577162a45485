package hostcred_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"isospin/internal/clock"
	"isospin/internal/service/hostcred"
	"isospin/internal/store"
	"isospin/internal/store/engine"
	"isospin/internal/store/open"
	"isospin/internal/wire"
)

func keeper(t *testing.T, url string) *hostcred.Keeper {
	t.Helper()
	st, err := open.Open(context.Background(), url, open.Options{Upgrade: true, Options: engine.Options{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return hostcred.New(st, clock.System{})
}

func TestServersShareOneAuthority(t *testing.T) {
	url := "sqlite:///" + filepath.Join(t.TempDir(), "db")
	ks := []*hostcred.Keeper{keeper(t, url), keeper(t, url)}
	cas := make([]string, 8)
	var work sync.WaitGroup
	for i := range cas {
		work.Go(func() {
			e, err := ks[i%2].Enrol(context.Background(), "h", []string{"127.0.0.1:1"})
			if err != nil {
				t.Error(err)
			}
			cas[i] = e.CA
		})
	}
	work.Wait()
	for _, ca := range cas {
		if ca == "" || ca != cas[0] {
			t.Fatal("two authorities")
		}
	}
}

func TestEnrolments(t *testing.T) {
	k := keeper(t, "sqlite://")
	ctx := context.Background()
	for _, name := range []string{"", "a b", "a/b", "a:b"} {
		if _, err := k.Enrol(ctx, name, []string{"x:1"}); err == nil {
			t.Errorf("%q was enrolled", name)
		}
	}
	if _, err := k.Enrol(ctx, "h1", nil); err == nil {
		t.Error("a host without servers was enrolled")
	}
	e, err := k.Enrol(ctx, "h1", []string{"192.0.2.1:9697", "192.0.2.2:9697"})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "h1")
	if err := hostcred.WriteFile(path, e); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info.Mode(), err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	back, err := wire.ParseEnrolment(raw)
	if err != nil || back.Host != e.Host || len(back.Servers) != 2 || back.Key != e.Key {
		t.Errorf("read back: %+v, %v", back, err)
	}
	if _, err := wire.ParseEnrolment([]byte(`{"host": "h1"}`)); err == nil {
		t.Error("half an enrolment was read")
	}
	hosts, err := k.List(ctx)
	if err != nil || len(hosts) != 1 {
		t.Fatal(hosts, err)
	}
	if err := k.Check(ctx, "h1", hosts[0].Serial); err != nil {
		t.Errorf("a good certificate: %v", err)
	}
	for _, tc := range [][2]string{{"h1", "77"}, {"h2", hosts[0].Serial}} {
		if err := k.Check(ctx, tc[0], tc[1]); !errors.Is(err, hostcred.ErrRefused) {
			t.Errorf("%v: %v", tc, err)
		}
	}
	if err := k.Revoke(ctx, "h2"); !store.IsNotFound(err) {
		t.Errorf("revoking a stranger: %v", err)
	}
	for range 2 { // once more is no error
		if err := k.Revoke(ctx, "h1"); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.Check(ctx, "h1", hosts[0].Serial); !errors.Is(err, hostcred.ErrRefused) {
		t.Errorf("revoked: %v", err)
	}
}
