package ipam

import (
	"encoding/hex"
	"math/big"
	"net"
	"net/netip"

	"isospin/internal/model"
)

// Hex is an address as the store compares it: 32 hexadecimal digits, IPv4 mapped into IPv6.
func Hex(a netip.Addr) string {
	b := a.As16()
	return hex.EncodeToString(b[:])
}

// Last is the highest address of a prefix.
func Last(p netip.Prefix) netip.Addr {
	b := p.Masked().Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 1 << (7 - i%8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

// Size is how many addresses a range holds, both ends included.
func Size(first, last netip.Addr) *big.Int {
	a, b := new(big.Int).SetBytes(first.AsSlice()), new(big.Int).SetBytes(last.AsSlice())
	return b.Sub(b, a).Add(b, big.NewInt(1))
}

// EUI64 is the address that a host with this MAC makes of a /64 prefix (RFC 4291, appendix A).
func EUI64(p netip.Prefix, mac net.HardwareAddr) netip.Addr {
	b := p.Masked().Addr().As16()
	copy(b[8:], []byte{mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]})
	return netip.AddrFrom16(b)
}

// Prefix is a subnet's prefix; subnets in the store have one that parses.
func Prefix(s *model.Subnet) netip.Prefix {
	if s.CIDR == nil {
		return netip.Prefix{}
	}
	p, err := netip.ParsePrefix(*s.CIDR)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}

// DelegationPool stands in subnetpool_id for prefix delegation (RFC 8415, section 6.3), and DelegationPrefix in cidr until
// a prefix is delegated (neutron-lib's constants IPV6_PD_POOL_ID and PROVISIONAL_IPV6_PD_PREFIX).
const (
	DelegationPool   = "prefix_delegation"
	DelegationPrefix = "::/64"
)

// Delegated tells whether the subnet's prefix is a provider's to delegate.
func Delegated(s *model.Subnet) bool {
	return s.SubnetPoolID != nil && *s.SubnetPoolID == DelegationPool
}

// AutoAddress tells whether hosts make their own addresses in the subnet (SLAAC or stateless DHCPv6).
func AutoAddress(s *model.Subnet) bool {
	return s.IPv6AddressMode != nil && *s.IPv6AddressMode != "dhcpv6-stateful"
}
