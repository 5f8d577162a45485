package segments

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"isospin/internal/model"
)

func subnet(id, segment, cidr, gateway string, routes ...model.HostRoute) model.Subnet {
	s := model.Subnet{Standard: model.Standard{ID: id}, CIDR: &cidr, IPVersion: 4, HostRoutes: routes}
	if segment != "" {
		s.SegmentID = &segment
	}
	if gateway != "" {
		s.GatewayIP = &gateway
	}
	if cidr[0] == '2' {
		s.IPVersion = 6
	}
	return s
}

func route(destination, nexthop string) model.HostRoute {
	return model.HostRoute{Destination: destination, Nexthop: nexthop}
}

// TestBetween: what a subnet says of the way to its peers.
func TestBetween(t *testing.T) {
	peers := []model.Subnet{
		subnet("a", "one", "10.0.0.0/24", "10.0.0.1"), subnet("b", "two", "10.0.1.0/24", "10.0.1.1"), subnet("c", "one", "10.0.2.0/24", "10.0.2.1"),
		subnet("d", "", "10.0.3.0/24", "10.0.3.1"), subnet("e", "two", "2001:db8::/64", "2001:db8::1"),
	}
	for _, c := range []struct {
		what      string
		s         model.Subnet
		old, gone string
		want      []model.HostRoute
	}{
		{"to other segments and to none, of the same IP version", peers[0], "", "", []model.HostRoute{route("10.0.1.0/24", "10.0.0.1"), route("10.0.3.0/24", "10.0.0.1")}},
		{"without a gateway", subnet("a", "one", "10.0.0.0/24", ""), "", "", []model.HostRoute{}},
		{"one that covers a peer is enough", subnet("a", "one", "10.0.0.0/24", "10.0.0.1", route("10.0.0.0/23", "10.0.0.9")), "", "",
			[]model.HostRoute{route("10.0.0.0/23", "10.0.0.9"), route("10.0.3.0/24", "10.0.0.1")}},
		{"its own stay", subnet("a", "one", "10.0.0.0/24", "10.0.0.1", route("192.0.2.0/24", "10.0.0.7"), route("10.0.1.0/24", "10.0.0.1")), "", "",
			[]model.HostRoute{route("192.0.2.0/24", "10.0.0.7"), route("10.0.1.0/24", "10.0.0.1"), route("10.0.3.0/24", "10.0.0.1")}},
		{"those by a gateway that it had go", subnet("a", "one", "10.0.0.0/24", "10.0.0.2", route("10.0.1.0/24", "10.0.0.1")), "10.0.0.1", "",
			[]model.HostRoute{route("10.0.1.0/24", "10.0.0.2"), route("10.0.3.0/24", "10.0.0.2")}},
		{"that to a prefix that is gone goes", subnet("a", "one", "10.0.0.0/24", "10.0.0.1", route("10.9.0.0/24", "10.0.0.1"), route("10.9.0.0/24", "10.0.0.5")), "", "10.9.0.0/24",
			[]model.HostRoute{route("10.9.0.0/24", "10.0.0.5"), route("10.0.1.0/24", "10.0.0.1"), route("10.0.3.0/24", "10.0.0.1")}},
		{"alone in its IP version", peers[4], "", "", []model.HostRoute{}},
	} {
		if diff := cmp.Diff(c.want, between(&c.s, peers, c.old, c.gone)); diff != "" {
			t.Errorf("%s: %s", c.what, diff)
		}
	}
}
