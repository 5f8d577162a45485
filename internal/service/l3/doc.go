// Package l3 is routers: their gateways, interfaces and routes, and the hosts that they are given to. rest calls it for
// requests; assemble joins it to ml2, whose ports, subnets and networks it guards.
//
// Those who build on routers (floating addresses, forwardings, NDP proxies) use it so: Lock keeps a router's row until the
// commit, which everybody does who changes what belongs to a router, before networks and ports; RouterFor tells which router
// leads from a subnet to an external network, Reaches whether one does; Dirty says that a router's documents are dirty, Touch
// gives it a host too if it has none. What must hold a gateway or an interface in place is a GatewayGuard, an InterfaceGuard or a
// service.Guard of routers, which assemble hands to Guard; Pages add computed attributes to lists.
//
// A port is a router's by its row in router_ports, never by what a request wrote into device_id. The package moves no packet.
package l3
