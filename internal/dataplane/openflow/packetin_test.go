package openflow

import (
	"testing"
)

// FuzzPacketIn: whatever a switch sends is read or refused.
func FuzzPacketIn(f *testing.F) {
	head := be32(be32(nil, ovsVendor), niciraPacketIn2)
	f.Add(property(property(head, 7, []byte("data")), 0, []byte{1, 2, 3}))
	f.Add(head[:6])
	f.Add(append(head, 0, 0, 0, 3))
	f.Fuzz(func(t *testing.T, body []byte) {
		p, ok, err := message{typeExperimenter, 0, body}.packetIn()
		if ok && err != nil || !ok && (p.Data != nil && err == nil) || len(p.Data)+len(p.UserData) > len(body) {
			t.Errorf("%v, %v, %v", p, ok, err)
		}
	})
}

func TestAPacketWithoutAListener(t *testing.T) {
	if (Flow{Actions: Do(ToController(Controller{}))}).Check() == nil {
		t.Error("a flow that tells nobody is taken")
	}
}
