package assemble

import (
	"context"

	"isospin/internal/document"
	localipdoc "isospin/internal/document/localip"
	logdoc "isospin/internal/document/log"
	"isospin/internal/model"
	"isospin/internal/service"
	"isospin/internal/service/eventlog"
	"isospin/internal/service/flavors"
	"isospin/internal/service/localip"
	"isospin/internal/service/metering"
	"isospin/internal/service/servicetype"
	"isospin/internal/store"
)

// extras are the plugins about flavours, metering, logs and local addresses, and how they take part in the writes of ports.
type extras struct {
	plugins  []plugin
	guards   []service.Guard[model.Port]
	followed []service.Follower[model.Port]
}

// extras makes them; security groups tell of those that go.
func (k *Core) extras(env Env) extras {
	providers := servicetype.New(servicetype.Routers()...)
	f := flavors.New(flavors.Config{Flavors: flavors.NewFlavors(), Profiles: flavors.NewProfiles(), Offers: flavors.NewOffers(),
		Providers: providers, IDs: env.IDs, Uses: []flavors.Use{usedBy("routers")}})
	meters := metering.New(metering.Config{Labels: metering.NewLabels(), Rules: metering.NewRules(), IDs: env.IDs})
	logs := eventlog.New(eventlog.Config{Logs: eventlog.NewLogs(), Groups: k.GroupRows, Ports: k.Ports, Clock: env.Clock, IDs: env.IDs})
	k.Groups.WhenGone(logs.GroupGone)
	local := localip.New(localip.Config{LocalIPs: localip.NewLocalIPs(), Associations: localip.NewAssociations(), Networks: k.Networks,
		Subnets: k.Subnets, Rows: k.Ports, Ports: k.ML2, Clock: env.Clock, IDs: env.IDs})
	k.Flavors = f
	return extras{plugins: []plugin{f, providers, meters, logs, local},
		guards:   []service.Guard[model.Port]{localip.Guard{Plugin: local}},
		followed: []service.Follower[model.Port]{localip.Follower{Plugin: local}, eventlog.Ports{Plugin: logs}}}
}

// usedBy tells whether a row of a table is made by a flavour.
func usedBy(table string) flavors.Use {
	return func(ctx context.Context, tx store.Tx, flavor string) (bool, error) {
		n, _, err := store.Int(ctx, tx, store.Q("SELECT COUNT(*) FROM "+table+" WHERE flavor_id = ?", flavor))
		return n > 0, err
	}
}

// extraTables are what db check reads of them.
func extraTables() []store.Checker {
	return []store.Checker{flavors.NewFlavors(), flavors.NewProfiles(), flavors.NewOffers(), metering.NewLabels(), metering.NewRules(),
		eventlog.NewLogs(), localip.NewLocalIPs(), localip.NewAssociations()}
}

// localIPDocuments are what hosts are told of local IPs.
func localIPDocuments() document.Kind {
	return localipdoc.New(localip.NewLocalIPs(), localip.NewAssociations())
}

// logDocuments are what hosts are told of orders to log.
func logDocuments() document.Kind { return logdoc.New(eventlog.NewLogs()) }
