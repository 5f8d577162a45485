package assemble

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/net/netutil"

	"isospin/internal/config"
)

// sole takes the state folder of an embedded database for this process: a second server in it would take itself for the
// only one. The lock ends with the process, however it ends. The file is nil where there is nothing to lock.
func sole(c *config.Server) (*os.File, error) {
	if c.Isospin.Memory || c.Database.Connection.URL() != "" {
		return nil, nil //nolint:nilnil // nothing to hold
	}
	if err := stateDir(c.State.Dir); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(c.State.Dir, "server.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("state folder: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		err = errors.Join(fmt.Errorf("state folder %s: another Isospin server runs in it", c.State.Dir), f.Close())
		return nil, err
	}
	return f, nil
}

// reserved are the descriptors kept for the database, logs and files when clients take all others.
const reserved = 128

// bounded keeps clients of one listener from taking the descriptors that the process needs itself: each listener gets
// at most its share, and further connections wait.
func bounded(l net.Listener) net.Listener {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Cur < 2*reserved {
		return l
	}
	return netutil.LimitListener(l, int(min(limit.Cur-reserved, 1<<20))/2)
}
