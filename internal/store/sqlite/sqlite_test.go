package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"isospin/internal/change"
	"isospin/internal/store"
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

// TestInMemory: everything is gone at the end, and two of them are two.
func TestInMemory(t *testing.T) {
	ctx := context.Background()
	t.Setenv("TMPDIR", t.TempDir())
	dead := filepath.Join(os.TempDir(), "isospin-memory-dead") // as a killed process leaves it
	must(t, os.Mkdir(dead, 0o700))
	must(t, os.WriteFile(filepath.Join(dead, "alive"), nil, 0o600))
	a, b := start(t, "sqlite://", engine.Options{}), start(t, "sqlite:///:memory:", engine.Options{})
	if _, err := os.Stat(dead); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a dead process's folder is still there: %v", err)
	}
	must(t, a.Write(ctx, func(tx store.WriteTx) error {
		tx.Owe(change.Task{Name: "x"})
		return nil
	}))
	for s, want := range map[*engine.Engine]int64{a: 1, b: 0} {
		var file string
		must(t, s.Read(ctx, func(tx store.Tx) error {
			n, _, err := store.Int(ctx, tx, store.Q("SELECT COUNT(*) FROM tasks"))
			if n != want {
				t.Errorf("%d tasks, want %d", n, want)
			}
			if err != nil {
				return err
			}
			return store.Each(ctx, tx, store.Q("SELECT file FROM pragma_database_list"), func(scan func(...any) error) error {
				return scan(&file)
			})
		}))
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
		must(t, s.Close())
		if _, err := os.Stat(filepath.Dir(file)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left behind: %v", file, err)
		}
	}
}

// second makes this test's program the second process, which writes to the database of this URL.
const second = "ISOSPIN_TEST_SECOND_PROCESS"

const writes = 150

// TestSecondProcess: another process (an operator's command beside the server) writes to the same file, all get
// through, and the server learns of all.
func TestSecondProcess(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	url := os.Getenv(second)
	if url != "" {
		touch(ctx, t, start(t, url, engine.Options{}), "second")
		return
	}
	url = "sqlite://" + filepath.Join(t.TempDir(), "isospin.db")
	s := start(t, url, engine.Options{})
	want := make(map[string]bool)
	for i := range writes {
		want[fmt.Sprint("first", i)], want[fmt.Sprint("second", i)] = true, true
	}
	seen := s.Changes(ctx)
	self, err := os.Executable()
	must(t, err)
	cmd := exec.CommandContext(ctx, self, "-test.run=^TestSecondProcess$", "-test.v")
	cmd.Env = append(os.Environ(), second+"="+url)
	out := make(chan error, 1)
	go func() {
		text, err := cmd.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, text)
		}
		out <- err
	}()
	touch(ctx, t, s, "first")
	must(t, <-out)
	for c, err := range seen {
		must(t, err)
		delete(want, c.Key.ID)
		if len(want) == 0 {
			break
		}
	}
	if len(want) > 0 {
		t.Errorf("%d changes were not seen", len(want))
	}
}

// killed makes this test's program the process that is killed.
const killed = "ISOSPIN_TEST_KILLED_PROCESS"

// TestKilled: a process is killed at any moment; what it answered is there, and nothing is half there.
func TestKilled(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	things := storetest.Things()
	put := func(s store.Store, who, n int) error {
		return s.Write(ctx, func(tx store.WriteTx) error {
			for half := range 2 { // a transaction is two rows
				v := storetest.Thing{ID: fmt.Sprintf("%d-%d-%d", who, n, half), Name: fmt.Sprint(who, "-", n, half)}
				if err := things.Insert(ctx, tx, &v); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if url := os.Getenv(killed); url != "" {
		s := start(t, url, engine.Options{})
		for who := range 8 {
			go func() {
				for n := 0; put(s, who, n) == nil; n++ {
					fmt.Printf("answered %d-%d\n", who, n)
				}
			}()
		}
		<-ctx.Done()
		return
	}
	url := "sqlite://" + filepath.Join(t.TempDir(), "isospin.db")
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command(self, "-test.run=^TestKilled$", "-test.v")
	cmd.Env = append(os.Environ(), killed+"="+url)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	var answered []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if id, ok := strings.CutPrefix(lines.Text(), "answered "); ok {
			answered = append(answered, id)
			if len(answered) == 300 {
				must(t, cmd.Process.Kill()) // what it still writes into the pipe is read to the end
			}
		}
	}
	_ = cmd.Wait()
	s := start(t, url, engine.Options{})
	there := make(map[string]bool)
	must(t, s.Read(ctx, func(tx store.Tx) error {
		rows, err := things.Bodies(ctx, tx, store.List{})
		for _, r := range rows {
			there[r.ID] = true
		}
		return err
	}))
	for _, id := range answered {
		if !there[id+"-0"] {
			t.Errorf("%s was answered and is lost", id)
		}
	}
	for id := range there {
		if !there[id[:len(id)-1]+"0"] || !there[id[:len(id)-1]+"1"] {
			t.Errorf("%s is half there", id)
		}
	}
	if len(answered) < 300 {
		t.Errorf("only %d were answered", len(answered))
	}
}

func touch(ctx context.Context, t *testing.T, s store.Store, who string) {
	for i := range writes {
		must(t, s.Write(ctx, func(tx store.WriteTx) error {
			tx.Changed(change.Key{Kind: "thing", ID: fmt.Sprint(who, i)})
			return nil
		}))
	}
}

// TestQueuedAreDropped: who gives up while waiting for the writer is not written.
func TestQueuedAreDropped(t *testing.T) {
	s := onFile(t)(t, engine.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	busy, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		err := s.Write(context.Background(), func(store.WriteTx) error {
			close(busy)
			<-release
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-busy
	ran := false
	gone := make(chan error)
	go func() { gone <- s.Write(ctx, func(store.WriteTx) error { ran = true; return nil }) }()
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("who gave up was told %v", err)
	}
	close(release)
	wg.Wait()
	must(t, s.Write(context.Background(), func(store.WriteTx) error { return nil })) // behind the dropped one
	if ran {
		t.Error("what was given up ran")
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestOldRows(t *testing.T) {
	storetest.OldRows(t, "sqlite://"+filepath.Join(t.TempDir(), "old.db"))
}

func TestUpgrade(t *testing.T) {
	storetest.Upgrade(t, "sqlite://"+filepath.Join(t.TempDir(), "a?b #1%.db"))
}

// TestFilesArePrivate: what a server keeps, the authority's key among it, is for its owner alone even in a folder that others may enter.
func TestFilesArePrivate(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o755))
	start(t, "sqlite://"+filepath.Join(dir, "isospin.db"), engine.Options{})
	found, err := filepath.Glob(filepath.Join(dir, "isospin.db*"))
	must(t, err)
	if len(found) < 3 { // the file, its log, the log's index
		t.Fatalf("files: %v", found)
	}
	for _, name := range found {
		info, err := os.Stat(name)
		must(t, err)
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}
}

// TestCannotMake: the reason is the system's, not SQLite's "unable to open".
func TestCannotMake(t *testing.T) {
	path := filepath.Join(t.TempDir(), "away", "isospin.db")
	s, err := open.Open(context.Background(), "sqlite://"+path, open.Options{Upgrade: true, Schema: storetest.Schema()})
	if s != nil || !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Fatalf("got %v, %v", s, err)
	}
}
