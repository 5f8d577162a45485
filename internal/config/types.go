package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// IDRange is `min:max`, both included: VNIs, tunnel keys.
type IDRange struct{ Min, Max int }

// UnmarshalText reads min:max.
func (r *IDRange) UnmarshalText(text []byte) error {
	low, high, ok := strings.Cut(string(text), ":")
	lo, err1 := strconv.Atoi(strings.TrimSpace(low))
	hi, err2 := strconv.Atoi(strings.TrimSpace(high))
	if !ok || err1 != nil || err2 != nil {
		return fmt.Errorf("a range is written min:max")
	}
	if lo > hi {
		return fmt.Errorf("the range runs backwards")
	}
	*r = IDRange{Min: lo, Max: hi}
	return nil
}

// String is min:max.
func (r IDRange) String() string { return fmt.Sprintf("%d:%d", r.Min, r.Max) }

func (r IDRange) bounds() (int64, int64) { return int64(r.Min), int64(r.Max) }

// VLANRange is `physical_network[:min:max]`. Without numbers (both 0) the physical network may be named by
// an administrator, and no project network is put on it.
type VLANRange struct {
	PhysicalNetwork string
	Min, Max        int
}

// UnmarshalText reads physical_network or physical_network:min:max.
func (r *VLANRange) UnmarshalText(text []byte) error {
	parts := strings.Split(string(text), ":")
	name := strings.TrimSpace(parts[0])
	if name == "" || len(parts) != 1 && len(parts) != 3 {
		return fmt.Errorf("it is written physical_network or physical_network:min:max")
	}
	*r = VLANRange{PhysicalNetwork: name}
	if len(parts) == 1 {
		return nil
	}
	var ids IDRange
	if err := ids.UnmarshalText([]byte(parts[1] + ":" + parts[2])); err != nil {
		return err
	}
	if ids.Min < 1 || ids.Max > 4094 {
		return fmt.Errorf("VLAN ids are 1 to 4094")
	}
	r.Min, r.Max = ids.Min, ids.Max
	return nil
}

// String is the form that UnmarshalText reads.
func (r VLANRange) String() string {
	if r.Min == 0 {
		return r.PhysicalNetwork
	}
	return fmt.Sprintf("%s:%d:%d", r.PhysicalNetwork, r.Min, r.Max)
}

// PageLimit is the longest page of a list; 0: no limit, written -1 or infinite.
type PageLimit int

// UnmarshalText reads a number above 0, -1 or infinite.
func (p *PageLimit) UnmarshalText(text []byte) error {
	if s := strings.ToLower(string(text)); s == "-1" || s == "infinite" {
		*p = 0
		return nil
	}
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 1 {
		return fmt.Errorf("possible are numbers above 0, -1 and infinite")
	}
	*p = PageLimit(n)
	return nil
}

// Mappings pairs names one to one: physical networks with bridges or devices. Neither side occurs twice
// (parse_mappings in neutron_lib/utils/helpers.py).
type Mappings map[string]string

// UnmarshalText reads key:value,key:value.
func (m *Mappings) UnmarshalText(text []byte) error {
	pairs, err := splitPairs(string(text))
	if err != nil {
		return err
	}
	all := Mappings{}
	owner := map[string]string{}
	for _, p := range pairs {
		if _, ok := all[p[0]]; ok {
			return fmt.Errorf("%s is mapped twice", p[0])
		}
		if other, ok := owner[p[1]]; ok {
			return fmt.Errorf("%s and %s are both mapped to %s", other, p[0], p[1])
		}
		all[p[0]], owner[p[1]] = p[1], p[0]
	}
	*m = all
	return nil
}

// String is the form that UnmarshalText reads, sorted.
func (m Mappings) String() string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, k+":"+m[k])
	}
	return strings.Join(parts, ",")
}

// splitList cuts a comma-separated list; its items lose blanks, newlines and quotes around them, and empty
// ones are dropped.
func splitList(text string) []string {
	var items []string
	for _, item := range strings.Split(text, ",") {
		if item = unquote(strings.TrimSpace(item)); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// splitPairs cuts key:value,key:value; a value may hold colons.
func splitPairs(text string) ([][2]string, error) {
	var pairs [][2]string
	for _, item := range splitList(text) {
		k, v, ok := strings.Cut(item, ":")
		k, v = strings.TrimSpace(k), strings.TrimSpace(v)
		if !ok || k == "" || v == "" {
			return nil, fmt.Errorf("it is written name:value,name:value")
		}
		pairs = append(pairs, [2]string{k, v})
	}
	return pairs, nil
}
