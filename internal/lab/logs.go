package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// LogFiles lists the log files of the lab, or of one name: "server", a host, a guest.
func (l *Lab) LogFiles(name string) ([]string, error) {
	s, err := l.state()
	if err != nil {
		return nil, err
	}
	patterns := []string{"server/*.log", "hosts/*/*.log", "hosts/*/ovs/*.log", "guests/*/*.log"}
	switch {
	case name == "":
	case name == "server":
		patterns = patterns[:1]
	case s.host(name) != nil:
		patterns = []string{"hosts/" + name + "/*.log", "hosts/" + name + "/ovs/*.log"}
	case s.Guests[name] != nil:
		patterns = []string{"guests/" + name + "/*.log"}
	default:
		return nil, fmt.Errorf("nothing in the lab that is called %q has logs", name)
	}
	var files []string
	for _, p := range patterns {
		found, err := filepath.Glob(l.path(p))
		if err != nil {
			return nil, fmt.Errorf("find logs: %w", err)
		}
		files = append(files, found...)
	}
	slices.Sort(files)
	return files, nil
}

// Logs writes the last lines of each log, each line after its file's name, and with follow what is added
// until ctx ends.
func (l *Lab) Logs(ctx context.Context, w io.Writer, name string, lines int, follow bool) error {
	offsets := map[string]int64{}
	for first := true; ; first = false {
		files, err := l.LogFiles(name)
		if err != nil {
			return err
		}
		for _, f := range files {
			text, size, err := readFrom(f, offsets[f])
			if err != nil {
				return err
			}
			offsets[f] = size
			if first {
				text = lastLines(text, lines)
			}
			if err := l.prefixed(w, f, text); err != nil {
				return err
			}
		}
		if !follow {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(200 * time.Millisecond): // Files have no end that could be waited for.
		}
	}
}

func (l *Lab) prefixed(w io.Writer, file string, text []byte) error {
	label := strings.TrimPrefix(file, l.dir+"/")
	for line := range bytes.Lines(text) {
		if _, err := fmt.Fprintf(w, "%s: %s\n", label, bytes.TrimRight(line, "\n")); err != nil {
			return err
		}
	}
	return nil
}

// readFrom reads the whole lines of a file from an offset on, and tells where they end.
func readFrom(file string, offset int64) ([]byte, int64, error) {
	f, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, offset, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read log: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.NewSectionReader(f, offset, 1<<40))
	if err != nil {
		return nil, 0, fmt.Errorf("read log: %w", err)
	}
	b = b[:bytes.LastIndexByte(b, '\n')+1]
	return b, offset + int64(len(b)), nil
}

func lastLines(text []byte, n int) []byte {
	at := len(text)
	for range n + 1 {
		next := bytes.LastIndexByte(text[:at], '\n')
		if next < 0 {
			return text
		}
		at = next
	}
	return text[at+1:]
}
