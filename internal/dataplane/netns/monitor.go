package netns

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Kind is what a monitor saw change; a set.
type Kind uint8

// The kinds of objects that a monitor tells apart.
const (
	Namespaces Kind = 1 << iota
	Links
	Addresses
	Routes
	Everything = Namespaces | Links | Addresses | Routes
)

// Monitor calls changed after every change of links, addresses and routes in the host's namespace and in
// those that own holds for, and of those namespaces themselves, whoever made it; until ctx ends, then it
// returns nil. One socket serves all namespaces. changed is called from one goroutine and must not block.
func Monitor(ctx context.Context, own Own, changed func(Kind)) error {
	if err := prepare(); err != nil {
		return err
	}
	m := &monitor{own: own, changed: changed}
	files, err := watchFolder()
	if err != nil {
		return fmt.Errorf("watching %s: %w", Dir, err)
	}
	events, err := openEvents()
	if err != nil {
		_ = files.Close()
		return fmt.Errorf("netlink: %w", err)
	}
	if err := m.number(); err != nil {
		_ = files.Close()
		_ = events.Close()
		return err
	}
	changed(Everything) // whatever happened before
	var wg sync.WaitGroup
	errs := make(chan error, 2)
	wg.Go(func() { errs <- m.readFolder(files) })
	wg.Go(func() { errs <- m.readEvents(events) })
	select {
	case <-ctx.Done():
		err = nil
	case err = <-errs:
	}
	_ = files.Close()
	_ = events.Close()
	wg.Wait()
	return err
}

type monitor struct {
	own     Own
	mu      sync.Mutex // one call of changed at a time
	changed func(Kind)
}

func (m *monitor) tell(k Kind) {
	if k == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changed(k)
}

// number makes the kernel tell of namespaces that others made.
func (m *monitor) number() error {
	names, err := List(m.own)
	if err != nil {
		return err
	}
	return number(names...)
}

// watchFolder tells of names that come and go.
func watchFolder() (*os.File, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, err
	}
	if _, err := unix.InotifyAddWatch(fd, Dir, unix.IN_CREATE|unix.IN_DELETE|unix.IN_ATTRIB); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), "inotify"), nil
}

func (m *monitor) readFolder(f *os.File) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := f.Read(buf)
		if errors.Is(err, os.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("watching %s: %w", Dir, err)
		}
		ours := false
		for b := buf[:n]; len(b) >= unix.SizeofInotifyEvent; {
			size := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(b[12:16]))
			if size > len(b) {
				break
			}
			name := unix.ByteSliceToString(b[unix.SizeofInotifyEvent:size])
			ours = ours || m.own == nil || m.own(name)
			b = b[size:]
		}
		if !ours {
			continue
		}
		// A namespace made by others may not be mounted on its file yet, and nothing tells when it is; it is
		// numbered with the next one. Those made by Create are numbered there.
		if err := m.number(); err != nil {
			return err
		}
		m.tell(Namespaces)
	}
}

// openEvents is a netlink socket that hears of links, addresses and routes in all numbered namespaces.
func openEvents() (*os.File, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, err
	}
	fail := func(err error) (*os.File, error) {
		_ = unix.Close(fd)
		return nil, err
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 4<<20) // less room only means a wider read-back
	if err := unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_LISTEN_ALL_NSID, 1); err != nil {
		return fail(err)
	}
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return fail(err)
	}
	for _, group := range []int{unix.RTNLGRP_LINK, unix.RTNLGRP_IPV4_IFADDR, unix.RTNLGRP_IPV6_IFADDR,
		unix.RTNLGRP_IPV4_ROUTE, unix.RTNLGRP_IPV6_ROUTE, unix.RTNLGRP_NSID} {
		if err := unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_ADD_MEMBERSHIP, group); err != nil {
			return fail(err)
		}
	}
	return os.NewFile(uintptr(fd), "rtnetlink"), nil
}

func (m *monitor) readEvents(f *os.File) error {
	buf := make([]byte, 256<<10)
	for {
		n, err := f.Read(buf)
		switch {
		case errors.Is(err, os.ErrClosed):
			return nil
		case errors.Is(err, unix.ENOBUFS): // events were lost: look at everything
			m.tell(Everything)
			continue
		case err != nil:
			return fmt.Errorf("netlink: %w", err)
		}
		m.tell(kinds(buf[:n]))
	}
}

// kinds is what the messages of one datagram are about.
func kinds(b []byte) Kind {
	var k Kind
	for len(b) >= unix.NLMSG_HDRLEN {
		size := int(binary.NativeEndian.Uint32(b[0:4]))
		if size < unix.NLMSG_HDRLEN || size > len(b) {
			break
		}
		switch binary.NativeEndian.Uint16(b[4:6]) {
		case unix.RTM_NEWLINK, unix.RTM_DELLINK:
			k |= Links
		case unix.RTM_NEWADDR, unix.RTM_DELADDR:
			k |= Addresses
		case unix.RTM_NEWROUTE, unix.RTM_DELROUTE:
			k |= Routes
		case unix.RTM_NEWNSID, unix.RTM_DELNSID:
			k |= Namespaces
		}
		b = b[min(len(b), (size+unix.NLMSG_ALIGNTO-1)&^(unix.NLMSG_ALIGNTO-1)):]
	}
	return k
}
