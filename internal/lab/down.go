package lab

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"isospin/internal/lab/cable"
	"isospin/internal/lab/proc"
	"isospin/internal/lab/space"
)

// Down takes the lab of a folder down: processes, namespaces, devices and, unless keep, its files. It
// works after a crash, after half an Up and when there is nothing left to do: everything is found by the
// lab's name, by its namespaces, by the mark in its processes' environment and by the processes written
// down.
func Down(ctx context.Context, dir string, keep bool, log *slog.Logger) error {
	l, err := at(dir, log)
	if err != nil {
		return err
	}
	return l.down(ctx, keep)
}

// Down is Down of this lab; afterwards none of its daemons runs.
func (l *Lab) Down(ctx context.Context) error { return l.down(ctx, false) }

func (l *Lab) down(ctx context.Context, keep bool) error {
	if os.Geteuid() != 0 {
		return errors.New("a lab is made of namespaces and needs root")
	}
	s, err := l.state()
	if err != nil {
		// Missing or torn: what is named after the folder is found all the same.
		s = &state{}
		s.Name, s.ID = identify(l.dir)
	}
	if keep {
		_ = s.Procs["server"].Stop(ctx, stopGrace) // So that its database is whole; killed below otherwise.
	}
	places := l.places(s)
	err = l.endProcesses(ctx, s, "", places, s.mark())
	err = errors.Join(err, l.daemons.Wait(ctx), removeRoot(s))
	for _, p := range places {
		err = errors.Join(err, p.Delete())
	}
	err = errors.Join(err, space.DropPinDir(l.path("run")))
	if err != nil {
		return fmt.Errorf("take down lab %s: %w", s.Name, err)
	}
	return l.sweep(keep)
}

// places finds every namespace of the lab by name.
func (l *Lab) places(s *state) []space.Space {
	var found []space.Space
	for _, name := range space.Named(s.Name + "-") {
		p := space.Space{Name: name}
		pin := l.path("run", strings.TrimPrefix(name, s.Name+"-"))
		if _, err := os.Stat(pin); err == nil {
			p.Mount = pin
		}
		found = append(found, p)
	}
	return found
}

// endProcesses kills the processes written down whose names begin with prefix, those that live in the
// places, and those with the mark; again until none is left, since a dying one may have just forked.
func (l *Lab) endProcesses(ctx context.Context, s *state, prefix string, places []space.Space, mark string) error {
	var refs []proc.Ref
	for name, ref := range s.Procs {
		if strings.HasPrefix(name, prefix) {
			refs = append(refs, ref)
		}
	}
	var ids []space.ID
	for _, p := range places {
		ids = append(ids, p.IDs()...)
	}
	for {
		refs = append(refs, proc.Find(ids, mark)...)
		if len(refs) == 0 {
			return nil
		}
		if err := proc.EndAll(ctx, refs); err != nil {
			return err
		}
		refs = nil
	}
}

// removeRoot removes the lab's device in the machine's own namespace.
func removeRoot(s *state) error {
	root, err := cable.Open("")
	if err != nil {
		return err
	}
	defer root.Close()
	return root.Remove(s.rootDevice())
}

// sweep removes the lab's files; the folder itself when nothing else is in it. With keep only what would
// make the folder look like a lab goes.
func (l *Lab) sweep(keep bool) error {
	gone := []string{"lab.json", "lab.json.new", "lab.lock"}
	if !keep {
		gone = append(gone, "server", "hosts", "guests")
	}
	for _, name := range gone {
		if err := os.RemoveAll(l.path(name)); err != nil {
			return fmt.Errorf("remove files of lab: %w", err)
		}
	}
	if left, err := os.ReadDir(l.dir); err == nil && len(left) == 0 {
		if err := os.Remove(filepath.Clean(l.dir)); err != nil {
			return fmt.Errorf("remove folder of lab: %w", err)
		}
	}
	return nil
}

// ofHost tells whether a daemon's name is one of a host's.
func ofHost(daemon, host string) bool { return strings.HasPrefix(daemon, host+"/") }
