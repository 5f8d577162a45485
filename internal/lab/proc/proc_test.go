package proc

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func start(t *testing.T, g *Group, script string, env ...string) Ref {
	t.Helper()
	ref, err := g.Start(Spec{Argv: []string{"sh", "-c", script}, Env: env, Log: filepath.Join(t.TempDir(), "log")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ref.Kill(t.Context()) })
	return ref
}

func TestStop(t *testing.T) {
	ready := filepath.Join(t.TempDir(), "ready")
	for name, c := range map[string]struct {
		script string
		grace  time.Duration
	}{
		"in order":    {"touch $0; exec sleep 100", time.Minute},
		"made to end": {"trap '' TERM; touch $0; while :; do sleep 100; done", 20 * time.Millisecond},
	} {
		var g Group
		_ = os.Remove(ready)
		ref := start(t, &g, strings.ReplaceAll(c.script, "$0", ready))
		for ref.Alive() {
			if _, err := os.Stat(ready); err == nil {
				break
			}
		}
		if !ref.Alive() {
			t.Fatalf("%s: does not run", name)
		}
		if err := ref.Stop(t.Context(), c.grace); err != nil || ref.Alive() {
			t.Errorf("%s: %v, alive %v", name, err, ref.Alive())
		}
		if err := g.Wait(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := ref.Stop(t.Context(), 0); err != nil {
			t.Errorf("%s: a second stop: %v", name, err)
		}
	}
}

// TestFirstThreadGone: a process whose first thread has ended before the others is still one that holds its locks.
func TestFirstThreadGone(t *testing.T) {
	var g Group
	ref := start(t, &g, `exec python3 -c 'import ctypes, threading; threading.Thread(target=threading.Event().wait).start(); ctypes.CDLL(None).pthread_exit(None)'`)
	for state := byte(0); state != 'Z'; {
		var ok bool
		if state, _, _, ok = stat(ref.PID); !ok {
			t.Fatal("the process has ended")
		}
	}
	if !ref.Alive() {
		t.Error("a process with a thread is taken for gone")
	}
	if err := ref.Kill(t.Context()); err != nil || ref.Alive() {
		t.Errorf("kill: %v, alive %v", err, ref.Alive())
	}
}

// TestReused: a process id that another process has now is not hit.
func TestReused(t *testing.T) {
	var g Group
	ref := start(t, &g, "exec sleep 100")
	former := Ref{PID: ref.PID, Start: ref.Start - 1}
	if former.Alive() {
		t.Error("a former process is alive")
	}
	if err := former.Kill(t.Context()); err != nil || !ref.Alive() {
		t.Errorf("kill of a former process: %v, the one that has its id now is alive: %v", err, ref.Alive())
	}
}

func TestFind(t *testing.T) {
	var g Group
	mark := "ISOSPIN_TEST_MARK=" + filepath.Base(t.TempDir()) + t.Name()
	a, b := start(t, &g, "exec sleep 100", mark), start(t, &g, "sleep 100; true", mark)
	var found []Ref
	for deadline := time.Now().Add(5 * time.Second); len(found) < 3 && time.Now().Before(deadline); {
		found = Find(nil, mark) // The child of b has it too.
	}
	if len(found) != 3 || !slices.Contains(found, a) || !slices.Contains(found, b) {
		t.Errorf("found %v, want %v, %v and a child", found, a, b)
	}
	if err := EndAll(t.Context(), found); err != nil || a.Alive() || b.Alive() {
		t.Errorf("end all: %v", err)
	}
	if left := Find(nil, mark); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if self, ok := Of(os.Getpid()); !ok || slices.Contains(Find(nil, os.Environ()[0]), self) {
		t.Error("this process finds itself")
	}
}
