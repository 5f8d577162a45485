package ovstest

import (
	"bytes"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// process is one child that does not outlive the test binary, however that ends.
type process struct {
	cmd  *exec.Cmd
	out  bytes.Buffer // written by the child until done is closed
	done chan struct{}
}

// start runs cmd from a thread that lives as long as the child: the kernel's death signal is tied to the
// thread that started a process, not to the whole parent.
func start(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &p.out, &p.out
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.done)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is of no interest: the test ends it, or reads its log
		}
	}()
	return p, <-started
}

func (p *process) pid() int {
	if p == nil {
		return 0
	}
	select {
	case <-p.done:
		return 0
	default:
		return p.cmd.Process.Pid
	}
}

// output is what the child said; only after done.
func (p *process) output() string { return p.out.String() }

// end asks, waits, and forces. A nil or ended process is fine.
func (p *process) end() {
	if p == nil {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	force := time.NewTimer(5 * time.Second)
	defer force.Stop()
	select {
	case <-p.done:
	case <-force.C:
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}
