package conformance

import (
	"testing"

	"isospin/isospintest"
	"isospin/test/rig"
)

// quick is a server in memory, in this process.
func quick(t testing.TB) rig.Caller {
	t.Helper()
	s := isospintest.Start(t, isospintest.Options{})
	return rig.Caller{TB: t, URL: s.URL}.Who("A")
}
