//go:build integration

package fullstack

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// events is the file that a host writes its security groups' events to.
type events struct {
	s    *stack
	path string
}

// order makes an order to log.
func (s *stack) order(t *testing.T, attributes object) string {
	t.Helper()
	body := object{"log": with(attributes, object{"resource_type": "security_group"})}
	return inner(t, s.call(t, "POST", "log/logs", body), "log").id()
}

// having are the lines with all of the texts.
func (e events) having(texts ...string) (out []string) {
	text, _ := os.ReadFile(e.path) // none before the first event
	for line := range strings.Lines(string(text)) {
		if !slices.ContainsFunc(texts, func(t string) bool { return !strings.Contains(line, t) }) {
			out = append(out, line)
		}
	}
	return out
}

func (e events) await(t *testing.T, texts ...string) {
	t.Helper()
	until(t, 10*time.Second, "an event", func() (bool, string) {
		all := e.having()
		return len(e.having(texts...)) > 0, fmt.Sprint(texts, " in\n", strings.Join(all, ""))
	})
}

// TestSecurityGroupEvents: what groups accept is written down once a connection, what they refuse packet by packet and no more of it than the limit
// says; an order that is not in force writes nothing, and leaves nothing on the bridge.
func TestSecurityGroupEvents(t *testing.T) {
	file := filepath.Join(t.TempDir(), "events.log")
	s := bring(t, "[agent]\nextensions = log\n\n[network_log]\nlocal_output_log_base = "+file+"\n", whole("h1"))
	e := events{s, file}
	n := s.net(t, "told", "10.9.4.0/24", nil)
	pass, shut := s.free(t, "pass", "egress"), s.free(t, "shut", "egress")
	s.rule(t, pass, "ingress", "IPv4", object{"protocol": "icmp"})
	port := func(group string) string {
		return s.create(t, "port", object{"network_id": n.id(), "security_groups": []string{group}}).id()
	}
	open, closed, asks := port(pass), port(shut), port(pass)
	g := s.static(t, birth{name: "open", host: "h1", port: open}, birth{name: "closed", host: "h1", port: closed}, birth{name: "asks", host: "h1", port: asks})
	all := s.order(t, object{"resource_id": pass, "target_id": open})
	drops := s.order(t, object{"resource_id": shut, "event": "DROP"})
	until(t, 10*time.Second, "flows that tell", func() (bool, string) { out := s.flows(t, "h1"); return strings.Count(out, "controller(") == 6, out })

	s.on(t, "asks", "ping", "-c5", "-i0.05", "-W1", g["open"].IPs[0])
	e.await(t, "action=ACCEPT", "log_resource_ids=["+all+"]", "vm_port="+open, "dst="+g["open"].IPs[0], "icmp(type=8,code=0)")
	if got := e.having("action=ACCEPT"); len(got) != 1 {
		t.Errorf("one connection was accepted, and these were told: %q", got)
	}
	s.silent(t, "asks", g["closed"].IPs[0])
	e.await(t, "action=DROP", "log_resource_ids=["+drops+"]", "vm_port="+closed, "dst="+g["closed"].IPs[0])

	// A flood is told no faster than the limit says, and others' traffic does not notice.
	before, began := len(e.having("action=DROP")), time.Now()
	st := s.start(t, "asks", g["open"].IPs[0])
	s.shoot(t, "asks", g["closed"].IPs[0], 0, 20000, 3*time.Second)
	took := time.Since(began)
	lost := st.stop(t)
	told := len(e.having("action=DROP")) - before
	t.Logf("of 20,000 drops in %s %d were told", took, told)
	if limit := 25 + 100*(took.Seconds()+1); told < 50 || float64(told) > limit {
		t.Errorf("%d drops were told in %s", told, took)
	}
	if lost > 0 {
		t.Errorf("%d pings were lost beside the flood", lost)
	}

	// A restart writes nothing.
	began = time.Now()
	flows := s.flows(t, "h1")
	must(t, s.AgentKill(t.Context(), "h1"))
	must(t, s.AgentStart(t.Context(), "h1"))
	if youngest, since := slices.Min(s.ages(t, "h1")), time.Since(began).Seconds(); youngest < since || s.flows(t, "h1") != flows {
		t.Errorf("the flows are not what they were; the youngest is %.1f s old, the restart began %.1f s ago", youngest, since)
	}
	before = len(e.having("action=DROP"))
	until(t, 10*time.Second, "drops told after a restart", func() (bool, string) {
		s.silent(t, "asks", g["closed"].IPs[0])
		return len(e.having("action=DROP")) > before, ""
	})

	// Out of force, and gone.
	s.call(t, "PUT", "log/logs/"+drops, object{"log": object{"enabled": false}})
	s.call(t, "DELETE", "log/logs/"+all, nil)
	until(t, 10*time.Second, "no flow that tells", func() (bool, string) { out := s.flows(t, "h1"); return !strings.Contains(out, "controller("), out })
	before = len(e.having())
	s.silent(t, "asks", g["closed"].IPs[0])
	if after := len(e.having()); after != before {
		t.Errorf("%d events more", after-before)
	}
	if meters := s.on(t, "h1", "ovs-ofctl", "-O", "OpenFlow15", "dump-meters", "br-int"); strings.Contains(meters, "meter=") {
		t.Errorf("left: %s", meters)
	}
}
