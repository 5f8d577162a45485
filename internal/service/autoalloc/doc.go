// Package autoalloc gives a project a network, its subnets and a router that leads outside at its first request, out of the
// default external network and the default subnet pools. rest calls it; ml2 and l3 tell it of what goes. It owns nothing of what it
// made but the memory of having made it.
package autoalloc
