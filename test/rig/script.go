package rig

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// Step is one request of a script and what is expected of its answer.
type Step struct {
	// As says who: "A" administrator, "M" member, "R" reader of the same project, "S" service, "O" a member of another project.
	As string
	// Do is method and path, such as "POST /networks"; ${name} stands for a saved value, here and in Body.
	Do string
	// Body is sent as it is; without one nothing is sent.
	Body string
	// Want is the status and for errors the type: "201", "409 NetworkInUse".
	Want string
	// Save keeps values of the answer: "net=network.id".
	Save string
	// Has are lines of "path = JSON", "path absent" or "path present": "network.mtu = 1450", "ports.0.name = \"a\"", "ports.# = 2".
	Has string
	// Header is a header to send, "If-Match: revision_number=1".
	Header string
}

// Vars are the values that scripts save.
type Vars map[string]string

// Projects of the callers in scripts.
const (
	ProjectA = "a0000000000000000000000000000000"
	ProjectM = "b0000000000000000000000000000000"
	ProjectO = "c0000000000000000000000000000000"
	ProjectS = "d0000000000000000000000000000000"
)

// Who is the caller that a letter stands for.
func (c Caller) Who(letter string) Caller {
	switch letter {
	case "M":
		return c.As(ProjectM, "member,reader")
	case "R":
		return c.As(ProjectM, "reader")
	case "O":
		return c.As(ProjectO, "member,reader")
	case "S":
		return c.As(ProjectS, "service")
	}
	return c.As(ProjectA, "admin,manager,member,reader")
}

var variable = regexp.MustCompile(`\$\{[a-z0-9_]+\}`)

// expand puts saved values into a text; a name that nobody saved is left, so that the failure shows it.
func (v Vars) expand(text string) string {
	return variable.ReplaceAllStringFunc(text, func(m string) string {
		if x, ok := v[m[2:len(m)-1]]; ok {
			return x
		}
		return m
	})
}

// Run sends a script's requests in order; what is not as expected fails the test, which goes on.
func (c Caller) Run(t *testing.T, v Vars, steps []Step) {
	t.Helper()
	c.TB = t
	for i, s := range steps {
		method, path, _ := strings.Cut(v.expand(s.Do), " ")
		var body []byte
		if s.Body != "" {
			body = []byte(v.expand(s.Body))
		}
		header := map[string]string{}
		if k, x, ok := strings.Cut(v.expand(s.Header), ": "); ok {
			header[k] = x
		}
		a := c.Who(s.As).Send(method, path, body, header)
		name := fmt.Sprintf("step %d, %s %s %.300s", i, s.As, s.Do, s.Body)
		got := fmt.Sprint(a.Status)
		if a.Status >= 400 && strings.Contains(s.Want, " ") {
			got += " " + a.Fault()
		}
		if a.Err != nil || got != s.Want {
			t.Errorf("%s:\n\tgot  %s %.400s %v\n\twant %s", name, got, a.Body, a.Err, s.Want)
			continue
		}
		object := any(a.Object())
		for _, pair := range strings.Fields(s.Save) {
			k, p, _ := strings.Cut(pair, "=")
			x, ok := at(object, p)
			if !ok {
				t.Errorf("%s: no %s in %.300s", name, p, a.Body)
				continue
			}
			v[k] = fmt.Sprint(x)
		}
		for line := range strings.Lines(s.Has) {
			if line = strings.TrimSpace(line); line != "" {
				expect(t, name, object, v.expand(line), a.Body)
			}
		}
	}
}

func expect(t *testing.T, name string, object any, line string, body []byte) {
	t.Helper()
	if p, ok := strings.CutSuffix(line, " absent"); ok {
		if x, found := at(object, p); found {
			t.Errorf("%s: %s is there: %v", name, p, x)
		}
		return
	}
	if p, ok := strings.CutSuffix(line, " present"); ok {
		if _, found := at(object, p); !found {
			t.Errorf("%s: %s is not there: %.600s", name, p, body)
		}
		return
	}
	p, want, _ := strings.Cut(line, " = ")
	x, found := at(object, p)
	got, err := json.Marshal(x)
	if err != nil || !found || !sameJSON(string(got), want) {
		t.Errorf("%s: %s is %s (there: %v), want %s\n\t%.800s", name, p, got, found, want, body)
	}
}

func sameJSON(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	p, err1 := json.Marshal(x)
	q, err2 := json.Marshal(y)
	return err1 == nil && err2 == nil && string(p) == string(q)
}

// at follows a path of names, list indexes and "#" (the length of a list).
func at(v any, path string) (any, bool) {
	if path == "" {
		return v, true
	}
	for name := range strings.SplitSeq(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			y, ok := x[name]
			if !ok {
				return nil, false
			}
			v = y
		case []any:
			if name == "#" {
				v = len(x)
				continue
			}
			var i int
			if _, err := fmt.Sscan(name, &i); err != nil || i < 0 || i >= len(x) {
				return nil, false
			}
			v = x[i]
		default:
			return nil, false
		}
	}
	return v, true
}
