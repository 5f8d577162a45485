//go:build integration

package openflow

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"
)

// TestSwitchTellsOfPackets: a packet comes to who listens, with the flow's data and no faster than the meter says.
func TestSwitchTellsOfPackets(t *testing.T) {
	o, br := bridge(t)
	c := NewConn(o.RunDir, br)
	t.Cleanup(func() { _ = c.Close() })
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	const burst = 5
	if err := NewMeters(c, IDs{1, 100}).Put(ctx, map[uint32]Meter{6: {Packets: true, Rate: 1, Burst: burst}}); err != nil {
		t.Fatal(err)
	}
	d := NewFlows(c, TagOf("told"))
	if err := d.Put(ctx, d.Tag().Want(
		Flow{Table: 0, Priority: 1, Match: UDP(UDPDst.Is(7)), Actions: Do(ToController(Controller{ID: 9, UserData: []byte("one")}), Output(2))},
		Flow{Table: 0, Priority: 1, Match: UDP(UDPDst.Is(8)), Actions: Do(ToController(Controller{ID: 9, UserData: []byte("bounded"), Meter: 6}))},
	)); err != nil {
		t.Fatal(err)
	}
	got, ready, done := make(chan PacketIn, 1000), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- c.Packets(ctx, 9, func() { close(ready) }, func(p PacketIn) { got <- p })
	}()
	defer func() { cancel(); <-done }()
	select {
	case <-ready:
	case err := <-done:
		t.Fatal(err)
	}
	send := func(port uint16) []byte {
		frame := datagram(port)
		of15(o, "packet-out", br, fmt.Sprintf("in_port=1,packet=%x,actions=resubmit(,0)", frame))
		return frame
	}
	sent := send(7)
	p := <-got
	if string(p.UserData) != "one" || !bytes.Equal(p.Data, sent) {
		t.Errorf("told %q of %x", p.UserData, p.Data)
	}
	for range 40 {
		send(8)
	}
	send(7)
	n := 0
	for p := range got {
		if string(p.UserData) == "one" {
			break
		}
		n++
	}
	if n < 1 || n > burst+10 /* of the seconds that it takes */ {
		t.Errorf("%d of 40 packets were told", n)
	}
}

// datagram is an Ethernet frame with a UDP datagram of 100 bytes to a port.
func datagram(port uint16) []byte {
	b := []byte{0xfa, 0x16, 0x3e, 0, 0, 2, 0xfa, 0x16, 0x3e, 0, 0, 1, 8, 0,
		0x45, 0, 0, 128, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2}
	b = be16(be16(be16(be16(b, 1), port), 108), 0)
	return zeros(b, 100)
}
