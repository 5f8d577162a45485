package types

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"isospin/internal/apidef"
)

// maxInteger is the largest number that a 32-bit column of Neutron's holds (DB_INTEGER_MAX_VALUE).
const maxInteger = math.MaxInt32

// numeral tells whether b is a number by JSON's grammar.
func numeral(b []byte) bool {
	b = bytes.TrimPrefix(b, []byte("-"))
	whole := digits(b)
	if whole == 0 || whole > 1 && b[0] == '0' {
		return false
	}
	b = b[whole:]
	if len(b) > 0 && b[0] == '.' {
		n := digits(b[1:])
		if n == 0 {
			return false
		}
		b = b[1+n:]
	}
	if len(b) > 0 && (b[0] == 'e' || b[0] == 'E') {
		b = b[1:]
		if len(b) > 0 && (b[0] == '+' || b[0] == '-') {
			b = b[1:]
		}
		n := digits(b)
		return n > 0 && n == len(b)
	}
	return len(b) == 0
}

func digits(b []byte) int {
	n := 0
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	return n
}

// fits is what reading a whole number can come to.
type fits uint8

const (
	fitsWell fits = iota
	notWhole
	tooLarge
)

// wholeNumber reads a JSON numeral whose value is whole, however written: 4, 4.0 and 40e-1 are one number, as
// clients without an integer type write it. It never computes with more than 64 bits, so 1e400 costs nothing.
func wholeNumber(b []byte) (int64, fits) {
	if n := len(b); n < 19 && digits(b) == n || n > 1 && n < 19 && b[0] == '-' && digits(b[1:]) == n-1 {
		v, _ := strconv.ParseInt(string(b), 10, 64)
		return v, fitsWell
	}
	sign := ""
	if b[0] == '-' {
		sign, b = "-", b[1:]
	}
	mantissa, exponent := b, 0
	if i := bytes.IndexAny(b, "eE"); i >= 0 {
		mantissa = b[:i]
		var err error
		if exponent, err = strconv.Atoi(strings.TrimPrefix(string(b[i+1:]), "+")); err != nil {
			exponent = math.MaxInt32
			if b[i+1] == '-' {
				exponent = -math.MaxInt32
			}
		}
	}
	all, fraction, _ := strings.Cut(string(mantissa), ".")
	exponent -= len(fraction)
	all = strings.TrimLeft(all+fraction, "0")
	kept := strings.TrimRight(all, "0")
	exponent += len(all) - len(kept)
	switch {
	case kept == "":
		return 0, fitsWell
	case exponent < 0:
		return 0, notWhole
	case exponent+len(kept) > 19:
		return 0, tooLarge
	}
	v, err := strconv.ParseInt(sign+kept+strings.Repeat("0", exponent), 10, 64)
	if err != nil {
		return 0, tooLarge
	}
	return v, fitsWell
}

// appendNumber writes a number canonically: whole ones as digits, others as they stand.
func appendNumber(dst, raw []byte) ([]byte, error) {
	if v, how := wholeNumber(raw); how == fitsWell {
		return strconv.AppendInt(dst, v, 10), nil
	}
	if f, err := strconv.ParseFloat(string(raw), 64); err != nil || math.IsInf(f, 0) {
		return nil, unfit("the number %s is too large", shown(raw))
	}
	return append(dst, raw...), nil
}

// integer reads a number, or a text that is one, as int() of Python does; a boolean is none, though Python's is.
func integer(raw []byte) (int64, error) {
	switch raw[0] {
	case '"':
		s, err := unquote(raw)
		if err != nil {
			return 0, err
		}
		v, ok := integerText(s)
		if !ok {
			return 0, unfit("the text %s is not a whole number within 64 bits", shown(raw))
		}
		return v, nil
	case '{', '[', 't', 'f', 'n':
		if err := whole(raw); err != nil {
			return 0, err
		}
		return 0, unfit("a whole number is wanted, not %s", describe(raw))
	}
	if !numeral(raw) {
		return 0, malformed("%v", errNumber)
	}
	v, how := wholeNumber(raw)
	switch how {
	case notWhole:
		return 0, unfit("the number %s is not whole", shown(raw))
	case tooLarge:
		return 0, unfit("the number %s does not fit 64 bits", shown(raw))
	}
	return v, nil
}

func integerText(s string) (int64, bool) {
	v, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	return v, err == nil
}

// between is an integer within bounds.
func between(low, high int64, name func(string, ...any) error) *kind {
	check := func(v int64) error {
		switch {
		case v < low:
			return name("%d is below %d, the least allowed", v, low)
		case v > high:
			return name("%d is above %d, the most allowed", v, high)
		}
		return nil
	}
	s := apidef.Schema{"type": "integer"}
	if low != math.MinInt64 {
		s["minimum"] = low
	}
	if high != math.MaxInt64 {
		s["maximum"] = high
	}
	return &kind{
		decode: func(raw []byte) ([]byte, error) {
			v, err := integer(raw)
			if err == nil {
				err = check(v)
			}
			if err != nil {
				return nil, err
			}
			if digits(raw) == len(raw) && (raw[0] != '0' || len(raw) == 1) {
				return raw, nil
			}
			return strconv.AppendInt(nil, v, 10), nil
		},
		filter: integerFilter,
		schema: s,
	}
}

// integerFilter accepts any whole number: one outside the bounds finds nothing, which is no fault.
func integerFilter(text string) (string, error) {
	v, ok := integerText(text)
	if !ok {
		return "", badFilter("the text %s is not a whole number within 64 bits", quoted(text))
	}
	return strconv.FormatInt(v, 10), nil
}

// Int is a whole number of 64 bits (convert_to_int).
func Int() apidef.Type { return between(math.MinInt64, math.MaxInt64, unfit) }

// IntOrNull is Int or null (convert_to_int_if_not_none).
func IntOrNull() apidef.Type { return orNull(Int()) }

// NonNegative is a whole number from 0 to 2147483647 (type:non_negative). The upper bound is Isospin's: the columns
// of the reference end there and a larger number was a server error.
func NonNegative() apidef.Type { return between(0, maxInteger, invalid) }

// Range is a whole number within both bounds (type:range).
func Range(low, high int64) apidef.Type { return between(low, high, invalid) }

// RangeOrNull is Range or null (type:range_or_none).
func RangeOrNull(low, high int64) apidef.Type { return orNull(Range(low, high)) }

// AtLeast is a whole number from low to 2147483647: type:range whose upper bound is open.
func AtLeast(low int64) apidef.Type { return between(low, maxInteger, invalid) }

// IntValues is one of the whole numbers given (type:values with convert_to_int).
func IntValues(allowed ...int64) apidef.Type {
	enum := make([]any, len(allowed))
	for i, v := range allowed {
		enum[i] = v
	}
	return &kind{
		decode: func(raw []byte) ([]byte, error) {
			v, err := integer(raw)
			if err != nil {
				return nil, err
			}
			for _, a := range allowed {
				if a == v {
					return strconv.AppendInt(nil, v, 10), nil
				}
			}
			return nil, invalid("%d is none of %s", v, listed(enum))
		},
		filter: integerFilter,
		schema: apidef.Schema{"type": "integer", "enum": enum},
	}
}

// Bool is true or false, also as the texts and numbers that strict boolean parsing of oslo.utils takes
// (convert_to_boolean).
func Bool() apidef.Type {
	return &kind{
		decode: func(raw []byte) ([]byte, error) {
			v, err := boolean(raw)
			if err != nil {
				return nil, err
			}
			return boolJSON(v), nil
		},
		filter: func(text string) (string, error) {
			v, ok := boolText(text)
			if !ok {
				return "", badFilter("the text %s is neither true nor false", quoted(text))
			}
			return string(boolJSON(v)), nil
		},
		schema: apidef.Schema{"type": "boolean"},
	}
}

// BoolOrNull is Bool or null (convert_to_boolean_if_not_none).
func BoolOrNull() apidef.Type { return orNull(Bool()) }

func boolJSON(v bool) []byte {
	if v {
		return []byte("true")
	}
	return []byte("false")
}

func boolean(raw []byte) (bool, error) {
	switch {
	case string(raw) == "true" || string(raw) == "1":
		return true, nil
	case string(raw) == "false" || string(raw) == "0":
		return false, nil
	case raw[0] == '"':
		s, err := unquote(raw)
		if err != nil {
			return false, err
		}
		if v, ok := boolText(s); ok {
			return v, nil
		}
	}
	if err := whole(raw); err != nil {
		return false, err
	}
	return false, unfit("%s is neither true nor false", describe(raw))
}

func boolText(s string) (value, ok bool) {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "1", "t", "true", "on", "y", "yes":
		return true, true
	case "0", "f", "false", "off", "n", "no":
		return false, true
	}
	return false, false
}
