package policy

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// maxDepth bounds how deep a check string may nest, so that a hostile one cannot exhaust the stack.
const maxDepth = 100

// parse turns a check string into a tree. The grammar is oslo.policy's: words are parted by white space,
// parentheses stand at the start or the end of a word, `not` binds before `and`, and that before `or`.
// The empty string is always true. What oslo.policy reads as "never" because it cannot parse it is an error here.
func parse(check string) (node, error) {
	words, err := tokenize(check)
	if err != nil {
		return nil, err
	}
	if len(words) == 0 {
		return constant(Always), nil
	}
	p := &parser{words: words}
	n, err := p.or(0)
	if err != nil {
		return nil, err
	}
	if p.at < len(p.words) {
		return nil, fmt.Errorf("unexpected %q", p.words[p.at].text)
	}
	return n, nil
}

// token is a word: an operator, a parenthesis or the text of a check.
type token struct {
	op   bool // and, or, not, ( or )
	text string
}

func tokenize(check string) ([]token, error) {
	var out []token
	for _, word := range strings.Fields(check) {
		open := len(word) - len(strings.TrimLeft(word, "("))
		for range open {
			out = append(out, token{op: true, text: "("})
		}
		word = word[open:]
		body := strings.TrimRight(word, ")")
		// "%(name)" would lose its end here, as it does in oslo.policy; a check's template ends in "s".
		switch low := strings.ToLower(body); low {
		case "":
		case "and", "or", "not":
			out = append(out, token{op: true, text: low})
		default:
			if n := len(body); n >= 2 && (body[0] == '"' || body[0] == '\'') && body[0] == body[n-1] {
				return nil, fmt.Errorf("the literal %s stands alone: write %s:%%(attribute)s", body, body)
			}
			out = append(out, token{text: body})
		}
		for range len(word) - len(body) {
			out = append(out, token{op: true, text: ")"})
		}
	}
	return out, nil
}

type parser struct {
	words []token
	at    int
}

var errEnd = errors.New("the rule ends too early")

func (p *parser) takes(op string) bool {
	if p.at < len(p.words) && p.words[p.at].op && p.words[p.at].text == op {
		p.at++
		return true
	}
	return false
}

func (p *parser) or(depth int) (node, error) {
	first, err := p.and(depth)
	if err != nil {
		return nil, err
	}
	list := or{first}
	for p.takes("or") {
		n, err := p.and(depth)
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	if len(list) == 1 {
		return first, nil
	}
	return list, nil
}

func (p *parser) and(depth int) (node, error) {
	first, err := p.unary(depth)
	if err != nil {
		return nil, err
	}
	list := and{first}
	for p.takes("and") {
		n, err := p.unary(depth)
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	if len(list) == 1 {
		return first, nil
	}
	return list, nil
}

func (p *parser) unary(depth int) (node, error) {
	if depth > maxDepth {
		return nil, errors.New("the rule nests too deep")
	}
	if p.at >= len(p.words) {
		return nil, errEnd
	}
	if p.takes("not") {
		n, err := p.unary(depth + 1)
		if err != nil {
			return nil, err
		}
		return not{n}, nil
	}
	if p.takes("(") {
		n, err := p.or(depth + 1)
		if err != nil {
			return nil, err
		}
		if !p.takes(")") {
			return nil, errors.New(`")" is missing`)
		}
		return n, nil
	}
	w := p.words[p.at]
	if w.op {
		return nil, fmt.Errorf("unexpected %q", w.text)
	}
	p.at++
	return parseCheck(w.text)
}

// parseCheck reads one check: "@", "!", or kind:match.
func parseCheck(text string) (node, error) {
	switch text {
	case "@":
		return constant(Always), nil
	case "!":
		return constant(Never), nil
	}
	kind, match, ok := cutKind(text)
	if !ok {
		return nil, fmt.Errorf("%q is no check: kind:match is expected", text)
	}
	switch kind {
	case "rule":
		if match == "" {
			return nil, errors.New("rule: names no rule")
		}
		return &reference{name: match}, nil
	case "role":
		t, err := parseTemplate(match)
		if err != nil {
			return nil, err
		}
		return &role{t}, nil
	case "field":
		return parseField(match)
	case "http", "https":
		return nil, fmt.Errorf("%s: checks that ask another server are not supported", kind)
	}
	return parseComparison(kind, match)
}

// cutKind splits at the first colon; a quoted literal on the left may hold colons.
func cutKind(text string) (kind, match string, ok bool) {
	if q := text[0]; q == '\'' || q == '"' {
		end := strings.IndexByte(text[1:], q)
		if end < 0 || end+2 >= len(text) || text[end+2] != ':' {
			return "", "", false
		}
		return text[:end+2], text[end+3:], true
	}
	kind, match, ok = strings.Cut(text, ":")
	return kind, match, ok && kind != ""
}

// parseField reads collection:attribute=value; the attribute may hold colons, the value may start with "~"
// for a regular expression that is matched at the start (neutron/policy.py, FieldCheck).
func parseField(match string) (node, error) {
	collection, rest, ok := strings.Cut(match, ":")
	attr, value, ok2 := strings.Cut(rest, "=")
	if !ok || !ok2 || collection == "" || attr == "" {
		return nil, fmt.Errorf("field:%s: field:collection:attribute=value is expected", match)
	}
	one := singular(collection)
	f := &field{collection: collection, own: canonical(attr), value: value}
	f.parent = one + ":" + f.own
	f.resource = one
	if one == "subnet" && attr == "router:external" {
		f.parent, f.resource = "network:router:external", "network" // a subnet is external when its network is
	}
	f.fold = strings.EqualFold(value, "true") || strings.EqualFold(value, "false")
	if pattern, ok := strings.CutPrefix(value, "~"); ok {
		re, err := regexp.Compile("^(?:" + pattern + ")")
		if err != nil {
			return nil, fmt.Errorf("field:%s: %w", match, err)
		}
		f.re = re
	}
	return f, nil
}

// parseComparison reads left:right, where left is a credential or a literal and right a template.
func parseComparison(kind, match string) (node, error) {
	right, err := parseTemplate(match)
	if err != nil {
		return nil, err
	}
	if lit, ok := literal(kind); ok {
		return &equal{literal: lit, isLiteral: true, right: right, fold: isBool(lit)}, nil
	}
	if kind == "is_admin" {
		if len(right) != 1 || right[0].attr != "" || !isBool(right[0].text) && right[0].text != "1" && right[0].text != "0" {
			return nil, fmt.Errorf("is_admin:%s: is_admin:True or is_admin:False is expected", match)
		}
		return &isAdmin{want: right[0].text == "1" || strings.EqualFold(right[0].text, "true")}, nil
	}
	get, ok := credential(kind)
	if !ok {
		return nil, fmt.Errorf("%s:%s: a caller has no credential %q", kind, match, kind)
	}
	return &equal{name: kind, get: get, right: right}, nil
}

// literal reads what Python's literal syntax gives for the left side of a check: quoted text, a number, True, False.
func literal(s string) (string, bool) {
	if n := len(s); n >= 2 && (s[0] == '\'' || s[0] == '"') && s[n-1] == s[0] {
		return s[1 : n-1], true
	}
	if s == "True" || s == "False" || s == "None" {
		return s, true
	}
	return s, numeral.MatchString(s)
}

// numeral is a pattern; compiled expressions are safe for concurrent use and never change.
var numeral = regexp.MustCompile(`^[+-]?[0-9]+$`)

func isBool(s string) bool { return strings.EqualFold(s, "true") || strings.EqualFold(s, "false") }

// template is text with %(attribute)s in it.
type template []part

// part is plain text or the name of a target's attribute.
type part struct{ text, attr string }

func parseTemplate(s string) (template, error) {
	var out template
	var text strings.Builder
	for i := 0; i < len(s); {
		if s[i] != '%' {
			text.WriteByte(s[i])
			i++
			continue
		}
		if strings.HasPrefix(s[i:], "%%") {
			text.WriteByte('%')
			i += 2
			continue
		}
		end := strings.Index(s[i:], ")s")
		if !strings.HasPrefix(s[i:], "%(") || end < 3 {
			return nil, fmt.Errorf("%q: %%(attribute)s is expected after a percent sign", s)
		}
		if text.Len() > 0 {
			out = append(out, part{text: text.String()})
			text.Reset()
		}
		out = append(out, part{attr: canonical(s[i+2 : i+end])})
		i += end + 2
	}
	if text.Len() > 0 || len(out) == 0 {
		out = append(out, part{text: text.String()})
	}
	return out, nil
}

// canonical replaces the older names of an attribute, so that a Target answers one name only.
func canonical(attr string) string {
	prefix, last := "", attr
	if i := strings.LastIndexByte(attr, ':'); i >= 0 {
		prefix, last = attr[:i+1], attr[i+1:]
	}
	switch last {
	case "tenant_id", "tenant":
		return prefix + "project_id"
	case "target_project":
		return prefix + "target_tenant"
	}
	return attr
}

// singular is the name of one member of a collection.
func singular(collection string) string {
	if s, ok := strings.CutSuffix(collection, "ies"); ok {
		return s + "y"
	}
	return strings.TrimSuffix(collection, "s")
}
