package lab

import (
	"fmt"
	"slices"
	"strings"
)

// Graph draws the lab: the networks as lines, the hosts below them with their addresses and guests.
//
//	internet            203.0.113.1/24, 2001:db8:cafe::1/64
//	   |
//	===*=== public ======*======
//
// A cable that is cut is drawn as x.
func (st *Status) Graph() string {
	var b strings.Builder
	fmt.Fprintf(&b, "lab %s", st.Name)
	if st.API != "" {
		fmt.Fprintf(&b, "   server %s at http://%s (auth %s)", st.Server, st.API, st.Auth)
	}
	b.WriteString("\n\n  internet  203.0.113.1/24  2001:db8:cafe::1/64\n")
	boxes := make([][]string, len(st.Hosts))
	for i, h := range st.Hosts {
		boxes[i] = box(st.hostLines(h))
	}
	first := true
	for from := 0; from < len(boxes); {
		to := fits(boxes, from)
		st.row(&b, boxes[from:to], st.Hosts[from:to], first)
		from, first = to, false
	}
	return b.String()
}

// rowWidth is how wide a row of hosts may be: a terminal's usual width, with the names before it.
const rowWidth = 100

// nameWidth is the room for the names of networks before a row.
const nameWidth = 11

func fits(boxes [][]string, from int) int {
	to, width := from+1, len(boxes[from][0])
	for to < len(boxes) && width+2+len(boxes[to][0]) <= rowWidth {
		width += 2 + len(boxes[to][0])
		to++
	}
	return to
}

// row draws the networks and, hanging from them, hosts side by side.
func (st *Status) row(b *strings.Builder, boxes [][]string, hosts []HostStatus, outside bool) {
	networks := []string{netPublic, netPhysnet1, netUnderlay, netManagement}
	if outside {
		fmt.Fprintf(b, "  %s|\n", strings.Repeat(" ", nameWidth-3))
	} else {
		b.WriteByte('\n')
	}
	for n, network := range networks {
		line := []byte(fmt.Sprintf(" %-*s", nameWidth-2, network))
		for i, h := range hosts {
			part := []byte(strings.Repeat("=", len(boxes[i][0])+2))
			// Each host hangs from network n by cable n; cables of the networks above pass through.
			for above := range networks[:n] {
				part[3+4*above] = wire(h, networks[above], '|', '=')
			}
			part[3+4*n] = wire(h, network, '*', '=')
			line = append(line, part...)
		}
		if n == 0 && outside {
			line[nameWidth-1] = '*'
		}
		fmt.Fprintf(b, "%s\n", line)
	}
	st.hang(b, boxes, hosts, networks)
}

// hang draws the cables' last piece and the boxes.
func (st *Status) hang(b *strings.Builder, boxes [][]string, hosts []HostStatus, networks []string) {
	line := []byte(strings.Repeat(" ", nameWidth-1))
	height := 0
	for i, h := range hosts {
		part := []byte(strings.Repeat(" ", len(boxes[i][0])+2))
		for n, network := range networks {
			part[3+4*n] = wire(h, network, '|', ' ')
		}
		line = append(line, part...)
		height = max(height, len(boxes[i]))
	}
	fmt.Fprintf(b, "%s\n", strings.TrimRight(string(line), " "))
	for row := range height {
		line := strings.Repeat(" ", nameWidth-1)
		for _, lines := range boxes {
			text := strings.Repeat(" ", len(lines[0]))
			if row < len(lines) {
				text = lines[row]
			}
			line += text + "  "
		}
		fmt.Fprintf(b, "%s\n", strings.TrimRight(line, " "))
	}
}

// wire is how a host's cable to a network looks: whole, cut (x), or, when the host is off, none.
func wire(h HostStatus, network string, whole, none byte) byte {
	if h.Power == "off" || slices.Contains(h.Without, network) {
		return none
	}
	for _, c := range h.Cut {
		if c == network {
			return 'x'
		}
	}
	return whole
}

func (st *Status) hostLines(h HostStatus) []string {
	lines := []string{h.Name + "  " + h.Mechanism, "underlay " + h.Underlay, "mgmt     " + h.Management}
	if h.Power == "off" {
		lines = append(lines, "switched off")
	} else {
		if h.Switch != "" {
			lines = append(lines, "switch   "+h.Switch)
		}
		if h.Agent != "" {
			lines = append(lines, "agent    "+h.Agent)
		}
	}
	for _, g := range st.Guests {
		if g.Host == h.Name {
			lines = append(lines, "- "+g.Name+"  "+g.MAC)
			for _, ip := range g.IPs {
				lines = append(lines, "    "+ip)
			}
		}
	}
	return lines
}

// box frames lines.
func box(lines []string) []string {
	width := 16 // Room for four cables.
	for _, l := range lines {
		width = max(width, len(l))
	}
	edge := "+" + strings.Repeat("-", width+2) + "+"
	framed := []string{edge}
	for _, l := range lines {
		framed = append(framed, fmt.Sprintf("| %-*s |", width, l))
	}
	return append(framed, edge)
}
