//go:build vm

package vmlab

import (
	"os"
	"testing"

	"isospin/internal/lab"
	"isospin/test/scenario"
)

// TestTable tries every row on every cell that needs a full kernel.
func TestTable(t *testing.T) {
	binary := os.Getenv("ISOSPIN_BINARY")
	if binary == "" {
		t.Fatal("ISOSPIN_BINARY is not set: it names the isospin to try")
	}
	scenario.Run(t, binary, scenario.Emulated(),
		scenario.OpenVSwitch("ovs-kernel", lab.Kernel),
		scenario.LinuxBridge("linuxbridge", scenario.VLAN, scenario.VXLAN, scenario.Flat),
		scenario.Mixed("mixed", lab.Kernel, scenario.VLAN, scenario.VXLAN, scenario.Flat),
	)
}
