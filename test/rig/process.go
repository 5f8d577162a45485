package rig

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"isospin/internal/assemble"
	"isospin/internal/config"
	"isospin/internal/service/ml2"
)

// childFlags is the variable that makes a test binary a server: its options as JSON.
const childFlags = "ISOSPIN_RIG_SERVER"

// Main is a package's TestMain: the tests, or the server that one of them started. drivers are made in the server,
// ahead of the configured mechanism drivers. After are called when the tests have run.
func Main(m *testing.M, drivers func() []ml2.MechanismDriver, after ...func() error) {
	if text := os.Getenv(childFlags); text != "" {
		os.Exit(serve(text, drivers))
	}
	code := m.Run()
	for _, f := range after {
		if err := f(); err != nil {
			fmt.Fprintln(os.Stderr, "rig:", err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

func serve(text string, drivers func() []ml2.MechanismDriver) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	err := func() error {
		flags := map[string]string{}
		if err := json.Unmarshal([]byte(text), &flags); err != nil {
			return err
		}
		c, _, err := config.Load[config.Server](config.Sources{Flags: flags, Host: "rig"})
		if err != nil {
			return err
		}
		var extra []ml2.MechanismDriver
		if drivers != nil {
			extra = drivers()
		}
		env := assemble.NewEnv(slog.New(slog.NewTextHandler(os.Stderr, nil)))
		return assemble.RunServer(ctx, c, env, os.Stdout, extra...)
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		return 1
	}
	return 0
}

// Process is a server in a process of its own.
type Process struct {
	URL string
	// Took is how long it was until the server said where it is, Busy how much of that it had a processor: a machine that is full
	// of other work makes starts slow that are not.
	Took, Busy time.Duration

	flags map[string]string
	env   []string
	log   string
	cmd   *exec.Cmd
	ended chan error
}

// StartProcess runs this test binary as a server until the test ends; env is added to its environment. Its log is a file in the test's folder, shown when
// the test fails.
func StartProcess(tb testing.TB, options map[string]string, env ...string) *Process {
	tb.Helper()
	dir := tb.TempDir()
	p := &Process{log: filepath.Join(dir, "log"), env: env, flags: map[string]string{
		"DEFAULT/bind_host": "127.0.0.1", "DEFAULT/bind_port": "0", "DEFAULT/auth_strategy": "noauth", "isospin/state_dir": dir, "isospin/session_listen": "127.0.0.1:0",
	}}
	maps.Copy(p.flags, options)
	tb.Cleanup(func() {
		p.Stop(tb)
		if tb.Failed() {
			tb.Logf("the server's log:\n%s", p.Log(tb))
		}
	})
	p.Start(tb)
	return p
}

// Log is what the server wrote to its log so far, the end of it.
func (p *Process) Log(tb testing.TB) string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		tb.Error(err)
	}
	return string(text[max(0, len(text)-8000):])
}

// Start runs it (again) and waits for its line and its first answer; the port stays what it was.
func (p *Process) Start(tb testing.TB) {
	tb.Helper()
	if err := p.start(); err != nil {
		tb.Fatalf("start a server: %v\n%s", err, p.Log(tb))
	}
	// A restarted server has the address of the one before, as an operator's has.
	p.flags["DEFAULT/bind_port"] = p.URL[strings.LastIndexByte(p.URL, ':')+1:]
}

func (p *Process) start() error {
	text, err := json.Marshal(p.flags)
	if err != nil {
		return err
	}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	p.cmd = exec.Command(os.Args[0])
	p.cmd.Env = append(append(os.Environ(), p.env...), childFlags+"="+string(text))
	p.cmd.Stderr = log
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := p.cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	p.ended = ended
	line, err := bufio.NewReader(out).ReadString('\n')
	cmd := p.cmd
	go func() {
		_, copied := io.Copy(io.Discard, out)
		ended <- errors.Join(cmd.Wait(), copied)
	}()
	if err != nil {
		return errors.Join(err, <-ended)
	}
	i := strings.Index(line, "http://")
	if i < 0 {
		return fmt.Errorf("the server says %q", line)
	}
	p.URL = strings.Fields(line[i:])[0] // what follows is for people
	p.Took = time.Since(began)
	p.Busy, err = busy(cmd.Process.Pid)
	return err
}

// busy is the processor's time that a process has used, in the kernel's ticks of 10 ms (proc(5)).
func busy(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])) // from the third on: the name may hold anything
	var sum int64
	for _, field := range fields[11:13] { // utime, stime
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("the process's ticks: %w", err)
		}
		sum += n
	}
	return time.Duration(sum) * 10 * time.Millisecond, nil
}

// Kill ends it as kill -9 does and waits until it is gone.
func (p *Process) Kill(tb testing.TB) {
	tb.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		tb.Fatal(err)
	}
	<-p.ended
	p.cmd = nil
}

// Stop ends it in order; a process that was killed is left alone.
func (p *Process) Stop(tb testing.TB) {
	if p.cmd == nil {
		return
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		tb.Error(err)
		return
	}
	select {
	case err := <-p.ended:
		if err != nil {
			tb.Errorf("the server ended with %v", err)
		}
	case <-time.After(30 * time.Second):
		tb.Error("the server does not stop")
		_ = p.cmd.Process.Kill() // the failure is told already
		<-p.ended
	}
	p.cmd = nil
}
