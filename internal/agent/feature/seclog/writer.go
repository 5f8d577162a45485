package seclog

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"isospin/internal/clock"
	"isospin/internal/dataplane/openflow"
)

// Source tells of packets; openflow.Conn does.
type Source interface {
	Packets(ctx context.Context, id uint16, ready func(), packet func(openflow.PacketIn)) error
}

// maxSize is how large a file grows, in bytes, before it is set aside as the one older file that is kept.
const maxSize = 100 << 20

// Backoff between a lost connection and the next try.
const (
	firstRetry = 20 * time.Millisecond
	lastRetry  = time.Second
)

// Writer writes a line for each packet that it hears of. Run is its one goroutine.
type Writer struct {
	book  *Book
	clock clock.Clock
	log   *slog.Logger
	path  string // "": the agent's own log
	max   int64

	file   *os.File
	failed bool // the last line could not be written, and that was said
}

// NewWriter makes a writer to a file, or to the agent's own log where path is "". It opens nothing yet.
func NewWriter(path string, book *Book, c clock.Clock, log *slog.Logger) *Writer {
	return &Writer{book: book, clock: c, log: log, path: path, max: maxSize}
}

// Run listens until ctx ends, and begins again, with backoff, when Open vSwitch was away.
func (w *Writer) Run(ctx context.Context, from Source) error {
	defer w.close()
	wait := firstRetry
	for {
		err := from.Packets(ctx, Listener, func() { wait = firstRetry }, w.packet)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		w.log.Debug("packets of security groups are not heard of", "err", err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.clock.After(wait):
		}
		wait = min(2*wait, lastRetry)
	}
}

// packet writes what came. A packet of which nobody asks any more was on its way when the order went.
func (w *Writer) packet(p openflow.PacketIn) {
	event, port, ok := unmark(p.UserData)
	if !ok {
		return
	}
	project, orders := w.book.find(event, port)
	if len(orders) == 0 {
		return
	}
	if w.path == "" {
		w.log.Info("security group event", "action", event, "project", project, "log_resources", orders, "port", port, "pkt", describe(p.Data))
		return
	}
	err := w.write(fmt.Sprintf("%s action=%s project_id=%s log_resource_ids=[%s] vm_port=%s pkt=%s\n",
		w.clock.Now().UTC().Format("2006-01-02T15:04:05.000000Z"), event, project, strings.Join(orders, ", "), port, describe(p.Data)))
	if err != nil && !w.failed {
		w.log.Warn("security group events cannot be written", "file", w.path, "err", err)
	}
	w.failed = err != nil
}

// write appends a line. Whoever moves the file away, as logrotate does, gets a new one with the next line; nobody has to tell.
func (w *Writer) write(line string) error {
	at, err := os.Stat(w.path)
	if w.file != nil {
		own, bad := w.file.Stat()
		if err != nil || bad != nil || !os.SameFile(at, own) {
			w.close()
		}
	}
	if err == nil && at.Mode().IsRegular() && at.Size()+int64(len(line)) > w.max {
		w.close()
		if err := os.Rename(w.path, w.path+".1"); err != nil {
			return fmt.Errorf("set the full file aside: %w", err)
		}
	}
	if w.file == nil {
		if w.file, err = os.OpenFile(w.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o640); err != nil {
			return fmt.Errorf("open the file: %w", err)
		}
	}
	if _, err := w.file.WriteString(line); err != nil {
		w.close()
		return fmt.Errorf("append a line: %w", err)
	}
	return nil
}

func (w *Writer) close() {
	if w.file != nil {
		_ = w.file.Close() // lines are written one by one: there is nothing left to fail
		w.file = nil
	}
}
