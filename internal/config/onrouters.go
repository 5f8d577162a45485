package config

import (
	"fmt"
	"strings"
)

// OnRouters is what hangs on routers.
type OnRouters struct {
	ConntrackHelpers []TrackedProtocol `option:"allowed_conntrack_helpers" default:"amanda:tcp,ftp:tcp,h323:udp,h323:tcp,irc:tcp,netbios-ns:udp,pptp:tcp,sane:tcp,sip:udp,sip:tcp,snmp:udp,tftp:udp" help:"Helpers of connection tracking that routers may be given, each with a protocol that it looks into."`
	NDPProxy         bool              `option:"enable_ndp_proxy_by_default" default:"false" help:"Whether routers answer for IPv6 addresses behind them that do not say, where their gateway lets them."`
}

// TrackedProtocol is `helper:protocol`.
type TrackedProtocol struct{ Helper, Protocol string }

// UnmarshalText reads helper:protocol.
func (h *TrackedProtocol) UnmarshalText(text []byte) error {
	helper, protocol, ok := strings.Cut(string(text), ":")
	h.Helper, h.Protocol = strings.TrimSpace(helper), strings.ToLower(strings.TrimSpace(protocol))
	if !ok || h.Helper == "" || h.Protocol == "" {
		return fmt.Errorf("it is written helper:protocol")
	}
	return nil
}

// String is the form that UnmarshalText reads.
func (h TrackedProtocol) String() string { return h.Helper + ":" + h.Protocol }

// ByHelper is the protocols of each helper.
func (o OnRouters) ByHelper() map[string][]string {
	out := map[string][]string{}
	for _, h := range o.ConntrackHelpers {
		out[h.Helper] = append(out[h.Helper], h.Protocol)
	}
	return out
}
