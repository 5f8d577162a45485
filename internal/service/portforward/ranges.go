package portforward

import (
	"strconv"
	"strings"

	"isospin/internal/fault"
	"isospin/internal/model"
)

// span is a range of ports, both ends included.
type span struct{ first, last int64 }

func one(port int64) span { return span{port, port} }

// parse reads "80" or "80:90".
func parse(text string) (span, bool) {
	low, high, ranged := strings.Cut(text, ":")
	first, err := strconv.ParseInt(low, 10, 64)
	last := first
	var err2 error
	if ranged {
		last, err2 = strconv.ParseInt(high, 10, 64)
	}
	ok := err == nil && err2 == nil && first >= 1 && first <= last && last <= 65535
	return span{first, last}, ok
}

// String is the range as the API shows it, with both ends even where they are one.
func (s span) String() string {
	return strconv.FormatInt(s.first, 10) + ":" + strconv.FormatInt(s.last, 10)
}

func (s span) size() int64 { return s.last - s.first + 1 }

func (s span) overlaps(o span) bool { return s.first <= o.last && o.first <= s.last }

func (s span) shown() (port *int64, text *string) {
	t := s.String()
	if s.first == s.last {
		port = &s.first
	}
	return port, &t
}

// refuse is the fault for a forwarding that cannot be.
func refuse(why string) error { return fault.BadRequest("port_forwarding", why) }

// settle is one side's range after a request: what was given as a number or as a range, else what there was. ok is false where
// there is nothing.
func settle(side string, port *int64, text *string, cur span) (s span, err error) {
	s = cur
	if text != nil {
		var ok bool
		if s, ok = parse(*text); !ok {
			return s, refuse(side + "_port_range " + *text + " is not a range of ports from 1 to 65535.")
		}
	}
	if port == nil {
		return s, nil
	}
	if text != nil && s != one(*port) {
		return s, refuse(side + "_port and " + side + "_port_range do not say the same.")
	}
	return one(*port), nil
}

// relate refuses ranges that do not go together: as many ports inside as outside, or one inside
// (services/portforwarding/pf_plugin.py).
func relate(outside, inside span) error {
	switch {
	case outside.first == 0:
		return refuse("external_port or external_port_range is missing.")
	case inside.first == 0:
		return refuse("internal_port or internal_port_range is missing.")
	case inside.size() > 1 && inside.size() != outside.size():
		return refuse("the ranges of external and internal ports must be of one size, unless there is one internal port.")
	}
	return nil
}

// outsideOf and insideOf are the ranges of a forwarding; the zero span where it has none yet.
func outsideOf(f *model.PortForwarding) span { return of(f.ExternalPort, f.ExternalPortRange) }

func insideOf(f *model.PortForwarding) span { return of(f.InternalPort, f.InternalPortRange) }

func of(port *int64, text *string) span {
	if text != nil {
		if s, ok := parse(*text); ok {
			return s
		}
	}
	if port != nil {
		return one(*port)
	}
	return span{}
}
