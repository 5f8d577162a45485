// Package sgnft is the agent feature of security groups and anti-spoofing on Linux bridges: it turns documents of ports, groups, rules and
// members into the chains and sets of one table of nftables. Agents on hosts with Linux bridges run it beside l2bridge, whose reports of ports
// stand on it. It looks at documents alone, so that a port's rules are there before its device is. It forwards nothing and never writes to the
// kernel: it fills a target.
//
// # How a frame is judged
//
// Chains that are the same for all ports keep a guest to its own addresses, before the kernel tracks anything: a forged frame must not touch
// another's connection. A group's rules are four chains, by family and direction, whoever is in it; a port's chains name its groups. So a port more or
// less, a rule more or less or a member more or less is its own few chains, rules or elements and nobody else's.
//
// Connection tracking says one thing only: which packet began the connection. Every packet of it, either way, and every error about it, is
// judged as that one by the rules of that one's direction. So a rule or member that is taken away ends all connections that nothing else
// allows, those too in which only answers flow; one that comes back lets them go on. No connection is ever marked or removed for it. Groups without
// state judge each packet by itself; a port that is in such groups alone is not tracked, unless the other end is a tracked port of this host.
package sgnft
