package types

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"isospin/internal/apidef"
	"isospin/internal/fault"
)

// text is a string type: check judges the value, max bounds its characters (0: no bound). Without check a text that
// is canonical already is returned as it stands, without a copy.
func text(max int, check func(s string) error) *kind {
	s := apidef.Schema{"type": "string"}
	if max > 0 {
		s["maxLength"] = max
	}
	return &kind{
		decode: func(raw []byte) ([]byte, error) {
			if raw[0] != '"' {
				return nil, notText(raw)
			}
			length, plain := plainText(raw)
			if plain && check == nil {
				return raw, tooLong(raw, length, max)
			}
			v, err := unquote(raw)
			if err != nil {
				return nil, err
			}
			if err := tooLong(raw, len([]rune(v)), max); err != nil {
				return nil, err
			}
			if check != nil {
				if err := check(v); err != nil {
					return nil, err
				}
			}
			if plain {
				return raw, nil
			}
			return appendQuoted(nil, v), nil
		},
		schema: s,
	}
}

func tooLong(raw []byte, length, max int) error {
	if max > 0 && length > max {
		return invalid("the text %s has %d characters, %d are allowed", shown(raw), length, max)
	}
	return nil
}

func notText(raw []byte) error {
	if err := whole(raw); err != nil {
		return err
	}
	return wrong("a text", raw)
}

// String is a text of at most max characters; 0: no bound (type:string).
func String(max int) apidef.Type { return text(max, nil) }

// StringOrNull is String or null (type:string_or_none).
func StringOrNull(max int) apidef.Type { return orNull(String(max)) }

// printable accepts what a terminal can show: no control characters, no line breaks. Joiners are let through, which
// names in Persian or with composed emoji need.
func printable(s string) error {
	for _, r := range s {
		if !unicode.IsPrint(r) && !unicode.Is(unicode.Zs, r) && r != '\u200c' && r != '\u200d' {
			return invalid("the name %s has the character %U, which cannot be shown", quoted(s), r)
		}
	}
	return nil
}

// Name is a text of printable characters and blanks (type:name_string).
func Name(max int) apidef.Type { return text(max, printable) }

// NameOrNull is Name or null (type:name_string_or_none).
func NameOrNull(max int) apidef.Type { return orNull(Name(max)) }

// NotEmptyName is a Name that is not blank (type:not_empty_name_string).
func NotEmptyName(max int) apidef.Type {
	return text(max, func(s string) error {
		if strings.TrimSpace(s) == "" {
			return invalid("the name is blank")
		}
		return printable(s)
	})
}

// NameNotDefault is the Name of a security group, which may not be "default": that name belongs to the group that
// every project has (type:name_not_default).
func NameNotDefault(max int) apidef.Type {
	return text(max, func(s string) error {
		if strings.EqualFold(s, "default") {
			return fault.Newf(fault.Conflict, "SecurityGroupDefaultAlreadyExists", "the name %s belongs to the default group of the project", quoted(s))
		}
		return printable(s)
	})
}

// OneLine is a text that is not blank and has one line (type:oneline_not_empty_string).
func OneLine(max int) apidef.Type {
	return text(max, func(s string) error {
		switch {
		case strings.TrimSpace(s) == "":
			return invalid("the text is blank")
		case strings.ContainsAny(s, "\n\r\v\f\u0085\u2028\u2029\x1c\x1d\x1e"):
			return invalid("the text %s has more than one line", quoted(s))
		}
		return nil
	})
}

// OneLineOrNull is OneLine or null (type:oneline_not_empty_string_or_none).
func OneLineOrNull(max int) apidef.Type { return orNull(OneLine(max)) }

// Text is a String that may also come as a number: 80 is "80" (convert_to_string). null stays.
func Text(max int) apidef.Type { return orNull(numbersToo(String(max))) }

// numbersToo lets a number stand for the text of its digits.
func numbersToo(t apidef.Type) *kind {
	return &kind{
		decode: func(raw []byte) ([]byte, error) {
			if raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9' {
				if !numeral(raw) {
					return nil, malformed("%v", errNumber)
				}
				number, err := appendNumber(nil, raw)
				if err != nil {
					return nil, err
				}
				raw = appendQuoted(nil, string(number))
			}
			return t.Decode(raw)
		},
		filter: t.Filter,
		schema: t.Schema(),
	}
}

// listed writes alternatives for a sentence.
func listed(enum []any) string {
	b, _ := json.Marshal(enum)
	return strings.ReplaceAll(strings.Trim(string(b), "[]"), ",", ", ")
}

func enumOf(allowed []string) []any {
	enum := make([]any, len(allowed))
	for i, v := range allowed {
		enum[i] = v
	}
	return enum
}

// Values is one of the texts given, as they are written (type:values).
func Values(allowed ...string) apidef.Type {
	enum := enumOf(allowed)
	return &kind{
		decode: func(raw []byte) ([]byte, error) {
			if raw[0] != '"' {
				return nil, notText(raw)
			}
			v, err := unquote(raw)
			if err != nil {
				return nil, err
			}
			if !slices.Contains(allowed, v) {
				return nil, invalid("%s is none of %s", shown(raw), listed(enum))
			}
			return appendQuoted(nil, v), nil
		},
		schema: apidef.Schema{"type": "string", "enum": enum},
	}
}

// ValuesOrNull is one of the texts given or null.
func ValuesOrNull(allowed ...string) apidef.Type { return orNull(Values(allowed...)) }

// FoldedValues is one of the texts given in any case; canonical is the case given here
// (type:values with convert_string_to_case_insensitive).
func FoldedValues(allowed ...string) apidef.Type {
	find := func(s string) (string, bool) {
		i := slices.IndexFunc(allowed, func(a string) bool { return strings.EqualFold(a, s) })
		if i < 0 {
			return s, false
		}
		return allowed[i], true
	}
	enum := enumOf(allowed)
	return &kind{
		decode: func(raw []byte) ([]byte, error) {
			if raw[0] != '"' {
				return nil, notText(raw)
			}
			v, err := unquote(raw)
			if err != nil {
				return nil, err
			}
			v, ok := find(v)
			if !ok {
				return nil, invalid("%s is none of %s", shown(raw), listed(enum))
			}
			return appendQuoted(nil, v), nil
		},
		filter: func(s string) (string, error) {
			s, _ = find(s)
			return s, nil
		},
		schema: apidef.Schema{"type": "string", "enum": enum},
	}
}

// Regex is a text whose beginning matches pattern, as re.match of Python finds it (type:regex). Definitions name
// patterns that compile; one that does not is a fault of the program and panics at start.
func Regex(pattern string) apidef.Type {
	re := regexp.MustCompile(`\A(?:` + pattern + `)`)
	k := text(0, func(s string) error {
		if !re.MatchString(s) {
			return invalid("the text %s does not match the pattern %s", quoted(s), pattern)
		}
		return nil
	})
	k.schema["pattern"] = pattern
	return k
}

// RegexOrNull is Regex or null (type:regex_or_none).
func RegexOrNull(pattern string) apidef.Type { return orNull(Regex(pattern)) }

// ServicePlugin is the type of a service that is loaded (type:service_plugin_type).
func ServicePlugin(known ...string) apidef.Type {
	k := text(0, func(s string) error {
		if !slices.Contains(known, s) {
			return fault.Newf(fault.Invalid, "InvalidServiceType", "no service of type %s is loaded", quoted(s))
		}
		return nil
	})
	k.schema["enum"] = enumOf(known)
	return k
}

// RBACObject is a type of object that can be shared (convert_valid_object_type).
func RBACObject(known ...string) apidef.Type {
	k := text(0, func(s string) error {
		if !slices.Contains(known, s) {
			return unfit("%s is no type of object that can be shared; there are %s", quoted(s), listed(enumOf(known)))
		}
		return nil
	})
	k.schema["enum"] = enumOf(known)
	return k
}
