//go:build conformance

package conformance

import (
	"maps"
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

// everywhereWith is everywhere for servers with options; at the end what the database holds must be exact.
func everywhereWith(t *testing.T, o isospintest.Options, f func(t *testing.T, c rig.Caller)) {
	t.Helper()
	for _, kind := range rig.Kinds() {
		t.Run(kind, func(t *testing.T) {
			all := databases.Fresh(t, kind)
			maps.Copy(all, o.Config)
			here := o
			here.Config = all
			s := isospintest.Start(t, here)
			f(t, rig.Caller{TB: t, URL: s.URL}.Who("A"))
			if kind != "memory" {
				rig.Exact(t, rig.Look(t, all))
			}
		})
	}
}
