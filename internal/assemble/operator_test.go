package assemble

import (
	"strings"
	"testing"

	"isospin/internal/service/status"
)

// TestWhyTellsOfBothHosts: of a port that moves people see where it is and whether it can come to where it will be.
func TestWhyTellsOfBothHosts(t *testing.T) {
	e := status.Explanation{Port: "p", Status: "ACTIVE", Host: "h1", VIFType: "ovs", Bindings: []status.Binding{
		{Host: "h1", Status: "ACTIVE", VIFType: "ovs", Wired: true}, {Host: "h2", Status: "INACTIVE", VIFType: "ovs", Wired: true},
		{Host: "h3", Status: "INACTIVE", VIFType: "bridge"}, {Host: "h4", Status: "INACTIVE", VIFType: "unbound"}}}
	var out strings.Builder
	Why{e}.Print(&out)
	for _, want := range []string{"bound to host h1", "may move to h2 (ovs): that host is ready", "may move to h3 (bridge): that host is not ready", "was on h4"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
}
