package binding

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// BindingExtended is the extension binding-extended; facts from neutron-lib api/definitions/portbindings_extended.py.
func BindingExtended() apidef.Extension {
	return apidef.Extension{
		Alias: "binding-extended", Name: "Extended port binding",
		Doc:     "Bindings of a port to several hosts, for live migration.",
		Updated: time.Date(2017, 7, 17, 10, 0, 0, 0, time.UTC),
		Resources: []apidef.Resource{
			bindings(),
		},
	}
}

func bindings() apidef.Resource {
	return apidef.Resource{
		Name: "binding", Collection: "bindings", Path: "bindings", Parent: "ports",
		Doc:    "What one host is told about a port; a port that moves has one for either end.",
		NoBulk: true,
		Actions: []apidef.Action{
			{Name: "activate", Method: "PUT", Doc: "Makes this binding the one in force; the other becomes inactive."},
		},
		Attributes: []apidef.Attribute{
			{Name: "project_id", Doc: "The project that owns the object.", Type: types.String(255), Post: apidef.Optional, Default: apidef.Unspecified, PolicyKey: true},
			{Name: "host", Doc: "The host that the binding is for.", Type: types.String(255), Post: apidef.Required, Put: apidef.Optional, Filter: true},
			{Name: "profile", Doc: "What the compute service tells the network service about the port on this host.", Type: types.DictOrNull(), Post: apidef.Optional, Put: apidef.Optional, Default: apidef.Unspecified, Guarded: true},
			{Name: "status", Doc: "ACTIVE for the binding in force, INACTIVE for the others.", Type: types.ReadOnly(apidef.Schema{"type": "string"}), Filter: true},
			{Name: "vif_details", Doc: "What this host must know to plug the port.", Type: types.ReadOnly(apidef.Schema{"type": "object"}), Guarded: true},
			{Name: "vif_type", Doc: "How this host plugs the port.", Type: types.ReadOnly(apidef.Schema{"type": "string"}), Filter: true, Guarded: true},
			{Name: "vnic_type", Doc: "The kind of interface that the guest wants on this host.", Type: types.Values("normal", "direct", "macvtap", "baremetal", "direct-physical", "virtio-forwarder", "smart-nic", "vdpa", "accelerator-direct", "accelerator-direct-physical", "remote-managed"), Post: apidef.Optional, Put: apidef.Optional, Default: "normal", Filter: true, Guarded: true},
		},
	}
}
