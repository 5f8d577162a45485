package config

import "testing"

func TestTrackedProtocol(t *testing.T) {
	for text, want := range map[string]string{"ftp:tcp": "ftp:tcp", " sip : UDP ": "sip:udp", "ftp": "", ":tcp": "", "ftp:": "", "": ""} {
		var h TrackedProtocol
		err := h.UnmarshalText([]byte(text))
		switch {
		case want == "" && err == nil:
			t.Errorf("%q is taken: %v", text, h)
		case want != "" && (err != nil || h.String() != want):
			t.Errorf("%q: %v, %v", text, h, err)
		}
	}
	got := OnRouters{ConntrackHelpers: []TrackedProtocol{{"sip", "udp"}, {"ftp", "tcp"}, {"sip", "tcp"}}}.ByHelper()
	if len(got) != 2 || len(got["sip"]) != 2 || got["sip"][1] != "tcp" {
		t.Error(got)
	}
}
