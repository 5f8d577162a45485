//go:build !conformance

package conformance

import (
	"testing"

	"isospin/test/rig"
)

// everywhere runs a test on the database in memory; with the build tag conformance on every kind.
func everywhere(t *testing.T, f func(t *testing.T, c rig.Caller)) {
	t.Helper()
	f(t, quick(t))
}
