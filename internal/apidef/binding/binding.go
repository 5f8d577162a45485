package binding

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// Binding is the extension binding; facts from neutron-lib api/definitions/portbindings.py.
func Binding() apidef.Extension {
	return apidef.Extension{
		Alias: "binding", Name: "Port binding",
		Doc:     "Where a port is plugged, and how.",
		Updated: time.Date(2014, 2, 3, 10, 0, 0, 0, time.UTC),
		Extends: map[string][]apidef.Attribute{
			"ports": {
				{Name: "binding:host_id", Doc: "The host that the port is plugged on; empty: none.", Type: types.StringOrNull(255), Post: apidef.Optional, Put: apidef.Optional, Default: apidef.Unspecified, Filter: true, Guarded: true},
				{Name: "binding:vnic_type", Doc: "The kind of interface that the guest wants.", Type: types.Values("normal", "direct", "macvtap", "baremetal", "direct-physical", "virtio-forwarder", "smart-nic", "vdpa", "accelerator-direct", "accelerator-direct-physical", "remote-managed"), Post: apidef.Optional, Put: apidef.Optional, Default: "normal", Guarded: true},
				{Name: "binding:profile", Doc: "What the compute service tells the network service about the port.", Type: types.DictOrNull(), Post: apidef.Optional, Put: apidef.Optional, Default: apidef.Unspecified, Guarded: true},
				{Name: "binding:vif_type", Doc: "How the host plugs the port: ovs, bridge, ...; unbound, or binding_failed.", Type: types.ReadOnly(apidef.Schema{"type": "string"}), Guarded: true},
				{Name: "binding:vif_details", Doc: "What the host must know to plug the port.", Type: types.ReadOnly(apidef.Schema{"type": "object"}), Guarded: true},
			},
		},
	}
}
