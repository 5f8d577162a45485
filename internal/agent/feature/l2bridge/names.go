package l2bridge

import (
	"crypto/sha1" // a name, not a secret
	"encoding/hex"
	"fmt"
	"strings"
)

// Names are those of Neutron's agent, by which Nova and operators' tools know them: neutron/plugins/ml2/drivers/linuxbridge/agent.

// idLength is how much of an id is in a name.
const idLength = 11

func short(id string) string { return id[:min(len(id), idLength)] }

// BridgeName is a network's bridge.
func BridgeName(network string) string { return "brq" + short(network) }

// TapName is a port's device on its host.
func TapName(port string) string { return "tap" + short(port) }

func isTap(device string) bool   { return strings.HasPrefix(device, "tap") && len(device) == 3+idLength }
func isBridge(name string) bool  { return strings.HasPrefix(name, "brq") && len(name) == 3+idLength }
func vxlanName(vni int64) string { return fmt.Sprint("vxlan-", vni) }

// patchNames are the two ends between a network's bridge and one of the operator's.
func patchNames(network string) (inner, outer string) {
	return "int" + short(network), "phy" + short(network)
}

// vlanName is a VLAN device; long names of what it stands on are told apart by a hash.
func vlanName(parent string, id int64) string {
	name := fmt.Sprintf("%s.%d", parent, id)
	if len(name) <= 15 {
		return name
	}
	return fmt.Sprintf("%s.%d", hashed(parent), id)
}

func hashed(device string) string {
	sum := sha1.Sum([]byte(device))
	return device[:min(len(device), 4)] + hex.EncodeToString(sum[:3])
}

// Owns says whether a device's being in a bridge is the feature's affair.
func (c Config) Owns(device, in string) bool {
	if !isBridge(in) {
		for _, theirs := range c.Bridges {
			if in == theirs {
				return strings.HasPrefix(device, "phy") && len(device) == 3+idLength
			}
		}
		return false
	}
	if isTap(device) || strings.HasPrefix(device, "vxlan-") || strings.HasPrefix(device, "int") && len(device) == 3+idLength {
		return true
	}
	parent, _, tagged := cutLast(device, ".")
	for _, mapped := range []map[string]string{c.Interfaces, c.Bridges} {
		for _, name := range mapped {
			if device == name || tagged && (parent == name || parent == hashed(name)) {
				return true
			}
		}
	}
	return false
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
