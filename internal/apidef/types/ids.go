package types

import (
	"strings"

	"isospin/internal/apidef"
)

// canonicalUUID writes 32 hex digits, with or without dashes and in any case, as 8-4-4-4-12 in lower case. Isospin
// stores that form where Neutron keeps what it was given, so that every reference to an object is one text.
func canonicalUUID(s string) (string, bool) {
	if lowerUUID(s) {
		return s, true
	}
	bare := strings.ToLower(strings.ReplaceAll(s, "-", ""))
	if len(bare) != 32 {
		return s, false
	}
	for i := range len(bare) {
		if _, ok := hexDigit(bare[i]); !ok {
			return s, false
		}
	}
	return bare[:8] + "-" + bare[8:12] + "-" + bare[12:16] + "-" + bare[16:20] + "-" + bare[20:], true
}

// lowerUUID tells whether s is canonical already, which nearly all are.
func lowerUUID[T string | []byte](s T) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if c != '-' {
				return false
			}
		} else if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// UUID is an identifier of an object (type:uuid); canonical is lower case with dashes.
func UUID() apidef.Type {
	return &kind{
		decode: func(raw []byte) ([]byte, error) {
			if len(raw) == 38 && raw[0] == '"' && raw[37] == '"' && lowerUUID(raw[1:37]) {
				return raw, nil
			}
			if raw[0] != '"' {
				return nil, notText(raw)
			}
			s, err := unquote(raw)
			if err != nil {
				return nil, err
			}
			id, ok := canonicalUUID(s)
			if !ok {
				return nil, invalid("the text %s is not a UUID", shown(raw))
			}
			return appendQuoted(nil, id), nil
		},
		filter: func(s string) (string, error) {
			s, _ = canonicalUUID(s)
			return s, nil
		},
		schema: apidef.Schema{"type": "string", "format": "uuid"},
	}
}

// UUIDOrNull is UUID or null (type:uuid_or_none).
func UUIDOrNull() apidef.Type { return orNull(UUID()) }

// UUIDList is a list of UUIDs, each once (type:uuid_list).
func UUIDList() apidef.Type { return unique(UUID(), "the identifier") }

// SubnetPoolOrNull is the UUID of a subnet pool, the word prefix_delegation or null (type:subnetpool_id_or_none).
func SubnetPoolOrNull() apidef.Type {
	id := UUID()
	return orNull(&kind{
		decode: func(raw []byte) ([]byte, error) {
			if string(raw) == `"prefix_delegation"` {
				return raw, nil
			}
			return id.Decode(raw)
		},
		filter: id.Filter,
		schema: apidef.Schema{"type": "string", "description": "a UUID, or prefix_delegation", "examples": []any{"prefix_delegation"}},
	})
}

// TargetProject is whom an object is shared with: "*" or a project id that looks like a UUID, which stays as
// written, for identity services write project ids without dashes (type:valid_target_project).
func TargetProject() apidef.Type {
	k := text(255, func(s string) error {
		if _, ok := canonicalUUID(s); s != "*" && !ok {
			return invalid("%s is neither \"*\" nor the id of a project", quoted(s))
		}
		return nil
	})
	k.schema["examples"] = []any{"*", "0123456789abcdef0123456789abcdef"}
	return k
}
