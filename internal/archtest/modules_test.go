package archtest

import (
	"regexp"
	"strings"
)

// dependency is one row of CONTRIBUTING.md's table.
type dependency struct {
	module string
	dirs   []string // folders that may import it; "tests": only tests may
	reason string
}

var row = regexp.MustCompile("(?m)^\\| `([a-z0-9.-]+\\.[a-z]+/[^`]+)` \\| ([^|]+) \\| ([^|]*)\\|$")

func dependencies(all *tree, fail report) []dependency {
	var rows []dependency
	for _, m := range row.FindAllStringSubmatch(string(all.texts["CONTRIBUTING.md"]), -1) {
		d := dependency{module: m[1], reason: strings.TrimSpace(m[3])}
		for _, dir := range strings.Split(m[2], ",") {
			d.dirs = append(d.dirs, strings.Trim(strings.TrimSpace(dir), "`"))
		}
		rows = append(rows, d)
	}
	if len(rows) == 0 {
		fail("CONTRIBUTING.md has no table of dependencies")
	}
	return rows
}

// dependenciesAreWrapped: a module is imported by the packages that CONTRIBUTING.md names, and by nobody
// else but tests, tools and the lab; what is not in the table is not used at all.
func dependenciesAreWrapped(all *tree, fail report) {
	rows := dependencies(all, fail)
	used := map[string]bool{}
	for _, s := range all.sources {
		for _, path := range s.paths() {
			first, _, _ := strings.Cut(path, "/")
			if !strings.Contains(first, ".") {
				continue // the standard library, or Isospin
			}
			var best dependency
			for _, d := range rows {
				if under(path, d.module) && len(d.module) > len(best.module) {
					best = d
				}
			}
			if best.module == "" {
				fail("%s imports %s, which is not in CONTRIBUTING.md's table of dependencies", s.path, path)
				continue
			}
			used[best.module] = true
			if !s.test && !support(s.dir) && !under(s.dir, best.dirs...) {
				fail("%s imports %s, which %s wraps", s.path, path, strings.Join(best.dirs, " and "))
			}
		}
	}
	for _, d := range rows {
		if !used[d.module] && d.dirs[0] != "tool" {
			fail("CONTRIBUTING.md's table has %s, which nobody imports", d.module)
		}
		if d.reason == "" {
			fail("CONTRIBUTING.md gives no reason for %s", d.module)
		}
	}
}
