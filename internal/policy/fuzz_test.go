package policy

import (
	"strings"
	"testing"
)

// FuzzFile: whatever stands in a policy file, reading it does not panic, and what cannot be understood is told with the file's
// name; rules that are taken decide without a panic too.
func FuzzFile(f *testing.F) {
	for _, seed := range []string{
		"", "# nothing\n", "a: 'role:x'\n", "{\"a\": \"role:x\"}", "{\n\t\"a\": \"@\"\n}", "- a\n", "a: [b]\n", "a: &x '@'\nb: *x\n", "a: *x\n", "a: |\n  role:x\n  and role:y\n",
		"a: 'role:x and (('\n", "get_network: \"rule:a\"\na: \"rule:get_network\"\n", "? a\n: '@'\n", "a: !!binary 'QA=='\n", "a: 1\n", "a: ~\n", "a: true\n", "<<: {a: '@'}\n", "a: '@'\n---\nb: '!'\n",
		"\xff\xfe", "a: \"\\ud800\"\n", "%YAML 9.9\n---\na: '@'", strings.Repeat("{a: ", 200), strings.Repeat("- ", 200), "a: '" + strings.Repeat("(", 150) + "'", "\x00: '@'", "a\u2028: '@'",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		over, err := Parse("policy.yaml", raw)
		if err != nil {
			if !strings.Contains(err.Error(), "policy.yaml") {
				t.Errorf("%.80q: the error does not name the file: %v", raw, err)
			}
			return
		}
		for _, o := range over {
			if !strings.HasPrefix(o.Origin, "policy.yaml:") {
				t.Errorf("%.80q: a rule of %q", raw, o.Origin)
			}
		}
		e, err := New(Options{Overrides: over})
		if err != nil {
			if len(over) > 0 && !strings.Contains(err.Error(), "policy.yaml:") {
				t.Errorf("%.80q: the error does not name the place: %v", raw, err)
			}
			return
		}
		for _, o := range over {
			_ = e.Verdict(member, o.Name)
			_ = e.Allow(member, o.Name, Attrs{"project_id": "p1"})
		}
	})
}
