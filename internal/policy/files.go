package policy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"isospin/internal/clock"
)

// Files are where an operator's rules stand: a file, then the files of folders, each over those before it. What is not there
// holds no rules; an empty path is none.
type Files struct {
	File string
	Dirs []string
}

// Read gives all their rules. Errors carry file and line.
func (f Files) Read() (Options, error) {
	var o Options
	add := func(path string, read func(string) ([]Override, error)) error {
		if path == "" {
			return nil
		}
		list, err := read(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		o.Overrides = append(o.Overrides, list...)
		return err
	}
	if err := add(f.File, ReadFile); err != nil {
		return Options{}, err
	}
	for _, dir := range f.Dirs {
		if err := add(dir, ReadDir); err != nil {
			return Options{}, err
		}
	}
	return o, nil
}

// stamp changes whenever a file is written, replaced, added or removed.
func (f Files) stamp() string {
	paths := []string{f.File}
	for _, dir := range f.Dirs {
		if dir == "" {
			continue
		}
		for _, pattern := range []string{"*.yaml", "*.json"} {
			found, err := filepath.Glob(filepath.Join(dir, pattern))
			if err != nil {
				found = []string{err.Error()} // reading fails as well, and is told of
			}
			paths = append(paths, found...)
		}
	}
	var b strings.Builder
	for _, p := range paths {
		if p == "" {
			continue
		}
		info, err := os.Stat(p)
		if err != nil {
			fmt.Fprintf(&b, "%s: %v\n", p, err)
			continue
		}
		fmt.Fprintf(&b, "%s %d %d", p, info.Size(), info.ModTime().UnixNano())
		if s, ok := info.Sys().(*syscall.Stat_t); ok { // a copy may have kept size and time
			fmt.Fprintf(&b, " %d %d", s.Ino, s.Ctim.Nano())
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Reloader keeps an Engine in step with its files while the server runs, as oslo.policy does.
type Reloader struct {
	Engine *Engine
	files  Files
	clock  clock.Clock
	log    *slog.Logger
	judged string // stamp of what was last read, good or bad
	seen   string // stamp at the last look
	broken atomic.Bool
}

// lookEvery is how often the files are looked at. A change counts once two looks have found it the same: an editor may have
// been at it, and half a file, or none for a moment, must not let anybody do what the whole one forbids.
const lookEvery = 2 * time.Second

// Open reads the files. Rules that cannot be understood are an error: a server does not start with others than it was given.
func Open(f Files, c clock.Clock, log *slog.Logger) (*Reloader, error) {
	r := &Reloader{files: f, clock: c, log: log, judged: f.stamp()}
	r.seen = r.judged
	o, err := f.Read()
	if err != nil {
		return nil, err
	}
	if r.Engine, err = New(o); err != nil {
		return nil, err
	}
	r.warn()
	return r, nil
}

// Broken tells whether the files hold rules that are not in force because they cannot be understood.
func (r *Reloader) Broken() bool { return r.broken.Load() }

// Run looks at the files until ctx ends.
func (r *Reloader) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.clock.After(lookEvery):
			r.look()
		}
	}
}

// look reads files that have changed and rest. Bad ones are told of once, and the rules in force stay.
func (r *Reloader) look() {
	now := r.files.stamp()
	settled := now == r.seen
	r.seen = now
	if !settled || now == r.judged {
		return
	}
	r.judged = now
	o, err := r.files.Read()
	if err == nil {
		err = r.Engine.Replace(o)
	}
	r.broken.Store(err != nil)
	if err != nil {
		r.log.Error("policy files have changed and cannot be understood; the rules in force stay", "err", err)
		return
	}
	r.log.Info("policy files have changed; their rules are in force", "rules", len(o.Overrides))
	r.warn()
}

func (r *Reloader) warn() {
	for _, w := range r.Engine.Warnings() {
		r.log.Warn("policy", "warning", w)
	}
}
