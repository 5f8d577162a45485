// Package scenario is one table of what guests of a cloud may expect, and of what they must never see: scenarios against
// every cell of mechanisms, kinds of network and address families. Tests below test/ bring up the clouds and run it: natively
// in test/fullstack, under a full kernel in test/vmlab. It knows the API and packets, never what agents make of them.
//
// A scenario more is a function and a line of Table.
package scenario

import (
	"testing"
)

// Scenario is one row: what is tried on a stage, and where it makes sense.
type Scenario struct {
	Name string
	// In tells whether a cell has this row; nil: each has.
	In func(Cell) bool
	// Run tries it. What it makes it takes away again; the stage's own guests are as before when it ends.
	Run func(t *testing.T, s *Stage)
}

// Table is all rows, in the order in which they run.
func Table() []Scenario {
	return []Scenario{
		{"lease", hasLeases, lease},
		{"connectivity", nil, connectivity},
		{"outside", isFlat, outside},
		{"networks apart", nil, networksApart},
		{"projects apart", once(nil), projectsApart},
		{"agent killed", once(nil), agentKilled},
		{"agent restarted", once(oncePerKind), agentRestarted},
		{"switch killed", once(onOpenVSwitch), switchKilled},
		{"port taken down", once(nil), portDown},
		{"migration", nil, migration},
		{"rules", once(filtered), rules},
		{"remotes", once(filtered), remotes},
		{"outgoing", once(filtered), outgoing},
		{"spoofing", once(filtered), spoofing},
		{"address pairs", once(filtered), addressPairs},
		{"port security off", once(filtered), portSecurityOff},
		{"trunk", once(tagsOnHosts), trunk},
		{"tags", tagsOnHosts, tags},
		{"quality of service", once(nil), limits},
	}
}

// Run brings up a cloud for each setup, with the isospin of that path, and tries the table on every cell of it.
func Run(t *testing.T, binary string, pace Pace, setups ...Setup) {
	for _, setup := range setups {
		t.Run(setup.Name, func(t *testing.T) {
			c := bring(t, binary, pace, setup)
			for _, kind := range setup.Kinds {
				t.Run(string(kind), func(t *testing.T) { c.tryKind(t, kind, Table()) })
			}
		})
	}
}

// tryKind sets the stage for a kind of network and tries the rows by both families. The hosts must be as they were
// once the stage is gone.
func (c *Cloud) tryKind(t *testing.T, kind Kind, rows []Scenario) {
	before := c.settled(t)
	t.Cleanup(func() { c.asBefore(t, before) })
	p := c.set(t, kind)
	for _, family := range []Family{IPv4, IPv6} {
		t.Run(string(family), func(t *testing.T) {
			s := &Stage{Cloud: c, Cell: Cell{c.Setup, kind, family, c.Pace.Thrifty}, play: p}
			for _, row := range rows {
				if row.In == nil || row.In(s.Cell) {
					t.Run(row.Name, func(t *testing.T) { row.Run(t, s) })
				}
			}
		})
	}
}
