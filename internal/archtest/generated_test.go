package archtest

import (
	"regexp"
	"strings"
)

// kept names every generated file, or the folder of some, and the test that fails when it is stale.
func kept() map[string]string {
	return map[string]string{
		"internal/fault/catalogue_gen.go": "tools/faultgen/main_test.go: TestFresh",
		"docs/reference/faults.md":        "tools/faultgen/main_test.go: TestFresh",
		"docs/reference/options.md":       "internal/config/config_test.go: TestReferenceFresh",
		"internal/wire":                   "internal/archtest/protocol_test.go: TestProtocolFresh",
	}
}

var generatedLine = regexp.MustCompile(`(?m)^(// |<!-- )Code generated .*DO NOT EDIT\.`)

// generatedFilesAreHeldFresh: whatever says that it is generated has a test that generates it again and compares.
func generatedFilesAreHeldFresh(all *tree, fail report) {
	texts := all.texts
	for path, text := range texts {
		head := string(text[:min(len(text), 2000)])
		if !generatedLine.MatchString(head) || strings.Contains(path, "testdata/") {
			continue
		}
		held := false
		for file := range kept() {
			held = held || under(path, file)
		}
		if !held {
			fail("%s is generated, and kept() names no test that holds it fresh", path)
		}
	}
	for path, where := range kept() {
		file, test, _ := strings.Cut(where, ": ")
		if !strings.Contains(string(texts[file]), "func "+test+"(t *testing.T)") {
			fail("%s is to be held fresh by %s, which is not there", path, where)
		}
	}
}
