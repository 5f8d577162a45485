package sgnft

import (
	"isospin/internal/dataplane/nft"
)

// Sets and maps that are there whatever ports are: who has which device, MAC and address.
const (
	setOpen      = "open"      // devices that are not filtered
	setMACs      = "macs"      // device, MAC
	setTagged    = "tagged"    // devices that may send VLAN tags
	setID4       = "ids4"      // device, MAC, address
	setID6       = "ids6"      //
	setNet4      = "nets4"     // device, MAC, prefix
	setNet6      = "nets6"     //
	setTracked   = "tracked"   // bridge, MAC: their connections are judged
	setUntracked = "untracked" // bridge, MAC: theirs are not
	mapZones     = "zones"     // bridge: the conntrack zone of its network
	mapOut       = "senders"   // device: what judges what comes from it
	mapIn        = "receivers" // device: what judges what goes to it
)

// Chains that are the same for all ports.
const (
	chainSpoof  = "own"        // what a guest sends has addresses of its own
	chainSpoof4 = "own-ip"     //
	chainSpoof6 = "own-ip6"    //
	chainARP    = "own-arp"    //
	chainRARP   = "own-rarp"   //
	chainTrack  = "track"      //
	chainZone   = "zone"       //
	chainOut    = "out-always" // what ports may always send, and never
	chainOut6   = "out-ip6"    //
	chainAsk    = "nd-solicit" //
	chainTell   = "nd-advert"  //
	chainRouter = "nd-router"  //
	chainIn     = "in-always"  // what ports always get
	chainIn6    = "in-ip6"     //
)

func devices() nft.Layout  { return nft.LayoutOf(nft.IIfName()) }
func verdicts() nft.Layout { return devices().To(nft.Verdicts) }
func zones() nft.Layout    { return nft.LayoutOf(nft.IBrName()).To(nft.Numbers) }
func hardware() nft.Layout { return nft.LayoutOf(nft.IIfName(), nft.EtherSource()) }
func identity4() nft.Layout {
	return nft.LayoutOf(nft.IIfName(), nft.EtherSource(), nft.IPSource())
}
func identity6() nft.Layout {
	return nft.LayoutOf(nft.IIfName(), nft.EtherSource(), nft.IP6Source())
}

// What frames carry.
const (
	protoIP, protoIP6, protoARP, protoRARP = 0x0800, 0x86dd, 0x0806, 0x8035
	tagInner, tagOuter                     = 0x8100, 0x88a8
)

// Types of ICMPv6, protocols and ports that are looked at.
const (
	mldQuery, routerSolicit, routerAdvert, redirect  = 130, 133, 134, 137
	neighbourSolicit, neighbourAdvert, mldReport2    = 135, 136, 143
	dhcpServer, dhcpClient, dhcp6Client, dhcp6Server = 67, 68, 546, 547
	udp, icmp6                                       = 17, 58
)

// What comes from devices of ports, and what goes to them: tap and what begins an id, on a bridge of a network. Kernels that know no bridges' names are
// those that track nothing.
const devicePattern, deviceName, bridgeName = "tap........-..", "tap", "brq"

func fromPort(c Config) []nft.Term {
	if !c.Tracks {
		return []nft.Term{nft.IIfName().Like(devicePattern)}
	}
	return []nft.Term{nft.IIfName().Is([]byte(deviceName)), nft.IBrName().Is([]byte(bridgeName))}
}

func toPort(c Config) []nft.Term {
	if !c.Tracks {
		return []nft.Term{nft.OIfName().Like(devicePattern)}
	}
	return []nft.Term{nft.OIfName().Is([]byte(deviceName)), nft.OBrName().Is([]byte(bridgeName))}
}

// The places of our chains on a frame's way: before the kernel looks for its connection (-200), after that, and when it leaves the bridge.
const (
	beforeTracking = -300
	afterTracking  = -150
	leaving        = 0
)

// standing is what no document has a part in.
func standing(c Config) map[nft.Key]nft.Object {
	o := objects{}
	for name, l := range map[string]nft.Layout{
		setOpen: devices(), setMACs: hardware(), setTagged: devices(), setID4: identity4(), setID6: identity6(), setNet4: identity4().Ranges(), setNet6: identity6().Ranges(),
		mapOut: verdicts(), mapIn: verdicts(),
	} {
		o[nft.SetKey(name)] = nft.Object{Layout: l}
	}
	o.entry(c)
	o.own(c)
	o.tracking(c)
	o.send(c)
	o.neighbours()
	o.get(c)
	return o
}

// is matches what a frame carries.
func is(protocol int) nft.Term { return nft.Protocol().Is(nft.Num2(protocol)) }

func (o objects) hook(name string, at nft.Point, priority int32, rules ...nft.Rule) {
	o[nft.ChainKey(name)] = nft.Object{Hook: &nft.Hook{Point: at, Priority: priority}, Rules: rules}
}

// entry are the chains that frames come to. What comes from a device of a port that the table does not know, or not with that MAC, is dropped; what
// comes from others is the fabric's.
func (o objects) entry(c Config) {
	o.hook("entry", nft.Prerouting, beforeTracking,
		nft.Do(nft.Goto(chainSpoof), nft.In(setMACs, nft.IIfName(), nft.EtherSource())),
		nft.Do(nft.Goto(chainTrack), nft.In(setOpen, nft.IIfName())),
		nft.Do(nft.Drop(), fromPort(c)...),
		nft.Do(nft.Goto(chainTrack)))
	o.hook("sent", nft.Prerouting, afterTracking,
		nft.Do(nft.Verdict{}, nft.Vmap(mapOut, nft.IIfName())),
		nft.Do(nft.Drop(), fromPort(c)...))
	o.hook("received", nft.Postrouting, leaving,
		nft.Do(nft.Verdict{}, nft.Vmap(mapIn, nft.OIfName())),
		nft.Do(nft.Drop(), toPort(c)...))
}

// own keeps guests to their addresses, before anything is tracked (neutron/plugins/ml2/drivers/linuxbridge/agent/arp_protect.py and
// neutron/agent/linux/iptables_firewall.py say which; ARP's and neighbour discovery's hardware addresses besides).
func (o objects) own(c Config) {
	pass := nft.Goto(chainTrack)
	rules := []nft.Rule{
		nft.Do(nft.Drop(), nft.EtherType().Is(nft.Num2(tagInner)), nft.NotIn(setTagged, nft.IIfName())),
		nft.Do(nft.Drop(), nft.EtherType().Is(nft.Num2(tagOuter)), nft.NotIn(setTagged, nft.IIfName())),
		nft.Do(nft.Goto(chainSpoof4), is(protoIP)),
		nft.Do(nft.Goto(chainSpoof6), is(protoIP6)),
		nft.Do(nft.Goto(chainARP), is(protoARP)),
		nft.Do(nft.Goto(chainRARP), is(protoRARP)),
	}
	for _, kind := range c.Ethertypes {
		rules = append(rules, nft.Do(pass, is(int(kind))))
	}
	o.chain(chainSpoof, append(rules, nft.Do(nft.Drop()))...)
	o.chain(chainSpoof4,
		nft.Do(pass, nft.In(setID4, nft.IIfName(), nft.EtherSource(), nft.IPSource())),
		nft.Do(pass, nft.In(setNet4, nft.IIfName(), nft.EtherSource(), nft.IPSource())),
		nft.Do(pass, nft.IPSource().Is(make([]byte, 4)), nft.L4Protocol().Is(nft.Num1(udp)), nft.SourcePort().Is(nft.Num2(dhcpClient)), nft.TargetPort().Is(nft.Num2(dhcpServer))),
		nft.Do(nft.Drop()))
	o.chain(chainSpoof6,
		nft.Do(pass, nft.In(setID6, nft.IIfName(), nft.EtherSource(), nft.IP6Source())),
		nft.Do(pass, nft.In(setNet6, nft.IIfName(), nft.EtherSource(), nft.IP6Source())),
		nft.Do(pass, nft.IP6Source().Is(make([]byte, 16)), nft.L4Protocol().Is(nft.Num1(icmp6))),
		nft.Do(nft.Drop()))
	// A hypervisor says so for a guest that has moved. (Nft as in Debian 12 cannot show a rule that looks into what it does not know the name of.)
	o.chain(chainRARP, nft.Do(pass, nft.In(setMACs, nft.IIfName(), nft.ARPSenderMAC())), nft.Do(nft.Drop()))
	// Whether somebody else has the address is asked in nobody's name (RFC 5227).
	probe := []nft.Term{nft.ARPOperation().Is(nft.Num2(1)), nft.ARPSenderIP().Is(make([]byte, 4))}
	o.chain(chainARP,
		nft.Do(nft.Drop(), nft.ARPHead().Not([]byte{0, 1, 8, 0, 6, 4})), // nothing but Ethernet's of IPv4
		nft.Do(pass, nft.In(setID4, nft.IIfName(), nft.ARPSenderMAC(), nft.ARPSenderIP())),
		nft.Do(pass, nft.In(setNet4, nft.IIfName(), nft.ARPSenderMAC(), nft.ARPSenderIP())),
		nft.Do(pass, append(probe, nft.In(setID4, nft.IIfName(), nft.ARPSenderMAC(), nft.ARPTargetIP()))...),
		nft.Do(pass, append(probe, nft.In(setNet4, nft.IIfName(), nft.ARPSenderMAC(), nft.ARPTargetIP()))...),
		nft.Do(nft.Drop()))
}

// tracking says whose connections are followed, and where: each network's in its own zone. A frame between a port that is tracked and one that is
// not is tracked.
func (o objects) tracking(c Config) {
	if !c.Tracks {
		o.chain(chainTrack, nft.Do(nft.Accept()))
		return
	}
	for _, name := range []string{setTracked, setUntracked} {
		o[nft.SetKey(name)] = nft.Object{Layout: hardware()}
	}
	o[nft.SetKey(mapZones)] = nft.Object{Layout: zones()}
	o.chain(chainTrack,
		nft.Do(nft.Goto(chainZone), nft.In(setTracked, nft.IBrName(), nft.EtherTarget())),
		nft.Do(nft.Goto(chainZone), nft.In(setTracked, nft.IBrName(), nft.EtherSource())),
		nft.Do(nft.Accept(), nft.In(setUntracked, nft.IBrName(), nft.EtherTarget()), nft.NoTrack()),
		nft.Do(nft.Accept(), nft.In(setUntracked, nft.IBrName(), nft.EtherSource()), nft.NoTrack()),
		nft.Do(nft.Goto(chainZone)))
	o.chain(chainZone, nft.Do(nft.Verdict{}, nft.ZoneFrom(mapZones, nft.IBrName())))
}

// ports matches UDP from a port to another.
func ports(from, to int) []nft.Term {
	return []nft.Term{nft.L4Protocol().Is(nft.Num1(udp)), nft.SourcePort().Is(nft.Num2(from)), nft.TargetPort().Is(nft.Num2(to))}
}

// message matches types of ICMPv6.
func message(first, last int) []nft.Term {
	l4 := nft.L4Protocol().Is(nft.Num1(icmp6))
	if first == last {
		return []nft.Term{l4, nft.ICMPType().Is(nft.Num1(first))}
	}
	return []nft.Term{l4, nft.ICMPType().Between(nft.Num1(first), nft.Num1(last))}
}

// send is what filtered ports may always send, and never: nobody who is filtered is a router or a DHCP server, whatever addresses it may use.
func (o objects) send(c Config) {
	rules := []nft.Rule{nft.Do(nft.Goto(chainOut6), is(protoIP6)), nft.Do(nft.Accept(), is(protoARP)), nft.Do(nft.Accept(), is(protoRARP))}
	for _, kind := range c.Ethertypes {
		rules = append(rules, nft.Do(nft.Accept(), is(int(kind))))
	}
	o.chain(chainOut, append(rules,
		nft.Do(nft.Drop(), ports(dhcpServer, dhcpClient)...),
		nft.Do(nft.Accept(), ports(dhcpClient, dhcpServer)...))...)
	o.chain(chainOut6,
		// What the kernel did not put together cannot be looked into (RFC 6980).
		nft.Do(nft.Drop(), nft.L4Protocol().Is(nft.Num1(icmp6)), nft.Fragment()),
		nft.Do(nft.Drop(), message(routerAdvert, routerAdvert)...),
		nft.Do(nft.Drop(), message(redirect, redirect)...),
		nft.Do(nft.Drop(), ports(dhcp6Server, dhcp6Client)...),
		nft.Do(nft.Accept(), ports(dhcp6Client, dhcp6Server)...),
		nft.Do(nft.Goto(chainAsk), message(neighbourSolicit, neighbourSolicit)...),
		nft.Do(nft.Goto(chainTell), message(neighbourAdvert, neighbourAdvert)...),
		nft.Do(nft.Goto(chainRouter), message(routerSolicit, routerSolicit)...),
		nft.Do(nft.Accept(), message(mldQuery, routerSolicit-1)...),
		nft.Do(nft.Accept(), message(mldReport2, mldReport2)...),
		nft.Do(nft.Drop(), nft.IP6Source().Is(make([]byte, 16))))
}

// Options of neighbour discovery, and how long a message is that has two of them: longer ones would have options that are not looked at.
const (
	sourceMAC, targetMAC                = 1, 2
	ndOption1, ndOption2, ndLength      = 24, 32, 40
	routerOption1, routerOption2, rsLen = 8, 16, 24
)

// foreign drops messages whose option tells a MAC that is not the port's.
func foreign(kind, length int, at ...uint32) []nft.Rule {
	out := []nft.Rule{nft.Do(nft.Drop(), nft.IP6Length().Above(nft.Num2(length)))}
	for _, offset := range at {
		out = append(out, nft.Do(nft.Drop(), nft.NDOption(offset).Is(nft.Num1(kind)), nft.NotIn(setMACs, nft.IIfName(), nft.NDOptionMAC(offset))))
	}
	return out
}

// neighbours are the chains of neighbour discovery: a port tells of its own addresses, and asks with its own.
func (o objects) neighbours() {
	about := func(v nft.Verdict, terms ...nft.Term) []nft.Rule {
		var out []nft.Rule
		for _, set := range []string{setID6, setNet6} {
			out = append(out, nft.Do(v, append(terms[:len(terms):len(terms)], nft.In(set, nft.IIfName(), nft.EtherSource(), nft.NDTarget()))...))
		}
		return out
	}
	nobody := nft.IP6Source().Is(make([]byte, 16))
	ask := foreign(sourceMAC, ndLength, ndOption1, ndOption2)
	ask = append(ask, about(nft.Accept(), nobody)...) // whether somebody else has the address
	o.chain(chainAsk, append(ask, nft.Do(nft.Drop(), nobody), nft.Do(nft.Accept()))...)
	tell := append(foreign(targetMAC, ndLength, ndOption1, ndOption2), about(nft.Accept())...)
	o.chain(chainTell, append(tell, nft.Do(nft.Drop()))...)
	o.chain(chainRouter, append(foreign(sourceMAC, rsLen, routerOption1, routerOption2), nft.Do(nft.Accept()))...)
}

// get is what filtered ports always get, and never: what a bridge floods for others is not for them.
func (o objects) get(c Config) {
	rules := []nft.Rule{
		nft.Do(nft.Drop(), nft.EtherTarget().Bits([]byte{1, 0, 0, 0, 0, 0}, make([]byte, 6)), nft.NotIn(setMACs, nft.OIfName(), nft.EtherTarget())),
		nft.Do(nft.Accept(), is(protoARP)),
	}
	for _, kind := range c.Ethertypes {
		rules = append(rules, nft.Do(nft.Accept(), is(int(kind))))
	}
	o.chain(chainIn, append(rules,
		nft.Do(nft.Goto(chainIn6), is(protoIP6)),
		nft.Do(nft.Drop(), nft.Protocol().Not(nft.Num2(protoIP))),
		nft.Do(nft.Accept(), ports(dhcpServer, dhcpClient)...))...)
	o.chain(chainIn6,
		nft.Do(nft.Accept(), message(mldQuery, mldQuery)...),
		nft.Do(nft.Accept(), message(routerAdvert, neighbourAdvert)...),
		nft.Do(nft.Accept(), ports(dhcp6Server, dhcp6Client)...))
}
