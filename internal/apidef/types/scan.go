package types

import (
	"errors"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds nesting, so that no request can make a decoder recurse without end.
const maxDepth = 32

var (
	errEnd       = errors.New("the text ends too soon")
	errDepth     = errors.New("lists and objects are nested too deeply")
	errByte      = errors.New("a character stands where none may")
	errUTF8      = errors.New("a text is not UTF-8")
	errControl   = errors.New("a text has a control character that is not escaped")
	errEscape    = errors.New("a text has an unknown escape")
	errSurrogate = errors.New("a text has half of a surrogate pair")
	errNUL       = errors.New("a text has a NUL character, which cannot be stored")
	errNumber    = errors.New("a number is badly written")
)

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func trim(b []byte) []byte {
	for len(b) > 0 && blank(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && blank(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

func skipBlank(b []byte, i int) int {
	for i < len(b) && blank(b[i]) {
		i++
	}
	return i
}

// skip gives the index behind the value that starts at i. It proves the syntax of everything but numbers' digits
// and texts' contents, which whoever reads them proves.
func skip(b []byte, i, depth int) (int, error) {
	if i >= len(b) {
		return i, errEnd
	}
	switch b[i] {
	case '"':
		return skipText(b, i)
	case '{', '[':
		return skipNested(b, i, depth)
	case 't':
		return word(b, i, "true")
	case 'f':
		return word(b, i, "false")
	case 'n':
		return word(b, i, "null")
	}
	j := i
	for j < len(b) && (b[j] == '-' || b[j] == '+' || b[j] == '.' || b[j] == 'e' || b[j] == 'E' || b[j] >= '0' && b[j] <= '9') {
		j++
	}
	if j == i {
		return i, errByte
	}
	if !numeral(b[i:j]) {
		return i, errNumber
	}
	return j, nil
}

func word(b []byte, i int, w string) (int, error) {
	if len(b)-i < len(w) || string(b[i:i+len(w)]) != w {
		return i, errByte
	}
	return i + len(w), nil
}

func skipText(b []byte, i int) (int, error) {
	for j := i + 1; j < len(b); j++ {
		switch b[j] {
		case '\\':
			j++
		case '"':
			return j + 1, nil
		}
	}
	return i, errEnd
}

func skipNested(b []byte, i, depth int) (int, error) {
	if depth >= maxDepth {
		return i, errDepth
	}
	object, closing := b[i] == '{', b[i]+2 // ] and } stand two behind [ and {
	i = skipBlank(b, i+1)
	if i < len(b) && b[i] == closing {
		return i + 1, nil
	}
	for {
		var err error
		if object {
			if i >= len(b) || b[i] != '"' {
				return i, errByte
			}
			if i, err = skipText(b, i); err != nil {
				return i, err
			}
			if i = skipBlank(b, i); i >= len(b) || b[i] != ':' {
				return i, errByte
			}
			i = skipBlank(b, i+1)
		}
		if i, err = skip(b, i, depth+1); err != nil {
			return i, err
		}
		i = skipBlank(b, i)
		if i >= len(b) {
			return i, errEnd
		}
		if b[i] == closing {
			return i + 1, nil
		}
		if b[i] != ',' {
			return i, errByte
		}
		i = skipBlank(b, i+1)
	}
}

// whole proves that b is one value and no more.
func whole(b []byte) error {
	end, err := skip(b, 0, 0)
	if err == nil && end != len(b) {
		err = errByte
	}
	if err != nil {
		return malformed("%v", err)
	}
	return nil
}

// elements splits a list; raw starts with '['.
func elements(raw []byte) ([][]byte, error) {
	if err := whole(raw); err != nil {
		return nil, err
	}
	var out [][]byte
	for i := skipBlank(raw, 1); raw[i] != ']'; {
		end, err := skip(raw, i, 1)
		if err != nil {
			return nil, malformed("%v", err)
		}
		out = append(out, raw[i:end])
		if i = skipBlank(raw, end); raw[i] == ',' {
			i = skipBlank(raw, i+1)
		}
	}
	return out, nil
}

// member is one key of an object with its value.
type member struct {
	name string
	raw  []byte
}

// members splits an object; raw starts with '{'. Of keys given twice the last counts, at the place of the first.
func members(raw []byte) ([]member, error) {
	if err := whole(raw); err != nil {
		return nil, err
	}
	var out []member
	place := map[string]int{}
	for i := skipBlank(raw, 1); raw[i] != '}'; {
		end, err := skipText(raw, i)
		if err != nil {
			return nil, malformed("%v", err)
		}
		name, err := unquote(raw[i:end])
		if err != nil {
			return nil, err
		}
		i = skipBlank(raw, skipBlank(raw, end)+1)
		if end, err = skip(raw, i, 1); err != nil {
			return nil, malformed("%v", err)
		}
		if at, twice := place[name]; twice {
			out[at].raw = raw[i:end]
		} else {
			place[name] = len(out)
			out = append(out, member{name, raw[i:end]})
		}
		if i = skipBlank(raw, end); raw[i] == ',' {
			i = skipBlank(raw, i+1)
		}
	}
	return out, nil
}

// plainText tells whether raw, which starts with a quote, is a complete text that is canonical as it stands: ASCII or
// UTF-8 without escapes. length counts characters, not bytes.
func plainText(raw []byte) (length int, plain bool) {
	if len(raw) < 2 || raw[len(raw)-1] != '"' {
		return 0, false
	}
	body := raw[1 : len(raw)-1]
	ascii := true
	for _, c := range body {
		if c < 0x20 || c == '"' || c == '\\' {
			return 0, false
		}
		if c >= utf8.RuneSelf {
			ascii = false
		}
	}
	if ascii {
		return len(body), true
	}
	if !utf8.Valid(body) {
		return 0, false
	}
	return utf8.RuneCount(body), true
}

// unquote reads a complete JSON text. Unlike encoding/json it refuses half a surrogate pair and bytes that are not
// UTF-8 instead of replacing them, and NUL, which PostgreSQL cannot store.
func unquote(raw []byte) (string, error) {
	if _, plain := plainText(raw); plain {
		return string(raw[1 : len(raw)-1]), nil
	}
	if len(raw) < 2 || raw[0] != '"' {
		return "", malformed("%v", errByte)
	}
	out := make([]byte, 0, len(raw))
	i := 1
	for {
		if i >= len(raw) {
			return "", malformed("%v", errEnd)
		}
		c := raw[i]
		switch {
		case c == '"':
			if i != len(raw)-1 {
				return "", malformed("%v", errByte)
			}
			return string(out), nil
		case c < 0x20:
			return "", malformed("%v", errControl)
		case c == '\\':
			r, n, err := escape(raw[i:])
			if err != nil {
				return "", malformed("%v", err)
			}
			out = utf8.AppendRune(out, r)
			i += n
		default:
			r, n := utf8.DecodeRune(raw[i:])
			if r == utf8.RuneError && n == 1 {
				return "", malformed("%v", errUTF8)
			}
			out = append(out, raw[i:i+n]...)
			i += n
		}
	}
}

// escape reads the escape at the start of b and tells its length.
func escape(b []byte) (rune, int, error) {
	if len(b) < 2 {
		return 0, 0, errEnd
	}
	switch b[1] {
	case '"', '\\', '/':
		return rune(b[1]), 2, nil
	case 'b':
		return '\b', 2, nil
	case 'f':
		return '\f', 2, nil
	case 'n':
		return '\n', 2, nil
	case 'r':
		return '\r', 2, nil
	case 't':
		return '\t', 2, nil
	case 'u':
		r, ok := hex4(b[2:])
		switch {
		case !ok:
			return 0, 0, errEscape
		case r == 0:
			return 0, 0, errNUL
		case !utf16.IsSurrogate(r):
			return r, 6, nil
		}
		if len(b) >= 12 && b[6] == '\\' && b[7] == 'u' {
			if low, ok := hex4(b[8:]); ok {
				if joined := utf16.DecodeRune(r, low); joined != utf8.RuneError {
					return joined, 12, nil
				}
			}
		}
		return 0, 0, errSurrogate
	}
	return 0, 0, errEscape
}

func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range b[:4] {
		d, ok := hexDigit(c)
		if !ok {
			return 0, false
		}
		r = r<<4 | rune(d)
	}
	return r, true
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// appendQuoted writes a text in its canonical form: as short as JSON allows, UTF-8 left as it is.
func appendQuoted(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		case c == '\t':
			dst = append(dst, '\\', 't')
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

// canonical rewrites any value without blanks and with canonical texts and numbers; keys keep their order.
func canonical(raw []byte) ([]byte, error) {
	if err := whole(raw); err != nil {
		return nil, err
	}
	return appendCanonical(nil, raw)
}

func appendCanonical(dst, raw []byte) ([]byte, error) {
	switch raw[0] {
	case '"':
		if _, plain := plainText(raw); plain {
			return append(dst, raw...), nil
		}
		s, err := unquote(raw)
		return appendQuoted(dst, s), err
	case '[':
		es, err := elements(raw)
		if err != nil {
			return nil, err
		}
		dst = append(dst, '[')
		for i, e := range es {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = appendCanonical(dst, e); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case '{':
		ms, err := members(raw)
		if err != nil {
			return nil, err
		}
		dst = append(dst, '{')
		for i, m := range ms {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendQuoted(dst, m.name), ':')
			if dst, err = appendCanonical(dst, m.raw); err != nil {
				return nil, err
			}
		}
		return append(dst, '}'), nil
	case 't', 'f', 'n':
		return append(dst, raw...), nil
	}
	return appendNumber(dst, raw)
}
