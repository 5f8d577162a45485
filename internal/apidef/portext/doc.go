// Package portext defines what ports carry besides the core attributes. The catalogue lists it; it holds data only.
package portext

import "isospin/internal/apidef"

// All are the extensions of this package, in the order in which their attributes are shown; a port may have at most
// addressPairs allowed address pairs.
func All(addressPairs int) []apidef.Extension {
	return []apidef.Extension{AllowedAddressPairs(addressPairs), AAPRejectMulticast(), ExtraDHCPOption(), DataPlaneStatus(), UplinkStatusPropagation(), UplinkStatusPropagationUpdatable(), PortMACAddressRegenerate(), PortMACOverride(), PortDeviceProfile(), PortHardwareOffloadType(), PortHints(), PortHintOVSTransmitSteering(), PortNUMAAffinityPolicy(), PortNUMAAffinityPolicySocket(), PortTrustedVIF()}
}
