package types

import (
	"isospin/internal/apidef"
)

// listKind is a list of t; judge, if any, sees the canonical items together.
func listKind(t apidef.Type, judge func(items [][]byte) error) *kind {
	return &kind{
		decode: func(raw []byte) ([]byte, error) {
			if raw[0] != '[' {
				if err := whole(raw); err != nil {
					return nil, err
				}
				return nil, wrong("a list", raw)
			}
			items, err := elements(raw)
			if err != nil {
				return nil, err
			}
			size := 2
			for i, e := range items {
				v, err := t.Decode(e)
				if err != nil {
					return nil, item(i, err)
				}
				items[i] = v
				size += len(v) + 1
			}
			if judge != nil {
				if err := judge(items); err != nil {
					return nil, err
				}
			}
			return joined(make([]byte, 0, size), items), nil
		},
		filter: t.Filter,
		schema: apidef.Schema{"type": "array", "items": t.Schema()},
	}
}

func joined(dst []byte, items [][]byte) []byte {
	dst = append(dst, '[')
	for i, v := range items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, v...)
	}
	return append(dst, ']')
}

// twice finds the first item that an earlier one equals, in time that grows with the list and not its square.
func twice(items [][]byte) (string, bool) {
	seen := make(map[string]struct{}, len(items))
	for _, v := range items {
		if _, ok := seen[string(v)]; ok {
			return shown(v), true
		}
		seen[string(v)] = struct{}{}
	}
	return "", false
}

func unique(t apidef.Type, what string) *kind {
	k := listKind(t, func(items [][]byte) error {
		if v, ok := twice(items); ok {
			return invalid("%s %s is given twice", what, v)
		}
		return nil
	})
	k.schema["uniqueItems"] = true
	return k
}

// ListOf is a list whose items are all t.
func ListOf(t apidef.Type) apidef.Type { return listKind(t, nil) }

// ListOfOrNull is ListOf or null.
func ListOfOrNull(t apidef.Type) apidef.Type { return orNull(listKind(t, nil)) }

// Unique is a list whose items are all t and all different in canonical form.
func Unique(t apidef.Type) apidef.Type { return unique(t, "the item") }

// UniqueStrings is a list of different texts of at most max characters each (type:list_of_unique_strings).
func UniqueStrings(max int) apidef.Type { return unique(String(max), "the text") }

// ListOfValues is a list of texts that are all among those given (type:list_of_allowed_values).
func ListOfValues(allowed ...string) apidef.Type { return listKind(Values(allowed...), nil) }

// ListOfRegexOrNull is null or a list of texts that match pattern (type:list_of_regex_or_none).
func ListOfRegexOrNull(pattern string) apidef.Type { return orNull(listKind(Regex(pattern), nil)) }

// ListOfDict is a list of objects; null and other empty values become [] (type:list_of_dict_or_nodata).
func ListOfDict(keys ...Key) apidef.Type { return emptyAs("[]", ListOf(Object(keys...))) }

// emptyAs puts value in place of what Python holds for false: null, false, 0, "", {} and [].
func emptyAs(value string, t apidef.Type) *kind {
	return &kind{
		decode: func(raw []byte) ([]byte, error) {
			if nothing(raw) {
				return []byte(value), nil
			}
			return t.Decode(raw)
		},
		filter: t.Filter,
		schema: nullable(t.Schema()),
	}
}

func nothing(raw []byte) bool {
	switch raw[0] {
	case 'n', 'f':
		return string(raw) == "null" || string(raw) == "false"
	case '0', '"':
		return len(raw) == 1 && raw[0] == '0' || string(raw) == `""`
	case '{', '[':
		i := skipBlank(raw, 1)
		return i == len(raw)-1 && raw[i] == raw[0]+2
	}
	return false
}

// AnyOf is a value that fits one of the types, tried in order; the sentence for one that fits none is that of the
// last (type:list_of_any_key_specs_or_none is null or a list of these).
func AnyOf(ts ...apidef.Type) apidef.Type {
	schemas := make([]any, len(ts))
	for i, t := range ts {
		schemas[i] = t.Schema()
	}
	return &kind{
		decode: func(raw []byte) ([]byte, error) {
			var err error
			for _, t := range ts {
				var v []byte
				if v, err = t.Decode(raw); err == nil {
					return v, nil
				}
			}
			return nil, err
		},
		schema: apidef.Schema{"anyOf": schemas},
	}
}
