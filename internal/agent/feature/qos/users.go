package qos

import (
	"isospin/internal/agent"
	"isospin/internal/change"
	"isospin/internal/wire"
)

// users remembers which ports a policy is in force for, so that a change of a policy looks at those alone. It is thrown away and made again by a
// Sync of all.
type users struct {
	policy map[string]string          // of a port
	ports  map[string]map[string]bool // of a policy
}

func newUsers() users {
	return users{policy: map[string]string{}, ports: map[string]map[string]bool{}}
}

// set notes the policy of a port, "" for none.
func (u users) set(port, policy string) {
	before := u.policy[port]
	if before == policy {
		return
	}
	if delete(u.ports[before], port); len(u.ports[before]) == 0 {
		delete(u.ports, before)
	}
	delete(u.policy, port)
	if policy == "" {
		return
	}
	if u.ports[policy] == nil {
		u.ports[policy] = map[string]bool{}
	}
	u.ports[policy][port], u.policy[port] = true, policy
}

// touched are the ports that the dirty documents, or all, concern.
func (u users) touched(v agent.View, dirty []change.Key, all bool) map[string]bool {
	out := map[string]bool{}
	if all {
		for id := range u.policy {
			out[id] = true
		}
		for id := range v.All(wire.KindPort) {
			out[id] = true
		}
	}
	for _, k := range dirty {
		switch k.Kind {
		case wire.KindPort:
			out[k.ID] = true
		case wire.KindNetwork:
			for id := range v.In(wire.KindPort, agent.ByNetwork, k.ID) {
				out[id] = true
			}
		case wire.KindQoS:
			for id := range u.ports[k.ID] {
				out[id] = true
			}
		}
	}
	return out
}
