package netns_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"isospin/internal/dataplane/netns"
	"isospin/internal/reconcile"
	"isospin/internal/reconcile/reconciletest"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// prefix is for the names of one test; its namespaces are deleted in the end.
func prefix(t *testing.T) string {
	t.Helper()
	p := fmt.Sprintf("t%d-%d-", os.Getpid(), time.Now().UnixNano()%1e6)
	t.Cleanup(func() {
		names, err := netns.List(netns.Prefixes(p))
		for _, n := range names {
			err = errors.Join(err, netns.Delete(n))
		}
		if err != nil {
			t.Errorf("cleaning up: %v", err)
		}
	})
	return p
}

func ip(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("ip", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("ip %v: %v: %s", args, err, out)
	}
	return string(out)
}

func inode(t *testing.T, path string) uint64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	return st.Ino
}

func TestItIsWhatIPKnows(t *testing.T) {
	p := prefix(t)
	a, b := p+"a", p+"b"
	if err := netns.Create(a); err != nil {
		t.Fatal(err)
	}
	ip(t, "netns", "add", b)
	if err := netns.Create(a); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second one of the name: %v", err)
	}
	if out := ip(t, "netns", "list"); !strings.Contains(out, a) {
		t.Errorf("ip netns list: %s", out)
	}
	if out := ip(t, "-n", a, "-br", "link", "show", "lo"); !strings.Contains(out, "UP") {
		t.Errorf("lo: %s", out)
	}
	got, err := netns.List(netns.Prefixes("other-", p))
	if err != nil || !slices.Equal(got, []string{a, b}) {
		t.Errorf("list: %q, %v", got, err)
	}
	if !netns.Exists(b) || netns.Exists(p+"c") || !netns.Exists("") {
		t.Error("Exists is wrong")
	}
	ip(t, "netns", "delete", a)
	if err := netns.Delete(b); err != nil {
		t.Fatal(err)
	}
	for _, n := range []string{a, b} {
		if err := netns.Delete(n); err != nil {
			t.Errorf("deleting what is gone: %v", err)
		}
		if _, err := netns.Open(n); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("opening what is gone: %v", err)
		}
	}
	for _, n := range []string{"", ".", "..", "a/b"} {
		if netns.Create(n) == nil || netns.Delete(n) == nil {
			t.Errorf("the name %q went through", n)
		}
	}
}

func TestAHalfMadeOneIsMended(t *testing.T) {
	n := prefix(t) + "a"
	if err := netns.Create(n); err != nil {
		t.Fatal(err)
	}
	if err := unix.Unmount(netns.Path(n), unix.MNT_DETACH); err != nil {
		t.Fatal(err)
	}
	if netns.Exists(n) {
		t.Error("a plain file counts as a namespace")
	}
	if err := netns.Create(n); err != nil || !netns.Exists(n) {
		t.Errorf("creating over the file: %v", err)
	}
}

func TestDoIsInsideAndComesBack(t *testing.T) {
	n := prefix(t) + "a"
	if err := netns.Create(n); err != nil {
		t.Fatal(err)
	}
	host, inside := inode(t, "/proc/self/ns/net"), inode(t, netns.Path(n))
	if host == inside {
		t.Fatal("the namespace is the host's")
	}
	boom := errors.New("boom")
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			err := netns.Do(t.Context(), n, func(context.Context) error {
				if got := inode(t, "/proc/thread-self/ns/net"); got != inside {
					t.Errorf("inside it is %d, want %d", got, inside)
				}
				if i%3 == 0 {
					return boom
				}
				return nil
			})
			if (i%3 == 0) != errors.Is(err, boom) {
				t.Errorf("error: %v", err)
			}
		})
	}
	wg.Wait()
	// No thread that the runtime may use for others was left inside.
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		var st unix.Stat_t
		if unix.Stat("/proc/self/task/"+task.Name()+"/ns/net", &st) == nil && st.Ino == inside {
			t.Errorf("thread %s is still inside", task.Name())
		}
	}
	err = netns.Do(t.Context(), n, func(context.Context) error { runtime.Goexit(); return nil })
	if err == nil {
		t.Error("a function that ended its goroutine is no error")
	}
	if err := netns.Do(t.Context(), n+"x", func(context.Context) error { return nil }); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("entering what is not there: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := netns.Do(ctx, "", func(context.Context) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("entering with a context that has ended: %v", err)
	}
}

func TestHandlesAndProcessesAreInside(t *testing.T) {
	n := prefix(t) + "a"
	if err := netns.Create(n); err != nil {
		t.Fatal(err)
	}
	ip(t, "-n", n, "link", "add", "d0", "type", "bridge")
	h, err := netns.Handle(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if _, err := h.LinkByName("d0"); err != nil {
		t.Errorf("the handle does not see d0: %v", err)
	}
	err = netns.Do(t.Context(), n, func(context.Context) error {
		out, err := exec.Command("ip", "-br", "link").Output()
		if !strings.Contains(string(out), "d0") {
			t.Errorf("the process sees %s", out)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	host, err := netns.Handle(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	if _, err := host.LinkByName("d0"); err == nil {
		t.Error("the host sees d0")
	}
}

func TestDriverConforms(t *testing.T) {
	p := prefix(t)
	ours, theirs := p+"qdhcp-", p+"qrouter-"
	if err := netns.Create(theirs + "1"); err != nil {
		t.Fatal(err)
	}
	before := inode(t, netns.Path(theirs+"1"))
	one := []struct{}{{}}
	reconciletest.Run(t, reconciletest.Subject[string, struct{}]{
		New: func(t *testing.T) reconciletest.World[string, struct{}] {
			return reconciletest.World[string, struct{}]{
				Open: func() reconcile.Driver[string, struct{}] { return netns.NewDriver(netns.Prefixes(ours)) },
				Meddle: func(k string) {
					if strings.HasSuffix(k, "1") {
						ip(t, "netns", "delete", k)
					} else if err := unix.Unmount(netns.Path(k), unix.MNT_DETACH); err != nil {
						t.Error(err)
					}
				},
				Stranger: func() {
					if now := inode(t, netns.Path(theirs+"1")); now != before {
						t.Error("the other's namespace is not what it was")
					}
				},
			}
		},
		Equal:     netns.Equal,
		Objects:   map[string][]struct{}{ours + "1": one, ours + "2": one, ours + "3": one},
		Bad:       map[string]struct{}{theirs + "2": {}, ours + "a/b": {}},
		Sequences: 5,
	})
}

// TestInAMountNamespaceOfItsOwn runs the tests above once more where /run/netns is a tmpfs that nobody else sees.
func TestInAMountNamespaceOfItsOwn(t *testing.T) {
	if os.Getenv("ISOSPIN_OWN_MOUNTS") != "" {
		names, err := netns.List(nil)
		if err != nil || len(names) != 0 {
			t.Errorf("namespaces of the machine are seen: %q, %v", names, err)
		}
		return
	}
	before, err := netns.List(nil)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "unshare", "--mount", "--propagation", "private", "sh", "-c",
		`mkdir -p /run/netns && mount -t tmpfs tmpfs /run/netns && exec "$0" -test.count=1 -test.run 'OwnMounts|Own|IPKnows|HalfMade|DoIs|HandlesAnd|Driver|Monitor'`, self)
	cmd.Env = append(os.Environ(), "ISOSPIN_OWN_MOUNTS=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	after, err := netns.List(func(n string) bool { return strings.HasPrefix(n, "t") && !slices.Contains(before, n) })
	if err != nil || len(after) != 0 {
		t.Errorf("left on the machine: %q, %v", after, err)
	}
}
