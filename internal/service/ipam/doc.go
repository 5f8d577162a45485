// Package ipam hands out addresses: it decides which subnets of a network a port gets addresses from and which
// addresses, out of free ranges kept in the database, so that the cost does not grow with what is in use. ml2
// calls it inside its transactions. It never looks at requests, and it never probes for a free address.
package ipam
