// Package status is the one door through which hosts say how far they are: it writes what changed, makes ports ACTIVE or
// DOWN, and explains a port that is not. session hands it reports; nobody else changes a port's status because of a host.
// It believes a host about that host's own things only.
package status
