package floatingip

import (
	"slices"
	"strings"
	"testing"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/service"
)

func port(owner string, addresses ...string) *model.Port {
	p := &model.Port{DeviceOwner: owner}
	p.ID = "p"
	for _, a := range addresses {
		p.FixedIPs = append(p.FixedIPs, model.FixedIP{SubnetID: "subnet of " + a, IPAddress: a})
	}
	return p
}

func TestInside(t *testing.T) {
	for name, c := range map[string]struct {
		port        *model.Port
		fixed, want string
	}{
		"the only address":             {port("", "10.0.0.1"), "", "10.0.0.1"},
		"the only IPv4 address":        {port("", "2001:db8::1", "10.0.0.1"), "", "10.0.0.1"},
		"one of two":                   {port("", "10.0.0.1", "10.0.0.2"), "10.0.0.2", "10.0.0.2"},
		"a router's interface":         {port(model.OwnerRouterInterface, "10.0.0.1"), "", "10.0.0.1"},
		"none":                         {port(""), "", ""},
		"IPv6 alone":                   {port("", "2001:db8::1"), "", ""},
		"two, and nobody says which":   {port("", "10.0.0.1", "10.0.0.2"), "", ""},
		"another's":                    {port("", "10.0.0.1"), "10.0.0.2", ""},
		"IPv6 asked for":               {port("", "10.0.0.1", "2001:db8::1"), "2001:db8::1", ""},
		"a port that serves addresses": {port("network:dhcp", "10.0.0.1"), "", ""},
	} {
		in, err := inside(c.port, c.fixed)
		switch {
		case c.want == "" && (err == nil || fault.Of(err).Name != "BadRequest"):
			t.Errorf("%s: %v, %v", name, in, err)
		case c.want != "" && (err != nil || in.IPAddress != c.want || in.SubnetID != "subnet of "+c.want):
			t.Errorf("%s: %v, %v", name, in, err)
		}
	}
}

func TestLost(t *testing.T) {
	for name, c := range map[string]struct {
		w    service.Write[model.Port]
		want string
	}{
		"a new port": {service.Write[model.Port]{Op: service.Create, New: port("", "10.0.0.1")}, ""},
		"one goes":   {service.Write[model.Port]{Op: service.Delete, Old: port("", "10.0.0.1", "10.0.0.2")}, "10.0.0.1 10.0.0.2"},
		"as before":  {service.Write[model.Port]{Op: service.Update, Old: port("", "10.0.0.1"), New: port("", "10.0.0.1")}, ""},
		"one more":   {service.Write[model.Port]{Op: service.Update, Old: port("", "10.0.0.1"), New: port("", "10.0.0.2", "10.0.0.1")}, ""},
		"one less":   {service.Write[model.Port]{Op: service.Update, Old: port("", "10.0.0.1", "10.0.0.2"), New: port("", "10.0.0.2")}, "10.0.0.1"},
		"another":    {service.Write[model.Port]{Op: service.Update, Old: port("", "10.0.0.1"), New: port("", "10.0.0.3")}, "10.0.0.1"},
	} {
		got := Lost(c.w)
		slices.Sort(got)
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestDissociate(t *testing.T) {
	text := func(s string) *string { return &s }
	f := model.FloatingIP{PortID: text("p"), FixedIPAddress: text("10.0.0.1"), RouterID: text("r")}
	g := f.Clone()
	dissociate(&f)
	if f.PortID != nil || f.FixedIPAddress != nil || f.RouterID != nil {
		t.Errorf("%+v", f)
	}
	if g.RouterID == nil || *g.RouterID != "r" {
		t.Error("the clone shares")
	}
	f = model.FloatingIP{RouterID: text("r")}
	if dissociate(&f); f.RouterID == nil {
		t.Error("forwarded ports lost their router")
	}
}
