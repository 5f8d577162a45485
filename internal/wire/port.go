package wire

import "slices"

// waitingAt finds the binding by which a host waits for the port; nil where it does not.
func (p *Port) waitingAt(host string) *WaitingBinding {
	if p.GetHost() == host {
		return nil
	}
	for _, w := range p.GetWaiting() {
		if w.GetHost() == host {
			return w
		}
	}
	return nil
}

// WaitsAt tells whether a host only waits for the port, and the segment that it will carry it on. What a host does for a port that
// waits must be ready for its traffic and draw none of it: the port is on another host still.
func (p *Port) WaitsAt(host string) (segment string, waits bool) {
	w := p.waitingAt(host)
	return w.GetSegmentId(), w != nil
}

// SegmentAt is the segment that a host carries the port on, or will.
func (p *Port) SegmentAt(host string) string {
	if w := p.waitingAt(host); w != nil {
		return w.GetSegmentId()
	}
	return p.GetSegmentId()
}

// SwitchedAt tells whether a switch of software carries the port on a host. Hardware that is handed to guests (SR-IOV) and macvtap are nobody's there
// but libvirt's, and out of reach as a port of another host is.
func (p *Port) SwitchedAt(host string) bool {
	vif := p.GetVifType()
	if w := p.waitingAt(host); w != nil {
		vif = w.GetVifType()
	}
	return !slices.Contains([]string{"hw_veb", "hostdev_physical", "macvtap"}, vif)
}
