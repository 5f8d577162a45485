package secgroup

import (
	"context"
	"slices"
	"strings"

	"isospin/internal/auth"
	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/service"
	"isospin/internal/service/ml2"
	"isospin/internal/service/sharing"
	"isospin/internal/store"
)

// NetworkGuard makes the default group of a project with its first network.
type NetworkGuard struct{ *Plugin }

// Guard acts on creates alone.
func (p NetworkGuard) Guard(ctx context.Context, tx store.WriteTx, w service.Write[model.Network]) error {
	if w.Op != service.Create || w.New.ProjectID == "" {
		return nil
	}
	_, err := p.ensureDefault(ctx, tx, w.New.ProjectID)
	return err
}

// PortGuard settles the groups of ports and keeps who is a member of what.
type PortGuard struct{ *Plugin }

// Guard gives a new port its project's default group unless it says otherwise, and checks groups that were given.
func (p PortGuard) Guard(ctx context.Context, tx store.WriteTx, w service.Write[model.Port]) error {
	if w.Op == service.Delete {
		if len(w.Old.SecurityGroups) == 0 {
			return nil
		}
		return p.members(ctx, tx, w.Old.ID, w.Old.SecurityGroups, nil)
	}
	port := w.New
	var old []string
	if w.Old != nil {
		old = w.Old.SecurityGroups
	}
	switch {
	case w.Gave("security_groups"):
		slices.Sort(port.SecurityGroups)
		port.SecurityGroups = slices.Compact(port.SecurityGroups)
		if err := p.usable(ctx, tx, port.ProjectID, added(old, port.SecurityGroups)); err != nil {
			return err
		}
	case w.Op == service.Create && port.PortSecurityEnabled && !ml2.Trusted(port.DeviceOwner) && port.ProjectID != "":
		id, err := p.holdDefault(ctx, tx, port.ProjectID)
		if err != nil {
			return err
		}
		port.SecurityGroups = []string{id}
	}
	if !port.PortSecurityEnabled && len(port.SecurityGroups) > 0 {
		if w.Op == service.Update && !w.Gave("security_groups") {
			return fault.PortSecurityPortHasSecurityGroup()
		}
		return fault.PortSecurityAndIPRequiredForSecurityGroups()
	}
	if slices.Equal(old, port.SecurityGroups) {
		return nil
	}
	return p.members(ctx, tx, port.ID, old, port.SecurityGroups)
}

func added(old, now []string) []string {
	var out []string
	for _, g := range now {
		if !slices.Contains(old, g) {
			out = append(out, g)
		}
	}
	return out
}

// usable refuses groups that do not exist or that the port's project may not use, and keeps those it finds until the
// commit. One statement, and one more for groups of other projects: whoever withdraws a group holds it, and what he did is seen by a
// statement alone that begins when this one has it.
func (p PortGuard) usable(ctx context.Context, tx store.Tx, project string, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	where := store.In("id", ids)
	judged := false
	if caller := auth.From(ctx); caller == nil || !caller.HasRole(auth.RoleAdmin) {
		judged = true
		where = store.And(where, store.Or(store.Eq("project_id", project), store.Expr(
			"id IN (SELECT object_id FROM rbac_policies WHERE object_type = ? AND target_project IN (?, ?))", "security_group", project, sharing.Everyone)))
	}
	found, err := keep(ctx, tx, where)
	if err == nil && judged && slices.ContainsFunc(ids, func(id string) bool { owner, ok := found[id]; return ok && owner != project }) {
		found, err = keep(ctx, tx, where)
	}
	if err != nil {
		return err
	}
	for _, id := range ids {
		if _, ok := found[id]; !ok {
			return fault.SecurityGroupNotFound(id)
		}
	}
	return nil
}

// keep reads groups with their projects and keeps them until the commit.
func keep(ctx context.Context, tx store.Tx, where store.Cond) (map[string]string, error) {
	found := map[string]string{}
	err := store.Each(ctx, tx, store.Q("SELECT id, COALESCE(project_id, '') FROM security_groups WHERE "+where.SQL+" ORDER BY id"+tx.Dialect().ForShare(), where.Args...), func(scan func(...any) error) error {
		var id, owner string
		err := scan(&id, &owner)
		found[id] = owner
		return err
	})
	return found, err
}

// members writes which groups a port is in: the difference alone.
func (p *Plugin) members(ctx context.Context, tx store.WriteTx, port string, old, now []string) error {
	gone, come := added(now, old), added(old, now)
	if len(gone) > 0 {
		in := store.And(store.Eq("port_id", port), store.In("security_group_id", gone))
		if _, err := tx.Exec(ctx, store.Q("DELETE FROM port_security_groups WHERE "+in.SQL, in.Args...)); err != nil {
			return err
		}
	}
	if len(come) == 0 {
		return nil
	}
	args := make([]any, 0, 2*len(come))
	for _, g := range come {
		args = append(args, g, port)
	}
	_, err := tx.Exec(ctx, store.Q("INSERT INTO port_security_groups (security_group_id, port_id) VALUES "+
		strings.Repeat("(?, ?), ", len(come)-1)+"(?, ?)", args...))
	return err
}

var (
	_ service.Guard[model.Network] = NetworkGuard{}
	_ service.Guard[model.Port]    = PortGuard{}
)
