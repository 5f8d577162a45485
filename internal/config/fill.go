package config

import (
	"encoding"
	"fmt"
	"net"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// fill sets the fields of a role's struct from the values, or from the defaults.
func (l *loader) fill(conf reflect.Value) {
	for _, o := range roleOptions(conf.Type()) {
		texts, place := []string{l.fallback(o)}, Place{File: "default"}
		if o.Multi {
			texts = splitList(o.Default)
		}
		v, given := l.values[o.key()]
		if given {
			texts, place = slices.Clone(v.texts), v.place
		}
		if !l.expand(o, texts, place, v.flag) {
			continue
		}
		field := conf.FieldByIndex(o.path)
		if o.Multi {
			field.Set(reflect.ValueOf(texts))
			continue
		}
		if err := setField(field, o, texts[0]); err != nil {
			shown := fmt.Sprintf("%q", texts[0])
			if o.Secret {
				shown = "the value"
			}
			l.fail(place, o.Section, o.Name, "%s cannot be used: %v", shown, err)
		}
	}
}

// expand replaces the references in an option's texts.
func (l *loader) expand(o *Option, texts []string, place Place, flag bool) bool {
	if flag {
		return true
	}
	for i := range texts {
		text, err := l.substitute(o.Section, texts[i], 0)
		if err != nil {
			l.fail(place, o.Section, o.Name, "%v", err)
			return false
		}
		texts[i] = text
	}
	return true
}

// bounded is a value whose numbers min and max apply to.
type bounded interface{ bounds() (low, high int64) }

// setField reads text as the field's type and holds it against the option's choices and bounds.
func setField(field reflect.Value, o *Option, text string) error {
	switch field.Interface().(type) {
	case net.HardwareAddr:
		mac, err := net.ParseMAC(text)
		if err != nil || len(mac) != 6 {
			return fmt.Errorf("a MAC address is written fa:16:3e:00:00:00")
		}
		field.SetBytes(mac)
		return nil
	case time.Duration:
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("a number of seconds is needed")
		}
		field.SetInt(int64(seconds * float64(time.Second)))
		return within(o, int64(seconds), int64(seconds))
	}
	if u, ok := field.Addr().Interface().(encoding.TextUnmarshaler); ok {
		if text == "" {
			return nil
		}
		return unmarshal(u, o, text)
	}
	switch field.Kind() {
	case reflect.String:
		if err := among(o, text); err != nil {
			return err
		}
		field.SetString(text)
	case reflect.Bool:
		b, err := parseBool(text)
		if err != nil {
			return err
		}
		field.SetBool(b)
	case reflect.Int:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("a whole number is needed%s", o.limits())
		}
		if err := among(o, text); err != nil {
			return err
		}
		field.SetInt(n)
		return within(o, n, n)
	case reflect.Slice:
		return setSlice(field, o, text)
	case reflect.Map:
		return setMap(field, text)
	default:
		panic(fmt.Sprintf("config: [%s] %s has a type that has no reader: %s", o.Section, o.Name, field.Type()))
	}
	return nil
}

func setSlice(field reflect.Value, o *Option, text string) error {
	items := splitList(text)
	list := reflect.MakeSlice(field.Type(), len(items), len(items))
	for i, item := range items {
		if u, ok := list.Index(i).Addr().Interface().(encoding.TextUnmarshaler); ok {
			if err := unmarshal(u, o, item); err != nil {
				return fmt.Errorf("%s: %w", item, err)
			}
			continue
		}
		if err := among(o, item); err != nil {
			return err
		}
		list.Index(i).SetString(item)
	}
	field.Set(list)
	return nil
}

// setMap reads name:value pairs into a map from strings to strings or whole numbers.
func setMap(field reflect.Value, text string) error {
	pairs, err := splitPairs(text)
	if err != nil {
		return err
	}
	all := reflect.MakeMap(field.Type())
	for _, p := range pairs {
		v := reflect.ValueOf(p[1])
		if field.Type().Elem().Kind() == reflect.Int {
			n, err := strconv.Atoi(p[1])
			if err != nil {
				return fmt.Errorf("%s: a whole number is needed", p[1])
			}
			v = reflect.ValueOf(n)
		}
		all.SetMapIndex(reflect.ValueOf(p[0]), v)
	}
	field.Set(all)
	return nil
}

func unmarshal(u encoding.TextUnmarshaler, o *Option, text string) error {
	if err := u.UnmarshalText([]byte(text)); err != nil {
		return err
	}
	if b, ok := reflect.ValueOf(u).Elem().Interface().(bounded); ok {
		return within(o, first(b), last(b))
	}
	return nil
}

func first(b bounded) int64 { low, _ := b.bounds(); return low }
func last(b bounded) int64  { _, high := b.bounds(); return high }

func within(o *Option, low, high int64) error {
	if o.Min != nil && low < *o.Min || o.Max != nil && high > *o.Max {
		return fmt.Errorf("out of bounds%s", o.limits())
	}
	return nil
}

// limits is the option's bounds in words, or nothing.
func (o *Option) limits() string {
	switch {
	case o.Min != nil && o.Max != nil:
		return fmt.Sprintf(" (%d to %d)", *o.Min, *o.Max)
	case o.Min != nil:
		return fmt.Sprintf(" (%d or more)", *o.Min)
	case o.Max != nil:
		return fmt.Sprintf(" (at most %d)", *o.Max)
	}
	return ""
}

func among(o *Option, text string) error {
	if len(o.Choices) == 0 || slices.Contains(o.Choices, text) || text == o.Default {
		return nil
	}
	return fmt.Errorf("possible are %s", strings.Join(o.Choices, ", "))
}

// parseBool reads what oslo.config takes for true and false (class Boolean in oslo_config/types.py).
func parseBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "1", "on", "yes":
		return true, nil
	case "false", "0", "off", "no":
		return false, nil
	}
	return false, fmt.Errorf("possible are true, false, yes, no, on, off, 1, 0")
}

// typeName is an option's type in words.
func typeName(o *Option) string {
	if o.Multi {
		return "text, may be given several times"
	}
	switch o.typ {
	case reflect.TypeFor[net.HardwareAddr]():
		return "MAC address"
	case reflect.TypeFor[time.Duration]():
		return "seconds"
	case reflect.TypeFor[Mappings]():
		return "pairs name:name"
	case reflect.TypeFor[[]IDRange]():
		return "list of min:max"
	case reflect.TypeFor[[]VLANRange]():
		return "list of physical_network[:min:max]"
	case reflect.TypeFor[map[string]int]():
		return "pairs name:number"
	}
	switch o.typ.Kind() {
	case reflect.Bool:
		return "boolean"
	case reflect.Int:
		return "integer"
	case reflect.Slice:
		return "list"
	case reflect.Map:
		return "pairs name:value"
	case reflect.Struct:
		return "address"
	}
	return "text"
}
