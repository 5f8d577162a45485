//go:build vm

package vmlab

import (
	"os"
	"testing"

	"isospin/internal/lab"
	"isospin/test/scenario"
)

// TestTable tries the table on the cells that need a full kernel: every row on each if ISOSPIN_TABLE is "whole".
func TestTable(t *testing.T) {
	binary := os.Getenv("ISOSPIN_BINARY")
	if binary == "" {
		t.Fatal("ISOSPIN_BINARY is not set: it names the isospin to try")
	}
	pace := scenario.Emulated()
	pace.Thrifty = os.Getenv("ISOSPIN_TABLE") != "whole"
	scenario.Run(t, binary, pace,
		scenario.OpenVSwitch("ovs-kernel", lab.Kernel),
		scenario.LinuxBridge("linuxbridge", scenario.VLAN, scenario.VXLAN, scenario.Flat),
		scenario.Mixed("mixed", lab.Kernel, scenario.VLAN, scenario.VXLAN, scenario.Flat),
	)
}
