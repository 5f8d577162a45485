package ovstest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestTwoInstancesStandSideBySide(t *testing.T) {
	a, b := Start(t), Start(t)
	for _, o := range []*OVS{a, b} {
		o.Vsctl("add-br", "br-int", "--", "set", "Bridge", "br-int", "datapath_type=netdev", "fail_mode=secure")
		if got := o.Vsctl("get", "Bridge", "br-int", "datapath_type"); got != "netdev" {
			t.Errorf("datapath_type is %s", got)
		}
		o.Ofctl("add-flow", "br-int", "priority=7,actions=drop")
	}
	if got := a.Ofctl("dump-flows", "br-int"); !strings.Contains(got, "priority=7") {
		t.Errorf("flows: %s", got)
	}
	a.RestartVswitchd()
	if got := a.Ofctl("dump-flows", "br-int"); strings.Contains(got, "priority=7") {
		t.Errorf("flows outlived the restart: %s", got)
	}
	if got := b.Ofctl("dump-flows", "br-int"); !strings.Contains(got, "priority=7") {
		t.Errorf("the neighbour lost its flows: %s", got)
	}
	if got := b.Appctl("version"); !strings.Contains(got, "Open vSwitch") {
		t.Errorf("version: %s", got)
	}
	a.RestartServer()
	if got := a.Vsctl("list-br"); got != "br-int" {
		t.Errorf("bridges after the database's restart: %s", got)
	}
}

func TestStopLeavesNothing(t *testing.T) {
	o := Start(t)
	server, vswitchd := o.PIDs()
	o.Stop()
	for _, pid := range []int{server, vswitchd} {
		if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
			t.Errorf("process %d: %v", pid, err)
		}
	}
	out, err := exec.Command("ip", "netns", "list").Output()
	if err != nil || strings.Contains(string(out), o.NetNS) {
		t.Errorf("namespaces: %s, %v", out, err)
	}
}

func TestStartSweepsUpAfterTheDead(t *testing.T) {
	// A process that has ended and was waited for: nobody has its number.
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	dead := cmd.Process.Pid
	ns := fmt.Sprintf("ovst-%d-00000000", dead)
	if out, err := exec.Command("ip", "netns", "add", ns).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("ovs%d-0", dead))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	mine := Start(t)
	other := Start(t) // sweeps too, and must leave the living alone
	for _, o := range []*OVS{mine, other} {
		if _, err := os.Stat(o.RunDir); err != nil {
			t.Error(err)
		}
		if got := o.Vsctl("list-br"); got != "" {
			t.Errorf("bridges: %s", got)
		}
	}
	for _, path := range []string{dir, "/run/netns/" + ns} {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s is still there", path)
		}
	}
}
