// Package core defines the nouns that every deployment has: networks, subnets and ports, with the attributes that no
// extension adds. The catalogue lists it first; it holds data only.
package core

import "isospin/internal/apidef"

// Alias names the core among the definitions; it is always on and never advertised.
const Alias = "core"

// Core are the three nouns, in the order in which they refer to each other.
func Core() apidef.Extension {
	return apidef.Extension{
		Alias: Alias, Name: "Core", Doc: "Networks, subnets and ports.", Core: true,
		Resources: []apidef.Resource{network(), subnet(), port()},
	}
}
