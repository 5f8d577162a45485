// Package qos is the plugin of QoS policies: policies, their rules, which rules the drivers keep, and who has which policy. Guards
// of ports and networks see to it that a policy may be used and can be kept; whoever else gives out policies (floating addresses,
// gateways) asks Usable. Assemble builds it. It enforces nothing: hosts are told the policies and do.
package qos
