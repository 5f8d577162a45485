// Package apidef is the vocabulary of the API: what an attribute, a resource and an extension are, as data, and the
// registry that joins the enabled ones. The definitions live in packages below, one an area, one file an alias; rest
// derives decoding, validation, filters, rendering and routes from the registry. It never touches a request, a
// database or an object: it only says what they may look like.
package apidef

import (
	"encoding/json"
	"time"
)

// Access says whether a request may carry an attribute.
type Access uint8

// The three kinds of access; the zero value keeps an attribute out of requests.
const (
	Never Access = iota
	Optional
	Required
)

// Type is what an attribute may hold: conversion, validation and schema in one value, so that they cannot drift.
type Type interface {
	// Decode checks raw and returns it as canonical JSON (numbers for "4" where the type is a number, true for
	// "yes", lower-case MACs as the type says). The error is a *fault.Fault whose message does not name the
	// attribute: the caller, who knows it, does. raw is never empty; it may be null.
	Decode(raw json.RawMessage) (json.RawMessage, error)
	// Filter turns one value of a query string into the text that a stored value is compared with.
	Filter(text string) (string, error)
	// Schema is the OpenAPI face.
	Schema() Schema
}

// Schema is an OpenAPI 3.1 schema object.
type Schema map[string]any

// Unspecified as a Default means that the attribute counts as not given and the plugin decides.
type unspecified struct{}

// Unspecified is the default of attributes that a plugin fills: nothing is put in place.
var Unspecified = unspecified{}

// Attribute is one field of one resource, in full.
type Attribute struct {
	Name      string
	Doc       string
	Type      Type
	Post, Put Access
	// Default is the JSON value put in place on create when Post is Optional and the attribute is absent:
	// nil (null), bool, int, string, []any, map[string]any or Unspecified.
	Default    any
	Hidden     bool // accepted, never in a response (is_visible false)
	FilterOnly bool // exists only as a filter (tags-any)
	Filter     bool
	Sort       bool
	PolicyKey  bool // policy needs it to judge a request (required_by_policy)
	Guarded    bool // has a rule of its own on writes, "create_port:binding:host_id" (enforce_policy)
	Computed   bool // not in the stored body: spliced for each caller or from other rows

	// Set by Build:

	Alias    string          // the extension that gave the attribute its present form
	JSONType string          // what the schema names first: "string", "integer", "boolean", "array", "object" or "" for any
	Fallback json.RawMessage // Default as JSON where HasDefault, else nil
}

// Action is a named verb on a member: PUT /routers/{id}/add_router_interface.
type Action struct {
	Name, Method, Doc string
	Input, Output     Type
}

// Resource is one noun and its URL.
type Resource struct {
	// Key names the resource in the registry; empty: Collection. Two sub-resources that share a collection's name
	// have "flavors/service_profiles".
	Key        string
	Name       string // "security_group", the member key in bodies
	Collection string // "security_groups", the list key in bodies
	Path       string // "security-groups", the URL segment
	Prefix     string // "/qos"
	Parent     string // collection of the parent, for sub-resources
	Doc        string
	Attributes []Attribute
	Actions    []Action
	Standard   bool // has id, timestamps, revision_number, description, tags
	Quota      bool
	Taggable   bool // has tags, and their filters, when they are enabled
	NoBulk     bool // bulk create is refused with 400
	NoList     bool
	NoShow     bool // members cannot be shown one by one
	NoCreate   bool
	NoUpdate   bool
	NoDelete   bool
	// PerQuota is the pattern of one attribute for each resource with Quota; for the resource quotas alone.
	PerQuota *Attribute

	index map[string]int // of Attributes by name, made by Build
}

// Extension is one advertised alias: nouns that it adds and attributes that it adds to others' nouns. Data only.
type Extension struct {
	Alias, Name, Doc   string
	Updated            time.Time
	Requires, Optional []string
	Resources          []Resource
	Extends            map[string][]Attribute // collection → attributes
	Overrides          map[string][]Attribute // collection → attributes that replace those of the same name
	Actions            map[string][]Action    // collection → actions
	Standard           []Attribute            // attributes that every Standard resource gets
	Tagged             []Attribute            // attributes that every Taggable resource gets
	Core               bool                   // always on and never advertised: networks, subnets, ports
}
