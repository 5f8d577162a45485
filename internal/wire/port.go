package wire

// WaitsAt tells whether a host only waits for the port, and the segment that it will carry it on. What a host does for a port that
// waits must be ready for its traffic and draw none of it: the port is on another host still.
func (p *Port) WaitsAt(host string) (segment string, waits bool) {
	if p.GetHost() == host {
		return "", false
	}
	for _, w := range p.GetWaiting() {
		if w.GetHost() == host {
			return w.GetSegmentId(), true
		}
	}
	return "", false
}

// SegmentAt is the segment that a host carries the port on, or will.
func (p *Port) SegmentAt(host string) string {
	if s, waits := p.WaitsAt(host); waits {
		return s
	}
	return p.GetSegmentId()
}
