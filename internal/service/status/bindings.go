package status

import (
	"isospin/internal/model"
	"isospin/internal/wire"
)

// Binding is a host that has the port or waits for it.
type Binding struct {
	Host    string `json:"host"`
	Status  string `json:"status"`
	VIFType string `json:"vif_type"`
	// Wired tells whether the host has done its part for the present generation: of a host that waits, that the port can come.
	Wired bool `json:"wired"`
}

// hosts are those that have the port or wait for it.
func (w *inquiry) hosts() []string {
	out := []string{w.port.HostID}
	for _, b := range w.port.Bindings {
		out = append(out, b.Host)
	}
	return out
}

// bindings tells how far each host is. What a host that waits has not done keeps the port from moving, not from being ACTIVE.
func (w *inquiry) bindings() {
	add := func(b model.PortBinding) {
		v, said := w.words[slot{w.port.ID, wire.EntityL2, b.Host}]
		w.out.Bindings = append(w.out.Bindings, Binding{Host: b.Host, Status: b.Status, VIFType: b.VIFType,
			Wired: said && v.state == int64(wire.State_DONE) && v.generation == w.port.Wiring})
	}
	if b, ok := w.port.Binding(); ok {
		add(b)
	}
	for _, b := range w.port.Bindings {
		add(b)
	}
}
