package zone

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestBook(t *testing.T) {
	dir := t.TempDir()
	b, err := Open(dir, 10, 19)
	if err != nil {
		t.Fatal(err)
	}
	given := map[uint16]string{}
	for n := range 10 {
		id := fmt.Sprint("network ", n)
		z, err := b.Of(id)
		if err != nil || z < 10 || z > 19 || given[z] != "" {
			t.Fatalf("%s has zone %d (%v), which is %q's", id, z, err, given[z])
		}
		given[z] = id
	}
	if _, err := b.Of("one more"); !errors.Is(err, ErrFull) {
		t.Errorf("an eleventh of ten zones: %v", err)
	}
	again, err := Open(dir, 10, 19)
	if err != nil {
		t.Fatal(err)
	}
	for z, id := range given {
		if now, err := again.Of(id); now != z || err != nil {
			t.Errorf("%s had zone %d and has %d now (%v)", id, z, now, err)
		}
	}
	again.Reclaim(func(name string) bool { return name != "network 3" })
	freed, err := again.Of("network 3")
	if err != nil {
		t.Fatal(err)
	}
	if z, err := again.Of("one more"); err != nil || z != freed {
		t.Errorf("one more has zone %d (%v), not the %d that nobody needs", z, err, freed)
	}
	if _, err := again.Of("network 3"); !errors.Is(err, ErrFull) {
		t.Errorf("an eleventh of ten zones, all needed: %v", err)
	}
	if z, err := again.Of("network 4"); err != nil || given[z] != "network 4" {
		t.Errorf("a zone that is needed changed to %d (%v)", z, err)
	}
}

func TestBookDamaged(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "zones.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := Open(dir, 1, 65535)
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := Open("", 1, 65535)
	if err != nil {
		t.Fatal(err)
	}
	z, err := b.Of("a")
	if want, _ := fresh.Of("a"); z != want || err != nil {
		t.Errorf("zone %d (%v), not the %d that follows from the id", z, err, want)
	}
	if _, err := Open("", 5, 4); err == nil {
		t.Error("a range that is none was taken")
	}
}

// TestBookUnwritable has a zone given when the disk takes nothing.
func TestBookUnwritable(t *testing.T) {
	dir := t.TempDir()
	b, err := Open(filepath.Join(dir, "gone"), 1, 9)
	if err != nil {
		t.Fatal(err)
	}
	z, err := b.Of("a")
	if err == nil || z == 0 {
		t.Errorf("zone %d, error %v", z, err)
	}
	if again, err := b.Of("a"); again != z || err != nil {
		t.Errorf("asked again: zone %d, error %v", again, err)
	}
}
