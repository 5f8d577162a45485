// Package conformance holds the API to Neutron's behaviour and to its own promises, from outside: real requests against
// whole servers on every database, with clients that others use. It has tests alone. What takes long has the
// build tag conformance.
package conformance
