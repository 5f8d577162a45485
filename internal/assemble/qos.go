package assemble

import (
	"slices"

	"isospin/internal/config"
	"isospin/internal/document"
	qosdoc "isospin/internal/document/qos"
	"isospin/internal/service/ml2"
	"isospin/internal/service/qos"
	"isospin/internal/service/rbac"
	"isospin/internal/store"
)

// qosDrivers are what the mechanism drivers' hosts can keep of QoS, by the names that operators write in `mechanism_drivers`.
func qosDrivers() []qos.Driver {
	return []qos.Driver{qos.OpenVSwitch(), qos.LinuxBridge(), qos.SRIOV()}
}

// qosUsers are what can have a QoS policy.
func qosUsers() []qos.User {
	return []qos.User{{Kind: "port", Table: "ports"}, {Kind: "network", Table: "networks"}, {Kind: "floatingip", Table: "floatingips"},
		{Kind: "router", Table: "routers"}}
}

// newQoS makes the plugin of QoS policies; extra are mechanism drivers from outside the tree.
func newQoS(c *config.Server, env Env, extra []ml2.MechanismDriver) *qos.Plugin {
	drivers := slices.DeleteFunc(qosDrivers(), func(d qos.Driver) bool { return !slices.Contains(c.ML2.MechanismDrivers, d.Name) })
	for _, m := range extra {
		if k, ok := m.(qos.Keeper); ok {
			drivers = append(drivers, k.QoS())
		}
	}
	return qos.New(qos.Config{Policies: qos.NewPolicies(), Rules: qos.NewRules(), Drivers: drivers, Users: qosUsers(), Clock: env.Clock, IDs: env.IDs})
}

// qosGuards adds what the plugin does with networks and ports.
func qosGuards(q *qos.Plugin, g ml2.Guards) ml2.Guards {
	g.Networks, g.Ports = append(g.Networks, qos.Networks{Plugin: q}), append(g.Ports, qos.Ports{Plugin: q})
	g.PortPages = append(g.PortPages, qos.PortPages{})
	return g
}

// qosKind is QoS policies as objects to share.
func qosKind() rbac.Kind { return rbac.QoSPolicies(qos.NewPolicies(), qosUsers()) }

// qosDocuments are what hosts are told of QoS.
func qosDocuments() document.Kind { return qosdoc.New(qos.NewRules()) }

// qosCheckers are the tables of QoS for db check.
func qosCheckers() []store.Checker { return []store.Checker{qos.NewPolicies(), qos.NewRules()} }
