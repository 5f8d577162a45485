// Package sgovs is the agent feature of security groups and anti-spoofing on Open vSwitch: it turns documents of ports, groups, rules
// and members into flows of the tables that brint gives them. Agents on Open vSwitch hosts run it beside l2ovs, whose reports of ports stand
// on it. It forwards nothing, answers nothing and never writes to Open vSwitch: it fills a target.
//
// # How a packet is judged
//
// A rule is flows that set a bit when a packet fits it: they are the group's, whoever is in it. A port asks its groups one after the other,
// so that a port more or less, a rule more or less or a member more or less is its own few flows and nobody else's. Rules with a remote group are
// conjunctions of two clauses: what the rule says of the packet, and the members' addresses.
//
// Connection tracking says one thing only: which packet began the connection. Every packet of it, either way, is judged as that one by
// the rules of that one's direction, with Open vSwitch's lookup by the original tuple. So a rule or member that is taken away ends all
// connections that nothing else allows, those too in which only answers flow; one that comes back lets them go on. No connection
// is ever marked or removed for it, and fragments are judged by the ports of the packet that they are of.
package sgovs
