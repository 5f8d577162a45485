// Package dbtest starts Debian's PostgreSQL and MariaDB for tests: a server of the test's own in a temporary
// folder, on a unix socket and a loopback port, gone with the test's process. TestMain of a test package calls
// Main; parts that need a database of a certain kind beside Isospin (Keystone) may use it too. A program that is
// missing fails the tests.
package dbtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long a server may take to start or stop.
const patience = 60 * time.Second

// Server is a running database server.
type Server struct {
	Dir  string // the folder of everything it keeps
	Port int    // on 127.0.0.1
	kind kind
	stop func() error
}

// kind is how one database is made, started and spoken to.
type kind struct {
	user    string
	init    func(dir string) []string
	serve   func(dir string, port int) []string
	ready   string // in the log, once it takes connections
	create  func(dir, name string) []string
	signal  syscall.Signal // ends it fast and orderly
	url     func(dir, name string) string
	overTCP func(port int, name string) string
}

// Postgres starts PostgreSQL.
func Postgres() (*Server, error) {
	bin, err := newest("/usr/lib/postgresql/*/bin")
	if err != nil {
		return nil, err
	}
	return start(kind{
		user: "postgres", ready: "database system is ready to accept connections", signal: syscall.SIGINT,
		init: func(dir string) []string {
			return []string{filepath.Join(bin, "initdb"), "-D", filepath.Join(dir, "data"), "-U", "postgres", "-A", "trust",
				"-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "--no-instructions"}
		},
		serve: func(dir string, port int) []string {
			args := []string{filepath.Join(bin, "postgres"), "-D", filepath.Join(dir, "data")}
			for _, set := range []string{
				"listen_addresses=127.0.0.1", "port=" + strconv.Itoa(port), "unix_socket_directories=" + dir,
				"shared_buffers=32MB", "max_connections=150", "autovacuum=off", "checkpoint_timeout=1h", "max_wal_size=1GB",
				"logging_collector=off", "log_destination=stderr", "jit=off",
			} {
				args = append(args, "-c", set)
			}
			return args
		},
		create: func(dir, name string) []string {
			port := strconv.Itoa(socketPort(dir))
			return []string{filepath.Join(bin, "createdb"), "-h", dir, "-p", port, "-U", "postgres", name}
		},
		url: func(dir, name string) string {
			return fmt.Sprintf("postgresql://postgres@/%s?host=%s&port=%d", name, dir, socketPort(dir))
		},
		overTCP: func(port int, name string) string {
			return fmt.Sprintf("postgresql://postgres@127.0.0.1:%d/%s", port, name)
		},
	})
}

// socketPort reads the port out of the socket's name, which PostgreSQL makes of it.
func socketPort(dir string) int {
	names, _ := filepath.Glob(filepath.Join(dir, ".s.PGSQL.*"))
	for _, n := range names {
		if port, err := strconv.Atoi(strings.TrimPrefix(filepath.Ext(n), ".")); err == nil {
			return port
		}
	}
	return 0
}

// MariaDB starts MariaDB.
func MariaDB() (*Server, error) {
	socket := func(dir string) string { return filepath.Join(dir, "sock") }
	return start(kind{
		user: "mysql", ready: "ready for connections", signal: syscall.SIGTERM,
		init: func(dir string) []string {
			return []string{"mariadb-install-db", "--no-defaults", "--datadir=" + filepath.Join(dir, "data"),
				"--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve", "--innodb-log-file-size=16M"}
		},
		serve: func(dir string, port int) []string {
			return []string{"mariadbd", "--no-defaults", "--datadir=" + filepath.Join(dir, "data"), "--socket=" + socket(dir),
				"--pid-file=" + filepath.Join(dir, "pid"), "--port=" + strconv.Itoa(port), "--bind-address=127.0.0.1",
				"--skip-name-resolve", "--innodb-buffer-pool-size=64M", "--innodb-log-file-size=16M", "--max-connections=150",
				"--character-set-server=utf8mb4", "--performance-schema=off", "--max-allowed-packet=64M",
				"--innodb-doublewrite=0", "--tmpdir=" + dir}
		},
		create: func(dir, name string) []string {
			return []string{"mariadb", "--no-defaults", "--socket=" + socket(dir), "-u", "root", "-e", "CREATE DATABASE " + name}
		},
		url: func(dir, name string) string {
			return fmt.Sprintf("mysql+pymysql://root@localhost/%s?unix_socket=%s", name, socket(dir))
		},
		overTCP: func(port int, name string) string {
			return fmt.Sprintf("mysql+pymysql://root@127.0.0.1:%d/%s", port, name)
		},
	})
}

// Main starts a server, runs the package's tests with it and ends the process; for TestMain.
func Main(m *testing.M, begin func() (*Server, error), use func(*Server) error) {
	s, err := begin()
	if err != nil {
		fmt.Fprintln(os.Stderr, "dbtest:", err)
		os.Exit(1)
	}
	code := 1
	if err := use(s); err != nil {
		fmt.Fprintln(os.Stderr, "dbtest:", err)
	} else {
		code = m.Run()
	}
	if err := s.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "dbtest:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// Create makes a database and gives its connection URL, over the unix socket.
func (s *Server) Create(name string) (url string, err error) {
	argv := s.kind.create(s.Dir, name)
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("create database %s: %w: %s", name, err, out)
	}
	return s.kind.url(s.Dir, name), nil
}

// TCP is the connection URL of a database over the loopback port.
func (s *Server) TCP(name string) string { return s.kind.overTCP(s.Port, name) }

// Stop ends the server and removes its folder.
func (s *Server) Stop() error { return errors.Join(s.stop(), os.RemoveAll(s.Dir)) }

func newest(pattern string) (string, error) {
	dirs, err := filepath.Glob(pattern)
	if err != nil || len(dirs) == 0 {
		return "", fmt.Errorf("nothing matches %s: install the database's package", pattern)
	}
	return dirs[len(dirs)-1], nil
}

func start(k kind) (_ *Server, err error) {
	// Short: the path of a unix socket has at most 107 characters.
	dir, err := os.MkdirTemp("/tmp", "isodb-")
	if err != nil {
		return nil, err
	}
	s := &Server{Dir: dir, kind: k}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	attr, err := k.identity(dir)
	if err != nil {
		return nil, err
	}
	prepare := exec.Command(k.init(dir)[0], k.init(dir)[1:]...)
	prepare.SysProcAttr, prepare.Dir = attr, dir
	if out, err := prepare.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", prepare.Path, err, out)
	}
	if s.Port, err = freePort(); err != nil {
		return nil, err
	}
	s.stop, err = k.run(dir, s.Port, attr)
	return s, err
}

// identity makes the folder the service user's own where the tests run as root, which both databases refuse.
func (k kind) identity(dir string) (*syscall.SysProcAttr, error) {
	attr := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if os.Getuid() != 0 {
		return attr, nil
	}
	u, err := user.Lookup(k.user)
	if err != nil {
		return nil, fmt.Errorf("install the database's package: %w", err)
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return nil, err
	}
	attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return attr, errors.Join(os.Chown(dir, uid, gid), os.Chmod(dir, 0o755))
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// run starts the server and waits until its log says that it is ready. The kernel ends it together with the
// thread that started it, so that thread is kept for as long as the server runs.
func (k kind) run(dir string, port int, attr *syscall.SysProcAttr) (stop func() error, err error) {
	argv := k.serve(dir, port)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.SysProcAttr, cmd.Dir = attr, dir
	log := newWatcher(k.ready)
	cmd.Stdout, cmd.Stderr = log, log
	started, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			ended <- cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	select {
	case <-log.found:
	case err := <-ended:
		return nil, fmt.Errorf("%s ended: %w\n%s", argv[0], err, log.text())
	case <-ctx.Done():
		return nil, errors.Join(fmt.Errorf("%s is not ready after %s:\n%s", argv[0], patience, log.text()), cmd.Process.Kill())
	}
	return func() error {
		if err := cmd.Process.Signal(k.signal); err != nil {
			return err
		}
		select {
		case <-ended: // with whatever status: it was told to
			return nil
		case <-time.After(patience):
			return errors.Join(fmt.Errorf("%s did not stop", argv[0]), cmd.Process.Kill())
		}
	}, nil
}

// watcher keeps a log's lines and tells when one has a text.
type watcher struct {
	io.Writer
	mu    sync.Mutex
	lines []string
	found chan struct{}
}

func newWatcher(text string) *watcher {
	r, out := io.Pipe()
	w := &watcher{Writer: out, found: make(chan struct{})}
	go func() { // ends with the process that writes
		var once sync.Once
		for s := bufio.NewScanner(r); s.Scan(); {
			w.mu.Lock()
			w.lines = append(w.lines, s.Text())
			w.mu.Unlock()
			if strings.Contains(s.Text(), text) {
				once.Do(func() { close(w.found) })
			}
		}
	}()
	return w
}

func (w *watcher) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.lines, "\n")
}
