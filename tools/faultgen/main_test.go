package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFresh holds that what is checked in is what the catalogue says.
func TestFresh(t *testing.T) {
	dir := t.TempDir()
	code, doc := filepath.Join(dir, "gen.go"), filepath.Join(dir, "faults.md")
	if err := run("../../internal/fault/catalogue.txt", code, doc); err != nil {
		t.Fatal(err)
	}
	for made, kept := range map[string]string{
		code: "../../internal/fault/catalogue_gen.go",
		doc:  "../../docs/reference/faults.md",
	} {
		want, err := os.ReadFile(made)
		if err != nil {
			t.Fatal(err)
		}
		have, err := os.ReadFile(kept)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(want, have) {
			t.Errorf("%s is stale: run make generate", kept)
		}
	}
}

func TestParse(t *testing.T) {
	good := `
# a remark
## Heading
PortNotFound NotFound "Port {id} is not there, {id} I say, on {network}: 100%."
NotFound NotFound "Not there."
`
	entries, err := parse(strings.NewReader(good))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 3 || entries[0].heading != "Heading" {
		t.Fatalf("got %+v", entries)
	}
	port := entries[1]
	if got := strings.Join(port.params, ","); got != "id,network" {
		t.Errorf("parameters: %s", got)
	}
	if got := port.format(); got != "Port %[1]v is not there, %[1]v I say, on %[2]v: 100%%." {
		t.Errorf("format: %s", got)
	}
	if got := entries[2].function(); got != "NotFoundFault" {
		t.Errorf("a name that is a kind's became %s", got)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"form", `PortNotFound NotFound`, "line 1"},
		{"kind", `PortNotFound Missing "x"`, "unknown kind Missing"},
		{"keyword", `PortNotFound NotFound "{type}"`, "{type}"},
		{"empty", `PortNotFound NotFound "a {} b"`, "{}"},
		{"twice", "A NotFound \"x\"\nA Invalid \"y\"", "line 2: A is there twice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parse(strings.NewReader(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want something with %q", err, c.want)
			}
		})
	}
}
