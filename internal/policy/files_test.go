package policy

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"isospin/internal/auth"
	"isospin/internal/clock"
)

// reloading is a Reloader on a folder, with the looks taken by hand.
type reloading struct {
	*Reloader
	t   *testing.T
	dir string
	log bytes.Buffer
}

func openReloading(t *testing.T, text string) *reloading {
	t.Helper()
	w := &reloading{t: t, dir: t.TempDir()}
	if text != "" {
		w.write("policy.yaml", text)
	}
	var err error
	w.Reloader, err = Open(w.from(), clock.NewManual(time.Unix(0, 0)), slog.New(slog.NewTextHandler(&w.log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *reloading) from() Files {
	return Files{File: filepath.Join(w.dir, "policy.yaml"), Dirs: []string{filepath.Join(w.dir, "policy.d")}}
}

func (w *reloading) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// allows tells whether somebody with the role may make networks.
func (w *reloading) allows(role string) bool {
	return w.Engine.Allow(&auth.Principal{ProjectID: "p", Roles: []string{role}}, "create_network", Attrs{"project_id": "p", "tenant_id": "p"})
}

func (w *reloading) holds(what string, want bool) {
	w.t.Helper()
	if got := w.allows("chef"); got != want {
		w.t.Errorf("%s: a chef makes networks: %t\n%s", what, got, w.log.String())
	}
}

func TestReload(t *testing.T) {
	w := openReloading(t, "")
	w.holds("the defaults", false)
	w.write("policy.yaml", `create_network: "role:chef"`)
	w.look()
	w.holds("a file that may still be written to", false)
	w.look()
	w.holds("a file that rests", true)
	if w.Broken() || !strings.Contains(w.log.String(), "their rules are in force") {
		t.Errorf("it said:\n%s", w.log.String())
	}
	w.write("policy.yaml", "") // an editor empties the file and writes it again
	w.look()
	w.write("policy.yaml", `create_network: "role:cook"`)
	w.look()
	w.holds("while it is written", true)
	w.look()
	w.holds("after the change", false)
	w.write("policy.d/10.yaml", `create_network: "role:chef"`)
	w.look()
	w.look()
	w.holds("a file of the folder", true)
	if err := os.RemoveAll(filepath.Join(w.dir, "policy.d")); err != nil {
		t.Fatal(err)
	}
	w.look()
	w.look()
	w.holds("without the folder", false)
}

func TestBrokenReloadKeepsTheRules(t *testing.T) {
	w := openReloading(t, `create_network: "role:chef"`)
	for i, c := range []struct{ text, want string }{
		{"# changed\ncreate_network: \"role:cook and\"\n", "policy.yaml:2"},
		{"create_network: \"(role:cook\"\n", "policy.yaml:1"},
		{"a: b\ncreate_network: [\n", "policy.yaml:"},
		{"- create_network\n", "policy.yaml:1"},
		{"\n\ncreate_network: \"rule:nowhere\"\n", "policy.yaml:3"},
	} {
		w.log.Reset()
		w.write("policy.yaml", c.text)
		for range 5 {
			w.look()
		}
		w.holds(c.text, true)
		if said := w.log.String(); strings.Count(said, "level=ERROR") != 1 || !strings.Contains(said, c.want) || !w.Broken() {
			t.Errorf("%d: want one error that names %s:\n%s", i, c.want, said)
		}
	}
	w.write("policy.yaml", `create_network: "role:cook"`)
	w.look()
	w.look()
	w.holds("mended", false)
	if w.Broken() || !w.allows("cook") {
		t.Error("the mended file is not in force")
	}
}

func TestUnreadableFileKeepsTheRules(t *testing.T) {
	w := openReloading(t, `create_network: "role:chef"`)
	if err := os.Remove(filepath.Join(w.dir, "policy.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(w.dir, "policy.yaml"), 0o755); err != nil { // root reads whatever its mode
		t.Fatal(err)
	}
	w.look()
	w.look()
	w.holds("a folder in the file's place", true)
	if !w.Broken() {
		t.Error("it is not told of")
	}
}

func TestBrokenFileStopsTheStart(t *testing.T) {
	w := &reloading{t: t, dir: t.TempDir()}
	w.write("policy.yaml", "# one\n# two\ncreate_network: \"role:cook and\"\n")
	_, err := Open(w.from(), clock.System{}, slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "policy.yaml:3") {
		t.Errorf("%v", err)
	}
}

// TestNoFiles: a server without a configuration file has no folder to look in, least of all the one it was started in.
func TestNoFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "other.yaml"), []byte("["), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	f := Files{Dirs: []string{""}}
	o, err := f.Read()
	if err != nil || len(o.Overrides) != 0 || f.stamp() != "" {
		t.Errorf("%v, %v, %q", o, err, f.stamp())
	}
}

func TestRunLooks(t *testing.T) {
	w := openReloading(t, "")
	c := w.clock.(*clock.Manual)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	w.write("policy.yaml", `create_network: "role:chef"`)
	limit := time.After(10 * time.Second)
	for !w.allows("chef") {
		select {
		case <-limit:
			t.Fatal("not in time")
		case <-time.After(time.Millisecond):
			if c.Waiting() > 0 {
				c.Advance(lookEvery)
			}
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
