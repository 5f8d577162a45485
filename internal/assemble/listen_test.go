package assemble

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

// TestListenOnASocket: a killed process's socket is replaced, somebody's file is not.
func TestListenOnASocket(t *testing.T) {
	dir := t.TempDir()
	left := filepath.Join(dir, "left")
	old, err := net.ListenUnix("unix", &net.UnixAddr{Name: left})
	if err != nil {
		t.Fatal(err)
	}
	old.SetUnlinkOnClose(false)
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := Listen(t.Context(), "unix:"+left)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}

	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(t.Context(), "unix:"+file); err == nil {
		t.Error("listening on a file's name")
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "precious" {
		t.Errorf("the file holds %q, %v", text, err)
	}
}

// TestPlaceCanBeCopied: what is printed when the API listens is a URL that a client can use.
func TestPlaceCanBeCopied(t *testing.T) {
	for listens, want := range map[string]string{
		"127.0.0.1:9696": "http://127.0.0.1:9696",
		"[::1]:80":       "http://[::1]:80",
		"[::]:9696":      "http://127.0.0.1:9696 and all addresses of this machine",
		"0.0.0.0:9696":   "http://127.0.0.1:9696 and all addresses of this machine",
	} {
		if got := place(listens); got != want {
			t.Errorf("%s: %q, want %q", listens, got, want)
		}
	}
}
