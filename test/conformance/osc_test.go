//go:build conformance

package conformance

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/quotas"

	"isospin/isospintest"
)

// oscLeftOut are the commands of openstackclient's networking that the walk does not go, by how they begin, and why.
func oscLeftOut() map[string]string {
	return map[string]string{
		"bgp ": "dynamic routing is a project beside Neutron", "bgpvpn ": "a project beside Neutron", "sfc ": "a project beside Neutron",
		"firewall group ": "comes with the firewalls", "vpn ": "comes with the VPNs",
		"limits show": "of compute and volumes", "quota set": "asks compute first", "quota show": "asks compute first", "project cleanup": "deletes in all services", "project purge": "deletes in compute, images and volumes",
		"configuration show": "asks no server", "versions show": "asks the catalogue's services for what they are",
	}
}

// TestOpenstackclient walks all networking commands of the client that people use, in one process of it, and compares
// what they answer. It needs Debian's python3-openstackclient.
func TestOpenstackclient(t *testing.T) {
	options := listening(t, databases.Fresh(t, "sqlite"))
	options["DEFAULT/dns_domain"] = "example.org."
	s := isospintest.Start(t, isospintest.Options{Auth: "dev", Config: options})
	hosts(t, options, 2)
	admin := loggedIn(t, s, "admin", "isospin", "admin")
	seven, many := 7, 55
	_, err := quotas.Update(t.Context(), admin, projectOf(t, loggedIn(t, s, "demo", "isospin-demo", "demo")), quotas.UpdateOpts{FloatingIP: &seven, Network: &many}).Extract()
	must(t, err)
	c := startOSC(t, s.CloudsFile)
	steps := oscSteps(t)
	went := map[string]bool{}
	commands := c.commands(t)
	for _, s := range steps {
		went[oscCommand(commands, s.line)] = true
		c.step(t, s)
	}
	for _, name := range commands {
		out := false
		for prefix := range oscLeftOut() {
			out = out || strings.HasPrefix(name+" ", prefix) || name == prefix
		}
		if out == went[name] {
			t.Errorf("%q: walked %v, left out %v", name, went[name], out)
		}
	}
}

// oscStep is a command and what it must answer: nothing, JSON, or an error that holds a text.
type oscStep struct {
	at         int
	line, want string
	refused    string
}

// oscSteps reads testdata/openstack.walk: "$ command", then the JSON that its answer must hold (see fits), or "! text" of an
// error. ${name} stands for a value that an earlier answer had where "=name" was expected.
func oscSteps(t *testing.T) (steps []oscStep) {
	t.Helper()
	raw, err := os.ReadFile("testdata/openstack.walk")
	must(t, err)
	for i, line := range strings.Split(string(raw), "\n") {
		switch {
		case strings.HasPrefix(line, "$ "):
			steps = append(steps, oscStep{at: i + 1, line: line[2:]})
		case strings.HasPrefix(line, "! "):
			steps[len(steps)-1].refused = line[2:]
		case line != "" && !strings.HasPrefix(line, "#"):
			steps[len(steps)-1].want += line + "\n"
		}
	}
	return steps
}

// oscCommand is the command that a line begins with.
func oscCommand(commands []string, line string) (found string) {
	for _, name := range commands {
		if strings.HasPrefix(line+" ", name+" ") && len(name) > len(found) {
			found = name
		}
	}
	return found
}

// osc is a process of the client.
type osc struct {
	in      io.Writer
	answers chan string
	vars    map[string]string
}

const oscEnd = "end-of-answer"

func startOSC(t *testing.T, clouds string) *osc {
	t.Helper()
	cmd := exec.Command("/usr/bin/openstack")
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", "HOME=" + cmd.Dir, "PYTHONUNBUFFERED=1", "PYTHONWARNINGS=ignore", "no_proxy=127.0.0.1", "NO_PROXY=127.0.0.1",
		"OS_CLIENT_CONFIG_FILE=" + clouds, "OS_CLOUD=isospin"}
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	cmd.Stderr = cmd.Stdout
	must(t, cmd.Start())
	c := &osc{in: in, answers: make(chan string), vars: map[string]string{}}
	ended := make(chan struct{})
	go func() { // reads until the process ends
		defer close(ended)
		defer close(c.answers)
		var b strings.Builder
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<24)
		for lines.Scan() {
			if lines.Text() == oscEnd {
				c.answers <- b.String()
				b.Reset()
				continue
			}
			b.WriteString(lines.Text() + "\n")
		}
	}()
	t.Cleanup(func() {
		_ = in.Close() // which ends it
		for range c.answers {
		}
		<-ended
		_ = cmd.Wait() // its status is that of the last command
	})
	return c
}

// do types a line and gives what the client says.
func (c *osc) do(t *testing.T, line string) string {
	t.Helper()
	_, err := fmt.Fprintf(c.in, "%s\n!echo %s\n", line, oscEnd)
	must(t, err)
	select {
	case a, ok := <-c.answers:
		if !ok {
			t.Fatalf("%s: the client ended", line)
		}
		return a
	case <-time.After(time.Minute):
		t.Fatalf("%s: the client does not answer", line)
	}
	return ""
}

// commands are those of the groups that have to do with networks.
func (c *osc) commands(t *testing.T) (names []string) {
	t.Helper()
	var groups []struct {
		Group    string   `json:"Command Group"`
		Commands []string `json:"Commands"`
	}
	answer := c.do(t, "command list -f json")
	must(t, json.Unmarshal([]byte(answer[strings.Index(answer, "["):]), &groups))
	for _, g := range groups {
		if slices.Contains([]string{"openstack.network.v2", "openstack.neutronclient.v2", "openstack.common"}, g.Group) {
			names = append(names, g.Commands...)
		}
	}
	if len(names) < 150 {
		t.Fatalf("the client has %d commands", len(names))
	}
	return names
}

var oscTrouble = regexp.MustCompile(`(?m)Exception|Traceback|^usage:|rror|HttpE|failed|No .* found|cannot|[Cc]onflict|Unknown`)

// step goes one step.
func (c *osc) step(t *testing.T, s oscStep) {
	t.Helper()
	line := c.fill(s.line)
	if s.want != "" {
		line += " -f json"
	}
	answer := c.do(t, line)
	said := func(format string, args ...any) {
		t.Helper()
		t.Errorf("line %d: $ %s: %s\n%s", s.at, line, fmt.Sprintf(format, args...), answer)
	}
	switch {
	case s.refused != "":
		if !strings.Contains(answer, c.fill(s.refused)) {
			said("%q is not said", c.fill(s.refused))
		}
	case s.want == "":
		if strings.TrimSpace(answer) != "" {
			said("it was to say nothing")
		}
	default:
		at := strings.IndexAny(answer, "{[")
		var got, want any
		if at < 0 || json.Unmarshal([]byte(answer[at:]), &got) != nil || oscTrouble.MatchString(answer[:at]) {
			said("no answer")
			return
		}
		if err := json.Unmarshal([]byte(c.fill(s.want)), &want); err != nil {
			t.Fatalf("line %d: %v", s.at, err)
		}
		names := map[string]string{}
		if why := fits(got, want, names); why != "" {
			said("%s", why)
		}
		maps.Copy(c.vars, names)
	}
}

func (c *osc) fill(text string) string {
	for name, v := range c.vars {
		text = strings.ReplaceAll(text, "${"+name+"}", v)
	}
	return text
}

// fits says in what an answer is not as wanted: an object has the wanted members and may have others; a list has the wanted
// elements in any order and no others, unless the last one wanted is "more"; "=name" takes a value that is not empty for later,
// "~text" is a text that holds it.
func fits(got, want any, names map[string]string) string {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return fmt.Sprintf("%v is no object", got)
		}
		for name, v := range w {
			member, ok := g[name]
			if !ok {
				return name + " is missing"
			}
			if why := fits(member, v, names); why != "" {
				return name + ": " + why
			}
		}
	case []any:
		return holds(got, w, names)
	case string:
		g, text := got.(string)
		if name, ok := strings.CutPrefix(w, "="); ok && text && g != "" {
			names[name] = g
			return ""
		}
		if part, ok := strings.CutPrefix(w, "~"); ok && text && strings.Contains(g, part) {
			return ""
		}
		if got != want {
			return fmt.Sprintf("%#v instead of %q", got, w)
		}
	default:
		if !reflect.DeepEqual(got, want) {
			return fmt.Sprintf("%#v instead of %#v", got, want)
		}
	}
	return ""
}

func holds(got any, want []any, names map[string]string) string {
	all, ok := got.([]any)
	if !ok {
		return fmt.Sprintf("%v is no list", got)
	}
	rest := slices.Clone(all)
	more := len(want) > 0 && want[len(want)-1] == "more"
	if more {
		want = want[:len(want)-1]
	}
	for _, w := range want {
		var taken map[string]string // of the element that fits, not of those that do not
		i := slices.IndexFunc(rest, func(g any) bool {
			taken = map[string]string{}
			return fits(g, w, taken) == ""
		})
		if i < 0 {
			return fmt.Sprintf("%v is not in the list", w)
		}
		maps.Copy(names, taken)
		rest = slices.Delete(rest, i, i+1)
	}
	if len(rest) > 0 && !more {
		return fmt.Sprintf("%v is in the list too", rest[0])
	}
	return ""
}
