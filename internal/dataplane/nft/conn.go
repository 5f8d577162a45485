package nft

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"

	"isospin/internal/dataplane/netns"

	"github.com/google/nftables"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// conn is the netlink connection of a driver, made when it is first needed and again after an error: what a transaction that failed
// left unread would answer the next one.
type conn struct {
	ns     string
	lib    *nftables.Conn
	portID atomic.Uint32 // whom the kernel's notifications name as the author
}

// A transaction is one message to the kernel, and its answers wait until all of it is done.
const (
	sendBuffer    = 64 << 20
	receiveBuffer = 64 << 20
)

func (c *conn) open() (*nftables.Conn, error) {
	if c.lib != nil {
		return c.lib, nil
	}
	opts := []nftables.ConnOption{nftables.AsLasting(), nftables.WithSockOptions(func(s *netlink.Conn) error {
		if err := errors.Join(s.SetWriteBuffer(sendBuffer), s.SetReadBuffer(receiveBuffer)); err != nil {
			return err
		}
		id, err := portOf(s)
		c.portID.Store(id)
		return err
	})}
	file, err := netns.Open(c.ns)
	if c.ns == "" {
		file, err = nil, nil
	}
	if err != nil {
		return nil, err
	}
	if file != nil {
		defer func() { _ = file.Close() }()
		opts = append(opts, nftables.WithNetNSFd(int(file.Fd())))
	}
	c.lib, err = nftables.New(opts...)
	return c.lib, err
}

// failed closes the connection.
func (c *conn) failed() {
	if c.lib != nil {
		_ = c.lib.CloseLasting()
		c.lib = nil
	}
}

// portOf is the number that the kernel knows a socket by.
func portOf(s *netlink.Conn) (uint32, error) {
	raw, err := s.SyscallConn()
	if err != nil {
		return 0, err
	}
	var id uint32
	var inner error
	err = raw.Control(func(fd uintptr) {
		var a unix.Sockaddr
		if a, inner = unix.Getsockname(int(fd)); inner == nil {
			if nl, ok := a.(*unix.SockaddrNetlink); ok {
				id = nl.Pid
			}
		}
	})
	return id, errors.Join(err, inner)
}

// missing tells whether an error says that the object is not there.
func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, os.ErrNotExist) }

// tableThere tells whether our table is there.
func tableThere(lib *nftables.Conn, table *nftables.Table) (bool, error) {
	all, err := lib.ListTablesOfFamily(table.Family)
	if err != nil {
		return false, fmt.Errorf("tables: %w", err)
	}
	for _, t := range all {
		if t.Name == table.Name {
			return true, nil
		}
	}
	return false, nil
}
