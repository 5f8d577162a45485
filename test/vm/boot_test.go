//go:build vm

package main

import (
	"bytes"
	"flag"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// kernelDir is where tools/vm-kernel.sh puts the kernel.
var kernelDir = flag.String("kernel", "", "folder with vmlinuz and lib/modules")

// TestTheMachineRunsAProgram boots a machine: the program sees this machine's files and the full kernel, its output and code
// come back, and what it writes does not.
func TestTheMachineRunsAProgram(t *testing.T) {
	if *kernelDir == "" {
		t.Fatal("-kernel is not given; `make vm` gives it")
	}
	file := filepath.Join(t.TempDir(), "written")
	m := machine{kernel: *kernelDir, memory: 1024, cpus: 1, modules: []string{"nf_conntrack_bridge"}, limit: 5 * time.Minute,
		command: []string{"sh", "-c", `ip link add v0 type veth peer name v1 && ip link add link v0 name v0.5 type vlan id 5 && ip -o link show v0.5 && echo x >"$0" && cat "$0"; exit 7`, file}}
	var out bytes.Buffer
	code, err := m.run(t.Context(), &out)
	if err != nil || code != 7 {
		t.Fatalf("code %d, %v: %s", code, err, out.String())
	}
	if text := out.String(); !strings.Contains(text, "v0.5@v0") || !strings.HasSuffix(text, "x\n") {
		t.Errorf("it said %q", text)
	}
	if found, _ := filepath.Glob(file); found != nil {
		t.Errorf("%s reached this machine", file)
	}
}
