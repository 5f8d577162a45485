package keystonetest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"isospin/internal/store/dbtest"
)

// patience is how long Keystone may take to start or stop: importing its parts alone is seconds.
const patience = 2 * time.Minute

// Keystone is Debian's own, with a MariaDB of its own, on loopback. Everything of both is in temporary folders and ends
// with the process that started it.
type Keystone struct {
	// URL is its address, with /v3; it stays the same over Halt and Resume.
	URL string
	// AdminPassword is that of the user admin, who is admin of the project admin and of the system, in domain default.
	AdminPassword string

	dir   string
	port  int
	db    *dbtest.Server
	halt  func() error // nil while it is halted
	admin *gophercloud.ServiceClient
}

// serveScript is how Keystone is served: threads, since on one it is slow to answer several clients.
const serveScript = `from keystone.server.wsgi import initialize_public_application
from waitress import serve
import os
serve(initialize_public_application(), host="127.0.0.1", port=int(os.environ["SERVE_PORT"]), threads=8)
`

// Start makes a database and keys, bootstraps and serves. It needs Debian's packages keystone, python3-pymysql,
// python3-waitress and mariadb-server.
func Start(ctx context.Context) (_ *Keystone, err error) {
	dir, err := os.MkdirTemp("/tmp", "isokey-")
	if err != nil {
		return nil, err
	}
	k := &Keystone{dir: dir, AdminPassword: "an admin's secret"}
	defer func() {
		if err != nil {
			err = errors.Join(err, k.Stop())
		}
	}()
	if k.db, err = dbtest.MariaDB(); err != nil {
		return nil, err
	}
	database, err := k.db.Create("keystone")
	if err != nil {
		return nil, err
	}
	if k.port, err = freePort(); err != nil {
		return nil, err
	}
	k.URL = fmt.Sprintf("http://127.0.0.1:%d/v3", k.port)
	if err := k.configure(database); err != nil {
		return nil, err
	}
	if err := k.prepare(ctx); err != nil {
		return nil, err
	}
	if err := k.Resume(ctx); err != nil {
		return nil, err
	}
	return k, k.login(ctx)
}

// configure writes keystone.conf. Without its cache a revocation counts at once; cheap hashes keep logins short.
func (k *Keystone) configure(database string) error {
	lines := []string{"[database]", "connection = " + database, "[token]", "provider = fernet", "expiration = 3600",
		"[fernet_tokens]", "key_repository = " + k.path("fernet"), "[fernet_receipts]", "key_repository = " + k.path("receipts"),
		"[credential]", "key_repository = " + k.path("credentials"), "[cache]", "enabled = false", "[identity]", "password_hash_rounds = 4"}
	for _, sub := range []string{"fernet", "receipts", "credentials"} {
		if err := os.Mkdir(k.path(sub), 0o700); err != nil {
			return err
		}
	}
	return errors.Join(os.WriteFile(k.path("keystone.conf"), []byte(strings.Join(lines, "\n")+"\n"), 0o600),
		os.WriteFile(k.path("serve.py"), []byte(serveScript), 0o600))
}

func (k *Keystone) path(name string) string { return filepath.Join(k.dir, name) }

// prepare makes schema and keys, side by side, then the first user.
func (k *Keystone) prepare(ctx context.Context) error {
	steps := [][]string{{"db_sync"}, {"fernet_setup", "--keystone-user", "root", "--keystone-group", "root"},
		{"credential_setup", "--keystone-user", "root", "--keystone-group", "root"}}
	errs := make([]error, len(steps))
	var all sync.WaitGroup
	for i, step := range steps {
		all.Go(func() { errs[i] = k.manage(ctx, step...) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return k.manage(ctx, "bootstrap", "--bootstrap-password", k.AdminPassword, "--bootstrap-region-id", "RegionOne",
		"--bootstrap-public-url", k.URL, "--bootstrap-internal-url", k.URL, "--bootstrap-admin-url", k.URL)
}

func (k *Keystone) manage(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "/usr/bin/keystone-manage", append([]string{"--config-file", k.path("keystone.conf")}, args...)...)
	cmd.Dir = k.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("keystone-manage %s: %w: %s", args[0], err, out)
	}
	return nil
}

// Resume serves again after Halt, at the same address.
func (k *Keystone) Resume(ctx context.Context) error {
	log, err := os.OpenFile(k.path("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	cmd := exec.Command("/usr/bin/python3", k.path("serve.py"))
	cmd.Dir, cmd.Stdout, cmd.Stderr = k.dir, log, log
	cmd.Env = append(os.Environ(), "OS_KEYSTONE_CONFIG_FILES="+k.path("keystone.conf"), fmt.Sprint("SERVE_PORT=", k.port))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started, ended := make(chan error, 1), make(chan struct{})
	go func() {
		// The kernel ends the process together with the thread that started it, which is therefore kept.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(ended)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // it is ended by a signal
		}
	}()
	if err := errors.Join(<-started, log.Close()); err != nil {
		return err
	}
	k.halt = func() error {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
		select {
		case <-ended:
			return nil
		case <-time.After(patience):
			return errors.Join(errors.New("Keystone did not stop"), cmd.Process.Kill())
		}
	}
	return k.ready(ctx, ended)
}

// ready waits until Keystone answers.
func (k *Keystone) ready(ctx context.Context, ended <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, k.URL, nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			if err := resp.Body.Close(); err != nil || resp.StatusCode == http.StatusOK {
				return err
			}
		}
		select {
		case <-ended:
			return fmt.Errorf("Keystone ended:\n%s", k.Log())
		case <-ctx.Done():
			return fmt.Errorf("Keystone is not ready: %w\n%s", ctx.Err(), k.Log())
		case <-tick.C:
		}
	}
}

// Log is what Keystone wrote.
func (k *Keystone) Log() string {
	raw, err := os.ReadFile(k.path("log"))
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// Halt stops serving; the database stays.
func (k *Keystone) Halt() error {
	halt := k.halt
	k.halt = nil
	return halt()
}

// Stop ends Keystone and its database and removes what they wrote.
func (k *Keystone) Stop() error {
	var errs []error
	if k.halt != nil {
		errs = append(errs, k.Halt())
	}
	if k.db != nil {
		errs = append(errs, k.db.Stop())
	}
	return errors.Join(append(errs, os.RemoveAll(k.dir))...)
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = l.Close() }() // it held nothing
	return l.Addr().(*net.TCPAddr).Port, nil
}
