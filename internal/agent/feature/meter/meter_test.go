package meter

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"isospin/internal/dataplane/openflow"
)

func TestBook(t *testing.T) {
	dir, ids := t.TempDir(), openflow.IDs{First: 10, Last: 19}
	b, err := Open(dir, ids)
	if err != nil {
		t.Fatal(err)
	}
	given := map[uint32]string{}
	for n := range 10 {
		use := fmt.Sprint("qos/", n)
		id, err := b.Of(use)
		if err != nil || id < 10 || id > 19 || given[id] != "" {
			t.Fatalf("%s has meter %d (%v), which is %q's", use, id, err, given[id])
		}
		given[id] = use
	}
	if _, err := b.Of("qos/more"); !errors.Is(err, ErrFull) {
		t.Errorf("an eleventh of ten meters: %v", err)
	}
	// A restart asks in any order.
	again, err := Open(dir, ids)
	if err != nil {
		t.Fatal(err)
	}
	for id, use := range given {
		if now, err := again.Of(use); now != id || err != nil {
			t.Errorf("%s had meter %d and has %d now (%v)", use, id, now, err)
		}
	}
	for _, use := range given {
		if err := again.Forget(use); err != nil {
			t.Error(err)
		}
	}
	if id, err := again.Of("log/1"); err != nil || id == 0 || !slices.Equal(again.Uses("log/"), []string{"log/1"}) || len(again.Uses("qos/")) != 0 {
		t.Errorf("with all given back: %d, %v", id, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "meters.json"))
	if err != nil || string(text) != "{}" {
		t.Errorf("the file says %s (%v)", text, err)
	}
}

func TestDamagedBookIsBegunAnew(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "meters.json"), []byte("{torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := Open(dir, IDs())
	if err != nil {
		t.Fatal(err)
	}
	if id, err := b.Of("qos/1"); err != nil || id < IDs().First || id > IDs().Last {
		t.Errorf("%d, %v", id, err)
	}
}
