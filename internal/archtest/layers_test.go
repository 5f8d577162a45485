package archtest

import (
	"slices"
	"strings"
)

// layer is a floor of the house. Packages may import packages of the floors that theirs stands on.
type layer struct {
	name    string
	folders []string // below internal/
	on      []string // layers that it may import besides itself
}

// layers is the drawing in ARCHITECTURE.md as a table.
func layers() []layer {
	return []layer{
		{"vocabulary", []string{"model", "fault", "apidef", "change", "wire"}, nil},
		{"foundations", []string{"clock", "ident", "config", "telemetry", "lifecycle", "store", "reconcile", "ovsdb"},
			[]string{"vocabulary"}},
		{"server wing", []string{"auth", "policy", "quota", "rest", "service", "session", "document"},
			[]string{"vocabulary", "foundations"}},
		{"host wing, lower floor", []string{"dataplane"}, []string{"vocabulary", "foundations"}},
		{"host wing, upper floor", []string{"agent"}, []string{"vocabulary", "foundations", "host wing, lower floor"}},
		{"assembly", []string{"assemble"},
			[]string{"vocabulary", "foundations", "server wing", "host wing, lower floor", "host wing, upper floor"}},
		{"roof", []string{"lab", "archtest"}, []string{"vocabulary", "foundations", "server wing",
			"host wing, lower floor", "host wing, upper floor", "assembly"}},
	}
}

// layerOf finds a package's layer; cmd, tools, test and isospintest are above all of them and have none.
func layerOf(dir string) (layer, bool) {
	rest, ok := strings.CutPrefix(dir, "internal/")
	if !ok {
		return layer{}, false
	}
	for _, l := range layers() {
		if under(rest, l.folders...) {
			return l, true
		}
	}
	return layer{}, false
}

// importsGoDown: imports go down only, and the two wings never meet. Test files are free.
func importsGoDown(all *tree, fail report) {
	for _, s := range all.sources {
		if s.test || !strings.HasPrefix(s.dir, "internal/") {
			continue
		}
		mine, ok := layerOf(s.dir)
		if !ok {
			fail("%s: the package has no layer; give it one in layers()", s.dir)
			continue
		}
		for _, path := range s.paths() {
			dir, ok := strings.CutPrefix(path, "isospin/")
			if !ok {
				continue
			}
			theirs, ok := layerOf(dir)
			if !ok || theirs.name != mine.name && !slices.Contains(mine.on, theirs.name) {
				fail("%s imports %s: the %s may not stand on the %s", s.path, dir, mine.name, theirs.name)
			}
		}
	}
}

// dataplaneStandsAlone: packages of the kernel's subsystems do not know each other; what they share is a
// namespace to work in, how devices are marked, and processes to run. Packages below one another are one subsystem.
func dataplaneStandsAlone(all *tree, fail report) {
	subsystem := func(dir string) string {
		rest, ok := strings.CutPrefix(dir, "internal/dataplane/")
		if !ok {
			return ""
		}
		name, _, _ := strings.Cut(rest, "/")
		return name
	}
	for _, s := range all.sources {
		mine := subsystem(s.dir)
		if mine == "" || s.test || support(s.dir) {
			continue
		}
		for _, path := range s.paths() {
			theirs := subsystem(strings.TrimPrefix(path, "isospin/"))
			if theirs != "" && theirs != mine && theirs != "netns" && theirs != "device" && theirs != "proc" {
				fail("%s imports %s: let the feature above join the two", s.path, path)
			}
		}
	}
}
