package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// ExitError says that a command in the lab ended with a status other than 0.
type ExitError struct {
	Name   string   // where it ran
	Args   []string // what ran
	Code   int      // -1: ended by a signal
	Stderr string
}

// Error is one line, with what the command said.
func (e *ExitError) Error() string {
	return fmt.Sprintf("%s: %s: exit status %d: %s", e.Name, strings.Join(e.Args, " "), e.Code, strings.TrimSpace(e.Stderr))
}

// Exec runs a command in a guest, on a host, in `internet` or in `fabric`, and returns its output; an
// *ExitError when its status is not 0, with the output all the same. When ctx ends the command is killed.
func (l *Lab) Exec(ctx context.Context, name string, args ...string) (stdout string, err error) {
	var out, errOut bytes.Buffer
	p, err := l.Spawn(ctx, name, &out, &errOut, args...)
	if err != nil {
		return "", err
	}
	err = p.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && ctx.Err() == nil {
		err = &ExitError{Name: name, Args: args, Code: exit.ExitCode(), Stderr: errOut.String()}
	}
	return out.String(), err
}

// Process is a command that runs in the lab; whoever started it calls Wait.
type Process struct{ cmd *exec.Cmd }

// Wait returns when the command has ended, with *exec.ExitError when its status is not 0.
func (p *Process) Wait() error { return p.cmd.Wait() }

// Signal sends it a signal.
func (p *Process) Signal(sig os.Signal) error { return p.cmd.Process.Signal(sig) }

// Spawn starts a command as Exec does and returns at once. When ctx ends it gets SIGINT, so that a ping
// or a tcpdump still prints its sums, and a second later SIGKILL.
func (l *Lab) Spawn(ctx context.Context, name string, stdout, stderr io.Writer, args ...string) (*Process, error) {
	if len(args) == 0 {
		return nil, errors.New("no command given")
	}
	s, err := l.state()
	if err != nil {
		return nil, err
	}
	in, err := l.find(s, name)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), l.environment(s, name)...)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = time.Second
	if err := in.Start(cmd); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &Process{cmd}, nil
}

// Within runs f on a thread that is in the network namespace of a place of the lab: sockets that f makes stay there.
func (l *Lab) Within(name string, f func() error) error {
	s, err := l.state()
	if err != nil {
		return err
	}
	in, err := l.find(s, name)
	if err != nil {
		return err
	}
	return in.Do(f)
}

// environment is what a command in a place of the lab is told: where the lab is, and, on a host, which
// Open vSwitch is its own.
func (l *Lab) environment(s *state, name string) []string {
	env := []string{"ISOSPIN_LAB=" + l.dir}
	if s.host(name) != nil {
		env = append(env, "OVS_RUNDIR="+l.ovsDir(name))
	}
	return env
}

// Become replaces this process by a command in a place of the lab; it returns only on failure.
func (l *Lab) Become(name string, args ...string) error {
	s, err := l.state()
	if err != nil {
		return err
	}
	in, err := l.find(s, name)
	if err != nil {
		return err
	}
	return in.Become(args, append(os.Environ(), l.environment(s, name)...))
}
