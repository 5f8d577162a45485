package metering

import (
	"testing"

	"isospin/internal/fault"
	"isospin/internal/model"
)

func TestSettle(t *testing.T) {
	text := func(s string) *string { return &s }
	for name, x := range map[string]struct {
		remote, source, dest *string
		want                 string // the fault, or the prefixes as they are kept
	}{
		"nothing":              {nil, nil, nil, "InvalidInput"},
		"empty texts":          {text(""), text(""), nil, "InvalidInput"},
		"remote":               {text("10.0.0.7/24"), nil, nil, "10.0.0.7/24 - -"},
		"an address":           {text("10.0.0.7"), nil, nil, "10.0.0.7/32 - -"},
		"an address of IPv6":   {nil, text("2001:DB8::1"), nil, "- 2001:db8::1/128 -"},
		"both ends":            {nil, text("10.0.0.0/8"), text("192.0.2.1"), "- 10.0.0.0/8 192.0.2.1/32"},
		"ends of two versions": {nil, text("10.0.0.0/8"), text("::/0"), "InvalidInput"},
		"remote and source":    {text("10.0.0.0/8"), text("10.0.0.0/8"), nil, "InvalidInput"},
		"remote and dest":      {text("10.0.0.0/8"), nil, text("10.0.0.0/8"), "InvalidInput"},
		"too long":             {text("10.0.0.0/33"), nil, nil, "InvalidInput"},
		"a zone":               {nil, nil, text("fe80::1%eth0"), "InvalidInput"},
		"no address":           {nil, text("ten"), nil, "InvalidInput"},
	} {
		t.Run(name, func(t *testing.T) {
			r := model.MeteringRule{RemoteIPPrefix: x.remote, SourcePrefix: x.source, DestPrefix: x.dest}
			got := ""
			if err := settle(&r); err != nil {
				got = fault.Of(err).Name
			} else {
				for _, p := range []*string{r.RemoteIPPrefix, r.SourcePrefix, r.DestPrefix} {
					if p == nil {
						p = text("-")
					}
					got += " " + *p
				}
				got = got[1:]
			}
			if got != x.want {
				t.Errorf("%s, want %s", got, x.want)
			}
		})
	}
}
