// Package l2bridge is the agent feature that wires networks on Linux bridges: it turns port, network and forwarding documents, and the
// devices that a host has, into bridges, VLAN and VXLAN devices, what is in which bridge, and where frames for other hosts go. It never writes to
// the kernel: it fills targets.
package l2bridge
