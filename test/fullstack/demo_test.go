//go:build integration

package fullstack

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// nothingLeft fails the test for everything that a demo left on the machine: its folder, and namespaces, the device and
// processes of its lab, whose name and id come of the folder's path.
func nothingLeft(t *testing.T, dir string) {
	t.Helper()
	sum := sha256.Sum256([]byte(dir + "/lab"))
	id := hex.EncodeToString(sum[:3])
	for _, pattern := range []string{dir, "/run/netns/lab-" + id + "-*", "/sys/class/net/il-" + id} {
		found, err := filepath.Glob(pattern)
		must(t, err)
		for _, f := range found {
			t.Errorf("%s is left", f)
		}
	}
	processes, err := filepath.Glob("/proc/[0-9]*")
	must(t, err)
	for _, p := range processes {
		env, _ := os.ReadFile(p + "/environ") // One that has just ended has none.
		args, _ := os.ReadFile(p + "/cmdline")
		if bytes.Contains(env, []byte("ISOSPIN_LAB="+dir)) || bytes.Contains(args, []byte(dir+"/")) {
			t.Errorf("%s is left: %q", p, args)
		}
	}
}

// demo starts the demo with the binary under test, in a process group of its own.
func demo(t *testing.T) (cmd *exec.Cmd, dir string, out *buffer) {
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
	parent, err := os.MkdirTemp("/tmp", "demo-") // Short: sockets have no long names.
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(parent) })
	dir, out = filepath.Join(parent, "d"), &buffer{}
	cmd = exec.Command(filepath.Join(root, "tools", "demo.sh"))
	cmd.Env = append(os.Environ(), "DEMO_DIR="+dir)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	must(t, cmd.Start())
	return cmd, dir, out
}

// TestDemo runs the demo to its end, within the 90 seconds that it may take.
func TestDemo(t *testing.T) {
	began := time.Now()
	cmd, dir, out := demo(t)
	limit, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	defer context.AfterFunc(limit, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) })()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("after %s: %v\n%s", time.Since(began), err, out)
	}
	t.Logf("the demo took %.0f s", time.Since(began).Seconds())
	nothingLeft(t, dir)
}

// TestDemoInterrupted presses Ctrl-C at ever later moments of the demo.
func TestDemoInterrupted(t *testing.T) {
	for _, moment := range []string{"with real packets", "A server and hosts", "openstack network agent list", "boot --host h2", "seen on h2", "A GRE network", "gina on h1", "agent kill"} {
		cmd, dir, out := demo(t)
		until(t, 60*time.Second, moment, func() (bool, string) { return strings.Contains(out.String(), moment), out.String() })
		must(t, syscall.Kill(-cmd.Process.Pid, syscall.SIGINT))
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != 130 {
			t.Errorf("at %q: exit code %d, want 130:\n%s", moment, code, out)
		}
		nothingLeft(t, dir)
	}
}
