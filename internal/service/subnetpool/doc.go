// Package subnetpool is the plugin of subnet pools and address scopes: which prefixes a pool has, which of them no subnet
// has yet, and which pools may be used together. ml2 asks it for the prefix of a subnet that is made out of a pool, in the
// subnet's transaction. What is free is kept in the database as the fewest prefixes, so that a subnet costs the same in a
// full pool; it never looks for a gap among the subnets, and it never touches addresses.
package subnetpool
