// Package secgroup reads the documents of security groups and ports into typed values: what a rule allows, who a remote is, which
// addresses a port may send with. The features that filter (by flows and by nftables) call it, so that both mean the same. It decides nothing
// about flows or sets, and wants nothing.
package secgroup

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"

	"isospin/internal/wire"
)

// Protocol numbers that matter by themselves.
const (
	AnyProtocol = -1
	ICMP        = 1
	TCP         = 6
	UDP         = 17
	DCCP        = 33
	ICMPv6      = 58
	SCTP        = 132
	UDPLite     = 136
)

// Rule is a rule as a filter sees it.
type Rule struct {
	ID, Group string
	// Egress is what the port sends; else what it is sent.
	Egress bool
	// V6 is IPv6; else IPv4.
	V6 bool
	// Protocol is a number, or AnyProtocol.
	Protocol int
	// Low and High bound the port that the packet is sent to, both included; for ICMP they are type and code. -1: any.
	Low, High int
	Remote    Remote
}

// HasPorts tells whether Low and High are ports.
func (r Rule) HasPorts() bool {
	return r.Low >= 0 && slices.Contains([]int{TCP, UDP, DCCP, SCTP, UDPLite}, r.Protocol)
}

// HasType tells whether Low is an ICMP type, and High, where it is not -1, a code.
func (r Rule) HasType() bool {
	return r.Low >= 0 && (r.Protocol == ICMP || r.Protocol == ICMPv6)
}

// Remote is whom a rule lets a port speak with. At most one field is set; the zero value is everybody.
type Remote struct {
	Prefix       netip.Prefix
	Group        string // members of a security group
	AddressGroup string // addresses of an address group
}

// Everybody tells whether the remote leaves nobody out.
func (r Remote) Everybody() bool { return r == Remote{} }

// ReadRule reads a rule's document. An error says which field cannot be read: such a rule allows nothing.
func ReadRule(d *wire.SecurityGroupRule) (Rule, error) {
	r := Rule{ID: d.GetId(), Group: d.GetSecurityGroupId(), Egress: d.GetDirection() == "egress", V6: d.GetEthertype() == "IPv6", Low: -1, High: -1}
	if !r.Egress && d.GetDirection() != "ingress" {
		return r, fmt.Errorf("rule %s: the direction %q is none", r.ID, d.GetDirection())
	}
	if !r.V6 && d.GetEthertype() != "IPv4" {
		return r, fmt.Errorf("rule %s: the ethertype %q is none", r.ID, d.GetEthertype())
	}
	var ok bool
	if r.Protocol, ok = protocol(d.GetProtocol(), r.V6); !ok {
		return r, fmt.Errorf("rule %s: the protocol %q is none", r.ID, d.GetProtocol())
	}
	r.Low, r.High = int(d.GetPortRangeMin()), int(d.GetPortRangeMax())
	if err := r.checkRange(); err != nil {
		return r, err
	}
	r.Remote.Group, r.Remote.AddressGroup = d.GetRemoteGroupId(), d.GetRemoteAddressGroupId()
	if text := d.GetRemoteIpPrefix(); text != "" {
		p, err := Prefix(text)
		if err != nil {
			return r, fmt.Errorf("rule %s: remote_ip_prefix: %w", r.ID, err)
		}
		if p.Addr().Is6() != r.V6 {
			return r, fmt.Errorf("rule %s: the prefix %s is not of %s", r.ID, p, d.GetEthertype())
		}
		if p.Bits() > 0 { // all addresses are everybody
			r.Remote.Prefix = p
		}
	}
	return r, nil
}

// checkRange completes a range with one end and refuses one that is none. A document without ports says -1; a protocol that has neither ports nor
// types has none here whatever stands there, as in Neutron's filters.
func (r *Rule) checkRange() error {
	icmp := r.Protocol == ICMP || r.Protocol == ICMPv6
	most := 0xffff
	if icmp {
		most = 0xff
	}
	if r.Low > most || r.High > most || r.Low < -1 || r.High < -1 {
		return fmt.Errorf("rule %s: the range %d to %d is none", r.ID, r.Low, r.High)
	}
	if icmp {
		return nil
	}
	switch {
	case r.Low < 0 && r.High < 0:
	case r.Low < 0:
		r.Low = r.High
	case r.High < 0:
		r.High = r.Low
	case r.Low > r.High:
		return fmt.Errorf("rule %s: the range %d to %d is none", r.ID, r.Low, r.High)
	}
	if !r.HasPorts() {
		r.Low, r.High = -1, -1
	}
	return nil
}

// protocol is a name's or number's number: the names that the API takes (behaviour.md, security groups).
func protocol(text string, v6 bool) (int, bool) {
	switch text {
	case "", "any", "ip", "hopopt", "0": // the number 0 is every protocol to iptables, and to who writes a rule with it
		return AnyProtocol, true
	case "icmp":
		if v6 {
			return ICMPv6, true
		}
		return ICMP, true
	}
	for _, p := range names() {
		if p.name == text {
			return p.number, true
		}
	}
	n, err := strconv.ParseUint(text, 10, 8)
	if err == nil && v6 && n == ICMP {
		n = ICMPv6
	}
	if n == 0 {
		return AnyProtocol, err == nil
	}
	return int(n), err == nil
}

type protocolName struct {
	name   string
	number int
}

func names() []protocolName {
	return []protocolName{
		{"igmp", 2}, {"ipip", 4}, {"tcp", TCP}, {"egp", 8}, {"udp", UDP}, {"dccp", DCCP}, {"ipv6-encap", 41}, {"ipv6-route", 43}, {"ipv6-frag", 44},
		{"rsvp", 46}, {"gre", 47}, {"esp", 50}, {"ah", 51}, {"icmpv6", ICMPv6}, {"ipv6-icmp", ICMPv6}, {"ipv6-nonxt", 59}, {"ipv6-opts", 60},
		{"ospf", 89}, {"vrrp", 112}, {"pgm", 113}, {"sctp", SCTP}, {"udplite", UDPLite},
	}
}

// Prefix reads an address or a prefix; host bits are cleared.
func Prefix(text string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(text); err == nil {
		a = a.Unmap().WithZone("")
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%q is no address and no prefix", text)
	}
	return p.Masked(), nil
}

// Identity is one pair of addresses that a port may send with.
type Identity struct {
	MAC    string // canonical text, see net.HardwareAddr
	Prefix netip.Prefix
}

// Identities are the addresses that a port may send with: its own, the link-local IPv6 addresses of its MACs, and its allowed address pairs, where a pair
// without a MAC has the port's. In order, each once. A pair that cannot be read is left out and told.
func Identities(p *wire.Port) ([]Identity, error) {
	own, err := net.ParseMAC(p.GetMacAddress())
	if err != nil {
		return nil, fmt.Errorf("the port's MAC address cannot be read: %w", err)
	}
	var out []Identity
	var bad error
	add := func(mac net.HardwareAddr, text string) {
		prefix, err := Prefix(text)
		if err != nil {
			bad = err
			return
		}
		out = append(out, Identity{MAC: mac.String(), Prefix: prefix})
	}
	macs := []net.HardwareAddr{own}
	for _, f := range p.GetFixedIps() {
		add(own, f.GetIpAddress())
	}
	for _, a := range p.GetAllowedAddressPairs() {
		mac := own
		if a.GetMacAddress() != "" {
			if mac, err = net.ParseMAC(a.GetMacAddress()); err != nil {
				bad = fmt.Errorf("allowed address pair %s: %w", a.GetIpAddress(), err)
				continue
			}
			macs = append(macs, mac)
		}
		add(mac, a.GetIpAddress())
	}
	for _, mac := range macs {
		if ll, ok := LinkLocal(mac); ok {
			out = append(out, Identity{MAC: mac.String(), Prefix: netip.PrefixFrom(ll, 128)})
		}
	}
	slices.SortFunc(out, func(a, b Identity) int {
		if c := a.Prefix.Addr().Compare(b.Prefix.Addr()); c != 0 {
			return c
		}
		if c := a.Prefix.Bits() - b.Prefix.Bits(); c != 0 {
			return c
		}
		return slices.Compare([]byte(a.MAC), []byte(b.MAC))
	})
	return slices.Compact(out), bad
}

// LinkLocal is the address that a host with a MAC gives itself (RFC 4291, appendix A).
func LinkLocal(mac net.HardwareAddr) (netip.Addr, bool) {
	if len(mac) != 6 {
		return netip.Addr{}, false
	}
	return netip.AddrFrom16([16]byte{0: 0xfe, 1: 0x80, 8: mac[0] ^ 2, 9: mac[1], 10: mac[2], 11: 0xff, 12: 0xfe, 13: mac[3], 14: mac[4], 15: mac[5]}), true
}
