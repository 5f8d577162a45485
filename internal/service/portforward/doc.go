// Package portforward passes single ports of floating IPs on to ports inside. rest calls it below a floating IP; floatingip asks it
// before the floating IP is led elsewhere or goes, ml2 tells it of ports that change or go, and the routers' plugin asks it
// before an interface goes. It wires nothing.
//
// Who writes a forwarding keeps its floating IP and then the port inside until the commit: that is what keeps ranges apart.
package portforward
