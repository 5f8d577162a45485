package conntrack

import (
	"testing"

	"isospin/internal/fault"
	"isospin/internal/model"
)

func TestAllowed(t *testing.T) {
	p := New(Config{Allowed: map[string][]string{"sip": {"tcp", "udp"}, "ftp": {"tcp"}}})
	for _, c := range []struct{ helper, protocol, fault string }{
		{"sip", "tcp", ""}, {"sip", "udp", ""}, {"ftp", "tcp", ""},
		{"ftp", "udp", "InvalidProtocolForHelper"}, {"sip", "sctp", "InvalidProtocolForHelper"},
		{"tftp", "udp", "ConntrackHelperNotAllowed"}, {"", "tcp", "ConntrackHelperNotAllowed"}, {"ftp", "", "InvalidInput"},
	} {
		err := p.allowed(&model.Conntrack{Helper: c.helper, Protocol: c.protocol})
		if (err == nil) != (c.fault == "") || err != nil && fault.Of(err).Name != c.fault {
			t.Errorf("%s for %s: %v", c.helper, c.protocol, err)
		}
	}
}
