package types

import (
	"encoding/json"

	"isospin/internal/apidef"
)

// Key is one key of an Object.
type Key struct {
	Name     string
	Type     apidef.Type
	Required bool
	// Default is JSON put in place when the key is absent; empty: the key stays absent.
	Default string
}

// objectKind is an object with the keys given. Canonical order is that of keys. Unknown keys are refused, or, if
// lenient, left out.
func objectKind(lenient bool, keys []Key) *kind {
	place := make(map[string]int, len(keys))
	props := apidef.Schema{}
	var required []any
	for i, k := range keys {
		place[k.Name] = i
		s := k.Type.Schema()
		if k.Default != "" {
			s["default"] = json.RawMessage(k.Default)
		}
		props[k.Name] = s
		if k.Required {
			required = append(required, k.Name)
		}
	}
	schema := apidef.Schema{"type": "object", "properties": props}
	if !lenient {
		schema["additionalProperties"] = false
	}
	if required != nil {
		schema["required"] = required
	}
	return &kind{
		decode: func(raw []byte) ([]byte, error) {
			ms, err := object(raw)
			if err != nil {
				return nil, err
			}
			values := make([][]byte, len(keys))
			for _, m := range ms {
				i, ok := place[m.name]
				switch {
				case !ok && lenient:
				case !ok:
					return nil, invalid("the key %s is unknown here", quoted(m.name))
				default:
					if values[i], err = keys[i].Type.Decode(m.raw); err != nil {
						return nil, key(m.name, err)
					}
				}
			}
			return assembled(keys, values)
		},
		schema: schema,
	}
}

func assembled(keys []Key, values [][]byte) ([]byte, error) {
	out := []byte{'{'}
	for i, v := range values {
		if v == nil {
			if keys[i].Required {
				return nil, invalid("the key %s is missing", quoted(keys[i].Name))
			}
			v = []byte(keys[i].Default)
		}
		if len(v) == 0 {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(appendQuoted(out, keys[i].Name), ':'), v...)
	}
	return append(out, '}'), nil
}

func object(raw []byte) ([]member, error) {
	if raw[0] != '{' {
		if err := whole(raw); err != nil {
			return nil, err
		}
		return nil, wrong("an object", raw)
	}
	return members(raw)
}

// Object is an object with the keys given and no others (type:dict with key specs).
func Object(keys ...Key) apidef.Type { return objectKind(false, keys) }

// ObjectOrNull is Object or null (type:dict_or_none with key specs).
func ObjectOrNull(keys ...Key) apidef.Type { return orNull(objectKind(false, keys)) }

// ObjectOrEmpty is Object or {} (type:dict_or_empty); {} stays {} even where keys are required.
func ObjectOrEmpty(keys ...Key) apidef.Type {
	full := objectKind(false, keys)
	return &kind{
		decode: func(raw []byte) ([]byte, error) {
			if raw[0] == '{' && nothing(raw) {
				return []byte("{}"), nil
			}
			return full.Decode(raw)
		},
		schema: full.schema,
	}
}

// ObjectOrNothing is Object, or null for anything empty (type:dict_or_nodata).
func ObjectOrNothing(keys ...Key) apidef.Type { return emptyAs("null", Object(keys...)) }

// Dict is an object with any keys (type:dict).
func Dict() apidef.Type {
	return &kind{
		decode: func(raw []byte) ([]byte, error) {
			if raw[0] == '{' {
				return canonical(raw)
			}
			_, err := object(raw)
			return nil, err
		},
		schema: apidef.Schema{"type": "object"},
	}
}

// DictOrNull is Dict or null (type:dict_or_none).
func DictOrNull() apidef.Type { return orNull(Dict()) }
