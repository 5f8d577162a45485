package refdoc

import (
	"net/http"
	"slices"
)

// place puts the operations of a path into the document, with the path's own parameters; none where there are no operations.
func place(paths object, path string, operations object, parameters []any) {
	if len(operations) == 0 {
		return
	}
	if len(parameters) > 0 {
		operations["parameters"] = parameters
	}
	paths[path] = operations
}

// operation makes one operation of a resource.
type operation func(name, summary string, body any, answers object, params ...any) object

// tagged adds the paths of a member's tags.
func tagged(paths object, member, id string, above []any, op operation, adds bool) {
	tags := wrapped("tags", object{"type": "array", "items": object{"type": "string", "maxLength": 255}, "maxItems": 50, "uniqueItems": true})
	all := object{
		"get":    op("list_tags_of_"+id, "Lists the tags of one.", nil, responses(http.StatusOK, "Its tags.", tags)),
		"put":    op("replace_tags_of_"+id, "Gives it these tags and no others.", tags, responses(http.StatusOK, "The tags that were given.", tags)),
		"delete": op("delete_tags_of_"+id, "Takes all its tags away.", nil, responses(http.StatusNoContent, "It has none.", nil)),
	}
	if adds {
		all["post"] = op("add_tags_to_"+id, "Adds tags.", tags, responses(http.StatusOK, "The tags that were given.", tags))
	}
	place(paths, member+"/tags", all, above)
	one := object{
		"get":    op("check_tag_of_"+id, "Tells whether it has a tag.", nil, responses(http.StatusNoContent, "It has it.", nil)),
		"put":    op("add_tag_to_"+id, "Adds a tag.", nil, responses(http.StatusCreated, "It has it.", object{"type": "null"})),
		"delete": op("delete_tag_of_"+id, "Takes a tag away.", nil, responses(http.StatusNoContent, "It has it no more.", nil)),
	}
	place(paths, member+"/tags/{tag}", one, append(slices.Clone(above), pathParameter("tag")))
}

// discovery adds the paths by which the API tells of itself.
func discovery(paths object) {
	get := func(path, name, summary string, open bool, schema object, parameters ...any) {
		op := object{"operationId": name, "summary": summary, "responses": responses(http.StatusOK, "What there is.", schema)}
		if open {
			op["security"] = []any{}
		}
		place(paths, path, object{"get": op}, parameters)
	}
	list := func(key string) object {
		return wrapped(key, object{"type": "array", "items": object{"type": "object"}})
	}
	get("/", "list_versions", "Lists the versions of the API.", true, list("versions"))
	get("/v2.0/", "list_resources", "Lists the resources of the core.", false, list("resources"))
	get("/v2.0/extensions", "list_extensions", "Lists the extensions of the API.", false, list("extensions"))
	get("/v2.0/extensions/{alias}", "show_extension", "Shows an extension of the API.", false, wrapped("extension", object{"type": "object"}), pathParameter("alias"))
	get("/v2.0/openapi.json", "show_openapi", "Shows this document.", false, object{"type": "object"})
}
