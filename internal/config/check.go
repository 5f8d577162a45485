package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
)

// Finding is one thing that `isospin config check` tells about a file.
type Finding struct {
	Level   string `json:"level"` // error, warning, info
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`
	Section string `json:"section,omitempty"`
	Option  string `json:"option,omitempty"`
	Message string `json:"message"`
}

// String is "file:line: level: [section] option: message".
func (f Finding) String() string {
	text := fmt.Sprintf("%s: %s: ", Place{File: f.File, Line: f.Line}, f.Level)
	if f.Option != "" {
		text += fmt.Sprintf("[%s] %s: ", f.Section, f.Option)
	}
	return text + f.Message
}

// Inspect reads files as both halves would and tells everything there is to say: values that cannot be used,
// unknown options, older names, and Neutron's options that have no effect. The environment is left out.
func Inspect(files []string) []Finding {
	l := &loader{src: Sources{Files: files, Host: "localhost", Root: true}, options: declarations(), values: map[string]value{}}
	l.read()
	read := len(l.errs)
	server, agent := new(Server), new(Agent)
	l.fill(reflect.ValueOf(server).Elem())
	l.fill(reflect.ValueOf(agent).Elem())
	if len(l.errs) == read {
		server.finish(l)
		agent.finish(l)
	}
	var all []Finding
	for _, err := range l.errs {
		f := Finding{Level: string(levelError), Message: err.Error()}
		var e *Error
		if errors.As(err, &e) {
			f = Finding{Level: string(levelError), File: e.Place.File, Line: e.Place.Line, Section: e.Section, Option: e.Option, Message: e.Message}
		}
		all = append(all, f)
	}
	for _, n := range l.notes {
		all = append(all, Finding{Level: string(n.level), File: n.Place.File, Line: n.Place.Line, Section: n.Section, Option: n.Option, Message: n.Message})
	}
	order := map[string]int{}
	for i, f := range files {
		order[f] = i
	}
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(order[a.File], order[b.File]), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(all) // what both halves read is found twice
}

// Check writes what Inspect finds, one finding a line, and a line that counts. The answer is the exit status:
// 1 when there are errors.
func Check(files []string, w io.Writer) int {
	counts := map[string]int{}
	for _, f := range Inspect(files) {
		counts[f.Level]++
		_, _ = fmt.Fprintln(w, f)
	}
	_, _ = fmt.Fprintf(w, "%d errors, %d warnings, %d remarks\n",
		counts[string(levelError)], counts[string(levelWarning)], counts[string(levelInfo)])
	if counts[string(levelError)] > 0 {
		return 1
	}
	return 0
}
