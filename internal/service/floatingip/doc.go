// Package floatingip is floating IPs: addresses of external networks that lead to ports inside, through the router that joins
// the two. rest calls its controller, ml2 tells it of ports and networks that change or go, and the routers' plugin asks it before
// a gateway or an interface goes. It decides which router translates; it never wires anything, which is the hosts' part.
//
// Others hang on floating IPs: Guard takes part before a floating IP is written, and splicers show what belongs to it.
package floatingip
