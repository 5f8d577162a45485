package openflow

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Ofctl is the Transport that runs ovs-ofctl, a process a call, and gives it text.
type Ofctl struct {
	path   string
	target string
}

// NewOfctl makes the transport to a bridge whose management socket is in runDir, which is where ovs-vswitchd has its
// sockets: /run/openvswitch if not told otherwise.
func NewOfctl(runDir, bridge string) *Ofctl {
	return &Ofctl{path: "ovs-ofctl", target: "unix:" + filepath.Join(runDir, bridge+".mgmt")}
}

// protocol is OpenFlow 1.5: the oldest in which buckets have ids of their own.
const protocol = "OpenFlow15"

func (o *Ofctl) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, o.path, append([]string{"-O", protocol}, args...)...)
	cmd.Env = append(cmd.Environ(), "LC_ALL=C")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = time.Second
	return cmd
}

// run gives what the tool printed, or its complaint.
func (o *Ofctl) run(ctx context.Context, stdin []byte, args ...string) (string, error) {
	cmd := o.command(ctx, args...)
	var out, complaint bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &out, &complaint
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		var exit *exec.ExitError
		if errors.As(err, &exit) && complaint.Len() > 0 {
			return "", &complaintError{strings.TrimSpace(complaint.String())}
		}
		return "", fmt.Errorf("ovs-ofctl %s: %w", args[0], err)
	}
	return out.String(), nil
}

// complaintError is what ovs-ofctl printed when it failed.
type complaintError struct{ text string }

func (e *complaintError) Error() string { return e.text }

// refusal turns a complaint into *Refused, if it is one; index finds the change that the switch's answer quotes.
func refusal(err error, index func(answer string) int) error {
	var c *complaintError
	if !errors.As(err, &c) {
		return err
	}
	if line, why, ok := badLine(c.text); ok {
		return &Refused{line - 1, why}
	}
	for answer := range strings.Lines(c.text) {
		if strings.HasPrefix(answer, "Error OFP") {
			name, _, _ := strings.Cut(strings.TrimPrefix(answer, "Error "), " ")
			return &Refused{index(answer), name}
		}
	}
	return fmt.Errorf("ovs-ofctl: %w", err)
}

// badLine finds "ovs-ofctl: -:LINE: why": the tool could not read this line.
func badLine(complaint string) (line int, why string, ok bool) {
	const mark = "ovs-ofctl: -:"
	_, rest, found := strings.Cut(complaint, mark)
	if !found {
		return 0, "", false
	}
	number, why, _ := strings.Cut(rest, ":")
	line, err := strconv.Atoi(number)
	return line, strings.TrimSpace(why), err == nil
}

// ApplyFlows implements Transport: one bundle, by default atomic and ordered.
func (o *Ofctl) ApplyFlows(ctx context.Context, mods []FlowMod) error {
	var b []byte
	for _, m := range mods {
		if m.Op == Delete {
			b = fmt.Appendf(b, "flow delete cookie=%#x/-1,table=%d\n", m.Key.Cookie, m.Key.Table)
			continue
		}
		b = fmt.Appendf(b, "flow add cookie=%#x,", m.Key.Cookie)
		b = append(m.Flow.appendSlot(b), ",actions="...)
		b = append(m.Flow.appendActions(b, nil), '\n')
	}
	_, err := o.run(ctx, b, "bundle", o.target, "-")
	return refusal(err, func(answer string) int {
		cookie, ok := number(answer, "cookie:")
		for i, m := range mods {
			if ok && m.Key.Cookie == cookie {
				return i
			}
		}
		return -1
	})
}

// number reads the number that follows a label, up to the next space or comma.
func number(s, label string) (uint64, bool) {
	_, rest, found := strings.Cut(s, label)
	if !found {
		return 0, false
	}
	if end := strings.IndexAny(rest, " ,\n"); end >= 0 {
		rest = rest[:end]
	}
	n, err := strconv.ParseUint(rest, 0, 64)
	return n, err == nil
}

// defaultPriority is what a flow has of which the dump tells no priority.
const defaultPriority = 32768

// ListFlows implements Transport.
func (o *Ofctl) ListFlows(ctx context.Context, tag Tag) ([]Key, error) {
	out, err := o.run(ctx, nil, "--no-stats", "dump-flows", o.target, tagFilter(tag))
	if err != nil {
		return nil, err
	}
	var keys []Key
	for line := range strings.Lines(out) {
		head, _, _ := strings.Cut(line, " actions=")
		cookie, ok := number(head, "cookie=")
		if !ok {
			continue // the reply's own head
		}
		k := Key{Cookie: cookie, Priority: defaultPriority}
		if table, ok := number(head, " table="); ok {
			k.Table = uint8(table)
		}
		if priority, ok := number(head, " priority="); ok {
			k.Priority = uint16(priority)
		}
		keys = append(keys, k)
	}
	return keys, nil
}

func tagFilter(tag Tag) string {
	return fmt.Sprintf("cookie=%#x/%#x", uint64(tag)<<48, uint64(tagMask))
}

// ApplyGroups implements Transport.
func (o *Ofctl) ApplyGroups(ctx context.Context, mods []GroupMod) error {
	var b []byte
	for _, m := range mods {
		if m.Op == Delete {
			b = fmt.Appendf(b, "group delete group_id=%d\n", m.ID)
			continue
		}
		b = append(b, "group add_or_mod "...)
		b = append(m.Group.appendText(b, m.ID, true), '\n')
	}
	_, err := o.run(ctx, b, "bundle", o.target, "-")
	return refusal(err, func(answer string) int {
		id, ok := number(answer, "group_id=")
		for i, m := range mods {
			if ok && uint64(m.ID) == id {
				return i
			}
		}
		return -1
	})
}

// ListGroups implements Transport.
func (o *Ofctl) ListGroups(ctx context.Context) (map[uint32]Group, error) {
	out, err := o.run(ctx, nil, "dump-groups", o.target)
	if err != nil {
		return nil, err
	}
	groups := map[uint32]Group{}
	for line := range strings.Lines(out) {
		id, ok := number(line, "group_id=")
		if !ok {
			continue
		}
		mark, _ := number(line, "bucket_id:")
		groups[uint32(id)] = Group{mark: uint32(mark), readBack: true}
	}
	return groups, nil
}

// ApplyMeters implements Transport. A meter that is there already is changed.
func (o *Ofctl) ApplyMeters(ctx context.Context, mods []MeterMod) error {
	for i, m := range mods {
		spec := fmt.Sprintf("meter=%d", m.ID)
		command := "del-meter"
		if m.Op == Add {
			command, spec = "add-meter", spec+","+m.Meter.String()
		}
		_, err := o.run(ctx, nil, command, o.target, spec)
		var c *complaintError
		if errors.As(err, &c) && strings.Contains(c.text, "OFPMMFC_METER_EXISTS") {
			_, err = o.run(ctx, nil, "mod-meter", o.target, spec)
		}
		if err := refusal(err, func(string) int { return i }); err != nil {
			return err
		}
	}
	return nil
}

// ListMeters implements Transport. A meter is two lines: "meter=1 kbps burst stats bands=", "type=drop rate=...".
func (o *Ofctl) ListMeters(ctx context.Context) (map[uint32]Meter, error) {
	out, err := o.run(ctx, nil, "dump-meters", o.target)
	if err != nil {
		return nil, err
	}
	meters := map[uint32]Meter{}
	var id uint32
	for line := range strings.Lines(out) {
		if n, ok := number(line, "meter="); ok {
			id = uint32(n)
			meters[id] = Meter{Packets: strings.Contains(line, " pktps")}
		}
		if rate, ok := number(line, "rate="); ok {
			m := meters[id]
			burst, _ := number(line, "burst_size=")
			m.Rate, m.Burst = uint32(rate), uint32(burst)
			meters[id] = m
		}
	}
	return meters, nil
}

// Watch implements Transport: a held ovs-ofctl, which ends with the switch.
func (o *Ofctl) Watch(ctx context.Context, ready func(), event func(Event)) error {
	// Pdeathsig means the death of the thread that started the process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// Without a control socket: its folder need not exist, and nobody would talk to it.
	cmd := o.command(ctx, "--unixctl=none", "monitor", o.target, "watch:!initial")
	// The tool writes the first answer to its standard output, and what it hears later to its standard error.
	heard, said, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("ovs-ofctl monitor: %w", err)
	}
	defer heard.Close()
	cmd.Stdout, cmd.Stderr = said, said
	err = cmd.Start()
	said.Close()
	if err != nil {
		return fmt.Errorf("ovs-ofctl monitor: %w", err)
	}
	last := hear(heard, ready, event)
	cancel()
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("ovs-ofctl monitor: %w: %s", err, last)
	}
	return fmt.Errorf("ovs-ofctl monitor ended: %s", last)
}

// hear reads events until the pipe ends, and gives the last line that was none.
func hear(heard io.Reader, ready func(), event func(Event)) (last string) {
	lines := bufio.NewScanner(heard)
	lines.Buffer(nil, 1<<20)
	begun := false
	for lines.Scan() {
		line := lines.Text()
		kind, isEvent := eventKind(line)
		switch {
		case isEvent:
			cookie, ok := number(line, " cookie=")
			table, _ := number(line, " table=")
			if ok {
				event(Event{kind, cookie, uint8(table)})
			}
		case strings.HasPrefix(line, "OFPST_FLOW_MONITOR reply"):
			if !begun {
				begun = true
				ready()
			}
		case line != "":
			last = line
		}
	}
	return last
}

func eventKind(line string) (EventKind, bool) {
	switch {
	case strings.HasPrefix(line, " event=ADDED "):
		return Added, true
	case strings.HasPrefix(line, " event=MODIFIED "):
		return Modified, true
	case strings.HasPrefix(line, " event=DELETED "):
		return Deleted, true
	}
	return 0, false
}

var _ Transport = (*Ofctl)(nil)
