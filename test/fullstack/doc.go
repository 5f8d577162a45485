// Package fullstack holds Isospin against real packets: a server and hosts with agents in a lab, guests on them, and
// what operators and breakdowns do to all that. Its tests have the tag integration and stand on internal/lab; nothing
// imports it.
package fullstack
