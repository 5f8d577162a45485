// Package proc runs the lab's daemons: it starts them away from the terminal, remembers each by process id
// and start time, and ends exactly those. The lab calls it for servers, agents, Open vSwitch and DHCP
// clients. It never ends a process by name, nor one whose start time is not the one remembered.
package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"isospin/internal/lab/space"
)

// Ref names one process for good: a process id is used again, a pair of id and start time is not (until
// the machine starts anew).
type Ref struct {
	PID int `json:"pid"`
	// Start is the start time in clock ticks since the machine's start, as /proc/PID/stat has it.
	Start uint64 `json:"start"`
}

// Spec is a daemon to start.
type Spec struct {
	Argv []string
	// Env is added to this process' environment.
	Env []string
	// Log takes both outputs; it is appended to.
	Log string
	// In is where to run; nil: here.
	In *space.Space
}

// Group owns the daemons that this process started: it takes their exits, so that none stays a zombie.
// The zero value is ready. Daemons outlive a process that ends without Wait: they have no other tie to it.
type Group struct{ wg sync.WaitGroup }

// Wait returns when every daemon that the group started has ended, or ctx has.
func (g *Group) Wait(ctx context.Context) error {
	done := make(chan struct{})
	go func() { g.wg.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Start starts a daemon in a session of its own.
func (g *Group) Start(s Spec) (Ref, error) {
	if err := os.MkdirAll(filepath.Dir(s.Log), 0o755); err != nil {
		return Ref{}, fmt.Errorf("folder of log: %w", err)
	}
	log, err := os.OpenFile(s.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return Ref{}, fmt.Errorf("log: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(s.Argv[0], s.Argv[1:]...)
	cmd.Env = append(os.Environ(), s.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if s.In != nil {
		err = s.In.Start(cmd)
	} else {
		err = cmd.Start()
	}
	if err != nil {
		return Ref{}, fmt.Errorf("start %s: %w", s.Argv[0], err)
	}
	ref, _ := Of(cmd.Process.Pid) // Not waited for yet, so it is there, perhaps as a zombie.
	g.wg.Add(1)
	go func() {
		defer g.wg.Done()
		_ = cmd.Wait() // How it ended is in its log.
	}()
	return ref, nil
}

// Of is the Ref of a running process; false when there is none.
func Of(pid int) (Ref, bool) {
	_, _, start, ok := stat(pid)
	return Ref{PID: pid, Start: start}, ok
}

// Alive tells whether the process runs. A zombie does not, unless it is only the first thread of a process whose others have not
// ended yet: until then locks and sockets are held.
func (r Ref) Alive() bool {
	state, threads, start, ok := stat(r.PID)
	return ok && start == r.Start && state != 'X' && (state != 'Z' || threads > 1)
}

// Signal sends sig to the process; one that is gone is not an error. The process is held by a descriptor
// between the check and the signal, so that a reused id is never hit.
func (r Ref) Signal(sig syscall.Signal) error {
	p, err := os.FindProcess(r.PID)
	if err != nil {
		return nil
	}
	defer func() { _ = p.Release() }()
	if !r.Alive() {
		return nil
	}
	if err := p.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal %d to process %d: %w", sig, r.PID, err)
	}
	return nil
}

// Stop asks the process to end and, after grace, makes it. It returns when the process is gone.
func (r Ref) Stop(ctx context.Context, grace time.Duration) error {
	if err := r.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	if r.gone(ctx, grace) {
		return nil
	}
	return r.Kill(ctx)
}

// Kill ends the process at once and returns when it is gone.
func (r Ref) Kill(ctx context.Context) error {
	if err := r.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	if r.gone(ctx, 10*time.Second) {
		return nil
	}
	return fmt.Errorf("process %d does not end", r.PID)
}

func (r Ref) gone(ctx context.Context, within time.Duration) bool {
	limit := time.NewTimer(within)
	defer limit.Stop()
	for pause := time.Millisecond; r.Alive(); pause = min(2*pause, 20*time.Millisecond) {
		select {
		case <-limit.C:
			return !r.Alive()
		case <-ctx.Done():
			return false
		case <-time.After(pause):
		}
	}
	return true
}

// stat reads state, number of threads and start time of a process.
func stat(pid int) (state byte, threads int, start uint64, ok bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, 0, 0, false
	}
	// The second field is the program's name in brackets, which may hold anything.
	end := bytes.LastIndexByte(b, ')')
	if end < 0 {
		return 0, 0, 0, false
	}
	fields := strings.Fields(string(b[end+1:]))
	if len(fields) < 20 {
		return 0, 0, 0, false
	}
	threads, wrong := strconv.Atoi(fields[17])
	start, err = strconv.ParseUint(fields[19], 10, 64)
	return fields[0][0], threads, start, err == nil && wrong == nil
}
