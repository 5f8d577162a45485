//go:build integration

package lab

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"isospin/internal/lab/cable"
	"isospin/internal/lab/proc"
	"isospin/internal/lab/space"
)

// TestMain lets the test's own binary stand for `isospin lab`, which other tests then kill.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "as-lab" {
		root := Command()
		root.SetArgs(os.Args[2:])
		if root.ExecuteContext(context.Background()) != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func asLab(t *testing.T, out *bytes.Buffer, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, append([]string{"as-lab"}, args...)...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// TestDownAfterHalfAnUp kills `lab up` ever later, and takes down what remains; in the last round the
// state is lost as well, and in half of them Ctrl-C ends it, which leaves nothing to be taken down.
func TestDownAfterHalfAnUp(t *testing.T) {
	for i := range 12 {
		dir := t.TempDir() + "/lab"
		var out bytes.Buffer
		cmd := asLab(t, &out, "up", "--bare", "--hosts", "2", "--dir", dir)
		sig := []os.Signal{syscall.SIGKILL, syscall.SIGINT}[i%2]
		untilAfter(t, dir, time.Duration(i)*25*time.Millisecond)
		ended := cmd.Process.Signal(sig) == nil
		_ = cmd.Wait() // It was ended, or is done.
		if sig == syscall.SIGINT && ended && !strings.Contains(out.String(), "is up") {
			nothing(t, dir)
		}
		if i == 10 {
			if err := os.Remove(dir + "/lab.json"); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if err := Down(t.Context(), dir, false, nil); err != nil {
				t.Fatalf("round %d: %v", i, err)
			}
		}
		nothing(t, dir)
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("round %d: the folder is still there", i)
		}
	}
}

// untilAfter returns d after the lab's state has appeared.
func untilAfter(t *testing.T, dir string, d time.Duration) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; {
		if _, err := os.Stat(dir + "/lab.json"); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no state was written")
		}
	}
	<-time.After(d)
}

// nothing fails the test when anything of the lab is left on the machine.
func nothing(t *testing.T, dir string) {
	t.Helper()
	s := &state{}
	s.Name, s.ID = identify(dir)
	if left := space.Named(s.Name); len(left) > 0 {
		t.Errorf("namespaces left: %v", left)
	}
	if left := proc.Find(nil, s.mark()); len(left) > 0 {
		t.Errorf("processes left: %v", left)
	}
	root, err := cable.Open("")
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if root.Has(s.rootDevice()) {
		t.Errorf("device %s is left", s.rootDevice())
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil || bytes.Contains(mounts, []byte(dir+"/")) {
		t.Errorf("mounts left below %s, %v", dir, err)
	}
}

// TestSideBySide: labs that come up together have addresses of their own, and one does not see the
// other's hosts.
func TestSideBySide(t *testing.T) {
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	labs := make([]*Lab, len(dirs))
	errs := make(chan error, len(dirs))
	for i, dir := range dirs {
		go func() {
			l, err := Up(t.Context(), Options{Dir: dir, Bare: true, Hosts: []HostSpec{{Name: "h1", Mechanism: OpenVSwitch}, {Name: "h2", Mechanism: LinuxBridge}}})
			labs[i] = l
			errs <- err
		}()
	}
	for range dirs {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	var nets []int
	for _, l := range labs {
		if l == nil {
			continue
		}
		s := mustState(t, l)
		if slices.Contains(nets, s.Net) {
			t.Errorf("network %d is given twice", s.Net)
		}
		nets = append(nets, s.Net)
		untilPing(t, l, "h1", s.underlay(s.Hosts[1]).Addr().String())
		untilPing(t, l, "h2", s.management(0).Addr().String())
		if _, err := Up(t.Context(), Options{Dir: l.Dir(), Bare: true}); !errors.Is(err, ErrExists) {
			t.Errorf("a second up in the folder: %v", err)
		}
	}
	for _, l := range labs {
		if l != nil {
			if err := l.Down(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
	for _, dir := range dirs {
		nothing(t, dir)
	}
}
