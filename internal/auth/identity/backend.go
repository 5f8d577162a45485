package identity

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// ErrStale says that somebody else saved in the meantime: load, apply the change again, save again.
var ErrStale = errors.New("identity: the stored snapshot is newer")

// Backend keeps the snapshot. Methods are safe for concurrent use, and for use by several processes where the
// backend is shared between them.
type Backend interface {
	// Load reads the snapshot; the zero Snapshot when nothing was ever saved.
	Load() (Snapshot, error)
	// Save stores s durably if the stored revision is s.Revision-1, else it is ErrStale.
	Save(s Snapshot) error
	// Revision is the stored revision, cheaper than Load; 0 when nothing was saved.
	Revision() (int64, error)
}

// Memory is a Backend that ends with the process. The zero value is empty.
type Memory struct {
	mu   sync.Mutex
	snap Snapshot
}

// Load gives a copy of what was saved.
func (m *Memory) Load() (Snapshot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return *m.snap.clone(), nil
}

// Save keeps a copy.
func (m *Memory) Save(s Snapshot) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.Revision != m.snap.Revision+1 {
		return ErrStale
	}
	m.snap = *s.clone()
	return nil
}

// Revision is that of the last Save.
func (m *Memory) Revision() (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.snap.Revision, nil
}

// File is a Backend in one JSON file, mode 0600, replaced atomically. Processes of one machine may share it:
// a lock file beside it orders their saves.
type File struct {
	path string

	mu   sync.Mutex // protects what is known of the file; taken before the lock file
	seen os.FileInfo
	rev  int64
}

// NewFile is the backend of the file at path; its folder must exist.
func NewFile(path string) *File { return &File{path: path} }

// Load reads the file.
func (f *File) Load() (Snapshot, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.load()
}

func (f *File) load() (Snapshot, error) {
	var s Snapshot
	info, err := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		f.seen, f.rev = nil, 0
		return s, nil
	}
	if err != nil {
		return s, fmt.Errorf("identity: load: %w", err)
	}
	raw, err := os.ReadFile(f.path)
	if err != nil {
		return s, fmt.Errorf("identity: load: %w", err)
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return Snapshot{}, fmt.Errorf("identity: %s: %w", f.path, err)
	}
	f.seen, f.rev = info, s.Revision
	return s, nil
}

// Revision reads the file only when it is another one than last time.
func (f *File) Revision() (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.revision()
}

func (f *File) revision() (int64, error) {
	info, err := os.Stat(f.path)
	if err == nil && f.seen != nil && os.SameFile(info, f.seen) && info.ModTime().Equal(f.seen.ModTime()) && info.Size() == f.seen.Size() {
		return f.rev, nil
	}
	s, err := f.load()
	return s.Revision, err
}

// Save writes a new file, syncs it and renames it over the old one.
func (f *File) Save(s Snapshot) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	unlock, err := f.lock()
	if err != nil {
		return fmt.Errorf("identity: save: %w", err)
	}
	defer unlock()
	have, err := f.revision()
	if err != nil {
		return err
	}
	if s.Revision != have+1 {
		return ErrStale
	}
	raw, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return fmt.Errorf("identity: save: %w", err)
	}
	if err := writeFile(f.path, raw); err != nil {
		return fmt.Errorf("identity: save: %w", err)
	}
	if f.seen, err = os.Stat(f.path); err != nil {
		return fmt.Errorf("identity: save: %w", err)
	}
	f.rev = s.Revision
	return nil
}

func (f *File) lock() (func(), error) {
	l, err := os.OpenFile(f.path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(l.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	// Closing the file gives the lock back; there is nothing to do about a failure.
	return func() { _ = l.Close() }, nil
}

// writeFile replaces a file so that a crash leaves the old one or the new one, readable by its owner only.
func writeFile(path string, raw []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".new-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = tmp.Write(raw)
	if err == nil {
		err = tmp.Sync()
	}
	err = errors.Join(err, tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

var (
	_ Backend = (*Memory)(nil)
	_ Backend = (*File)(nil)
)
