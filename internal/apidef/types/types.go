// Package types is the closed set of attribute types: what a value of the API may be, how it is made canonical, and
// how the schema describes it. Definitions name these types and rest calls them; they know nothing of requests, rows
// or other attributes. A type is a value without state, so one may serve any number of goroutines.
//
// Facts about what is accepted come from neutron-lib's api/validators and api/converters. A refusal by a rule of form
// is named HTTPBadRequest and one by a conversion InvalidInput, as clients know them.
package types

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"unicode/utf8"

	"isospin/internal/apidef"
	"isospin/internal/fault"
)

// kind is the one implementation of apidef.Type: functions and a schema.
type kind struct {
	decode func(raw []byte) ([]byte, error) // raw is trimmed and not empty
	filter func(text string) (string, error)
	schema apidef.Schema
}

var _ apidef.Type = (*kind)(nil)

// Decode implements apidef.Type.
func (k *kind) Decode(raw json.RawMessage) (json.RawMessage, error) {
	b := trim(raw)
	if len(b) == 0 {
		return nil, malformed("a value is missing")
	}
	out, err := k.decode(b)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Filter implements apidef.Type.
func (k *kind) Filter(text string) (string, error) {
	if err := storable(text); err != nil {
		return "", err
	}
	if k.filter == nil {
		return text, nil
	}
	return k.filter(text)
}

// Schema implements apidef.Type; the caller may add keys to what it gets.
func (k *kind) Schema() apidef.Schema { return maps.Clone(k.schema) }

// storable refuses filter texts that no stored value can equal and that a database would choke on.
func storable(text string) error {
	if !utf8.ValidString(text) {
		return badFilter("the text is not UTF-8")
	}
	if strings.IndexByte(text, 0) >= 0 {
		return badFilter("the text has a NUL character")
	}
	return nil
}

// orNull accepts null beside what t accepts.
func orNull(t apidef.Type) *kind {
	return &kind{
		decode: func(raw []byte) ([]byte, error) {
			if isNull(raw) {
				return raw, nil
			}
			return t.Decode(raw)
		},
		filter: t.Filter,
		schema: nullable(t.Schema()),
	}
}

// OrNull accepts null beside what t accepts.
func OrNull(t apidef.Type) apidef.Type { return orNull(t) }

// nullAs puts value in place of null.
func nullAs(value string, t apidef.Type) *kind {
	return &kind{
		decode: func(raw []byte) ([]byte, error) {
			if isNull(raw) {
				return []byte(value), nil
			}
			return t.Decode(raw)
		},
		filter: t.Filter,
		schema: nullable(t.Schema()),
	}
}

// NullIsEmptyList turns null into [] (convert_none_to_empty_list).
func NullIsEmptyList(t apidef.Type) apidef.Type { return nullAs("[]", t) }

// NullIsEmptyDict turns null into {} (convert_none_to_empty_dict).
func NullIsEmptyDict(t apidef.Type) apidef.Type { return nullAs("{}", t) }

func nullable(s apidef.Schema) apidef.Schema {
	switch t := s["type"].(type) {
	case string:
		s["type"] = []any{t, "null"}
	case nil:
		if alternatives, ok := s["anyOf"].([]any); ok {
			s["anyOf"] = append(append([]any{}, alternatives...), apidef.Schema{"type": "null"})
		}
	}
	if enum, ok := s["enum"].([]any); ok {
		s["enum"] = append(append([]any{}, enum...), nil)
	}
	return s
}

// ListIfScalar wraps a value that is no list into one, and turns null into [] (convert_to_list).
func ListIfScalar(t apidef.Type) apidef.Type {
	return nullAs("[]", &kind{
		decode: func(raw []byte) ([]byte, error) {
			if raw[0] != '[' {
				wrapped := make([]byte, 0, len(raw)+2)
				raw = append(append(append(wrapped, '['), raw...), ']')
			}
			return t.Decode(raw)
		},
		filter: t.Filter,
		schema: t.Schema(),
	})
}

// Any accepts every JSON value; for attributes that clients only read, and for those whose service judges them.
func Any() apidef.Type {
	return &kind{decode: canonical, schema: apidef.Schema{}}
}

// ReadOnly describes an attribute that no request may carry: anything decodes, s is what answers look like.
func ReadOnly(s apidef.Schema) apidef.Type { return &kind{decode: canonical, schema: s} }

// Timestamp is an instant as answers show it: "2026-01-31T12:00:00Z".
func Timestamp() apidef.Type {
	return ReadOnly(apidef.Schema{"type": "string", "format": "date-time"})
}

// invalid is a refusal by a rule of form.
func invalid(format string, args ...any) error {
	return fault.Newf(fault.Invalid, "HTTPBadRequest", format, args...)
}

// unfit is a refusal by a conversion.
func unfit(format string, args ...any) error {
	return fault.Newf(fault.Invalid, "InvalidInput", format, args...)
}

func malformed(format string, args ...any) error {
	return fault.Newf(fault.Invalid, "HTTPBadRequest", "the JSON text is malformed: "+format, args...)
}

func badFilter(format string, args ...any) error {
	return fault.Newf(fault.Invalid, "InvalidInput", format, args...)
}

// wrong is the sentence for a value of another JSON kind than wanted.
func wrong(want string, raw []byte) error {
	return invalid("%s is wanted, not %s", want, describe(raw))
}

// describe names a value for a sentence: `the number 12`, `the text "ab"`, `null`.
func describe(raw []byte) string {
	switch raw[0] {
	case '"':
		return "the text " + shown(raw)
	case '{':
		return "an object"
	case '[':
		return "a list"
	case 't', 'f', 'n':
		return shown(raw)
	}
	return "the number " + shown(raw)
}

// shown is a value cut to a length that suits a sentence, and never more than valid UTF-8.
func shown(raw []byte) string {
	const limit = 64
	s := string(raw)
	if len(s) > limit {
		cut := limit
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// quoted is a text as a sentence shows it.
func quoted(s string) string { return shown(appendQuoted(nil, s)) }

func isNull(raw []byte) bool { return bytes.Equal(raw, []byte("null")) }

// at puts the place of an error inside a list or an object before its sentence; the name of the fault stays.
func at(place string, err error) error {
	f := *fault.Of(err)
	if strings.HasPrefix(f.Message, "item ") || strings.HasPrefix(f.Message, "key ") {
		f.Message = place + ", " + f.Message
	} else {
		f.Message = place + ": " + f.Message
	}
	return &f
}

func item(i int, err error) error { return at(fmt.Sprintf("item %d", i+1), err) }

func key(name string, err error) error { return at("key "+quoted(name), err) }
