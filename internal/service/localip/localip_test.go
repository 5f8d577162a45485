package localip

import (
	"testing"

	"isospin/internal/fault"
	"isospin/internal/model"
)

func TestPick(t *testing.T) {
	text := func(s string) *string { return &s }
	for name, x := range map[string]struct {
		addresses []string
		want      *string
		any       bool
		got       string // an address or a fault
	}{
		"none":                        {nil, nil, false, "LocalIPNoIP"},
		"none, one wanted":            {nil, text("10.0.0.1"), true, "LocalIPNoIP"},
		"the only one":                {[]string{"10.0.0.1"}, nil, false, "10.0.0.1"},
		"one of two":                  {[]string{"10.0.0.1", "10.0.0.2"}, nil, false, "LocalIPNoRequestedIP"},
		"the one wanted":              {[]string{"10.0.0.1", "10.0.0.2"}, text("10.0.0.2"), false, "10.0.0.2"},
		"in another spelling":         {[]string{"2001:db8::1", "10.0.0.2"}, text("2001:DB8:0::1"), false, "2001:db8::1"},
		"another":                     {[]string{"10.0.0.1"}, text("10.0.0.2"), false, "LocalIPRequestedIPNotFound"},
		"no address":                  {[]string{"10.0.0.1"}, text("x"), false, "LocalIPRequestedIPNotFound"},
		"an IPv4 one of a new port":   {[]string{"2001:db8::1", "10.0.0.2"}, nil, true, "10.0.0.2"},
		"the only one of a new port":  {[]string{"2001:db8::1"}, nil, true, "2001:db8::1"},
		"two of IPv6 of a new port":   {[]string{"2001:db8::1", "2001:db8::2"}, nil, true, "LocalIPNoRequestedIP"},
		"what was wanted of new port": {[]string{"10.0.0.9", "2001:db8::1"}, text("2001:db8::1"), true, "2001:db8::1"},
	} {
		t.Run(name, func(t *testing.T) {
			var port model.Port
			for _, a := range x.addresses {
				port.FixedIPs = append(port.FixedIPs, model.FixedIP{IPAddress: a})
			}
			got, err := pick(&port, x.want, x.any)
			if err != nil {
				got = fault.Of(err).Name
			}
			if got != x.got {
				t.Errorf("%s, want %s", got, x.got)
			}
		})
	}
}
