package ml2

import (
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/service"
)

// Rewired tells whether a change concerns what agents wire: host, segment, MAC, addresses, admin state. (A change of
// segment alone goes through rewire.)
func Rewired(old, now *model.Port) bool {
	return old.HostID != now.HostID || old.MACAddress != now.MACAddress || old.AdminStateUp != now.AdminStateUp ||
		old.VIFType != now.VIFType || !slices.Equal(old.FixedIPs, now.FixedIPs)
}

func sameReservation(old, now *model.Port) bool {
	return old.MACAddress == now.MACAddress && old.Name == now.Name && old.DNSName == now.DNSName && slices.Equal(old.FixedIPs, now.FixedIPs) &&
		old.Wiring == now.Wiring && slices.EqualFunc(old.ExtraDHCPOpts, now.ExtraDHCPOpts, sameOption)
}

func sameMembership(old, now *model.Port) bool {
	return old.MACAddress == now.MACAddress && slices.Equal(old.FixedIPs, now.FixedIPs) &&
		slices.Equal(old.AllowedAddressPairs, now.AllowedAddressPairs) && slices.Equal(old.SecurityGroups, now.SecurityGroups)
}

func sameOption(a, b model.DHCPOption) bool {
	return a.Name == b.Name && a.IPVersion == b.IPVersion && (a.Value == nil) == (b.Value == nil) && deref(a.Value) == deref(b.Value)
}

// check judges what does not need the database.
func (p ports) check(port *model.Port, w service.Write[model.Port]) error {
	if w.Op == service.Update {
		if bound(w.Old) && port.MACAddress != w.Old.MACAddress {
			return fault.PortBound(port.ID, w.Old.VIFType, w.Old.MACAddress, port.MACAddress)
		}
		if bound(w.Old) && port.VNICType != w.Old.VNICType {
			return fault.PortInUse(port.ID, port.NetworkID, port.DeviceID)
		}
	}
	if mac, err := net.ParseMAC(port.MACAddress); err != nil || len(mac) != 6 || mac[0]&1 != 0 {
		return fault.BadInput("'%s' is not the MAC address of one interface.", port.MACAddress)
	}
	if port.HostID != "" && !validHost(port.HostID) {
		return fault.BadInput("binding:host_id is not the name of a host.")
	}
	return p.checkPairs(port)
}

// validHost keeps out what no host is called and no database column holds.
func validHost(name string) bool {
	if len(name) > 255 {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool { return r < 0x21 || r == 0x7f || r == 0xfffd })
}

func bound(p *model.Port) bool {
	return p.VIFType != model.VIFUnbound && p.VIFType != model.VIFBindingFailed
}

// checkPairs fills the MAC of address pairs and refuses those that mean nothing.
func (p ports) checkPairs(port *model.Port) error {
	if len(port.AllowedAddressPairs) == 0 {
		return nil
	}
	if !port.PortSecurityEnabled {
		return fault.AddressPairAndPortSecurityRequired()
	}
	seen := map[model.AddressPair]bool{}
	for i := range port.AllowedAddressPairs {
		a := &port.AllowedAddressPairs[i]
		if a.MACAddress == "" {
			a.MACAddress = port.MACAddress
		}
		if pre, err := netip.ParsePrefix(a.IPAddress); err == nil && pre.IsSingleIP() && pre.Addr().Is4() {
			a.IPAddress = pre.String()
		}
		if seen[*a] {
			return fault.DuplicateAddressPairInRequest(a.MACAddress, a.IPAddress)
		}
		seen[*a] = true
	}
	return nil
}

// mergeOptions applies extra_dhcp_opts of a PUT: by name and IP version, null deletes (behaviour.md, section 10).
func mergeOptions(have, given []model.DHCPOption) []model.DHCPOption {
	type id struct {
		name    string
		version int64
	}
	of := func(o model.DHCPOption) id { return id{o.Name, max(o.IPVersion, 4)} }
	byID := map[id]model.DHCPOption{}
	for _, o := range have {
		byID[of(o)] = o
	}
	for _, o := range given {
		if o.Value == nil {
			delete(byID, of(o))
			continue
		}
		byID[of(o)] = o
	}
	out := slices.Collect(maps.Values(byID))
	slices.SortFunc(out, func(a, b model.DHCPOption) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		return int(a.IPVersion - b.IPVersion)
	})
	return out
}

// fillOptions sets the IP version that an option left out, drops options without a value, and makes absent lists empty.
func fillOptions(port *model.Port) {
	out := []model.DHCPOption{}
	for _, o := range port.ExtraDHCPOpts {
		if o.IPVersion == 0 {
			o.IPVersion = 4
		}
		if o.Value != nil {
			out = append(out, o)
		}
	}
	port.ExtraDHCPOpts = out
	if port.SecurityGroups == nil {
		port.SecurityGroups = []string{}
	}
	if port.FixedIPs == nil {
		port.FixedIPs = []model.FixedIP{}
	}
}
