// Package rest serves every resource of the API from the registry: routes, decoding, presence, defaults,
// validation, policy, filters, sorting, pages, fields and rendering are done here once, and a plugin writes only a
// Controller for each of its collections. assemble builds a Server of the registry and the plugins' bindings.
// rest opens the one transaction of a request and never knows what a resource means.
package rest
