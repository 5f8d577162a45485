// Package qos keeps the limits of QoS policies on a host: it reads which policy is in force for each port of the host, and wants the meters, flows,
// queueing disciplines and marks that keep its rules. assemble puts it on hosts whose `[agent] extensions` name qos. It does not wire ports, and no
// port is held back by it.
package qos
