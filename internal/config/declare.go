package config

import (
	_ "embed"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Option is one declared option: what the tags of a component's field say.
//
//	option      its name
//	default     the text it has when no source names it
//	computed    in words, what the default is when it depends on the machine or on other options
//	deprecated  older names, comma-separated: "name" or "section/name"
//	choices     the texts allowed, comma-separated
//	min, max    bounds of a number, or of the numbers of a range
//	multi       "true": each assignment adds a value
//	secret      "true": the value is never shown
//	help        one sentence, or a few
type Option struct {
	Section    string
	Name       string
	Type       string // in words, for the reference
	Default    string
	Computed   string
	Deprecated []string // "section/name"
	Choices    []string
	Min, Max   *int64
	Multi      bool
	Secret     bool
	Help       string
	Component  string   // the Go struct that declares it
	Roles      []string // "server", "agent"

	path []int // of the field within the role's struct; per role, so only set by roleOptions
	typ  reflect.Type
}

func (o *Option) key() string { return o.Section + "/" + o.Name }

// roleOptions reads the declarations out of a role's struct: its fields are components, whose tag `section` says where they are at home.
func roleOptions(role reflect.Type) []*Option {
	var all []*Option
	for i := range role.NumField() {
		component := role.Field(i)
		section := component.Tag.Get("section")
		if section == "" {
			continue
		}
		for j := range component.Type.NumField() {
			f := component.Type.Field(j)
			name := f.Tag.Get("option")
			if name == "" {
				continue
			}
			o := &Option{
				Section: section, Name: name, Default: f.Tag.Get("default"), Computed: f.Tag.Get("computed"),
				Multi: f.Tag.Get("multi") == "true", Secret: f.Tag.Get("secret") == "true", Help: f.Tag.Get("help"),
				Choices: splitList(f.Tag.Get("choices")), Min: bound(f.Tag.Get("min")), Max: bound(f.Tag.Get("max")),
				Component: component.Type.Name(), Roles: []string{strings.ToLower(role.Name())},
				path: []int{i, j}, typ: f.Type,
			}
			for _, old := range splitList(f.Tag.Get("deprecated")) {
				if !strings.Contains(old, "/") {
					old = section + "/" + old
				}
				o.Deprecated = append(o.Deprecated, old)
			}
			o.Type = typeName(o)
			all = append(all, o)
		}
	}
	return all
}

func bound(tag string) *int64 {
	if tag == "" {
		return nil
	}
	n, err := strconv.ParseInt(tag, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("config: a bound is no number: %v", err))
	}
	return &n
}

// catalogue is every option of every role, and the names that Neutron knows besides.
type catalogue struct {
	ordered []*Option
	byName  map[string]*Option // by "section/name"
	older   map[string]*Option // by older names
	others  map[string]bool    // Neutron's names, "section/name"
}

// neutronOptions are the names that Neutron and its libraries know.
//
//go:embed neutron_options.txt
var neutronOptions string

// declarations reads the structs. It costs a fraction of a millisecond, so nothing is kept.
func declarations() *catalogue {
	c := &catalogue{byName: map[string]*Option{}, older: map[string]*Option{}, others: map[string]bool{}}
	for _, role := range []reflect.Type{reflect.TypeFor[Server](), reflect.TypeFor[Agent]()} {
		for _, o := range roleOptions(role) {
			if known, ok := c.byName[o.key()]; ok {
				if known.Component != o.Component {
					panic(fmt.Sprintf("config: [%s] %s is declared by %s and by %s", o.Section, o.Name, known.Component, o.Component))
				}
				known.Roles = append(known.Roles, o.Roles...)
				continue
			}
			c.byName[o.key()] = o
			c.ordered = append(c.ordered, o)
			for _, old := range o.Deprecated {
				c.older[old] = o
			}
		}
	}
	section := ""
	for _, line := range strings.Split(neutronOptions, "\n") {
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			section = strings.Trim(line, "[]")
		default:
			c.others[section+"/"+line] = true
		}
	}
	return c
}

// find looks an option up by any of its names; deprecated tells that it was an older one.
func (c *catalogue) find(section, name string) (o *Option, deprecated bool) {
	name = strings.ReplaceAll(name, "-", "_")
	if o, ok := c.byName[section+"/"+name]; ok {
		return o, false
	}
	o, ok := c.older[section+"/"+name]
	return o, ok
}

// neutrons tells whether Neutron knows the option. Sections of oslo.privsep contexts may have any name.
func (c *catalogue) neutrons(section, name string) bool {
	return c.others[section+"/"+name] || strings.HasPrefix(section, "privsep") && c.others["privsep/"+name]
}

// suggest guesses what an unknown option was meant to be.
func (c *catalogue) suggest(section, name string) string {
	var best *Option
	at := 3 // more differing letters are no slip of the pen
	for _, o := range c.ordered {
		if o.Section != section && o.Name == name {
			return fmt.Sprintf("; [%s] has an option of this name", o.Section)
		}
		if d := distance(o.Name, name); o.Section == section && d < at {
			best, at = o, d
		}
	}
	if best == nil {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", best.Name)
}

// distance is Levenshtein's: how many letters to change, add or drop.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			diagonal, row[j] = row[j], min(row[j]+1, row[j-1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}

// Options is every option that Isospin reads, by section (DEFAULT and isospin first) and name.
func Options() []Option {
	var all []Option
	for _, o := range declarations().ordered {
		all = append(all, *o)
	}
	rank := func(section string) string {
		switch section {
		case "DEFAULT":
			return " 0"
		case "isospin":
			return " 1"
		}
		return section
	}
	slices.SortFunc(all, func(a, b Option) int {
		if c := strings.Compare(rank(a.Section), rank(b.Section)); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return all
}
