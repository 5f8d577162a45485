package assemble

import (
	"isospin/internal/config"
	"isospin/internal/service/availability"
	dhcpservice "isospin/internal/service/dhcp"
	"isospin/internal/service/quota"
	"isospin/internal/service/rbac"
	"isospin/internal/service/secgroup"
	"isospin/internal/service/sharing"
	"isospin/internal/service/subnetpool"
	"isospin/internal/service/zones"
	"isospin/internal/store"
)

// projects makes the plugins about what projects share, have and see: RBAC policies, quotas, zones, counts of addresses.
func (k *Core) projects(c *config.Server, env Env, z *zones.Plugin) []plugin {
	limits := c.Quotas.ByResource()
	limits["router_route"] = c.Limits.RouterRoutes // of one router, not of a project
	k.Quotas = quota.New(quota.Config{Limits: limits, Default: c.Quotas.Default})
	return []plugin{
		k.Quotas, z, dhcpservice.Schedule{Plugin: k.DHCP}, availability.New(k.Networks, k.Subnets),
		rbac.New(rbac.Config{Policies: sharing.NewPolicies(), IDs: env.IDs,
			Kinds: []rbac.Kind{rbac.Networks(k.Networks, env.Clock), rbac.Groups(k.GroupRows),
				rbac.Pools(subnetpool.NewPools()), rbac.Scopes(subnetpool.NewScopes()),
				rbac.AddressGroups(secgroup.NewAddressGroups()), qosKind()}}),
	}
}

// counts checks what db check knows of projects.
func counts() []store.Checker {
	return append([]store.Checker{sharing.NewPolicies(), subnetpool.NewPools(), subnetpool.NewScopes(), quota.Checker{Tables: quota.Tables()}}, extraTables()...)
}
