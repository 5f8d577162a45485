// Package dhcp is the agent feature that serves DHCP on the networks that a server scheduled onto this host: it turns
// DHCP, subnet, port and reservation documents into a namespace a network (qdhcp-<network id>), its DHCP port's device and
// addresses, and what the DHCP server in the agent's process answers. It never opens a socket: it fills targets.
package dhcp
