package vswitch

import "isospin/internal/reconcile"

// NewFakeBridges is a switch in memory that has the bridges of others named, and no more.
func NewFakeBridges(existing ...string) *reconcile.Memory[string, Bridge] {
	there := map[string]bool{}
	for _, name := range existing {
		there[name] = true
	}
	return &reconcile.Memory[string, Bridge]{Refuse: func(name string, b Bridge) error {
		if b.Existing && !there[name] {
			return ErrNoBridge
		}
		return nil
	}}
}

// NewFakePorts is the ports of a switch in memory. has says whether there is a bridge; nil is always.
func NewFakePorts(has func(bridge string) bool) *reconcile.Memory[string, Port] {
	return &reconcile.Memory[string, Port]{Refuse: func(_ string, p Port) error {
		if p.Bridge == "" || has != nil && !has(p.Bridge) {
			return ErrNoBridge
		}
		return nil
	}}
}

// NewFakeGuarantees is the queues of a switch in memory. has says whether there is a bridge with a wire; nil is always.
func NewFakeGuarantees(has func(bridge string) bool) *reconcile.Memory[GuaranteeKey, Guarantee] {
	return &reconcile.Memory[GuaranteeKey, Guarantee]{Refuse: func(k GuaranteeKey, v Guarantee) error {
		switch {
		case k.Queue < 1 || k.Queue > LastQueue || v.Kbps == 0:
			return ErrNoWire
		case has != nil && !has(k.Bridge):
			return ErrNoBridge
		}
		return nil
	}}
}
