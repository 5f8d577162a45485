package ndpproxy

import (
	"testing"

	"isospin/internal/fault"
	"isospin/internal/model"
)

func TestAddress(t *testing.T) {
	port := &model.Port{FixedIPs: []model.FixedIP{{SubnetID: "four", IPAddress: "10.0.0.1"}, {SubnetID: "far", IPAddress: "2001:db8:1::1"}, {SubnetID: "near", IPAddress: "2001:db8::1"}}}
	four := &model.Port{FixedIPs: port.FixedIPs[:1]}
	p := New(Config{})
	for name, c := range map[string]struct {
		port        *model.Port
		asked, want string
		fault       string
	}{
		"chosen":                  {port: port, want: "2001:db8::1"},
		"asked for":               {port: port, asked: "2001:db8::1", want: "2001:db8::1"},
		"in another spelling":     {port: port, asked: "2001:DB8:0::1", want: "2001:db8::1"},
		"not the port's":          {port: port, asked: "2001:db8::2", fault: "InvalidAddress"},
		"IPv4":                    {port: port, asked: "10.0.0.1", fault: "InvalidAddress"},
		"where no router reaches": {port: port, asked: "2001:db8:1::1", fault: "InvalidAddress"},
		"no IPv6 at all":          {port: four, fault: "BadRequest"},
	} {
		x := model.NDPProxy{IPAddress: c.asked}
		err := p.address(t.Context(), nil, &x, c.port, []string{"near", "four"})
		switch {
		case c.fault == "" && (err != nil || x.IPAddress != c.want):
			t.Errorf("%s: %s, %v", name, x.IPAddress, err)
		case c.fault != "" && (err == nil || fault.Of(err).Name != c.fault):
			t.Errorf("%s: %v", name, err)
		}
	}
	x := model.NDPProxy{}
	if err := p.address(t.Context(), nil, &x, port, []string{"elsewhere"}); err == nil || fault.Of(err).Name != "PortUnreachableRouter" {
		t.Errorf("no subnet in common: %v", err)
	}
}
