package ml2

import (
	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/rest"
)

// TagCarrier is the part of a mechanism driver that knows whether guests' own VLAN tags pass through a network; asked for
// by assertion, in the network's transaction. A driver without it lets none pass.
type TagCarrier interface {
	// CarriesTags is for tags of guests (vlan_transparent).
	CarriesTags(n model.Network) bool
	// CarriesQinQ is for tags of guests below a service tag (qinq).
	CarriesQinQ(n model.Network) bool
}

// carriesTags asks every driver: whichever binds a port, the network must be what it says (neutron/plugins/ml2/managers.py).
func (m *MechanismManager) carriesTags(n *model.Network, qinq bool) bool {
	for _, d := range m.drivers {
		c, ok := d.(TagCarrier)
		if !ok || qinq && !c.CarriesQinQ(*n) || !qinq && !c.CarriesTags(*n) {
			return false
		}
	}
	return len(m.drivers) > 0
}

// transparency settles vlan_transparent and qinq of a new network: off unless asked for, and absent where the cloud does
// not offer them.
func (p networks) transparency(n *model.Network) error {
	no := false
	settle := func(offered bool, value **bool) bool {
		switch {
		case !offered:
			*value = nil
		case *value == nil:
			*value = &no
		}
		return *value != nil && **value
	}
	tags, qinq := settle(p.OfferVLANTransparent, &n.VLANTransparent), settle(p.OfferQinQ, &n.QinQ)
	switch {
	case tags && qinq:
		return fault.BadInput("vlan_transparent and qinq exclude each other.")
	case tags && !p.Mechanisms.carriesTags(n, false):
		return fault.VlanTransparencyDriverError()
	case qinq && !p.Mechanisms.carriesTags(n, true):
		return fault.VlanQinqDriverError()
	}
	return nil
}

// spliceTags shows null for networks that are older than the offer.
func (p networks) spliceTags(page *rest.Page) {
	null := func(name string, offered bool) {
		if !offered || !page.Wants(name) {
			return
		}
		for i := range page.Rows {
			if _, ok := page.Member(i, name); !ok {
				page.Splice(i, name, []byte("null"))
			}
		}
	}
	null("vlan_transparent", p.OfferVLANTransparent)
	null("qinq", p.OfferQinQ)
}
