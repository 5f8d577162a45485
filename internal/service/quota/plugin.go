// Package quota is the quotas API: the limits of projects and what they have. The counts are written by the transactions that
// change them (store.WriteTx.Count), and the bounds hold at their commits; rest asks this package what the default limits are.
// It never counts rows itself, but for `db check`.
package quota

import (
	"context"
	"database/sql"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"isospin/internal/auth"
	"isospin/internal/fault"
	"isospin/internal/rest"
	"isospin/internal/store"
)

// Config is what the plugin is made of.
type Config struct {
	// Limits are the default limits by resource, -1: no limit; Default is that of all others.
	Limits  map[string]int
	Default int
}

// Plugin is quotas.
type Plugin struct{ Config }

// New makes the plugin.
func New(c Config) *Plugin { return &Plugin{c} }

// Name is the plugin's name.
func (p *Plugin) Name() string { return "quotas" }

// Limit is the limit of projects that have none of their own.
func (p *Plugin) Limit(kind string) int64 {
	if n, ok := p.Limits[kind]; ok {
		return int64(n)
	}
	return int64(p.Default)
}

// Bindings is the collection of quotas.
func (p *Plugin) Bindings() []rest.Binding {
	return []rest.Binding{rest.Special("quotas", rest.HandlerFunc(p.handle))}
}

// handle answers /quotas, /quotas/{project}, /quotas/{project}/default and /quotas/{project}/details.
func (p *Plugin) handle(ctx context.Context, c *rest.Call) error {
	switch {
	case len(c.Rest) == 0:
		switch c.Method {
		case http.MethodGet:
			return p.list(ctx, c)
		case http.MethodPost:
			return fault.BadRequest("quota", "it cannot be created by a request.")
		case http.MethodPut, http.MethodDelete:
			return fault.HTTPNotFound("There is no quota None.")
		}
		return c.NotAllowed()
	case !rest.Plain(c.Rest[0]):
		return fault.HTTPNotFound("There is no such project.")
	case len(c.Rest) == 1:
		return p.project(ctx, c, c.Rest[0])
	case len(c.Rest) == 2 && (c.Rest[1] == "default" || c.Rest[1] == "details" && c.Known("quota_details")):
		if c.Method != http.MethodGet {
			return c.NotAllowed()
		}
		return p.aspect(ctx, c, c.Rest[0], c.Rest[1])
	}
	return c.Nothing()
}

func object(project string) map[string]string {
	return map[string]string{"project_id": project, "tenant_id": project}
}

// kinds are the counted resources that the registry has, in its order.
func kinds(c *rest.Call) []string {
	var out []string
	for _, a := range c.Resource().Attributes {
		if a.Name != "project_id" && a.Name != "tenant_id" {
			out = append(out, a.Name)
		}
	}
	return out
}

// project answers the requests to one project's quotas.
func (p *Plugin) project(ctx context.Context, c *rest.Call, project string) error {
	switch c.Method {
	case http.MethodGet:
		if project == "tenant" || project == "project" { // behaviour.md, section 15
			id := auth.From(ctx).ProjectID
			return c.Answer(http.StatusOK, map[string]any{project: map[string]string{project + "_id": id}})
		}
		if err := c.May(ctx, "get_quota", object(project)); err != nil {
			return err
		}
		var limits map[string]int64
		err := c.Read(ctx, func(tx store.Tx) error {
			rows, err := numbers(ctx, tx, project)
			limits = p.limits(kinds(c), rows)
			return err
		})
		if err != nil {
			return err
		}
		return c.Answer(http.StatusOK, map[string]any{"quota": limits})
	case http.MethodPut:
		return p.update(ctx, c, project)
	case http.MethodDelete:
		return p.forget(ctx, c, project)
	}
	return c.NotAllowed()
}

// aspect answers with the default limits, or with limits beside what is used.
func (p *Plugin) aspect(ctx context.Context, c *rest.Call, project, what string) error {
	if err := c.May(ctx, "get_quota", object(project)); err != nil {
		return err
	}
	if what == "default" {
		return c.Answer(http.StatusOK, map[string]any{"quota": p.limits(kinds(c), nil)})
	}
	type detail struct {
		Limit    int64 `json:"limit"`
		Used     int64 `json:"used"`
		Reserved int64 `json:"reserved"` // nothing is: a transaction counts at its commit
	}
	out := map[string]detail{}
	err := c.Read(ctx, func(tx store.Tx) error {
		rows, err := numbers(ctx, tx, project)
		for kind, limit := range p.limits(kinds(c), rows) {
			out[kind] = detail{Limit: limit, Used: rows[kind].used}
		}
		return err
	})
	if err != nil {
		return err
	}
	return c.Answer(http.StatusOK, map[string]any{"quota": out})
}

// list answers with the projects that have limits of their own.
func (p *Plugin) list(ctx context.Context, c *rest.Call) error {
	if err := c.May(ctx, "get_quota", nil); err != nil {
		return err
	}
	byProject := map[string]map[string]number{}
	err := c.Read(ctx, func(tx store.Tx) error {
		return store.Each(ctx, tx, store.Q("SELECT project_id, resource, used, hard_limit FROM quotas WHERE hard_limit IS NOT NULL ORDER BY project_id"),
			func(scan func(...any) error) error {
				var project, kind string
				var n number
				err := scan(&project, &kind, &n.used, &n.limit)
				if byProject[project] == nil {
					byProject[project] = map[string]number{}
				}
				byProject[project][kind] = n
				return err
			})
	})
	if err != nil {
		return err
	}
	out := []map[string]any{}
	for project, rows := range byProject {
		entry := map[string]any{"project_id": project, "tenant_id": project}
		for kind, limit := range p.limits(kinds(c), rows) {
			entry[kind] = limit
		}
		out = append(out, entry)
	}
	slices.SortFunc(out, func(a, b map[string]any) int {
		return strings.Compare(a["project_id"].(string), b["project_id"].(string)) //nolint:errcheck // put there above
	})
	return c.Answer(http.StatusOK, map[string]any{"quotas": out})
}

// number is one row of quotas.
type number struct {
	used  int64
	limit sql.NullInt64
}

// numbers reads what a project has, and its own limits. One statement.
func numbers(ctx context.Context, tx store.Tx, project string) (map[string]number, error) {
	out := map[string]number{}
	err := store.Each(ctx, tx, store.Q("SELECT resource, used, hard_limit FROM quotas WHERE project_id = ?", project), func(scan func(...any) error) error {
		var kind string
		var n number
		err := scan(&kind, &n.used, &n.limit)
		out[kind] = n
		return err
	})
	return out, err
}

// limits are the limits that hold for a project with these rows.
func (p *Plugin) limits(kinds []string, rows map[string]number) map[string]int64 {
	out := make(map[string]int64, len(kinds))
	for _, kind := range kinds {
		out[kind] = p.Limit(kind)
		if own := rows[kind].limit; own.Valid {
			out[kind] = own.Int64
		}
	}
	return out
}

// update sets limits. One below what is used is refused unless forced (behaviour.md, section 15).
func (p *Plugin) update(ctx context.Context, c *rest.Call, project string) error {
	if err := c.May(ctx, "update_quota", object(project)); err != nil {
		return err
	}
	in, err := c.Object("quota")
	if err != nil {
		return err
	}
	want, force, err := wanted(c, in)
	if err != nil {
		return err
	}
	var limits map[string]int64
	err = c.Write(ctx, func(tx store.WriteTx) error {
		for _, kind := range slices.Sorted(maps.Keys(want)) { // in the order of commits that count
			if err := set(ctx, tx, project, kind, want[kind], force); err != nil {
				return err
			}
		}
		rows, err := numbers(ctx, tx, project)
		limits = p.limits(kinds(c), rows)
		return err
	})
	if err != nil {
		return err
	}
	return c.Answer(http.StatusOK, map[string]any{"quota": limits})
}

// wanted are the limits in a request's body.
func wanted(c *rest.Call, in map[string]json.RawMessage) (want map[string]int64, force bool, err error) {
	want = map[string]int64{}
	for name, raw := range in {
		switch {
		case name == "force" && c.Known("quota-check-limit-default"):
			if force, err = truth(name, raw); err != nil {
				return nil, false, err
			}
			continue
		case name == "check_limit" && c.Known("quota-check-limit"):
			// Limits are checked in any case; who says so is right.
			if _, err := truth(name, raw); err != nil {
				return nil, false, err
			}
			continue
		}
		a, ok := c.Resource().Attribute(name)
		if !ok || name == "project_id" || name == "tenant_id" {
			return nil, false, fault.HTTPBadRequest("Unrecognized attribute " + rest.Printable(name) + " of quota.")
		}
		v, err := a.Type.Decode(raw)
		if err != nil {
			return nil, false, fault.BadInput("%s: %s", name, fault.Of(err).Message)
		}
		var n int64
		if err := json.Unmarshal(v, &n); err != nil {
			return nil, false, fault.BadInput("%s: a limit is a whole number.", name)
		}
		want[name] = n
	}
	return want, force, nil
}

func truth(name string, raw json.RawMessage) (bool, error) {
	on, err := rest.Truth(strings.Trim(string(raw), `"`))
	if err != nil {
		return false, fault.BadInput("%s is true or false.", name)
	}
	return on, nil
}

// set writes one limit. The row is what the project's creates wait at, so the check is exact.
func set(ctx context.Context, tx store.WriteTx, project, kind string, limit int64, force bool) error {
	head, tail := tx.Dialect().InsertIgnore()
	if _, err := tx.Exec(ctx, store.Q(head+" quotas (project_id, resource, used) VALUES (?, ?, 0) "+tail, project, kind)); err != nil {
		return err
	}
	used, _, err := store.Int(ctx, tx, store.Q("SELECT used FROM quotas WHERE project_id = ? AND resource = ?"+tx.Dialect().ForUpdate(false), project, kind))
	if err != nil {
		return err
	}
	if limit >= 0 && used > limit && !force {
		return fault.BadInput("The limit %d of %s is below the %d that the project has; force sets it all the same.", limit, kind, used)
	}
	_, err = tx.Exec(ctx, store.Q("UPDATE quotas SET hard_limit = ? WHERE project_id = ? AND resource = ?", limit, project, kind))
	return err
}

// forget takes a project's own limits away.
func (p *Plugin) forget(ctx context.Context, c *rest.Call, project string) error {
	if err := c.May(ctx, "delete_quota", object(project)); err != nil {
		return err
	}
	if err := c.NoBody(); err != nil {
		return err
	}
	err := c.Write(ctx, func(tx store.WriteTx) error {
		n, err := tx.Exec(ctx, store.Q("UPDATE quotas SET hard_limit = NULL WHERE project_id = ? AND hard_limit IS NOT NULL", project))
		if err == nil && n == 0 {
			err = fault.TenantQuotaNotFound(rest.Printable(project))
		}
		return err
	})
	if err != nil {
		return err
	}
	return c.Answer(http.StatusNoContent, nil)
}
