package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"isospin/internal/lab/proc"
)

// readyWithin bounds the start of a server or an agent. It is for slow machines: an emulated one takes half a minute.
const readyWithin = 3 * time.Minute

// serverConfig is D/server/isospin.conf. What is not in it has the server's own defaults, which are made
// for trying out.
func (l *Lab) serverConfig(s *state) (string, error) {
	host, portNumber, err := net.SplitHostPort(s.API)
	if err != nil {
		return "", fmt.Errorf("address of the API %q: %w", s.API, err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "[DEFAULT]\nbind_host = %s\nbind_port = %s\nauth_strategy = %s\n", host, portNumber, s.Auth)
	fmt.Fprintf(&b, "\n[isospin]\nstate_dir = %s\nsession_listen = %s\n", l.path("server"), s.Session)
	var drivers []string
	for _, d := range []string{OpenVSwitch, LinuxBridge} {
		if slices.ContainsFunc(s.Hosts, func(h *Host) bool { return h.Mechanism == d }) {
			drivers = append(drivers, d)
		}
	}
	fmt.Fprintf(&b, "\n[ml2]\nmechanism_drivers = %s,l2population\n", strings.Join(drivers, ","))
	return b.String(), nil
}

func (l *Lab) serverConf() string { return l.path("server", "isospin.conf") }

// configArgs are the --config-file arguments: the lab's own file, then the user's, which win.
func configArgs(own string, s *state) []string {
	args := []string{"--config-file", own}
	for _, f := range s.ConfigFiles {
		args = append(args, "--config-file", f)
	}
	return args
}

// startServer starts the server and returns when it is ready.
func (l *Lab) startServer(ctx context.Context, s *state) error {
	conf, err := l.serverConfig(s)
	if err != nil {
		return err
	}
	if err := writeFile(l.serverConf(), conf); err != nil {
		return err
	}
	argv := append([]string{s.Binary, "server"}, configArgs(l.serverConf(), s)...)
	ref, err := l.daemon(s, "server", "server/server.log", nil, append(argv, "--state-dir", l.path("server"))...)
	if err != nil {
		return err
	}
	if err := waitReady(ctx, http.DefaultClient, "http://"+s.API+"/readyz", ref); err != nil {
		return l.explain(fmt.Errorf("server: %w", err), "server", "server.log")
	}
	return nil
}

// ServerStart starts a stopped server and returns when it is ready.
func (l *Lab) ServerStart(ctx context.Context) error {
	s, err := l.state()
	if err != nil {
		return err
	}
	if s.Bare {
		return errors.New("this lab has no server")
	}
	if s.Procs["server"].Alive() {
		return errors.New("the server is running")
	}
	return l.startServer(ctx, s)
}

// ServerStop ends the server in order.
func (l *Lab) ServerStop(ctx context.Context) error { return l.end(ctx, "server", false) }

// ServerKill ends the server at once.
func (l *Lab) ServerKill(ctx context.Context) error { return l.end(ctx, "server", true) }

// ServerRestart is stop, if it runs, and start.
func (l *Lab) ServerRestart(ctx context.Context) error {
	if err := l.ServerStop(ctx); err != nil {
		return err
	}
	return l.ServerStart(ctx)
}

// end ends one daemon; one that does not run is not an error.
func (l *Lab) end(ctx context.Context, name string, kill bool) error {
	s, err := l.state()
	if err != nil {
		return err
	}
	ref := s.Procs[name]
	if !ref.Alive() {
		return nil
	}
	if kill {
		err = ref.Kill(ctx)
	} else {
		err = ref.Stop(ctx, 15*time.Second)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return l.record(func(s *state) {
		if s.Procs[name] == ref {
			delete(s.Procs, name)
		}
	})
}

// waitReady asks url until it answers 200, or the process that should answer has ended.
func waitReady(ctx context.Context, c *http.Client, url string, by proc.Ref) error {
	limit, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	said := "no answer yet"
	for pause := 2 * time.Millisecond; ; pause = min(2*pause, 25*time.Millisecond) {
		status, body, err := get(limit, c, url)
		switch {
		case err == nil && status == http.StatusOK:
			return nil
		case err == nil:
			said = fmt.Sprintf("%d %s", status, body)
		case limit.Err() == nil:
			said = err.Error()
		}
		if !by.Alive() {
			return fmt.Errorf("process %d has ended before it was ready", by.PID)
		}
		select {
		case <-limit.Done():
			return fmt.Errorf("not ready: %s: %w", said, limit.Err())
		case <-time.After(pause):
		}
	}
}

func get(ctx context.Context, c *http.Client, url string) (status int, body string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	response, err := c.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	b := make([]byte, 500)
	n, _ := response.Body.Read(b) // The first bytes, for a message.
	return response.StatusCode, strings.TrimSpace(string(b[:n])), nil
}

// explain adds the end of a log to an error.
func (l *Lab) explain(err error, log ...string) error {
	b, readErr := os.ReadFile(l.path(log...))
	if readErr != nil || len(b) == 0 {
		return err
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return fmt.Errorf("%w; the end of %s:\n%s", err, l.path(log...), strings.Join(lines[max(0, len(lines)-12):], "\n"))
}

// enrol lets a host in: the server's side makes the file that the host's agent needs.
func (l *Lab) enrol(ctx context.Context, s *state, h *Host) error {
	if err := os.MkdirAll(l.path("hosts", h.Name), 0o755); err != nil {
		return fmt.Errorf("folder of host: %w", err)
	}
	args := append([]string{"host", "add", h.Name, "--state-dir", l.path("server"), "--out", l.path("hosts", h.Name, "enrolment")},
		configArgs(l.serverConf(), s)...)
	cmd := exec.CommandContext(ctx, s.Binary, args...)
	cmd.Env = append(os.Environ(), s.mark())
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("enrol host %s: %w: %s", h.Name, err, out)
	}
	return nil
}

func writeFile(path, text string) error {
	if err := os.MkdirAll(path[:strings.LastIndexByte(path, '/')], 0o755); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	return nil
}
