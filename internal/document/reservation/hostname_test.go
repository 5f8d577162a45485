package reservation

import (
	"testing"

	"isospin/internal/model"
)

func TestHostname(t *testing.T) {
	for name, want := range map[string]string{"": "host-10-0-0-5", "web": "web", "web.cloud.example.": "web.cloud.example"} {
		p := model.Port{DNSName: name, FixedIPs: []model.FixedIP{{IPAddress: "10.0.0.5"}, {IPAddress: "2001:db8::5"}}}
		if got := hostname(&p); got != want {
			t.Errorf("a port named %q is called %q, not %q", name, got, want)
		}
	}
}
