package vswitch_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"isospin/internal/dataplane/vswitch"
	"isospin/internal/dataplane/vswitch/ovstest"
	"isospin/internal/reconcile"
	"isospin/internal/reconcile/reconciletest"
)

type (
	gkey   = vswitch.GuaranteeKey
	gvalue = vswitch.Guarantee
)

func guarantees() map[gkey][]gvalue {
	return map[gkey][]gvalue{{Bridge: "br-a", Queue: 1}: {{Kbps: 1000}, {Kbps: 2000}}, {Bridge: "br-a", Queue: 7}: {{Kbps: 500}}, {Bridge: "br-b", Queue: 1}: {{Kbps: 1000}}}
}

func badGuarantees() map[gkey]gvalue {
	return map[gkey]gvalue{{Bridge: "br-gone", Queue: 1}: {Kbps: 1}, {Bridge: "br-a", Queue: 0}: {Kbps: 1}, {Bridge: "br-a", Queue: 9}: {}}
}

func TestFakeGuaranteesConform(t *testing.T) {
	reconciletest.Run(t, reconciletest.Subject[gkey, gvalue]{
		New: func(*testing.T) reconciletest.World[gkey, gvalue] {
			m := vswitch.NewFakeGuarantees(func(b string) bool { return b != "br-gone" })
			return reconciletest.World[gkey, gvalue]{Open: func() reconcile.Driver[gkey, gvalue] { return m }}
		},
		Equal: vswitch.EqualGuarantee, Objects: guarantees(), Bad: badGuarantees(),
	})
}

// TestGuaranteesConform: on bridges of the operator, one with two wires, beside a wire on which he queues himself.
func TestGuaranteesConform(t *testing.T) {
	o := ovstest.Start(t)
	c := connect(t, o)
	for _, w := range [][2]string{{"br-a", "w1"}, {"br-a", "w2"}, {"br-b", "w3"}, {"br-own", "w4"}} {
		ns(t, o, "link", "add", w[0]+w[1], "type", "veth", "peer", "name", w[1])
		o.Vsctl("--may-exist", "add-br", w[0], "--", "set", "Bridge", w[0], "datapath_type=netdev")
		o.Vsctl("add-port", w[0], w[1])
	}
	o.Vsctl("add-br", "br-bare", "--", "set", "Bridge", "br-bare", "datapath_type=netdev")
	o.Vsctl("set", "Port", "w4", "qos=@q", "--", "--id=@q", "create", "QoS", "type=linux-htb", "external_ids:mine=yes", "queues:3=@u", "--", "--id=@u", "create", "Queue", "other_config:min-rate=7")
	operator := func() string {
		return o.Vsctl("--columns=type,queues,external_ids", "find", "QoS", "external_ids:mine=yes") + o.Vsctl("--columns=other_config", "find", "Queue", "other_config:min-rate=7")
	}
	before := operator()
	open := func() reconcile.Driver[gkey, gvalue] { return vswitch.NewGuarantees(c, "test") }
	reconciletest.Run(t, reconciletest.Subject[gkey, gvalue]{
		New: func(t *testing.T) reconciletest.World[gkey, gvalue] {
			return reconciletest.World[gkey, gvalue]{
				Open: open,
				Meddle: func(k gkey) {
					if k.Bridge == "br-a" {
						o.Vsctl("--no-wait", "clear", "Port", "w2", "qos")
						return
					}
					o.Vsctl("--no-wait", "clear", "Port", "w3", "qos")
				},
				Stranger: func() {
					if now := operator(); now != before {
						t.Errorf("the operator's queues were %s and are %s", before, now)
					}
				},
			}
		},
		Equal: vswitch.EqualGuarantee, Objects: guarantees(), Bad: badGuarantees(), Sequences: 4,
	})
	for bridge, want := range map[string]error{"br-own": vswitch.ErrQueued, "br-bare": vswitch.ErrNoWire} {
		if err := open().Put(context.Background(), map[gkey]gvalue{{Bridge: bridge, Queue: 1}: {Kbps: 1000}}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", bridge, err, want)
		}
	}
	if left := o.Vsctl("--columns=_uuid", "list", "QoS"); strings.Count(left, "_uuid") != 1 {
		t.Errorf("what is left: %s", left)
	}
}

// TestGuaranteesReachTheKernel: each wire has the queue's class with its rate.
func TestGuaranteesReachTheKernel(t *testing.T) {
	o := ovstest.Start(t)
	c := connect(t, o)
	ns(t, o, "link", "add", "wire", "type", "veth", "peer", "name", "far")
	o.Vsctl("add-br", "br-a", "--", "set", "Bridge", "br-a", "datapath_type=netdev")
	o.Vsctl("add-port", "br-a", "wire")
	if err := vswitch.NewGuarantees(c, "test").Put(t.Context(), map[gkey]gvalue{{Bridge: "br-a", Queue: 7}: {Kbps: 3000}}); err != nil {
		t.Fatal(err)
	}
	if err := c.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if shown := o.Appctl("qos/show", "wire"); !strings.Contains(shown, "Queue 7") || !strings.Contains(shown, "min-rate: 3000000") {
		t.Errorf("the switch shows %s", shown)
	}
}
