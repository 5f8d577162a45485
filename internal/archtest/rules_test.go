package archtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// rule is one thing that holds everywhere.
type rule struct {
	name  string
	check func(all *tree, fail report)
}

func rules() []rule {
	return []rule{
		{"layers", importsGoDown},
		{"dataplane", dataplaneStandsAlone},
		{"sizes", sizes},
		{"package docs", packageDocs},
		{"names", names},
		{"contexts", noStoredContext},
		{"clocks", timeAndChanceAreArguments},
		{"logs", logsArePassedIn},
		{"sleeps", noSleeps},
		{"skips", noSkips},
		{"init", noInit},
		{"hosts", noRegistryHosts},
		{"state", noMutablePackageState},
		{"modules", dependenciesAreWrapped},
		{"generated", generatedFilesAreHeldFresh},
	}
}

// TestHouse holds the project to the rules.
func TestHouse(t *testing.T) {
	all, err := read("../..")
	if err != nil {
		t.Fatal(err)
	}
	if len(all.sources) < 20 {
		t.Fatalf("only %d Go files were found", len(all.sources))
	}
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) { r.check(all, t.Errorf) })
	}
}

// TestRulesCatch holds the rules to a small project that breaks each of them: what they say of it, sorted, is in the table.
func TestRulesCatch(t *testing.T) {
	all, err := read("testdata/bad")
	if err != nil {
		t.Fatal(err)
	}
	all.texts["setup.sh"] = []byte("curl https://py" + "pi.org/simple") // in two parts, for the rule reads this file too
	want := map[string][]string{
		"layers":       {"internal/agent/a.go imports internal/rest", "internal/model/m.go imports internal/telemetry", "internal/nowhere: the package has no layer"},
		"dataplane":    {"internal/dataplane/route/r.go imports isospin/internal/dataplane/addr"},
		"sizes":        {"internal/rest/long.go has 505 lines", "internal/rest/long.go:4: long has 502 lines"},
		"package docs": {`internal/agent: its comment begins with "Agent things." and not with "Package agent "`, "internal/nowhere has 0 package comments"},
		"names":        {"internal/agent/a.go:22: type portHelper"},
		"contexts":     {"internal/agent/a.go:26: a struct keeps a context"},
		"clocks":       {"internal/agent/a.go:38: time.Now", "internal/agent/a.go:39: math/rand/v2.Int", "internal/agent/a.go:40: uuid.NewString"},
		"logs":         {"internal/agent/a.go:41: slog.Info", "internal/agent/a.go:42: context.TODO"},
		"sleeps":       {"internal/agent/a_test.go:10: time.Sleep"},
		"skips":        {"internal/agent/a_test.go:11: t.Skip"},
		"init":         {"internal/agent/a.go:46: func init"},
		"hosts":        {"setup.sh names"},
		"state": {"internal/agent/state.go:11: package variable counter is changed at internal/agent/state.go:19", "internal/agent/state.go:12: package variable table is changed at internal/agent/state.go:20",
			"internal/agent/state.go:13: package variable lock can hold state", "internal/agent/state.go:14: package variable cache can hold state"},
		"modules": {"CONTRIBUTING.md gives no reason for github.com/google/uuid", "CONTRIBUTING.md's table has example.org/unused, which nobody imports",
			"internal/agent/a.go imports github.com/google/uuid, which internal/ident wraps", "internal/agent/a.go imports github.com/stranger/thing, which is not in"},
		"generated": {"internal/rest/stale.go is generated, and kept() names no test"},
	}
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) {
			var got []string
			r.check(all, func(format string, args ...any) {
				line := fmt.Sprintf(format, args...)
				if !strings.Contains(line, "is to be held fresh by") { // the project's own files are not in this one
					got = append(got, line)
				}
			})
			slices.Sort(got)
			for i := range max(len(got), len(want[r.name])) {
				switch {
				case i >= len(got):
					t.Errorf("it did not say: %s", want[r.name][i])
				case i >= len(want[r.name]):
					t.Errorf("it also said: %s", got[i])
				case !strings.HasPrefix(got[i], want[r.name][i]):
					t.Errorf("it said: %s\nwanted: %s", got[i], want[r.name][i])
				}
			}
		})
	}
}
