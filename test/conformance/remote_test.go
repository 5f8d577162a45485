//go:build conformance

package conformance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"isospin/test/rig"
)

// until waits for a state.
func until(t *testing.T, what string, patience time.Duration, holds func() bool) {
	t.Helper()
	deadline := time.After(patience)
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("%s: not within %s", what, patience)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func noted(t *testing.T, dir, file, line string) bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Contains(string(text), line)
}

// TestKilledBeforeRemoteBind: the server is killed while a remote driver is asked: what was promised by the commit is done by
// the server that comes after, or by another that shares the database.
func TestKilledBeforeRemoteBind(t *testing.T) {
	for _, kind := range []string{"sqlite", "postgres", "mariadb"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			killedBeforeRemoteBind(t, kind)
		})
	}
}

func killedBeforeRemoteBind(t *testing.T, kind string) {
	dir := t.TempDir()
	options := databases.Fresh(t, kind)
	env := []string{switchDir + "=" + dir}
	first := rig.StartProcess(t, options, env...)
	hold := filepath.Join(dir, "hold")
	if err := os.WriteFile(hold, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := rig.Caller{TB: t, URL: first.URL}.Who("A")
	n := c.Make("/networks", "network", map[string]any{})
	p := c.Make("/ports", "port", map[string]any{"network_id": n["id"], "binding:host_id": "rack1"})
	id := p["id"].(string) //nolint:errcheck // a test may panic
	if p["binding:vif_type"] != "unbound" {
		t.Errorf("%v", p["binding:vif_type"])
	}
	until(t, "the switch is asked", 10*time.Second, func() bool { return noted(t, dir, "asked", id) })
	if kind != "sqlite" { // another server takes over
		second := rig.StartProcess(t, options, env...)
		first.Kill(t)
		c.URL = second.URL
	} else {
		first.Kill(t)
		first.Start(t)
	}
	if err := os.Remove(hold); err != nil {
		t.Fatal(err)
	}
	// A dead server's claim lasts a minute at the most.
	until(t, "bound", 100*time.Second, func() bool {
		return c.Get("/ports/"+id, "port")["binding:vif_type"] == "ovs"
	})
	until(t, "told", 10*time.Second, func() bool { return noted(t, dir, "bound", id) })
	st := rig.Look(t, options)
	rig.Exact(t, st)
	if a := c.Do("DELETE", "/ports/"+id, nil); a.Status != 204 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	until(t, "told that it is gone", 10*time.Second, func() bool { return noted(t, dir, "unbound", id) })
	rig.Exact(t, st)
	if free := rig.FreeOf(t, st, "segment:vlan:physnet1"); free != 4094 {
		t.Errorf("%d VLANs are free", free)
	}
}
