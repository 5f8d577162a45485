// Package nft makes one table of nftables real: its chains with their rules, its named sets and their elements. The agent's features fill its
// driver's target; every batch is one transaction, as large as what changes. It decides nothing about packets, and never touches another
// table: a restarted agent knows what is its own by the table's name, and all that stands in it is its own.
package nft
