package neigh

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"isospin/internal/dataplane/device"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// What changed, for Follow.
type Change uint8

// A set of them.
const (
	Forwarding Change = 1 << iota // entries of bridges and VXLAN devices
	Neighbours                    // of addresses
	Everything = Forwarding | Neighbours
)

// Follow calls changed after every change of what nobody learned in a namespace ("" is the host's): neighbours and forwarding entries, whoever
// made it; until ctx ends, then it returns nil. changed is called from one goroutine and must not block.
func Follow(ctx context.Context, ns string, changed func(Change)) error {
	events, err := device.Listen(ctx, ns, unix.RTNLGRP_NEIGH)
	if err != nil {
		return fmt.Errorf("following neighbours: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = events.Close() })
	defer func() {
		if stop() {
			_ = events.Close()
		}
	}()
	changed(Everything) // whatever happened before
	buf := make([]byte, 256<<10)
	for {
		n, err := events.Read(buf)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, unix.ENOBUFS): // events were lost
			changed(Everything)
		case err != nil:
			return fmt.Errorf("following neighbours: %w", err)
		default:
			if c := changes(buf[:n]); c != 0 {
				changed(c)
			}
		}
	}
}

// changes is what the messages of one datagram are about. What was learned, and the addresses of devices themselves, are nobody's wish.
func changes(b []byte) (c Change) {
	const ndmsg = 12
	for len(b) >= unix.NLMSG_HDRLEN {
		size := int(binary.NativeEndian.Uint32(b[0:4]))
		if size < unix.NLMSG_HDRLEN || size > len(b) {
			break
		}
		kind := binary.NativeEndian.Uint16(b[4:6])
		if body := b[unix.NLMSG_HDRLEN:size]; len(body) >= ndmsg && (kind == unix.RTM_NEWNEIGH || kind == unix.RTM_DELNEIGH) {
			family, state := body[0], int(binary.NativeEndian.Uint16(body[8:10]))
			switch {
			case family == unix.AF_BRIDGE && state&(netlink.NUD_NOARP|netlink.NUD_PERMANENT) != 0:
				c |= Forwarding
			case family != unix.AF_BRIDGE && state&netlink.NUD_PERMANENT != 0:
				c |= Neighbours
			case kind == unix.RTM_DELNEIGH && family != unix.AF_BRIDGE: // it is told without its state
				c |= Neighbours
			}
		}
		b = b[min(len(b), (size+unix.NLMSG_ALIGNTO-1)&^(unix.NLMSG_ALIGNTO-1)):]
	}
	return c
}
