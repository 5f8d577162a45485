package rest

import "bytes"

// eachMember walks the top-level members of a JSON object as the store keeps it (compact, keys without
// escapes, well-formed since encoding/json wrote it) and stops when yield says so.
func eachMember(body []byte, yield func(key, value []byte) bool) {
	i := 1
	for i < len(body) && body[i] == '"' {
		end := bytes.IndexByte(body[i+1:], '"')
		if end < 0 {
			return
		}
		key := body[i+1 : i+1+end]
		start := i + end + 3 // quote, key, quote, colon
		stop := valueEnd(body, start)
		if stop > len(body) || !yield(key, body[start:stop]) {
			return
		}
		i = stop + 1 // the comma, or past the closing brace
	}
}

// valueEnd finds the index behind the JSON value that starts at i.
func valueEnd(body []byte, i int) int {
	depth := 0
	for i < len(body) {
		switch body[i] {
		case '"':
			i = stringEnd(body, i)
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
			if depth == 0 {
				return i + 1
			}
		case ',':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return i
}

// stringEnd finds the index behind the string whose opening quote is at i.
func stringEnd(body []byte, i int) int {
	i++
	for i < len(body) {
		n := bytes.IndexByte(body[i:], '"')
		if n < 0 {
			return len(body)
		}
		end, slashes := i+n, 0
		for end-slashes-1 >= i && body[end-slashes-1] == '\\' {
			slashes++
		}
		i = end + 1
		if slashes%2 == 0 {
			return i
		}
	}
	return i
}

// member finds one top-level member's value.
func member(body []byte, name string) (value []byte, ok bool) {
	eachMember(body, func(k, v []byte) bool {
		if string(k) == name {
			value, ok = v, true
		}
		return !ok
	})
	return value, ok
}

// appendMember adds a member to the end of a JSON object, in a new slice.
func appendMember(body []byte, name string, value []byte) []byte {
	more := append(append(append(make([]byte, 0, len(name)+len(value)+4), `,"`...), name...), `":`...)
	return whole(make([]byte, 0, len(body)+cap(more)), body, append(more, value...))
}

// whole appends body to dst with more members, which begin with a comma.
func whole(dst, body, more []byte) []byte {
	if len(more) == 0 {
		return append(dst, body...)
	}
	dst = append(dst, body[:len(body)-1]...)
	if len(body) == 2 {
		more = more[1:]
	}
	return append(append(dst, more...), '}')
}

// project appends body to dst with only the members that keep wants; a nil keep wants all.
func project(dst, body []byte, keep func(key []byte) bool) []byte {
	if keep == nil {
		return append(dst, body...)
	}
	dst = append(dst, '{')
	first := true
	eachMember(body, func(k, v []byte) bool {
		if !keep(k) {
			return true
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(dst, '"')
		dst = append(dst, k...)
		dst = append(dst, `":`...)
		dst = append(dst, v...)
		return true
	})
	return append(dst, '}')
}
