//go:build integration

package fullstack

import (
	"testing"

	"isospin/internal/lab"
	"isospin/test/scenario"
)

// TestTable tries what holds on every cell of mechanisms, kinds of network and families (test/scenario) on the cells that need
// nothing of the kernel that containers lack; the others are tried in test/vmlab.
func TestTable(t *testing.T) {
	path, err := binary()
	must(t, err)
	scenario.Run(t, path, scenario.Native(),
		scenario.OpenVSwitch("ovs-userspace", lab.Userspace),
		scenario.LinuxBridge("linuxbridge", scenario.VXLAN, scenario.Flat),
		scenario.Mixed("mixed", lab.Userspace, scenario.VXLAN, scenario.Flat),
	)
}
