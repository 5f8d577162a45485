package port

import "isospin/internal/model"

// Segment is the segment that a host carries a port on: that of the lowest level of its binding there. ok is false for a port
// that is not bound to the host.
func Segment(levels []model.BindingLevel, host string) (segment string, ok bool) {
	lowest := int64(-1)
	for _, l := range levels {
		if l.Host == host && l.Level > lowest {
			lowest, segment = l.Level, l.SegmentID
		}
	}
	return segment, lowest >= 0
}
