package portext

import (
	"time"

	"isospin/internal/apidef"
)

// PortHintOVSTransmitSteering is the extension port-hint-ovs-tx-steering; facts from neutron-lib api/definitions/port_hint_ovs_tx_steering.py.
func PortHintOVSTransmitSteering() apidef.Extension {
	return apidef.Extension{
		Alias: "port-hint-ovs-tx-steering", Name: "Hint for transmit steering",
		Doc:      "A hint for Open vSwitch with several transmit queues.",
		Updated:  time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC),
		Requires: []string{"port-hints"},
	}
}
