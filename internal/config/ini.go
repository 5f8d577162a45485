package config

import (
	"fmt"
	"strings"
)

// assignment is one `key = value` of a file, with the line that it begins on.
type assignment struct {
	file    string
	line    int
	section string
	key     string
	text    string // lines of a value that goes on are joined by newlines
}

// parseINI reads the language of oslo.config (oslo_config/iniparser.py): sections, `key = value` or
// `key: value`, comments on lines of their own that begin with # or ;, and values that go on in indented
// lines. Unlike in other INI dialects there are no comments behind a value, no escapes and no %(name)s. It is
// written here and not taken from a library because every message about a value has to name its line.
func parseINI(file, data string) ([]assignment, []error) {
	var (
		all     []assignment
		errs    []error
		section = "DEFAULT"
		open    bool // the last assignment may go on
	)
	fail := func(line int, format string, args ...any) {
		errs = append(errs, &Error{Place: Place{File: file, Line: line}, Message: fmt.Sprintf(format, args...)})
	}
	for i, text := range strings.Split(data, "\n") {
		line := i + 1
		text = strings.TrimRight(text, " \t\r")
		switch {
		case text == "":
			open = false
		case text[0] == ' ' || text[0] == '\t':
			if !open {
				fail(line, "an indented line continues a value, and there is none above it")
				continue
			}
			all[len(all)-1].text += "\n" + strings.TrimLeft(text, " \t")
		case text[0] == '#' || text[0] == ';':
			open = false
		case text[0] == '[':
			open = false
			name, ok := strings.CutSuffix(text[1:], "]")
			if !ok || strings.TrimSpace(name) == "" {
				fail(line, "a section is written [name]")
				continue
			}
			section = foldSection(strings.TrimSpace(name))
		default:
			open = false
			at := strings.IndexAny(text, "=:")
			if at < 0 {
				fail(line, "neither a [section] nor an assignment (name = value)")
				continue
			}
			key := strings.TrimSpace(text[:at])
			if key == "" {
				fail(line, "a value without a name")
				continue
			}
			all = append(all, assignment{
				file: file, line: line, section: section,
				key:  strings.ReplaceAll(key, "-", "_"),
				text: unquote(strings.TrimSpace(text[at+1:])),
			})
			open = true
		}
	}
	return all, errs
}

// unquote takes one pair of equal quotes off.
func unquote(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

// foldSection makes section names comparable: lower case, but DEFAULT.
func foldSection(s string) string {
	if strings.EqualFold(s, "DEFAULT") {
		return "DEFAULT"
	}
	return strings.ToLower(s)
}
