package nft

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
)

// Field is a part of a packet, or of what the kernel knows of it.
type Field struct {
	name string
	kind Type
	load func(register uint32) expr.Any
}

// Type is what a field holds, by nftables' name, and how many bytes that is.
type Type struct {
	Name string
	Size int
	show func([]byte) string
}

// Types of fields that sets may be made of.
func ifname() Type { return Type{"ifname", 16, showName} }
func ether() Type {
	return Type{"ether_addr", 6, func(b []byte) string { return net.HardwareAddr(b).String() }}
}
func ipv4() Type { return Type{"ipv4_addr", 4, showAddr} }
func ipv6() Type { return Type{"ipv6_addr", 16, showAddr} }
func number(name string, size int) Type {
	return Type{name, size, func(b []byte) string { return fmt.Sprint(uint(b)) }}
}
func ethertype() Type {
	return Type{"ether_type", 2, func(b []byte) string { return fmt.Sprintf("%#04x", binary.BigEndian.Uint16(b)) }}
}
func raw(size int) Type {
	return Type{"integer", size, func(b []byte) string { return fmt.Sprintf("0x%x", b) }}
}

func uint(b []byte) uint64 {
	var n uint64
	for _, x := range b {
		n = n<<8 | uint64(x)
	}
	return n
}

func showName(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return fmt.Sprintf("%q", b[:i])
		}
	}
	return fmt.Sprintf("%q", b)
}

func showAddr(b []byte) string {
	a, _ := netip.AddrFromSlice(b)
	return a.String()
}

// padded is the size that a field takes in a concatenation.
func (t Type) padded() int { return (t.Size + 3) &^ 3 }

// datatype is the library's word for the type.
func (t Type) datatype() (nftables.SetDatatype, error) {
	for _, d := range []nftables.SetDatatype{nftables.TypeIFName, nftables.TypeEtherAddr, nftables.TypeIPAddr, nftables.TypeIP6Addr, nftables.TypeEtherType} {
		if d.Name == t.Name {
			return d, nil
		}
	}
	return nftables.SetDatatype{}, fmt.Errorf("%s is no type of a set", t.Name)
}

func meta(name string, k expr.MetaKey, t Type) Field {
	return Field{name, t, func(r uint32) expr.Any { return &expr.Meta{Key: k, Register: r} }}
}

func payload(name string, base expr.PayloadBase, offset uint32, t Type) Field {
	return Field{name, t, func(r uint32) expr.Any {
		return &expr.Payload{DestRegister: r, Base: base, Offset: offset, Len: uint32(t.Size)}
	}}
}

// IIfName and OIfName are the devices that a frame comes and goes by; IBrName and OBrName the bridges that these are in.
func IIfName() Field { return meta("iifname", expr.MetaKeyIIFNAME, ifname()) }

// OIfName see IIfName.
func OIfName() Field { return meta("oifname", expr.MetaKeyOIFNAME, ifname()) }

// IBrName see IIfName.
func IBrName() Field { return meta("ibrname", expr.MetaKeyBRIIIFNAME, ifname()) }

// OBrName see IIfName.
func OBrName() Field { return meta("obrname", expr.MetaKeyBRIOIFNAME, ifname()) }

// EtherSource is the frame's source.
func EtherSource() Field {
	return payload("ether saddr", expr.PayloadBaseLLHeader, 6, ether())
}

// EtherTarget is the frame's destination.
func EtherTarget() Field {
	return payload("ether daddr", expr.PayloadBaseLLHeader, 0, ether())
}

// EtherType is the frame's outermost ethertype: of a frame with a VLAN tag that of the tag.
func EtherType() Field { return payload("ether type", expr.PayloadBaseLLHeader, 12, ethertype()) }

// Protocol is what the frame carries, behind one VLAN tag.
func Protocol() Field { return meta("protocol", expr.MetaKeyPROTOCOL, ethertype()) }

// IPSource, IPTarget, IP6Source and IP6Target are the packet's addresses. They read a packet's bytes whatever it is: match Protocol first.
func IPSource() Field { return payload("ip saddr", expr.PayloadBaseNetworkHeader, 12, ipv4()) }

// IPTarget see IPSource.
func IPTarget() Field { return payload("ip daddr", expr.PayloadBaseNetworkHeader, 16, ipv4()) }

// IP6Source see IPSource.
func IP6Source() Field { return payload("ip6 saddr", expr.PayloadBaseNetworkHeader, 8, ipv6()) }

// IP6Target see IPSource.
func IP6Target() Field { return payload("ip6 daddr", expr.PayloadBaseNetworkHeader, 24, ipv6()) }

// IP6Length is the number of bytes after the IPv6 header.
func IP6Length() Field {
	return payload("ip6 length", expr.PayloadBaseNetworkHeader, 4, number("integer", 2))
}

// ARPHead is what an ARP packet begins with: kinds and lengths of its addresses.
func ARPHead() Field { return payload("arp head", expr.PayloadBaseNetworkHeader, 0, raw(6)) }

// ARPOperation is 1 for a request, 2 for a reply.
func ARPOperation() Field {
	return payload("arp operation", expr.PayloadBaseNetworkHeader, 6, number("integer", 2))
}

// ARPSenderMAC and ARPSenderIP are whom an ARP packet says that it is from.
func ARPSenderMAC() Field {
	return payload("arp saddr ether", expr.PayloadBaseNetworkHeader, 8, ether())
}

// ARPSenderIP see ARPSenderMAC.
func ARPSenderIP() Field { return payload("arp saddr ip", expr.PayloadBaseNetworkHeader, 14, ipv4()) }

// ARPTargetIP is whom an ARP packet asks for.
func ARPTargetIP() Field { return payload("arp daddr ip", expr.PayloadBaseNetworkHeader, 24, ipv4()) }

// L4Protocol is the protocol above IP, behind IPv6's extension headers.
func L4Protocol() Field { return meta("l4proto", expr.MetaKeyL4PROTO, number("inet_proto", 1)) }

// SourcePort and TargetPort are those of TCP, UDP, SCTP, DCCP and UDP-Lite.
func SourcePort() Field {
	return payload("th sport", expr.PayloadBaseTransportHeader, 0, number("inet_service", 2))
}

// TargetPort see SourcePort.
func TargetPort() Field {
	return payload("th dport", expr.PayloadBaseTransportHeader, 2, number("inet_service", 2))
}

// ICMPType and ICMPCode are those of ICMP and ICMPv6.
func ICMPType() Field {
	return payload("icmp type", expr.PayloadBaseTransportHeader, 0, number("icmp_type", 1))
}

// ICMPCode see ICMPType.
func ICMPCode() Field {
	return payload("icmp code", expr.PayloadBaseTransportHeader, 1, number("icmp_code", 1))
}

// NDTarget is the address that a neighbour solicitation or advertisement is about.
func NDTarget() Field { return payload("nd target", expr.PayloadBaseTransportHeader, 8, ipv6()) }

// NDOption is the kind of the option at an offset in an ICMPv6 message.
func NDOption(offset uint32) Field {
	return payload(fmt.Sprintf("nd @%d option", offset), expr.PayloadBaseTransportHeader, offset, number("integer", 1))
}

// NDOptionMAC is the MAC in the link-layer option at an offset.
func NDOptionMAC(offset uint32) Field {
	return payload(fmt.Sprintf("nd @%d ether", offset), expr.PayloadBaseTransportHeader, offset+2, ether())
}

// Name is a device's name as the kernel compares it.
func Name(s string) []byte {
	b := make([]byte, 16)
	copy(b[:15], s)
	return b
}

// Num2 is a number of two bytes in the network's order.
func Num2(n int) []byte { return binary.BigEndian.AppendUint16(nil, uint16(n)) }

// Num1 is a number of one byte.
func Num1(n int) []byte { return []byte{byte(n)} }
