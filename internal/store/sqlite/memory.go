package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

const (
	folderPrefix = "isospin-memory-"
	markName     = "alive"
)

// makeFolder makes the folder of a database that is gone with its process, and removes those that killed
// processes left behind: their mark is there and nobody locks it.
func (db *DB) makeFolder() error {
	if left, err := filepath.Glob(filepath.Join(os.TempDir(), folderPrefix+"*", markName)); err == nil {
		for _, mark := range left {
			removeDead(mark)
		}
	}
	dir, err := os.MkdirTemp("", folderPrefix)
	if err != nil {
		return err
	}
	// The mark appears under its name only when it is locked.
	f, err := os.OpenFile(filepath.Join(dir, "new"), os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		if err = flock(f); err == nil {
			err = os.Rename(f.Name(), filepath.Join(dir, markName))
		}
	}
	if err != nil {
		return errors.Join(fmt.Errorf("mark the folder: %w", err), os.RemoveAll(dir))
	}
	db.ephemera, db.mark, db.path = dir, f, filepath.Join(dir, "isospin.db")
	return nil
}

// removeDead removes a folder whose process has ended; another user's, or one that is being removed, is let be.
func removeDead(mark string) {
	f, err := os.OpenFile(mark, os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if flock(f) == nil {
		_ = os.RemoveAll(filepath.Dir(mark))
	}
}

// flock locks a file until it is closed or the process ends; it does not wait.
func flock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
