//go:build integration

package fullstack

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// leftovers is what a demo could leave on the machine: folders, namespaces, devices, processes.
func leftovers(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, pattern := range []string{"/tmp/isospin-demo.*", "/run/netns/lab-*", "/sys/class/net/il-*"} {
		found, err := filepath.Glob(pattern)
		must(t, err)
		for _, f := range found {
			out[f] = true
		}
	}
	processes, err := filepath.Glob("/proc/[0-9]*")
	must(t, err)
	for _, p := range processes {
		env, _ := os.ReadFile(p + "/environ") // One that has just ended has none.
		args, _ := os.ReadFile(p + "/cmdline")
		if bytes.Contains(env, []byte("ISOSPIN_LAB=/tmp/isospin-demo.")) || bytes.Contains(args, []byte("/tmp/isospin-demo.")) {
			out[p+" "+strings.ReplaceAll(string(args), "\x00", " ")] = true
		}
	}
	return out
}

// demo starts the demo with the binary under test, in a process group of its own.
func demo(t *testing.T) (*exec.Cmd, *buffer) {
	t.Helper()
	path, err := binary()
	must(t, err)
	root := t.TempDir() // A checkout, as far as the demo looks at one.
	for _, dir := range []string{"bin", "tools"} {
		must(t, os.Mkdir(filepath.Join(root, dir), 0o755))
	}
	script, err := os.ReadFile("../../tools/demo.sh")
	must(t, err)
	must(t, os.WriteFile(filepath.Join(root, "tools", "demo.sh"), script, 0o755))
	must(t, os.Symlink(path, filepath.Join(root, "bin", "isospin")))
	out := &buffer{}
	cmd := exec.Command(filepath.Join(root, "tools", "demo.sh"))
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	must(t, cmd.Start())
	return cmd, out
}

// TestDemo runs the demo to its end, within the 90 seconds that it may take.
func TestDemo(t *testing.T) {
	before := leftovers(t)
	began := time.Now()
	cmd, out := demo(t)
	limit, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	defer context.AfterFunc(limit, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) })()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("after %s: %v\n%s", time.Since(began), err, out)
	}
	t.Logf("the demo took %.0f s", time.Since(began).Seconds())
	nothingNew(t, before)
}

// TestDemoInterrupted presses Ctrl-C at ever later moments of the demo.
func TestDemoInterrupted(t *testing.T) {
	for _, moment := range []string{"", "A server and hosts", "openstack network agent list", "boot --host h2", "seen on h2", "A GRE network", "gina on h1", "agent kill"} {
		before := leftovers(t)
		cmd, out := demo(t)
		until(t, 60*time.Second, moment, func() (bool, string) { return strings.Contains(out.String(), moment), out.String() })
		must(t, syscall.Kill(-cmd.Process.Pid, syscall.SIGINT))
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != 130 {
			t.Errorf("at %q: exit code %d, want 130:\n%s", moment, code, out)
		}
		nothingNew(t, before)
	}
}

// nothingNew fails the test for everything that was not there before.
func nothingNew(t *testing.T, before map[string]bool) {
	t.Helper()
	for what := range leftovers(t) {
		if !before[what] {
			t.Errorf("%s is left", what)
		}
	}
}
