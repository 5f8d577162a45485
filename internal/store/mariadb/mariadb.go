// Package mariadb is the backend for MariaDB (10.6 or newer, for SKIP LOCKED): READ COMMITTED, run again when
// the database gives a transaction up, an indexed look every 100 ms for what other servers did. open makes one
// for mysql:// URLs. It imports the driver, and nobody else does.
package mariadb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"regexp"
	"strings"
	"syscall"
	"time"

	"isospin/internal/clock"
	"isospin/internal/store"
	"isospin/internal/store/engine"
	"isospin/internal/store/migrate"
	"isospin/internal/store/remote"

	"github.com/go-sql-driver/mysql"
)

const (
	sweep       = 100 * time.Millisecond
	defaultPort = "3306"
	// upgradeLock is a name that only upgrades lock; they wait for it as long as this many seconds.
	upgradeLock     = "isospin-upgrade"
	upgradeLockWait = 600
)

// DB is a database on a server.
type DB struct{ remote.DB }

var _ engine.Backend = (*DB)(nil)

// Open prepares connections; it fails when none can be made.
func Open(ctx context.Context, connection string, clk clock.Clock, log *slog.Logger) (*DB, error) {
	cfg, err := config(connection, log)
	if err != nil {
		return nil, fmt.Errorf("mariadb: %w", err)
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("mariadb: %w", err)
	}
	pool := sql.OpenDB(connector)
	if err := pool.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("mariadb: %w", err), pool.Close())
	}
	return &DB{remote.New(pool, clk, remote.Traits{
		Dialect: dialect{}, Retryable: retryable, Lost: lost, Duplicate: duplicate,
	})}, nil
}

// config reads a URL as SQLAlchemy's MySQL dialects do: user, password, host, port, database, unix_socket.
func config(connection string, log *slog.Logger) (*mysql.Config, error) {
	u, err := url.Parse(connection)
	if err != nil {
		return nil, err
	}
	cfg := mysql.NewConfig()
	cfg.User = u.User.Username()
	cfg.Passwd, _ = u.User.Password()
	cfg.DBName = strings.TrimPrefix(u.Path, "/")
	cfg.Net = "tcp"
	port := u.Port()
	if port == "" {
		port = defaultPort
	}
	cfg.Addr = net.JoinHostPort(u.Hostname(), port)
	if socket := u.Query().Get("unix_socket"); socket != "" {
		cfg.Net, cfg.Addr = "unix", socket
	}
	if mode := u.Query().Get("ssl_verify_cert"); mode == "true" || u.Query().Get("ssl_ca") != "" {
		cfg.TLSConfig = "true"
	}
	// One round trip a statement instead of prepare, execute and close.
	cfg.InterpolateParams = true
	// An update that changes nothing has still found its row.
	cfg.ClientFoundRows = true
	cfg.Timeout = 10 * time.Second
	cfg.Logger = logger{log}
	cfg.Params = map[string]string{
		"character_set_client":           "utf8mb4",
		"character_set_connection":       "utf8mb4",
		"character_set_results":          "utf8mb4",
		"collation_connection":           "utf8mb4_nopad_bin",
		"sql_mode":                       "'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'",
		"idle_write_transaction_timeout": "60", // seconds; well before the engine stops looking for a late change
		"innodb_lock_wait_timeout":       "10",
	}
	return cfg, nil
}

// logger gives the driver's complaints to slog.
type logger struct{ log *slog.Logger }

// Print logs what the driver says of a connection.
func (l logger) Print(v ...any) {
	l.log.Debug("the database driver complains", "err", fmt.Sprint(v...))
}

// Numbers of the server's errors.
const (
	duplicateEntry  = 1062
	lockWaitTimeout = 1205
	deadlock        = 1213
	recordChanged   = 1020
	shutdown        = 1053
	interrupted     = 1317
	killed          = 1927
)

func retryable(err error) bool {
	e, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && (e.Number == lockWaitTimeout || e.Number == deadlock || e.Number == recordChanged)
}

// lost: the server shuts down, the session was ended, or the connection broke.
func lost(err error) bool {
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return e.Number == shutdown || e.Number == interrupted || e.Number == killed
	}
	return errors.Is(err, mysql.ErrInvalidConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

var (
	keyName   = regexp.MustCompile(`for key '(?:[^'.]*\.)?([^']*)'`)
	tableName = regexp.MustCompile("(?i)^\\s*(?:INSERT\\s+(?:IGNORE\\s+)?INTO|UPDATE)\\s+`?([a-z0-9_]+)")
)

// duplicate reads the index's name from the message, which says it nowhere else; a primary key is called after its table.
func duplicate(err error, text string) *store.Duplicate {
	e, ok := errors.AsType[*mysql.MySQLError](err)
	if !ok || e.Number != duplicateEntry {
		return nil
	}
	d := &store.Duplicate{Cause: err}
	// The entry itself may hold anything, so it is the last match that counts.
	if all := keyName.FindAllStringSubmatch(e.Message, -1); len(all) > 0 {
		d.Index = strings.ToLower(all[len(all)-1][1])
	}
	if m := tableName.FindStringSubmatch(text); d.Index == "primary" && m != nil {
		d.Index = strings.ToLower(m[1]) + "_pkey"
	}
	return d
}

// Moved cannot be told cheaper than by looking.
func (db *DB) Moved(context.Context) (bool, error) { return true, nil }

// Sweep is how often to look.
func (db *DB) Sweep() time.Duration { return sweep }

// Announce has nothing to do: MariaDB tells nobody.
func (db *DB) Announce() {}

// Listen cannot.
func (db *DB) Listen(context.Context, func()) error { return nil }

// Upgrade brings the schema to the versions of src, once, however many servers start.
func (db *DB) Upgrade(ctx context.Context, src migrate.Source) (applied int, err error) {
	c, err := db.SQL.Conn(ctx)
	if err != nil {
		return 0, fmt.Errorf("mariadb: %w", err)
	}
	defer c.Close()
	var got sql.NullInt64
	err = c.QueryRowContext(ctx, "SELECT GET_LOCK(?, ?)", upgradeLock, upgradeLockWait).Scan(&got)
	if err == nil && got.Int64 != 1 {
		err = errors.New("another server holds it")
	}
	if err != nil {
		return 0, fmt.Errorf("mariadb: lock for the upgrade: %w", err)
	}
	defer func() {
		_, unlock := c.ExecContext(context.WithoutCancel(ctx), "DO RELEASE_LOCK(?)", upgradeLock)
		err = errors.Join(err, unlock)
	}()
	return src.Up(ctx, db.SQL, "mariadb")
}

// Versions are the schema's version and the newest one of src.
func (db *DB) Versions(ctx context.Context, src migrate.Source) (have, want int64, err error) {
	return src.Versions(ctx, db.SQL, "mariadb")
}

// Close ends the connections.
func (db *DB) Close() error { return db.SQL.Close() }
