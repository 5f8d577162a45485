package space

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestSpace(t *testing.T) {
	dir := t.TempDir()
	pins := filepath.Join(dir, "pins")
	if err := PinDir(pins); err != nil {
		t.Fatal(err)
	}
	if err := PinDir(pins); err != nil {
		t.Fatalf("a second time: %v", err)
	}
	over := filepath.Join(dir, "hosts")
	if err := os.WriteFile(over, []byte("from the plan"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := Space{Name: fmt.Sprintf("spacetest-%d", os.Getpid()), Mount: filepath.Join(pins, "a")}
	plan := Plan{
		Bind:   map[string]string{"/etc/hosts": over, "/no/such/file": over},
		Sysctl: map[string]string{"net/ipv4/ip_forward": "1", "net/no/such/key": "1"},
	}
	if err := s.Create(plan); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(s.Delete(), DropPinDir(pins)); err != nil {
			t.Error(err)
		}
	})
	if err := s.Create(plan); !errors.Is(err, os.ErrExist) {
		t.Errorf("create a second time: %v", err)
	}
	if !s.Exists() {
		t.Fatal("the failed second create removed the first one's namespaces")
	}

	out := inside(t, s, `cat /etc/hosts /proc/sys/net/ipv4/ip_forward; ls /sys/class/net; ls /run/netns; ip netns add private; ls /run/netns; pwd`)
	cwd, _ := os.Getwd()
	if want := "from the plan1\nlo\nprivate\n" + cwd; out != want {
		t.Errorf("inside: %q, want %q", out, want)
	}
	if _, err := os.Stat(NetDir + "/private"); err == nil {
		t.Error("a namespace made inside is seen outside")
	}
	if ids := s.IDs(); len(ids) != 3 {
		t.Errorf("%d identities, want network, mounts, and the network made inside", len(ids))
	}
	here, _ := os.ReadFile("/proc/self/ns/net")
	if again, _ := os.ReadFile("/proc/self/ns/net"); string(here) != string(again) {
		t.Error("the test itself has moved")
	}

	if err := s.Delete(); err != nil || s.Exists() {
		t.Errorf("delete: %v", err)
	}
	if err := s.Delete(); err != nil {
		t.Errorf("delete a second time: %v", err)
	}
	if err := s.Do(func() error { return nil }); err == nil {
		t.Error("a deleted namespace was entered")
	}
}

func inside(t *testing.T, s Space, script string) string {
	t.Helper()
	var out strings.Builder
	cmd := exec.Command("sh", "-ec", script)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := s.Start(cmd); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	return strings.TrimSpace(out.String())
}
