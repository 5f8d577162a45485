// Package policy decides what a Principal may do: the language of oslo.policy, compiled once, over Neutron's
// default rules and an operator's overrides. rest asks it before each write, for each row of a list and for
// each guarded attribute. It never loads an object and never answers a request: the caller brings a Target
// and turns a refusal into 403 or 404.
//
// The default rules are data (defaults.json, from Neutron's neutron/conf/policies and those of its stadium
// projects), in the form without deprecated defaults. Five differ: upstream lets only the service role set a
// binding's profile and handle bindings, older clouds use admin for both, and Isospin allows either:
//
//	create_port:binding:profile
//	update_port:binding:profile
//	create_port_binding
//	delete_port_binding
//	activate
package policy
