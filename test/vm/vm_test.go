package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

func TestLoadOrderPutsFirstWhatIsNeeded(t *testing.T) {
	dep := filepath.Join(t.TempDir(), "modules.dep")
	text := "net/a.ko: net/b-c.ko net/d.ko\nnet/b-c.ko: net/d.ko\nnet/d.ko:\nnet/e.ko.xz:\nnet/alone.ko:\n"
	if err := os.WriteFile(dep, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := loadOrder(dep, []string{"a", "b_c", "e", "built_in"})
	if want := []string{"net/d.ko", "net/b-c.ko", "net/a.ko", "net/e.ko.xz"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

func TestQuotedWordsReachTheShellAsTheyAre(t *testing.T) {
	for _, word := range []string{"", "plain", "with space", "it's", `$HOME "x" \`, "new\nline", "-run=^TestA$|B"} {
		out, err := exec.Command("/bin/sh", "-c", "printf %s "+quoted(word)).Output()
		if err != nil || string(out) != word {
			t.Errorf("%q became %q, %v", word, out, err)
		}
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]bool{"PATH": true, "_x1": true, "1x": false, "": false, "A-B": false, "BASH_FUNC_x%%": false} {
		if isName(name) != want {
			t.Errorf("%q is a name: %v", name, !want)
		}
	}
}

// TestArchive has Debian's busybox unpack what kernels unpack.
func TestArchive(t *testing.T) {
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	a := archive{w: w}
	a.dir("d")
	a.file("d/odd", 0o755, []byte("12345"))
	a.file("empty", 0o644, nil)
	a.end()
	if err := w.Flush(); err != nil || a.err != nil {
		t.Fatal(err, a.err)
	}
	dir := t.TempDir()
	cmd := exec.Command("busybox", "cpio", "-i")
	cmd.Dir, cmd.Stdin = dir, &b
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	body, err := os.ReadFile(filepath.Join(dir, "d", "odd"))
	info, statErr := os.Stat(filepath.Join(dir, "d", "odd"))
	if err != nil || statErr != nil || string(body) != "12345" || info.Mode().Perm() != 0o755 {
		t.Errorf("d/odd holds %q, %v, %v", body, err, info)
	}
	if info, err := os.Stat(filepath.Join(dir, "empty")); err != nil || info.Size() != 0 {
		t.Errorf("empty: %v, %v", info, err)
	}
}
