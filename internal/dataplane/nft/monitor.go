package nft

import (
	"context"
	"errors"
	"fmt"
	"os"

	"isospin/internal/dataplane/netns"

	"github.com/google/nftables"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Watch calls changed when another than the driver changed our table, and when that cannot be known, until ctx ends; then it returns nil. It is
// called from one goroutine and must not block.
func (d *Driver) Watch(ctx context.Context, changed func(reason string)) error {
	cfg := &netlink.Config{Groups: 1 << (unix.NFNLGRP_NFTABLES - 1)}
	if d.conn.ns != "" {
		file, err := netns.Open(d.conn.ns)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		cfg.NetNS = int(file.Fd())
	}
	c, err := netlink.Dial(unix.NETLINK_NETFILTER, cfg)
	if err != nil {
		return fmt.Errorf("nftables: watching: %w", err)
	}
	// A transaction of ours makes a message an object; they are only counted away, but they have to fit.
	if err := c.SetReadBuffer(receiveBuffer); err != nil {
		_ = c.Close()
		return fmt.Errorf("nftables: watching: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer func() {
		if stop() {
			_ = c.Close()
		}
	}()
	changed("the watch begins")
	for {
		messages, err := c.Receive()
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, unix.ENOBUFS):
			changed("the kernel told of more changes than fit")
			continue
		case errors.Is(err, os.ErrClosed):
			return nil
		case err != nil:
			return fmt.Errorf("nftables: watching: %w", err)
		}
		for _, m := range messages {
			if m.Header.PID != d.conn.portID.Load() && ours(m) {
				changed("another changed the table")
				break
			}
		}
	}
}

// ours tells whether a notification is about our table: it is its first attribute, whatever the object.
func ours(m netlink.Message) bool {
	kind := uint16(m.Header.Type)
	if kind>>8 != unix.NFNL_SUBSYS_NFTABLES || kind&0xff == unix.NFT_MSG_NEWGEN || len(m.Data) < 4 || m.Data[0] != byte(nftables.TableFamilyBridge) {
		return false
	}
	ad, err := netlink.NewAttributeDecoder(m.Data[4:])
	if err != nil {
		return true
	}
	for ad.Next() {
		if ad.Type() == 1 {
			return ad.String() == Table
		}
	}
	return true
}
