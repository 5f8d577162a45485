package config

import (
	"fmt"
	"net"
	"net/url"
	"strings"
)

// Database is where the servers' rows are.
type Database struct {
	Connection  Connection `option:"connection" default:"" secret:"true" deprecated:"sql_connection,DEFAULT/sql_connection" help:"Address of the database, as SQLAlchemy writes it: mysql+pymysql://user:password@host/name, postgresql://user:password@host/name, sqlite:////folder/file. Empty: an embedded database in [isospin] state_dir."`
	MaxPoolSize int        `option:"max_pool_size" default:"20" min:"1" deprecated:"DEFAULT/sql_max_pool_size" help:"How many connections to the database a server keeps open."`
}

// Dialect is a kind of database.
type Dialect string

// The dialects. The zero Connection has none: it is the embedded database.
const (
	SQLite   Dialect = "sqlite"
	Postgres Dialect = "postgres"
	MariaDB  Dialect = "mariadb"
)

// Connection is an address of a database. The zero value stands for the embedded one.
type Connection struct {
	Dialect  Dialect
	User     string
	Password string
	Host     string // with port, if any
	Socket   string // path of a Unix socket, instead of Host
	Name     string // of the database; of SQLite the file, empty: in memory
	Params   map[string]string
	// CA, Cert and Key are files for TLS; empty: none.
	CA, Cert, Key string
}

// UnmarshalText reads an address as SQLAlchemy writes it, dialect[+driver]://user:password@host:port/name?params.
// The driver is not looked at.
func (c *Connection) UnmarshalText(text []byte) error {
	scheme, rest, ok := strings.Cut(string(text), "://")
	if !ok {
		return fmt.Errorf("it is not of the form dialect://user:password@host/name")
	}
	dialect, _, _ := strings.Cut(scheme, "+")
	switch dialect {
	case "sqlite":
		path, _, _ := strings.Cut(rest, "?")
		if path != "" && path[0] != '/' {
			return fmt.Errorf("a file is written sqlite:////folder/file")
		}
		*c = Connection{Dialect: SQLite, Name: strings.TrimPrefix(path, "/")}
		return nil
	case "mysql", "mariadb":
		c.Dialect = MariaDB
	case "postgresql", "postgres":
		c.Dialect = Postgres
	default:
		return fmt.Errorf("possible dialects are mysql, mariadb, postgresql and sqlite")
	}
	return c.readURL(dialect, rest)
}

// readURL reads user:password@host:port/name?params. net/url alone would refuse passwords that SQLAlchemy
// takes, such as those with a slash or a question mark, so the user's part is cut off first.
func (c *Connection) readURL(dialect, rest string) error {
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		user, password, _ := strings.Cut(rest[:at], ":")
		var err1, err2 error
		c.User, err1 = url.PathUnescape(user)
		c.Password, err2 = url.PathUnescape(password)
		if err1 != nil || err2 != nil {
			return fmt.Errorf("user or password hold a %% that begins no escape (a percent sign is written %%25)")
		}
		rest = rest[at+1:]
	}
	u, err := url.Parse(dialect + "://" + rest)
	if err != nil {
		return fmt.Errorf("host and name are not of the form host:port/name")
	}
	c.Host, c.Name = u.Host, strings.TrimPrefix(u.Path, "/")
	if c.Name == "" {
		return fmt.Errorf("the name of the database is missing")
	}
	return c.readParams(u.Query())
}

// readParams takes the parameters that SQLAlchemy's usual drivers have and that mean something here.
func (c *Connection) readParams(q url.Values) error {
	for k, vs := range q {
		v := vs[len(vs)-1]
		switch k {
		case "charset", "client_encoding", "plugin", "use_unicode", "binary_prefix":
			// UTF-8 is always used.
		case "unix_socket":
			c.Socket = v
		case "host":
			if strings.HasPrefix(v, "/") {
				c.Socket = v
			} else {
				c.Host = v
			}
		case "ssl_ca", "sslrootcert":
			c.CA = v
		case "ssl_cert", "sslcert":
			c.Cert = v
		case "ssl_key", "sslkey":
			c.Key = v
		case "sslmode", "connect_timeout", "read_timeout", "write_timeout", "application_name", "target_session_attrs":
			if c.Params == nil {
				c.Params = map[string]string{}
			}
			c.Params[k] = v
		default:
			return fmt.Errorf("parameter %s is not known", k)
		}
	}
	return nil
}

// DSN is the address in the form that the dialect's Go driver takes: of pgx a URL, of go-sql-driver/mysql
// user:password@tcp(host:port)/name, of SQLite the file's path. It holds the password. CA, Cert and Key are
// in it for PostgreSQL; MariaDB's store has to register them and adds tls=.
func (c Connection) DSN() string {
	switch c.Dialect {
	case Postgres:
		return c.postgresURL()
	case MariaDB:
		return c.mysqlDSN()
	}
	return c.Name
}

func (c Connection) postgresURL() string {
	q := url.Values{}
	for k, v := range c.Params {
		q.Set(k, v)
	}
	for k, v := range map[string]string{"host": c.Socket, "sslrootcert": c.CA, "sslcert": c.Cert, "sslkey": c.Key} {
		if v != "" {
			q.Set(k, v)
		}
	}
	u := url.URL{Scheme: "postgres", Host: c.Host, Path: "/" + c.Name, RawQuery: q.Encode()}
	if c.User != "" {
		u.User = url.UserPassword(c.User, c.Password)
	}
	return u.String()
}

func (c Connection) mysqlDSN() string {
	address := "unix(" + c.Socket + ")"
	if c.Socket == "" {
		host := c.Host
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(strings.Trim(host, "[]"), "3306")
		}
		address = "tcp(" + host + ")"
	}
	q := url.Values{}
	for from, to := range map[string]string{"connect_timeout": "timeout", "read_timeout": "readTimeout", "write_timeout": "writeTimeout"} {
		if v := c.Params[from]; v != "" {
			q.Set(to, v+"s")
		}
	}
	dsn := fmt.Sprintf("%s:%s@%s/%s", c.User, c.Password, address, url.PathEscape(c.Name))
	if len(q) > 0 {
		dsn += "?" + q.Encode()
	}
	return dsn
}

// String is the address without the password.
func (c Connection) String() string {
	if c.Dialect == "" {
		return "embedded"
	}
	if c.Dialect == SQLite {
		return "sqlite:///" + c.Name
	}
	where := c.Host
	if c.Socket != "" {
		where = c.Socket
	}
	return fmt.Sprintf("%s://%s@%s/%s", c.Dialect, c.User, where, c.Name)
}

// GoString keeps the password out of %#v too.
func (c Connection) GoString() string { return c.String() }
