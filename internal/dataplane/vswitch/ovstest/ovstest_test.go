package ovstest

import (
	"os/exec"
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
