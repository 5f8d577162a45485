package bridge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"syscall"

	"isospin/internal/dataplane/device"
	"isospin/internal/dataplane/netns"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Devices follows which devices are in a namespace.
type Devices struct {
	ns      string
	changed chan struct{}

	mu   sync.Mutex
	now  map[string]int // index by name
	seen bool
}

// Follow makes a view of a namespace's devices ("" is the host's) that sees nothing until Run runs.
func Follow(ns string) *Devices {
	return &Devices{ns: ns, changed: make(chan struct{}, 1), now: map[string]int{}}
}

// Changed yields after something came or went. One receiver only.
func (d *Devices) Changed() <-chan struct{} { return d.changed }

// Snapshot is the index of each device by name; seen is false until there was a first look. The map is the caller's.
func (d *Devices) Snapshot() (devices map[string]int, seen bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.now), d.seen
}

// Run follows until ctx ends, and returns nil then.
func (d *Devices) Run(ctx context.Context) error {
	events, err := device.Listen(ctx, d.ns, unix.RTNLGRP_LINK)
	if err != nil {
		return fmt.Errorf("following devices: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = events.Close() })
	defer func() {
		if stop() {
			_ = events.Close()
		}
	}()
	if err := d.list(ctx); err != nil {
		return ended(ctx, err)
	}
	buf := make([]byte, 256<<10)
	for {
		n, err := events.Read(buf)
		switch {
		case errors.Is(err, unix.ENOBUFS): // events were lost
			if err := d.list(ctx); err != nil {
				return ended(ctx, err)
			}
			continue
		case err != nil:
			return ended(ctx, fmt.Errorf("following devices: %w", err))
		}
		d.take(buf[:n])
	}
}

// ended is nil when the end was asked for.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// list looks at all of them.
func (d *Devices) list(ctx context.Context) error {
	now := map[string]int{}
	err := device.Within(ctx, d.ns, func(h *netlink.Handle) error {
		all, err := netns.Dump(h.LinkList)
		for _, l := range all {
			now[l.Attrs().Name] = l.Attrs().Index
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("listing devices: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.seen || !maps.Equal(d.now, now) {
		d.seen, d.now = true, now
		d.tell()
	}
	return nil
}

// take reads events. What is told of devices in bridges says nothing about their being there.
func (d *Devices) take(b []byte) {
	messages, err := syscall.ParseNetlinkMessage(b)
	if err != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, m := range messages {
		if m.Header.Type != unix.RTM_NEWLINK && m.Header.Type != unix.RTM_DELLINK || len(m.Data) < unix.SizeofIfInfomsg {
			continue
		}
		info := nl.DeserializeIfInfomsg(m.Data)
		name := deviceName(m.Data[unix.SizeofIfInfomsg:])
		if info.Family == unix.AF_BRIDGE || name == "" {
			continue
		}
		index := int(info.Index)
		if m.Header.Type == unix.RTM_DELLINK {
			if d.now[name] == index {
				delete(d.now, name)
				d.tell()
			}
			continue
		}
		if d.now[name] == index {
			continue
		}
		maps.DeleteFunc(d.now, func(_ string, other int) bool { return other == index }) // it had another name
		d.now[name] = index
		d.tell()
	}
}

func deviceName(attrs []byte) string {
	all, err := nl.ParseRouteAttr(attrs)
	if err != nil {
		return ""
	}
	for _, a := range all {
		if a.Attr.Type == unix.IFLA_IFNAME {
			return unix.ByteSliceToString(a.Value)
		}
	}
	return ""
}

func (d *Devices) tell() {
	select {
	case d.changed <- struct{}{}:
	default:
	}
}
