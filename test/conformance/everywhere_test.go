//go:build conformance

package conformance

import (
	"testing"

	"isospin/isospintest"
	"isospin/test/rig"
)

// everywhere runs a test on every kind of database.
func everywhere(t *testing.T, f func(t *testing.T, c rig.Caller)) {
	t.Helper()
	for _, kind := range rig.Kinds() {
		t.Run(kind, func(t *testing.T) {
			s := isospintest.Start(t, isospintest.Options{Config: databases.Fresh(t, kind)})
			f(t, rig.Caller{TB: t, URL: s.URL}.Who("A"))
		})
	}
}
