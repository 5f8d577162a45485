// Package config declares Isospin's options and reads them: from files in the language of oslo.config, the
// environment and flags, in Neutron's own sections and names. main and assemble call it, once, at start;
// what they get is plain values that they hand to the constructors of the parts. It never logs, never keeps
// state, and no other package reads configuration.
package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// Sources says where values come from. Later beats earlier: defaults, files, the environment, flags.
type Sources struct {
	// Files are read in order; of an option given twice the later value holds.
	Files []string
	// Dirs are read after Files: of each, the *.conf files in the order of their names.
	Dirs []string
	// Env is the environment in the form of os.Environ. Read are OS_<SECTION>__<OPTION>, as oslo.config
	// does, and what the default of state_dir depends on.
	Env []string
	// Flags holds values by "section/option", such as "DEFAULT/bind_port".
	Flags map[string]string
	// Host is the default of [DEFAULT] host; empty: the machine's name.
	Host string
	// Root tells whether the process may write below /var/lib; it decides the default of state_dir.
	Root bool
}

// Process is the machine's part of Sources: environment, name and rights of this process.
func Process() (Sources, error) {
	host, err := os.Hostname()
	if err != nil {
		return Sources{}, fmt.Errorf("host name: %w", err)
	}
	return Sources{Env: os.Environ(), Host: host, Root: os.Geteuid() == 0}, nil
}

// Warning is something about the sources that does not keep Isospin from starting.
type Warning struct {
	Place   Place
	Section string
	Option  string
	Message string
}

// String is "place: [section] option: message".
func (w Warning) String() string {
	return fmt.Sprintf("%s: [%s] %s: %s", w.Place, w.Section, w.Option, w.Message)
}

// Error is a value that cannot be used. Load joins all that it finds.
type Error struct {
	Place   Place
	Section string
	Option  string
	Message string // with what is allowed; never a secret
}

// Error is "place: [section] option: message"; of what is no option, "place: message".
func (e *Error) Error() string {
	if e.Option == "" {
		return fmt.Sprintf("%s: %s", e.Place, e.Message)
	}
	return fmt.Sprintf("%s: [%s] %s: %s", e.Place, e.Section, e.Option, e.Message)
}

// Place is where a value stands: a line of a file, a variable of the environment, a flag, or nowhere (a default).
type Place struct {
	File string // or "environment OS_...", "flag ..."; "default"
	Line int    // 0 when File is no file
}

// String is "file:line", or File alone.
func (p Place) String() string {
	if p.Line > 0 {
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return p.File
}

// Role is a half of Isospin, the set of options that it reads.
type Role interface{ Server | Agent }

// Load reads the options of a role. Warnings are unknown options. The error joins an *Error for every value
// that cannot be used; a file that cannot be read or is no INI is an error too.
func Load[R Role](src Sources) (*R, []Warning, error) {
	all := declarations()
	l := &loader{src: src, options: all, values: map[string]value{}}
	l.read()
	conf := new(R)
	l.fill(reflect.ValueOf(conf).Elem())
	if len(l.errs) == 0 {
		if f, ok := any(conf).(finisher); ok {
			f.finish(l)
		}
	}
	if len(l.errs) > 0 {
		return nil, l.warnings(), errors.Join(l.errs...)
	}
	return conf, l.warnings(), nil
}

// finisher computes what depends on several options or on the machine, and judges options together.
type finisher interface{ finish(l *loader) }

var (
	_ finisher = (*Server)(nil)
	_ finisher = (*Agent)(nil)
)

// value is what the sources say of one option.
type value struct {
	texts []string // one; several of a multi-valued option
	place Place
	flag  bool
}

// note is something found while reading, for Load's warnings and for `config check`.
type note struct {
	Warning
	level level
}

type level string

const (
	levelError   level = "error"
	levelWarning level = "warning"
	levelInfo    level = "info"
)

type loader struct {
	src     Sources
	options *catalogue
	values  map[string]value // by "section/name"
	notes   []note
	errs    []error
}

func (l *loader) fail(p Place, section, option, format string, args ...any) {
	l.errs = append(l.errs, &Error{Place: p, Section: section, Option: option, Message: fmt.Sprintf(format, args...)})
}

func (l *loader) warnings() []Warning {
	var ws []Warning
	for _, n := range l.notes {
		if n.level == levelWarning {
			ws = append(ws, n.Warning)
		}
	}
	return ws
}

// place is where the option's value was given.
func (l *loader) place(section, name string) Place {
	if v, ok := l.values[section+"/"+name]; ok {
		return v.place
	}
	return Place{File: "default"}
}

func (l *loader) read() {
	files := slices.Clone(l.src.Files)
	for _, dir := range l.src.Dirs {
		entries, err := os.ReadDir(dir) // sorted
		if err != nil {
			l.fail(Place{File: dir}, "", "", "the folder cannot be read: %v", err)
			continue
		}
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".conf") && !strings.HasPrefix(e.Name(), ".") {
				files = append(files, filepath.Join(dir, e.Name()))
			}
		}
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			l.fail(Place{File: name}, "", "", "the file cannot be read: %v", err)
			continue
		}
		assignments, errs := parseINI(name, string(data))
		l.errs = append(l.errs, errs...)
		for _, a := range assignments {
			l.assign(a)
		}
	}
	l.readEnv()
	l.readFlags()
}

// assign takes one assignment of a file.
func (l *loader) assign(a assignment) {
	place := Place{File: a.file, Line: a.line}
	o, deprecated := l.options.find(a.section, a.key)
	if o == nil {
		l.unknown(place, a.section, a.key, a.text)
		return
	}
	if deprecated {
		l.notes = append(l.notes, note{level: levelInfo, Warning: Warning{Place: place, Section: a.section, Option: a.key,
			Message: fmt.Sprintf("an older name of [%s] %s", o.Section, o.Name)}})
	}
	v := value{texts: []string{a.text}, place: place}
	if o.Multi {
		v.texts = append(slices.Clone(l.values[o.key()].texts), a.text)
	}
	l.values[o.key()] = v
}

// unknown notes an option that Isospin does not declare. Its value is kept, for $name in other values.
func (l *loader) unknown(place Place, section, key, text string) {
	w := Warning{Place: place, Section: section, Option: key}
	lv := levelInfo
	if l.options.neutrons(section, key) {
		w.Message = "an option of Neutron's that Isospin does not need; it has no effect"
	} else {
		lv = levelWarning
		w.Message = "unknown option, it has no effect" + l.options.suggest(section, key)
	}
	l.notes = append(l.notes, note{level: lv, Warning: w})
	l.values[section+"/"+key] = value{texts: []string{text}, place: place}
}

func (l *loader) readEnv() {
	for _, pair := range l.src.Env {
		name, text, _ := strings.Cut(pair, "=")
		rest, ok := strings.CutPrefix(name, "OS_")
		if !ok {
			continue
		}
		section, key, ok := strings.Cut(rest, "__")
		if !ok {
			continue
		}
		section, key = foldSection(section), strings.ToLower(key)
		o, _ := l.options.find(section, key)
		if o == nil {
			// The environment is everybody's: a name that means nothing here may mean something to another service.
			continue
		}
		l.values[o.key()] = value{texts: []string{text}, place: Place{File: "environment " + name}}
	}
}

func (l *loader) readFlags() {
	for _, name := range slices.Sorted(maps.Keys(l.src.Flags)) {
		text := l.src.Flags[name]
		section, key, _ := strings.Cut(name, "/")
		o, _ := l.options.find(section, key)
		if o == nil {
			l.fail(Place{File: "flag"}, section, key, "no such option")
			continue
		}
		l.values[o.key()] = value{texts: []string{text}, place: Place{File: "flag"}, flag: true}
	}
}
