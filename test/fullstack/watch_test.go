//go:build integration

package fullstack

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"isospin/internal/lab"
)

// pid is the process of one of the lab's daemons, "h1/agent".
func (s *stack) pid(t *testing.T, daemon string) int {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(s.Dir(), "lab.json"))
	must(t, err)
	var state struct {
		Procs map[string]struct {
			PID int `json:"pid"`
		} `json:"procs"`
	}
	must(t, json.Unmarshal(b, &state))
	return state.Procs[daemon].PID
}

// watchers see every write to a host's Open vSwitch and kernel network from outside.
type watchers struct {
	flows, database, kernel *buffer
	processes               []*lab.Process
	// cables is how the kernel's monitor calls the namespace that the host's cables end in: what happens there is no write of the host's.
	cables string
}

// watch starts the watchers of a host and returns when they see.
func (s *stack) watch(t *testing.T, host string) *watchers {
	t.Helper()
	w := &watchers{flows: &buffer{}, database: &buffer{}, kernel: &buffer{}}
	spawn := func(out *buffer, args ...string) {
		p, err := s.Spawn(t.Context(), host, out, out, args...)
		must(t, err)
		w.processes = append(w.processes, p)
	}
	t.Cleanup(func() { w.end() })
	if m := regexp.MustCompile(`link-netnsid (\d+)`).FindStringSubmatch(s.on(t, host, "ip", "-o", "link", "show", "eth0")); m != nil {
		w.cables = "[nsid " + m[1] + "]"
	}
	db := "unix:" + filepath.Join(s.Dir(), "hosts", host, "ovs", "db.sock")
	spawn(w.flows, "ovs-ofctl", "-O", "OpenFlow14", "monitor", "br-int", "watch:!initial")
	// What Open vSwitch itself writes (statistics, states) is in other columns.
	for table, columns := range map[string]string{
		"Bridge":    "!initial,name,ports,external_ids,other_config,protocols,controller,fail_mode,datapath_type",
		"Port":      "!initial,name,interfaces,tag,external_ids,other_config",
		"Interface": "!initial,name,type,options,external_ids,other_config,ofport_request,mtu_request",
	} {
		spawn(w.database, "ovsdb-client", "monitor", db, "Open_vSwitch", table, columns)
	}
	spawn(w.kernel, "ip", "-timestamp", "monitor", "link", "address", "route", "rule", "all-nsid")
	// A write of the test's own tells that they look: a key of the bridge, and a device that comes and goes.
	probe := func(value string) {
		s.on(t, host, "ovs-vsctl", "--db="+db, "set", "Bridge", "br-int", "other_config:watched="+value)
		s.on(t, host, "ovs-ofctl", "-O", "OpenFlow15", "add-flow", "br-int", "cookie=0xfeed,table=250,priority="+value+",actions=drop")
		s.on(t, host, "ip", "link", "add", "watched"+value, "type", "veth", "peer", "name", "watcher"+value)
		s.on(t, host, "ip", "link", "delete", "watched"+value)
	}
	round := 0
	until(t, 10*time.Second, "watchers see", func() (bool, string) {
		round++
		probe(strconv.Itoa(round))
		said := fmt.Sprintf("flows %q\ndatabase %q\nkernel %q", w.flows, w.database, w.kernel)
		return strings.Contains(w.flows.String(), "ADDED") && strings.Contains(w.database.String(), "watched=") && strings.Contains(w.kernel.String(), "watched"), said
	})
	s.on(t, host, "ovs-vsctl", "--db="+db, "remove", "Bridge", "br-int", "other_config", "watched")
	s.on(t, host, "ovs-ofctl", "-O", "OpenFlow15", "del-flows", "br-int", "table=250")
	settle(t, w)
	return w
}

// settle waits until nothing comes any more, also no IPv6 address of a new device, which the kernel checks for up to two
// seconds; and forgets what came.
func settle(t *testing.T, w *watchers) {
	t.Helper()
	size := func() int { return len(w.flows.String()) + len(w.database.String()) + len(w.kernel.String()) }
	before, since := size(), time.Now()
	until(t, 20*time.Second, "quiet", func() (bool, string) {
		if now := size(); now != before {
			before, since = now, time.Now()
		}
		return time.Since(since) > 2*time.Second, fmt.Sprintf("flows %q\ndatabase %q\nkernel %q", w.flows, w.database, w.kernel)
	})
	w.flows.reset()
	w.database.reset()
	w.kernel.reset()
}

func (b *buffer) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.b.Reset()
}

func (w *watchers) flowsSeen() string { return w.flows.String() }

// silent fails the test for every write that was seen.
func (w *watchers) silent(t *testing.T) {
	t.Helper()
	for what, text := range map[string]string{"flows": w.flows.String(), "database": w.database.String(), "kernel": w.onHost()} {
		if text != "" {
			t.Errorf("writes were seen in %s:\n%s", what, text)
		}
	}
}

// onHost is what the kernel told of the host's own namespaces.
func (w *watchers) onHost() string {
	var out strings.Builder
	for _, event := range regexp.MustCompile(`(?m)^Timestamp: `).Split(w.kernel.String(), -1) {
		if event != "" && (w.cables == "" || !strings.Contains(event, w.cables)) {
			out.WriteString(event)
		}
	}
	return out.String()
}

func (w *watchers) end() {
	for _, p := range w.processes {
		_ = p.Signal(syscall.SIGTERM) // One that has ended is fine.
		_ = p.Wait()
	}
	w.processes = nil
}
