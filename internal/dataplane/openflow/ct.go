package openflow

import (
	"fmt"
	"net/netip"
)

// CT sends the packet through connection tracking.
type CT struct {
	// Commit remembers the connection.
	Commit bool
	// Force, with Commit, begins the connection anew where the other direction began it.
	Force bool
	// Zone is the conntrack zone; ZoneFrom, where its last bit is set, reads the zone from 16 bits of a register.
	Zone     uint16
	ZoneFrom *Subfield
	// Table, where HasTable, is where the packet goes on with its connection state set; the actions that follow go on without it.
	Table    uint8
	HasTable bool
	// Exec runs when the connection is committed; it may only set CTMark.
	Exec []Action
	// NAT translates addresses.
	NAT *NAT
}

// NAT is what ct does to addresses. Without addresses it applies what an earlier packet of the connection decided.
type NAT struct {
	Source bool       // of the source; else of the destination
	Min    netip.Addr // not valid: apply only
	Max    netip.Addr // not valid: Min alone
	// PortMin and PortMax bound the port; 0 leaves it.
	PortMin, PortMax uint16
}

// CTNext is ct in zone, going on in table: what asks for the state of a connection.
func CTNext(zone uint16, table uint8) Action { return CT{Zone: zone, Table: table, HasTable: true} }

// CTNextFrom is CTNext with the zone read from a register.
func CTNextFrom(zone Subfield, table uint8) Action {
	return CT{ZoneFrom: &zone, Table: table, HasTable: true}
}

func (c CT) check() error {
	if c.ZoneFrom != nil {
		if err := c.ZoneFrom.check(); err != nil {
			return err
		}
		if c.ZoneFrom.bits() != 16 {
			return fmt.Errorf("ct: a zone has 16 bits")
		}
	}
	if len(c.Exec) > 0 && !c.Commit {
		return fmt.Errorf("ct: exec without commit")
	}
	if c.Force && !c.Commit {
		return fmt.Errorf("ct: force without commit")
	}
	if n := c.NAT; n != nil {
		if n.Max.IsValid() && (!n.Min.IsValid() || n.Min.Is4() != n.Max.Is4() || n.Max.Less(n.Min)) {
			return fmt.Errorf("ct: no range of addresses from %s to %s", n.Min, n.Max)
		}
		if n.Min.IsValid() && !c.Commit {
			return fmt.Errorf("ct: nat with an address needs commit")
		}
		if n.PortMax != 0 && n.PortMax < n.PortMin || n.PortMin != 0 && !n.Min.IsValid() {
			return fmt.Errorf("ct: no range of ports from %d to %d", n.PortMin, n.PortMax)
		}
	}
	return checkNested(c.Exec)
}

func (c CT) appendText(b []byte, names namer) []byte {
	b = append(b, "ct("...)
	start := len(b)
	item := func() {
		if len(b) > start {
			b = append(b, ',')
		}
	}
	if c.Commit {
		b = append(b, "commit"...)
	}
	if c.Force {
		item()
		b = append(b, "force"...)
	}
	if c.HasTable {
		item()
		b = appendTable(append(b, "table="...), c.Table, names)
	}
	if c.ZoneFrom != nil {
		item()
		b = c.ZoneFrom.appendText(append(b, "zone="...))
	} else if c.Zone != 0 {
		item()
		b = fmt.Appendf(b, "zone=%d", c.Zone)
	}
	if c.NAT != nil {
		item()
		b = c.NAT.appendText(b)
	}
	if len(c.Exec) > 0 {
		item()
		b = append(appendActions(append(b, "exec("...), c.Exec, names), ')')
	}
	return append(b, ')')
}

func (n *NAT) appendText(b []byte) []byte {
	b = append(b, "nat"...)
	if !n.Min.IsValid() {
		return b
	}
	b = append(b, "(dst="...)
	if n.Source {
		b = append(b[:len(b)-len("dst=")], "src="...)
	}
	// An IPv6 address stands in brackets only where a port follows it.
	bracket := n.Min.Is6() && n.PortMin != 0
	addr := func(a netip.Addr) {
		if bracket {
			b = append(b, '[')
		}
		b = a.AppendTo(b)
		if bracket {
			b = append(b, ']')
		}
	}
	addr(n.Min)
	if n.Max.IsValid() && n.Max != n.Min {
		b = append(b, '-')
		addr(n.Max)
	}
	if n.PortMin != 0 {
		b = fmt.Appendf(b, ":%d", n.PortMin)
		if n.PortMax > n.PortMin {
			b = fmt.Appendf(b, "-%d", n.PortMax)
		}
	}
	return append(b, ')')
}
