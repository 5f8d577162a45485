package nft

import (
	"fmt"
	"math"

	"github.com/google/nftables/expr"
)

// BeyondBytes matches what comes faster than a rate, in bytes a second, for longer than a bucket of bytes lets it. The kernel's bucket holds
// a second's traffic at least.
func BeyondBytes(rate, bucket uint64) Term {
	burst := uint32(min(bucket-min(bucket, rate), math.MaxUint32))
	return Term{fmt.Sprintf("limit rate over %d bytes/second burst %d bytes", rate, burst),
		[]expr.Any{&expr.Limit{Type: expr.LimitTypePktBytes, Rate: rate, Unit: expr.LimitTimeSecond, Burst: burst, Over: true}}}
}

// BeyondPackets matches what comes faster than a rate, in packets a second, for longer than a bucket of packets, not 0, lets it.
func BeyondPackets(rate uint64, bucket uint32) Term {
	return Term{fmt.Sprintf("limit rate over %d/second burst %d packets", rate, bucket),
		[]expr.Any{&expr.Limit{Type: expr.LimitTypePkts, Rate: rate, Unit: expr.LimitTimeSecond, Burst: bucket, Over: true}}}
}

// MarkIP sets the DSCP, of 6 bits, of a packet of IPv4; what is none must have been sorted out before.
func MarkIP(dscp uint8) Term {
	return mark(fmt.Sprintf("ip dscp set %d", dscp), uint16(dscp)<<2, 0x00fc, func(p *expr.Payload) {
		p.CsumType, p.CsumOffset = expr.CsumTypeInet, 10
	})
}

// MarkIP6 sets the DSCP of a packet of IPv6.
func MarkIP6(dscp uint8) Term {
	return mark(fmt.Sprintf("ip6 dscp set %d", dscp), uint16(dscp)<<6, 0x0fc0, func(*expr.Payload) {})
}

// mark writes bits of the first two bytes of the network header, those of mask.
func mark(text string, bits, mask uint16, sum func(*expr.Payload)) Term {
	write := &expr.Payload{OperationType: expr.PayloadWrite, SourceRegister: register(0), Base: expr.PayloadBaseNetworkHeader, Len: 2}
	sum(write)
	return Term{text, []expr.Any{
		&expr.Payload{OperationType: expr.PayloadLoad, DestRegister: register(0), Base: expr.PayloadBaseNetworkHeader, Len: 2},
		&expr.Bitwise{SourceRegister: register(0), DestRegister: register(0), Len: 2, Mask: Num2(int(^mask)), Xor: Num2(int(bits))},
		write,
	}}
}
