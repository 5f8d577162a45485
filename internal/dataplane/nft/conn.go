package nft

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"

	"isospin/internal/dataplane/netns"

	"github.com/google/nftables"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// conn is a driver's two connections to the kernel, made when they are first needed and again after an error. The library's reads. Transactions
// go by one of our own: the library has the kernel echo every rule, does not tell which command was refused, and cannot ask for the addresses that a
// connection began with.
type conn struct {
	ns     string
	lib    *nftables.Conn
	write  int           // a socket, when open
	ready  bool          // whether it is
	buf    []byte        // for what it reads
	portID atomic.Uint32 // whom the kernel's notifications name as the author
}

// A transaction is one message to the kernel, and its answers wait until all of it is done.
const (
	sendBuffer    = 64 << 20
	receiveBuffer = 16 << 20
)

func (c *conn) reader() (*nftables.Conn, error) {
	if c.lib != nil {
		return c.lib, nil
	}
	opts := []nftables.ConnOption{nftables.AsLasting()}
	if c.ns != "" {
		file, err := netns.Open(c.ns)
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }()
		opts = append(opts, nftables.WithNetNSFd(int(file.Fd())))
	}
	var err error
	c.lib, err = nftables.New(opts...)
	return c.lib, err
}

func (c *conn) writer(ctx context.Context) error {
	if c.ready {
		return nil
	}
	return netns.Do(ctx, c.ns, func(context.Context) error {
		fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_NETFILTER)
		if err != nil {
			return fmt.Errorf("netlink: %w", err)
		}
		var name unix.Sockaddr
		err = unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
		if err == nil {
			err = errors.Join(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, sendBuffer),
				unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveBuffer),
				unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_CAP_ACK, 1)) // errors without what they are about
		}
		if err == nil {
			name, err = unix.Getsockname(fd)
		}
		if err != nil {
			_ = unix.Close(fd)
			return fmt.Errorf("netlink: %w", err)
		}
		if nl, ok := name.(*unix.SockaddrNetlink); ok {
			c.portID.Store(nl.Pid)
		}
		c.write, c.ready = fd, true
		return nil
	})
}

// close ends the connections.
func (c *conn) close() {
	if c.lib != nil {
		_ = c.lib.CloseLasting()
		c.lib = nil
	}
	if c.ready {
		_ = unix.Close(c.write)
		c.ready = false
	}
}

// transact has the kernel do all commands or none. refused are those that it would not do, by their place.
func (c *conn) transact(ctx context.Context, commands []netlink.Message) (refused map[int]error, err error) {
	if err := c.writer(ctx); err != nil {
		return nil, err
	}
	head := familyHead(unix.AF_UNSPEC)
	binary.BigEndian.PutUint16(head[2:], unix.NFNL_SUBSYS_NFTABLES)
	b := appendMessage(nil, unix.NFNL_MSG_BATCH_BEGIN, 0, 0, head)
	for i, m := range commands {
		flags := m.Header.Flags
		if i == len(commands)-1 {
			flags |= netlink.Acknowledge // the answers end with its
		}
		b = appendMessage(b, m.Header.Type, flags, i+1, m.Data)
	}
	b = appendMessage(b, unix.NFNL_MSG_BATCH_END, 0, len(commands)+1, head)
	if err := unix.Sendto(c.write, b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		c.close()
		return nil, fmt.Errorf("netlink: sending %d bytes: %w", len(b), err)
	}
	refused, err = c.answers(len(commands))
	if err != nil {
		c.close()
	}
	return refused, err
}

// answers reads until the last command's.
func (c *conn) answers(last int) (map[int]error, error) {
	refused := map[int]error{}
	var whole error
	err := c.receive(func(kind, _ uint16, seq int, data []byte) bool {
		if kind != unix.NLMSG_ERROR || len(data) < 4 {
			return false
		}
		if code := int32(binary.NativeEndian.Uint32(data)); code != 0 {
			if seq < 1 || seq > last { // about the whole
				whole = unix.Errno(-code)
				return true
			}
			refused[seq-1] = unix.Errno(-code)
		}
		return seq == last
	})
	if err = errors.Join(err, whole); err != nil {
		return refused, fmt.Errorf("netlink: %w", err)
	}
	return refused, nil
}

// familyHead is what every command of nftables begins with.
func familyHead(family byte) []byte { return []byte{family, unix.NFNETLINK_V0, 0, 0} }
