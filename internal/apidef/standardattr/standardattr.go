// Package standardattr defines what most nouns have in common: descriptions, times, revision numbers and tags. A
// resource says that it is Standard or Taggable and the registry adds these; the package holds data only.
package standardattr

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// All are the extensions of this package, in the order in which their attributes are shown.
func All() []apidef.Extension {
	return []apidef.Extension{description(), tags(), tagCreation(), tagsOfNewPorts(), timestamp(), revisions(), ifMatch()}
}

// description states facts of neutron-lib api/definitions/standard_attr_description.py.
func description() apidef.Extension {
	return apidef.Extension{
		Alias: "standard-attr-description", Name: "Descriptions",
		Doc:     "Gives objects a text for people.",
		Updated: time.Date(2016, 2, 10, 10, 0, 0, 0, time.UTC),
		Standard: []apidef.Attribute{
			{Name: "description", Doc: "A text for people.", Type: types.String(255), Post: apidef.Optional, Put: apidef.Optional, Default: "", Filter: true},
		},
	}
}

// timestamp states facts of neutron-lib api/definitions/timestamp.py.
func timestamp() apidef.Extension {
	return apidef.Extension{
		Alias: "standard-attr-timestamp", Name: "Timestamps",
		Doc:     "Tells when objects were made and last changed.",
		Updated: time.Date(2016, 9, 12, 10, 0, 0, 0, time.UTC),
		Standard: []apidef.Attribute{
			{Name: "created_at", Doc: "When the object was made.", Type: types.Timestamp()},
			{Name: "updated_at", Doc: "When the object last changed.", Type: types.Timestamp()},
		},
	}
}

// revisions states facts of neutron-lib api/definitions/revisions.py.
func revisions() apidef.Extension {
	return apidef.Extension{
		Alias: "standard-attr-revisions", Name: "Revision numbers",
		Doc:     "Counts the changes of each object.",
		Updated: time.Date(2016, 4, 11, 10, 0, 0, 0, time.UTC),
		Standard: []apidef.Attribute{
			{Name: "revision_number", Doc: "A count that grows with every change.", Type: types.Int(), Filter: true},
		},
	}
}

// ifMatch states facts of neutron-lib api/definitions/revisionifmatch.py.
func ifMatch() apidef.Extension {
	return apidef.Extension{
		Alias: "revision-if-match", Name: "Conditional changes",
		Doc:      "Changes or deletes an object if it still has the revision given in If-Match.",
		Updated:  time.Date(2016, 12, 11, 0, 0, 0, 0, time.UTC),
		Requires: []string{"standard-attr-revisions"},
	}
}

// tags states facts of neutron's extensions/tagging.py.
func tags() apidef.Extension {
	return apidef.Extension{
		Alias: "standard-attr-tag", Name: "Tags",
		Doc:     "Puts words on objects, and finds objects by them.",
		Updated: time.Date(2017, 1, 1, 0, 0, 0, 0, time.UTC),
		Tagged: []apidef.Attribute{
			{Name: "tags", Doc: "Words that clients put on the object to find it again.", Type: types.UniqueStrings(255), Filter: true},
			{Name: "tags-any", Doc: "Finds objects that have at least one of the tags.", Type: types.String(0), FilterOnly: true, Filter: true},
			{Name: "not-tags", Doc: "Finds objects that lack at least one of the tags.", Type: types.String(0), FilterOnly: true, Filter: true},
			{Name: "not-tags-any", Doc: "Finds objects that have none of the tags.", Type: types.String(0), FilterOnly: true, Filter: true},
		},
	}
}

// tagsOfNewPorts states facts of neutron-lib api/definitions/tag_ports_during_bulk_creation.py.
func tagsOfNewPorts() apidef.Extension {
	return apidef.Extension{
		Alias: "tag-ports-during-bulk-creation", Name: "Tags of new ports",
		Doc:      "Puts tags on ports as they are made.",
		Updated:  time.Date(2019, 12, 29, 19, 0, 0, 0, time.UTC),
		Requires: []string{"standard-attr-tag"},
		Overrides: map[string][]apidef.Attribute{
			"ports": {
				{Name: "tags", Doc: "Words that clients put on the port to find it again.", Type: types.UniqueStrings(255), Post: apidef.Optional, Default: []any{}, Filter: true},
			},
		},
	}
}

// tagCreation states facts of neutron-lib api/definitions/tag_creation.py.
func tagCreation() apidef.Extension {
	return apidef.Extension{
		Alias: "tag-creation", Name: "Adding of tags",
		Doc:      "Adds several tags to an object in one request.",
		Updated:  time.Date(2024, 7, 23, 10, 0, 0, 0, time.UTC),
		Requires: []string{"standard-attr-tag"},
	}
}
