package secgroup

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// AddressGroup is the extension address-group; facts from neutron-lib api/definitions/address_group.py.
func AddressGroup() apidef.Extension {
	return apidef.Extension{
		Alias: "address-group", Name: "Address groups",
		Doc:      "Sets of addresses that security group rules can name.",
		Updated:  time.Date(2020, 7, 15, 10, 0, 0, 0, time.UTC),
		Requires: []string{"security-group"},
		Resources: []apidef.Resource{
			addressGroups(),
		},
	}
}

func addressGroups() apidef.Resource {
	return apidef.Resource{
		Name: "address_group", Collection: "address_groups", Path: "address-groups",
		Doc:      "A set of addresses that security group rules can name.",
		Standard: true,
		Actions: []apidef.Action{
			{Name: "add_addresses", Method: "PUT", Doc: "Adds addresses to the group.", Input: types.Object(types.Key{Name: "addresses", Type: types.CIDRList(), Required: true})},
			{Name: "remove_addresses", Method: "PUT", Doc: "Takes addresses out of the group.", Input: types.Object(types.Key{Name: "addresses", Type: types.CIDRList(), Required: true})},
		},
		Attributes: []apidef.Attribute{
			{Name: "id", Doc: "The identifier, given by the server.", Type: types.UUID(), Filter: true, Sort: true},
			{Name: "name", Doc: "A name for people; it need not be unique.", Type: types.Name(255), Post: apidef.Optional, Put: apidef.Optional, Default: "", Filter: true, Sort: true},
			{Name: "project_id", Doc: "The project that owns the object.", Type: types.String(255), Post: apidef.Optional, Default: apidef.Unspecified, Filter: true, Sort: true, PolicyKey: true},
			{Name: "addresses", Doc: "The addresses and ranges of the group.", Type: types.NullIsEmptyList(types.CIDRList()), Post: apidef.Optional, Default: apidef.Unspecified},
			{Name: "description", Doc: "A text for people.", Type: types.String(255), Post: apidef.Optional, Put: apidef.Optional, Default: "", Filter: true},
			{Name: "shared", Doc: "Whether the group is open to the project of the caller; a filter alone.", Type: types.Bool(), Hidden: true},
		},
	}
}
