package config

import (
	"fmt"
	"regexp"
	"strings"
)

// reference is what oslo.config (class Template in oslo_config/cfg.py) replaces: $$, $name, ${name},
// $section.name and ${section.name}.
var reference = regexp.MustCompile(`\$(?:(\$)|([_a-z][._a-z0-9]*)|\{([_a-z][._a-z0-9]*)\})`)

// maxDepth ends values that refer to each other in a circle.
const maxDepth = 16

// substitute replaces the references in text, which is a value of section. A name without a section is
// looked for in the value's own section, then in DEFAULT.
func (l *loader) substitute(section, text string, depth int) (string, error) {
	if !strings.Contains(text, "$") {
		return text, nil
	}
	if depth > maxDepth {
		return "", fmt.Errorf("values refer to each other in a circle")
	}
	var failed error
	out := reference.ReplaceAllStringFunc(strings.ReplaceAll(text, `\$`, "$$"), func(ref string) string {
		m := reference.FindStringSubmatch(ref)
		if m[1] != "" {
			return "$"
		}
		name := m[2] + m[3]
		s, ok, err := l.refer(section, name, depth)
		if err != nil {
			failed = err
		}
		if !ok && failed == nil {
			failed = fmt.Errorf("it refers to $%s, which has no value; a dollar sign is written $$", name)
		}
		return s
	})
	if failed != nil {
		return "", failed
	}
	return out, nil
}

// refer finds the text that a reference stands for.
func (l *loader) refer(section, name string, depth int) (string, bool, error) {
	candidates := [][2]string{{section, name}, {"DEFAULT", name}}
	if s, n, ok := strings.Cut(name, "."); ok {
		candidates = [][2]string{{foldSection(s), n}}
	}
	for _, c := range candidates {
		s, n := c[0], c[1]
		o, _ := l.options.find(s, n)
		if o != nil {
			s, n = o.Section, o.Name
		}
		if v, ok := l.values[s+"/"+n]; ok {
			text := v.texts[len(v.texts)-1]
			if v.flag {
				return text, true, nil
			}
			text, err := l.substitute(s, text, depth+1)
			return text, true, err
		}
		if o == nil {
			continue
		}
		if text := l.fallback(o); text != "" {
			text, err := l.substitute(s, text, depth+1)
			return text, true, err
		}
	}
	return "", false, nil
}

// fallback is an option's default, also where the machine decides it.
func (l *loader) fallback(o *Option) string {
	switch o.key() {
	case "DEFAULT/host":
		return l.src.Host
	case "isospin/state_dir":
		return stateDir(l.src.Env, l.src.Root)
	}
	return o.Default
}
