// Package brint is the integration bridge as every feature of an Open vSwitch host sees it: its tables, what its registers mean, and
// where on it this host's ports are. The features that write flows (l2ovs and those around it) import it, and each fills tables
// of its own. It wants nothing itself and asks nobody.
package brint
