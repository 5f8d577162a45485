// Package l2ovs is the agent feature that wires networks on Open vSwitch: it turns port, network and forwarding
// documents, and the interfaces that are plugged into the integration bridge, into bridges, tunnel and patch ports and
// flows. It forwards by what the server knows and answers ARP and neighbour discovery on the host that asks. It never writes to Open vSwitch:
// it fills targets.
package l2ovs
