package assemble

import (
	"context"
	"time"

	veth "isospin/internal/dataplane/link"
	"isospin/internal/dataplane/vswitch"
	"isospin/internal/ovsdb"
	"isospin/internal/reconcile"
)

// pairs is the driver of veth pairs that the switch holds one end of. ovs-vswitchd does not see that a device was removed and made
// again under its name within moments: its userspace datapath goes on reading from what is gone. So the port of a pair that
// had to be made anew is taken out of the switch, and the stage of ports, which comes next, puts it in again.
type pairs struct {
	*veth.Veths
	ovs   *ovsdb.Client
	ports *vswitch.Ports
	taken func(reason string)
}

// patience is how long ovs-vswitchd may take to let go of a port. One that is away holds none.
const patience = time.Second

// Put implements reconcile.Driver.
func (p pairs) Put(ctx context.Context, batch map[veth.Key]veth.Veth) error {
	before, err := p.List(ctx)
	if err != nil {
		return err
	}
	result := p.Veths.Put(ctx, batch)
	stale := map[string]vswitch.Port{}
	if s := p.ovs.Snapshot(); s != nil {
		for k, want := range batch {
			have, there := before[k]
			if there && have.Fault != "torn" && have.Peer == want.Peer {
				continue
			}
			if i, plugged := s.Interface(want.Peer); plugged && i.OFPort > 0 {
				stale[want.Peer] = vswitch.Port{}
			}
		}
	}
	if len(stale) == 0 {
		return result
	}
	defer p.taken("a device was made anew")
	if err := p.ports.Drop(ctx, stale); err != nil {
		return err // for the whole batch: it is put again, and the ports are looked at again
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_ = p.ovs.Settle(ctx) // a switch that is away or slow finds the port changed later; nothing better can be done
	return result
}

var _ reconcile.Driver[veth.Key, veth.Veth] = pairs{}
