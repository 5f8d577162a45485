// Package openflow makes OpenFlow tables of Open vSwitch bridges equal to what features of the agent
// want. Features build typed flows and name them in a Pipeline; the reconciler drives Flows, Groups and
// Meters, one driver a bridge; the agent's loop holds a Monitor a bridge and hears of drift. It never
// makes bridges or ports (that is vswitch), keeps no desired state and parses no flow that it reads back.
//
// # Flows
//
//	f := openflow.Flow{
//		Table: tableACL, Priority: 100,
//		Match:   openflow.TCP(openflow.Reg5.Is(port), openflow.IPv4Src.In(prefix), openflow.TCPDst.Masked(80, 0xfff0)),
//		Actions: openflow.Do(openflow.Reg6.Set(vlan), openflow.Resubmit(tableForward)),
//	}
//
// A field has a type of its own (IntField, MACField, IPv4Field, IPv6Field), which gives it Is, In or Masked
// for matching, Set for writing, and Whole and Bits as operand of Load, Move, OutputTo and CT. What cannot
// be said by type (a wrong family, a missing prerequisite, two terms for one field) Flow.Check tells; the
// driver calls it, and so does Fake, so that a unit test fails where Open vSwitch would refuse.
//
// # Recognition
//
// Flow.String is canonical: one flow, one text. The cookie of a flow is the owner's Tag (16 bits) and 48 bits of
// a hash of that text; a flow read back is recognised by Key, which is cookie, table and priority. A flow whose
// key is wanted is never written again. A changed flow has another key: it is added first, which replaces the
// old one in place, and the later removal of the old key finds nothing. A group carries its hash as the
// id of its first bucket; a meter is compared by its values.
//
// # Wiring
//
//	tr := openflow.NewConn(runDir, "br-int")
//	groups := reconcile.New("groups of br-int", openflow.NewGroups(tr, ids), openflow.SameGroup)
//	driver := openflow.NewFlows(tr, openflow.TagOf("l2"))
//	flows := reconcile.New("flows of br-int", driver, openflow.Same)
//	driver.OnDrift(flows.Invalidate)
//	monitor := openflow.NewMonitor(tr, clock, log, driver)
//	monitor.AlsoTell(groups.Invalidate) // groups and meters are stages before flows
//	go monitor.Run(ctx)
//	flows.Replace(owner, driver.Tag().Want(fs...))
//
// # Transports
//
// Transport is how changes reach a bridge. Conn speaks OpenFlow 1.5 on the bridge's management socket itself and keeps
// the connection: what an agent uses. Ofctl runs ovs-ofctl, one atomic bundle a batch, and is what Conn is held against in
// tests. Fake stores flows, for unit tests of features. A bridge must allow OpenFlow 1.5 (as it does by default) and
// should have a datapath identity of its own (other_config:datapath-id): one that follows from its ports ends all
// connections when a port comes or goes, which the Monitor takes for a restart.
//
// # Floods
//
// A flood to many ports or tunnel endpoints may be one flow with many outputs (at most some 2,000; one write
// a change), or a Group of type GroupAll, which several flows can name and which is changed in place.
package openflow
