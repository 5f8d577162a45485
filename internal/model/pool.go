package model

import (
	"encoding/json"
	"strconv"
)

// Length is a prefix length; the API shows those of subnet pools as texts and takes numbers too (behaviour.md, section 9).
type Length int64

// MarshalJSON writes it as a text.
func (l Length) MarshalJSON() ([]byte, error) {
	return strconv.AppendQuote(nil, strconv.FormatInt(int64(l), 10)), nil
}

// UnmarshalJSON reads a number or a text.
func (l *Length) UnmarshalJSON(raw []byte) error {
	if n := len(raw); n > 1 && raw[0] == '"' {
		raw = raw[1 : n-1]
	}
	return json.Unmarshal(raw, (*int64)(l))
}

// SubnetPool is a set of prefixes that subnets are cut from.
type SubnetPool struct {
	Standard
	Name             string   `json:"name"`
	Prefixes         []string `json:"prefixes"`
	IPVersion        int64    `json:"ip_version"`
	DefaultQuota     *int64   `json:"default_quota"`
	DefaultPrefixLen Length   `json:"default_prefixlen"`
	MinPrefixLen     Length   `json:"min_prefixlen"`
	MaxPrefixLen     Length   `json:"max_prefixlen"`
	IsDefault        bool     `json:"is_default"`
	AddressScopeID   *string  `json:"address_scope_id"`
	// Shared is what a request said; the answer's value depends on the caller and is spliced.
	Shared *bool `json:"shared,omitempty"`
}

// AddressScope is a space in which addresses do not overlap.
type AddressScope struct {
	ID        string `json:"id"`
	ProjectID string `json:"project_id"`
	TenantID  string `json:"tenant_id"`
	Name      string `json:"name"`
	IPVersion int64  `json:"ip_version"`
	// Shared is what a request said; the answer's value depends on the caller and is spliced.
	Shared *bool `json:"shared,omitempty"`
}
