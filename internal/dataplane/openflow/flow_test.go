package openflow

import (
	"net"
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func mac(s string) net.HardwareAddr {
	m, err := net.ParseMAC(s)
	if err != nil {
		panic(err)
	}
	return m
}

// sample is a value of a kind of match or action that the tests put through every transport.
type sample struct {
	name string
	flow Flow
	text string // canonical, without table and priority
}

func matches() []sample {
	m := func(name, text string, match Match) sample {
		return sample{name, Flow{Table: 1, Match: match}, text}
	}
	v4, v6 := netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("2001:db8::7")
	p4, p6 := netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("2001:db8:1::/48")
	a := mac("fa:16:3e:00:00:01")
	return []sample{
		m("everything", "", nil),
		m("in_port", "in_port=3", Any(InPort.Is(3))),
		m("in_port local", "in_port=LOCAL", Any(InPort.Is(PortLocal))),
		m("dl_src", "dl_src=fa:16:3e:00:00:01", Any(EthSrc.Is(a))),
		m("dl_dst masked", "dl_dst=01:00:00:00:00:00/01:00:00:00:00:00", Any(EthDst.IsGroup())),
		m("dl_dst unicast", "dl_dst=00:00:00:00:00:00/01:00:00:00:00:00", Any(EthDst.IsUnicast())),
		m("dl_type", "dl_type=0x88cc", Any(EthType.Is(0x88cc))),
		m("vlan", "dl_vlan=5", Any(VLAN(5))),
		m("vlan 0", "dl_vlan=0", Any(VLAN(0))),
		m("tagged", "vlan_vid=0x1000/0x1000", Any(Tagged())),
		m("untagged", "vlan_tci=0x0000/0x1fff", Any(Untagged())),
		m("vlan_tci", "vlan_tci=0x1005/0x1fff", Any(VLANTCI.Masked(0x1005, 0x1fff))),
		m("vlan_pcp", "dl_vlan=7,vlan_pcp=3", Any(VLANPCP.Is(3), VLAN(7))),
		m("arp", "arp,arp_op=1,arp_spa=192.0.2.7,arp_tpa=198.51.100.0/24,arp_sha=fa:16:3e:00:00:01,arp_tha=fa:16:3e:00:00:01",
			ARP(ARPTHA.Is(a), ARPSHA.Is(a), ARPOp.Is(1), ARPSPA.Is(v4), ARPTPA.In(p4))),
		m("rarp", "rarp", ofType(TypeRARP, nil)),
		m("ip", "ip,nw_src=192.0.2.7,nw_dst=198.51.100.0/24", IPv4(IPv4Dst.In(p4), IPv4Src.Is(v4))),
		m("ip any", "ip,nw_src=0.0.0.0/0", IPv4(IPv4Src.In(netip.MustParsePrefix("0.0.0.0/0")))),
		m("ip proto", "ip,nw_proto=47", IPv4(IPProto.Is(47))),
		m("dscp", "ip,ip_dscp=46,ip_ecn=1,nw_ttl=64", IPv4(IPDSCP.Is(46), IPECN.Is(1), IPTTL.Is(64))),
		m("fragments", "ip,ip_frag=later", IPv4(IPFrag.Masked(3, 3))),
		m("no fragment", "ip,ip_frag=not_later", IPv4(IPFrag.Masked(0, 2))),
		m("ipv6", "ipv6,ipv6_src=2001:db8::7,ipv6_dst=2001:db8:1::/48", IPv6(IPv6Src.Is(v6), IPv6Dst.In(p6))),
		m("tcp", "tcp,tcp_src=1024,tcp_dst=0x50/0xfff0", TCP(TCPDst.Masked(0x50, 0xfff0), TCPSrc.Is(1024))),
		m("tcp flags", "tcp,tcp_flags=0x2/0x12", TCP(TCPFlags.Masked(2, 0x12))),
		m("udp", "udp,udp_src=0x400/0xfc00,udp_dst=53", UDP(UDPSrc.Masked(0x400, 0xfc00), UDPDst.Is(53))),
		m("sctp", "sctp,sctp_src=5,sctp_dst=6", SCTP(SCTPSrc.Is(5), SCTPDst.Is(6))),
		m("tcp6", "tcp6,tcp_dst=80", TCP6(TCPDst.Is(80))),
		m("udp6", "udp6,udp_dst=547", UDP6(UDPDst.Is(547))),
		m("sctp6", "sctp6,sctp_dst=6", SCTP6(SCTPDst.Is(6))),
		m("icmp", "icmp,icmp_type=8,icmp_code=0", ICMP(ICMPType.Is(8), ICMPCode.Is(0))),
		m("icmp6", "icmp6,icmpv6_type=130,icmpv6_code=0", ICMPv6(ICMPv6Type.Is(130), ICMPv6Code.Is(0))),
		m("solicit", "icmp6,icmpv6_type=135,icmpv6_code=0,nd_target=2001:db8::7,nd_sll=fa:16:3e:00:00:01",
			NeighbourSolicit(NDTarget.Is(v6), NDSLL.Is(a))),
		m("advert", "icmp6,icmpv6_type=136,icmpv6_code=0,nd_target=2001:db8:1::/48,nd_tll=fa:16:3e:00:00:01",
			NeighbourAdvert(NDTarget.In(p6), NDTLL.Is(a))),
		m("tunnel", "tun_id=0x4d2,tun_src=192.0.2.7,tun_dst=198.51.100.0/24", Any(TunID.Is(1234), TunSrc.Is(v4), TunDst.In(p4))),
		m("tunnel v6", "tun_ipv6_src=2001:db8::7,tun_ipv6_dst=2001:db8::7", Any(TunIPv6Src.Is(v6), TunIPv6Dst.Is(v6))),
		m("metadata", "metadata=0x12/0xff", Any(Metadata.Masked(0xff12, 0xff))),
		m("metadata whole", "metadata=0xffffffffffffffff", Any(Metadata.Is(^uint64(0)))),
		m("registers", "reg0=0x1,reg5=0x10/0xf0,reg15=0xffffffff", Any(Reg15.Is(0xffffffff), Reg0.Is(1), Reg5.Masked(0x10, 0xf0))),
		m("ct_state", "ip,ct_state=+new-est+trk", IPv4(CTState.Masked(CTNew|CTTracked, CTNew|CTEst|CTTracked))),
		m("ct all", "ip,ct_state=-new+est-rel+rpl-inv+trk-snat-dnat,ct_zone=7,ct_mark=0x1/0x3",
			IPv4(CTState.Masked(CTEst|CTReply|CTTracked, 0xff), CTZone.Is(7), CTMark.Masked(1, 3))),
		m("conj_id", "ip,conj_id=7", IPv4(ConjID.Is(7))),
		m("pkt_mark", "pkt_mark=0x9", Any(PktMark.Is(9))),
	}
}

func actions() []sample {
	a := func(name, text string, match Match, as ...Action) sample {
		return sample{name, Flow{Table: 1, Match: match, Actions: as}, text}
	}
	v4, v6 := netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("2001:db8::7")
	to4, to6 := netip.MustParseAddr("192.0.2.9"), netip.MustParseAddr("2001:db8::9")
	m := mac("fa:16:3e:00:00:01")
	zone := Reg6.Bits(0, 15)
	return []sample{
		a("drop", "drop", nil, Drop()...),
		a("output", "output:1,output:2,LOCAL", nil, append(OutputEach(1, 2), Output(PortLocal))...),
		a("in port", "IN_PORT", nil, Output(PortIn)),
		a("normal", "NORMAL", nil, Output(PortNormal)),
		a("output to", "output:reg7[],output:reg7[0..15]", nil, OutputTo(Reg7.Whole()), OutputTo(Reg7.Bits(0, 15))),
		a("resubmit", "resubmit(,2),resubmit(,60)", nil, Resubmit(2), Resubmit(60)),
		a("resubmit ct", "resubmit(,2,ct)", IPv4(CTState.Masked(CTEst|CTTracked, CTEst|CTTracked)), ResubmitReply(2)),
		a("goto", "set_field:0x1->reg0,goto_table:9", nil, Reg0.Set(1), Goto(9)),
		a("load", "load:0x5->reg0[],load:0x1->reg1[3],load:0x2->reg2[4..7],load:0x7->metadata[32..63]", nil,
			Load(Reg0.Whole(), 5), Load(Reg1.Bits(3, 3), 1), Load(Reg2.Bits(4, 7), 2), Load(Metadata.Bits(32, 63), 7)),
		a("move", "move:reg0[]->reg1[],move:reg6[0..15]->reg7[16..31],move:tun_id[0..31]->reg3[]", nil,
			Move(Reg0.Whole(), Reg1.Whole()), Move(Reg6.Bits(0, 15), Reg7.Bits(16, 31)), Move(TunID.Bits(0, 31), Reg3.Whole())),
		a("set ethernet", "set_field:fa:16:3e:00:00:01->dl_src,set_field:fa:16:3e:00:00:01->dl_dst", nil, EthSrc.Set(m), EthDst.Set(m)),
		a("set metadata", "set_field:0x7->metadata,set_field:0x10/0xf0->reg4,set_field:0x3->pkt_mark", nil,
			Metadata.Set(7), Reg4.SetMasked(0x10, 0xf0), PktMark.Set(3)),
		a("set in_port", "set_field:0->in_port,output:3", nil, InPort.Set(PortNone), Output(3)),
		a("set ip", "set_field:192.0.2.7->nw_src,set_field:192.0.2.7->nw_dst,set_field:46->ip_dscp,set_field:64->nw_ttl", IPv4(),
			IPv4Src.Set(v4), IPv4Dst.Set(v4), IPDSCP.Set(46), IPTTL.Set(64)),
		a("set ipv6", "set_field:2001:db8::7->ipv6_src,set_field:2001:db8::7->ipv6_dst,dec_ttl", IPv6(), IPv6Src.Set(v6), IPv6Dst.Set(v6), DecTTL()),
		a("set tcp", "set_field:80->tcp_src,set_field:81->tcp_dst", TCP(), TCPSrc.Set(80), TCPDst.Set(81)),
		a("set udp", "set_field:80->udp_src,set_field:81->udp_dst", UDP6(), UDPSrc.Set(80), UDPDst.Set(81)),
		a("tag", "push_vlan:0x8100,set_field:4101->vlan_vid,output:2", nil, append(TagVLAN(5), Output(2))...),
		a("tag twice", "push_vlan:0x88a8,set_field:4101->vlan_vid,output:2", Any(VLAN(9)), PushVLAN(TypeQinQ), SetVLAN(5), Output(2)),
		a("retag", "set_field:4105->vlan_vid,set_field:3->vlan_pcp,output:2", Any(VLAN(5)), SetVLAN(9), VLANPCP.Set(3), Output(2)),
		a("untag", "pop_vlan,output:2", Any(VLAN(5)), PopVLAN(), Output(2)),
		a("tunnel", "set_field:0x4d2->tun_id,set_field:192.0.2.7->tun_dst,output:2,set_field:2001:db8::7->tun_ipv6_dst,output:2", nil,
			SetTunnel(1234), TunDst.Set(v4), Output(2), TunIPv6Dst.Set(v6), Output(2)),
		a("ct", "ct(table=3,zone=7)", IPv4(), CTNext(7, 3)),
		a("ct zone from", "ct(table=3,zone=reg6[0..15])", IPv6(), CTNextFrom(zone, 3)),
		a("ct commit", "ct(commit,zone=reg6[0..15],exec(set_field:0x1->ct_mark))", IPv4(),
			CT{Commit: true, ZoneFrom: &zone, Exec: Do(CTMark.Set(1))}),
		a("ct force", "ct(commit,force,table=4,zone=5,exec(set_field:0x1/0x3->ct_mark))", IPv4(),
			CT{Commit: true, Force: true, Zone: 5, Table: 4, HasTable: true, Exec: Do(CTMark.SetMasked(1, 3))}),
		a("ct nat", "ct(commit,zone=5,nat(src=192.0.2.7-192.0.2.9:1024-2048)),ct_clear", TCP(),
			CT{Commit: true, Zone: 5, NAT: &NAT{Source: true, Min: v4, Max: to4, PortMin: 1024, PortMax: 2048}}, CTClear()),
		a("ct nat dst", "ct(commit,table=4,zone=5,nat(dst=192.0.2.7))", IPv4(),
			CT{Commit: true, Zone: 5, Table: 4, HasTable: true, NAT: &NAT{Min: v4}}),
		a("ct nat v6", "ct(commit,nat(src=2001:db8::7-2001:db8::9)),ct(commit,nat(src=[2001:db8::7]:80))", TCP6(),
			CT{Commit: true, NAT: &NAT{Source: true, Min: v6, Max: to6}}, CT{Commit: true, NAT: &NAT{Source: true, Min: v6, PortMin: 80}}),
		a("ct nat apply", "ct(table=4,zone=5,nat)", IPv4(), CT{Zone: 5, Table: 4, HasTable: true, NAT: &NAT{}}),
		a("conjunction", "conjunction(7,1/2),conjunction(8,2/3)", IPv4(), Conjunction(7, 1, 2), Conjunction(8, 2, 3)),
		a("group", "group:5", nil, ToGroup(5)),
		a("meter", "meter:6,output:1", nil, Metered(6), Output(1)),
		a("meter goto", "meter:6,goto_table:7", nil, Metered(6), Goto(7)),
		a("controller", "controller(id=9,userdata=01.ff,meter_id=6),resubmit(,2)", nil,
			ToController(Controller{ID: 9, UserData: []byte{1, 255}, Meter: 6}), Resubmit(2)),
		a("controller alone", "controller(id=9)", nil, ToController(Controller{ID: 9})),
		a("queue", "set_queue:3,output:1", nil, SetQueue(3), Output(1)),
		a("note", "note:01.02.ff,output:1", nil, Note([]byte{1, 2, 255}), Output(1)),
		a("clone", "clone(set_field:0x1->reg0,output:1),output:2", nil, Clone(Reg0.Set(1), Output(1)), Output(2)),
		a("clear actions", "output:1,clear_actions,goto_table:7", nil, Output(1), ClearActions(), Goto(7)),
		a("arp reply", "move:dl_src[]->dl_dst[],set_field:fa:16:3e:00:00:01->dl_src,set_field:2->arp_op,move:arp_sha[]->arp_tha[],"+
			"move:arp_spa[]->arp_tpa[],set_field:fa:16:3e:00:00:01->arp_sha,set_field:192.0.2.7->arp_spa,resubmit(,8)",
			ARPRequest(v4), ARPReply(m, v4, 8)...),
		a("nd reply", "move:dl_src[]->dl_dst[],move:ipv6_src[]->ipv6_dst[],set_field:fa:16:3e:00:00:01->dl_src,set_field:2001:db8::7->ipv6_src,"+
			"set_field:136->icmpv6_type,set_field:0x60000000->nd_reserved,set_field:0x2->nd_options_type,resubmit(,9)",
			NDSolicit(v6), NDReply(m, v6, NDOverride, 9)...),
		a("nd probe reply", "set_field:33:33:00:00:00:01->dl_dst,set_field:ff02::1->ipv6_dst,set_field:fa:16:3e:00:00:01->dl_src,set_field:2001:db8::7->ipv6_src,"+
			"set_field:136->icmpv6_type,set_field:0x20000000->nd_reserved,set_field:0x2->nd_options_type,resubmit(,9)",
			NDProbe(v6), NDProbeReply(m, v6, NDOverride, 9)...),
		a("nd advert", "move:dl_src[]->nd_tll[],resubmit(,8)", NDAdvert(9, 8).Match, NDAdvert(9, 8).Actions...),
	}
}

func TestMatchText(t *testing.T) {
	for _, s := range matches() {
		t.Run(s.name, func(t *testing.T) {
			if got := s.flow.Match.String(); got != s.text {
				t.Errorf("text is %q, want %q", got, s.text)
			}
			if err := s.flow.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestActionText(t *testing.T) {
	for _, s := range actions() {
		t.Run(s.name, func(t *testing.T) {
			if got := string(s.flow.appendActions(nil, nil)); got != s.text {
				t.Errorf("text is %q, want %q", got, s.text)
			}
			if err := s.flow.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRange(t *testing.T) {
	for _, c := range []struct {
		lo, hi uint64
		want   string
	}{
		{80, 80, "tcp_dst=80"},
		{0, 65535, "tcp_dst=0x0/0x0"},
		{1000, 1999, "tcp_dst=0x3e8/0xfff8 tcp_dst=0x3f0/0xfff0 tcp_dst=0x400/0xfe00 tcp_dst=0x600/0xff00 " +
			"tcp_dst=0x700/0xff80 tcp_dst=0x780/0xffc0 tcp_dst=0x7c0/0xfff0"},
		{65535, 65535, "tcp_dst=65535"},
		{2, 1, ""},
	} {
		var got []string
		for _, term := range TCPDst.Range(c.lo, c.hi) {
			got = append(got, string(term.appendText(nil)))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%d to %d is %q, want %q", c.lo, c.hi, s, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.Uint16().Draw(t, "lo")
		hi := rapid.Uint16Min(lo).Draw(t, "hi")
		terms := UDPSrc.Range(uint64(lo), uint64(hi))
		v := uint64(rapid.Uint16().Draw(t, "v"))
		n := 0
		for _, term := range terms {
			if v&term.mask.lo == term.value.lo {
				n++
			}
		}
		if in := v >= uint64(lo) && v <= uint64(hi); in != (n == 1) || n > 1 || len(terms) > 30 {
			t.Errorf("%d of %d terms match %d", n, len(terms), v)
		}
	})
}

func TestCheckRefuses(t *testing.T) {
	v4, v6 := netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("2001:db8::7")
	flow := func(m Match, as ...Action) Flow { return Flow{Table: 5, Match: m, Actions: as} }
	for _, c := range []struct {
		name string
		flow Flow
		want string
	}{
		{"family", flow(IPv4(IPv4Src.Is(v6))), "no IPv4 address"},
		{"family of prefix", flow(IPv6(IPv6Src.In(netip.PrefixFrom(v4, 24)))), "no IPv6 prefix"},
		{"prerequisite", flow(Any(TCPDst.Is(80))), "lacks the protocol"},
		{"other prerequisite", flow(UDP(TCPDst.Is(80))), "lacks the protocol"},
		{"nd without type", flow(ICMPv6(NDTarget.Is(v6))), "lacks the protocol"},
		{"twice", flow(Any(Reg0.Is(1), Reg0.Is(2))), "matched twice"},
		{"too wide", flow(Any(CTZone.Is(1 << 16))), "more than 16 bits"},
		{"not maskable", flow(Any(CTZone.Masked(1, 3))), "cannot be masked"},
		{"ct_state exact", flow(Any(CTState.Is(0x21))), "with a mask"},
		{"short mac", flow(Any(EthSrc.Is(net.HardwareAddr{1}))), "6 bytes"},
		{"vlan", flow(Any(VLAN(4096))), "no VLAN"},
		{"goto back", flow(nil, Goto(5)), "leads back"},
		{"goto early", flow(nil, Goto(6), Output(1)), "not the last"},
		{"meter late", flow(nil, Output(1), Metered(1)), "not the first"},
		{"conjunction beside output", flow(IPv4(), Conjunction(1, 1, 2), Output(1)), "beside another"},
		{"conjunction clause", flow(IPv4(), Conjunction(1, 3, 2)), "no clause"},
		{"move widths", flow(nil, Move(Reg0.Whole(), Metadata.Whole())), "32 bits into 64"},
		{"no such bits", flow(nil, Load(Reg0.Bits(30, 33), 1)), "no bits"},
		{"load too wide", flow(nil, Load(Reg0.Bits(0, 3), 16)), "more than 4 bits"},
		{"exec without commit", flow(IPv4(), CT{Exec: Do(CTMark.Set(1))}), "without commit"},
		{"ct without IP", flow(nil, CTNext(7, 6)), "lacks IPv4"},
		{"ct in a copy without IP", flow(ARP(), Clone(CT{Commit: true})), "lacks IPv4"},
		{"nil action", flow(nil, nil), "nil"},
		{"table of all", Flow{Table: 255}, "all tables"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.flow.Check()
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Check says %v, want something of %q", err, c.want)
			}
		})
	}
}

func TestKey(t *testing.T) {
	tag := TagOf("l2")
	if tag == TagOf("l3") || tag == 0 {
		t.Errorf("tags of two owners are %#x and %#x", tag, TagOf("l3"))
	}
	f := Flow{Table: 1, Priority: 5, Match: IPv4(Reg0.Is(1)), Actions: Do(Output(1))}
	k := tag.Key(f)
	if !tag.Owns(k.Cookie) || k.Table != 1 || k.Priority != 5 {
		t.Errorf("key %s of tag %#x", k, tag)
	}
	turned := f
	turned.Match = Any(Reg0.Is(1), EthType.Is(TypeIPv4))
	if tag.Key(turned) != k {
		t.Error("the order of terms changes the key")
	}
	for name, other := range map[string]Flow{
		"table":    {Table: 2, Priority: 5, Match: f.Match, Actions: f.Actions},
		"priority": {Table: 1, Priority: 6, Match: f.Match, Actions: f.Actions},
		"match":    {Table: 1, Priority: 5, Match: IPv4(Reg0.Is(2)), Actions: f.Actions},
		"actions":  {Table: 1, Priority: 5, Match: f.Match, Actions: Do(Output(2))},
	} {
		if tag.Key(other).Cookie == k.Cookie {
			t.Errorf("another %s, the same cookie", name)
		}
	}
	if len(tag.Want(f, turned)) != 1 {
		t.Error("equal flows have two keys")
	}
}

func TestPipeline(t *testing.T) {
	p := Pipeline{Bridge: "br-int", Doc: "Integration bridge.", Tables: []Table{
		{ID: 0, Name: "CLASSIFY", Doc: "By port.", Miss: Do(Resubmit(60))},
		{ID: 60, Name: "FORWARD", Doc: "By address | flood."},
		{ID: 20, Name: "LATE", Doc: "Met after FORWARD."},
	}}
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	fs := append(p.Misses(),
		Flow{Table: 60, Priority: 9, Match: Any(Reg0.Is(1)), Actions: Do(CTNext(3, 20))},
		Flow{Table: 7, Priority: 1, Match: Any(Reg0.Is(1)), Actions: Do(Output(1))},
		Flow{Table: 0, Priority: 3, Match: Any(InPort.Is(1)), Actions: Do(Goto(60))})
	want := `table 0 CLASSIFY
  3 in_port=1 -> goto_table:FORWARD
  0 * -> resubmit(,FORWARD)
table 60 FORWARD
  9 reg0=0x1 -> ct(table=LATE,zone=3)
  0 * -> drop
table 20 LATE
  0 * -> drop
table 7
  1 reg0=0x1 -> output:1
`
	if got := p.Golden(fs); got != want {
		t.Errorf("golden text is\n%swant\n%s", got, want)
	}
	if md := Markdown(p); !strings.Contains(md, "| 60 | `FORWARD` | By address \\| flood. | `drop` |\n") ||
		!strings.Contains(md, "| 0 | `CLASSIFY` | By port. | `resubmit(,FORWARD)` |\n") {
		t.Errorf("reference page is\n%s", md)
	}
	p.Tables[1].ID = 0
	if err := p.Check(); err == nil {
		t.Error("two tables 0 pass")
	}
}

func TestConflicts(t *testing.T) {
	a := Flow{Table: 1, Match: IPv4(Reg0.Is(1)), Actions: Do(Output(1))}
	b := Flow{Table: 1, Match: Any(Reg0.Is(1), EthType.Is(TypeIPv4)), Actions: Do(Output(2))}
	if err := Conflicts([]Flow{a, a}); err != nil {
		t.Errorf("a flow conflicts with itself: %v", err)
	}
	if err := Conflicts([]Flow{a, b}); err == nil {
		t.Error("two flows in one place are no conflict")
	}
}
