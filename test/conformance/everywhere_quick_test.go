//go:build !conformance

package conformance

import (
	"testing"

	"isospin/isospintest"
	"isospin/test/rig"
)

// everywhere runs a test on the database in memory; with the build tag conformance on every kind.
func everywhere(t *testing.T, f func(t *testing.T, c rig.Caller)) {
	t.Helper()
	f(t, quick(t))
}

// everywhereWith is everywhere for servers with options.
func everywhereWith(t *testing.T, o isospintest.Options, f func(t *testing.T, c rig.Caller)) {
	t.Helper()
	s := isospintest.Start(t, o)
	f(t, rig.Caller{TB: t, URL: s.URL}.Who("A"))
}
