package secgroup

import (
	"context"

	"isospin/internal/auth"
	"isospin/internal/change"
	"isospin/internal/clock"
	"isospin/internal/fault"
	"isospin/internal/ident"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/service/sharing"
	"isospin/internal/store"
	"isospin/internal/wire"
)

// Groups and Rules are the plugin's tables.
type (
	Groups = store.Table[model.SecurityGroup]
	Rules  = store.Table[model.SecurityGroupRule]
)

// NewGroups declares the table of groups.
func NewGroups() *Groups {
	return store.NewTable("security_groups",
		func(g *model.SecurityGroup) string { return g.ID }, func(g *model.SecurityGroup) string { return g.ProjectID },
		store.Column[model.SecurityGroup]{Name: "revision", Attr: "revision_number", Of: func(g *model.SecurityGroup) any { return g.Revision }},
		store.Column[model.SecurityGroup]{Name: "name", Attr: "name", Of: func(g *model.SecurityGroup) any { return g.Name }},
		store.Column[model.SecurityGroup]{Name: "default_of", Of: defaultOf},
	).Counted("security_group")
}

// defaultOf is the project whose default group this is: the one group of the name, since no other may take it.
func defaultOf(g *model.SecurityGroup) any {
	if g.Name == defaultName {
		return g.ProjectID
	}
	return nil
}

// NewRules declares the table of rules.
func NewRules() *Rules {
	return store.NewTable("security_group_rules",
		func(r *model.SecurityGroupRule) string { return r.ID }, func(r *model.SecurityGroupRule) string { return r.ProjectID },
		store.Column[model.SecurityGroupRule]{Name: "revision", Attr: "revision_number", Of: func(r *model.SecurityGroupRule) any { return r.Revision }},
		store.Column[model.SecurityGroupRule]{Name: "security_group_id", Attr: "security_group_id", Of: func(r *model.SecurityGroupRule) any { return r.SecurityGroupID }},
		store.Column[model.SecurityGroupRule]{Name: "remote_group_id", Attr: "remote_group_id", Of: func(r *model.SecurityGroupRule) any { return orNil(r.RemoteGroupID) }},
		store.Column[model.SecurityGroupRule]{Name: "remote_address_group_id", Attr: "remote_address_group_id", Of: func(r *model.SecurityGroupRule) any { return orNil(r.RemoteAddressGroupID) }},
		store.Column[model.SecurityGroupRule]{Name: "meaning", Of: func(r *model.SecurityGroupRule) any { return meaning(r) }},
	).Counted("security_group_rule")
}

func orNil(s *string) any {
	if s == nil {
		return nil
	}
	return *s
}

// Config is what the plugin is made of.
type Config struct {
	Groups *Groups
	Rules  *Rules
	Clock  clock.Clock
	IDs    ident.Source
}

// Plugin is security groups.
type Plugin struct {
	Config
	templateRows *Templates
	addressRows  *AddressGroups
	statefulRows *Statefulness
	gone         []Gone
}

// New makes the plugin.
func New(c Config) *Plugin {
	return &Plugin{c, NewTemplates(), NewAddressGroups(), NewStatefulness(), nil}
}

// Name is the plugin's name.
func (p *Plugin) Name() string { return "security-group" }

// Bindings are groups and rules.
func (p *Plugin) Bindings() []rest.Binding {
	visible := func(ctx context.Context) store.Cond { return sharing.Visible(ctx, "security_group") }
	return append(p.more(), []rest.Binding{
		rest.Bind("security_groups", p.Groups, groups{p}, rest.Options{
			Visible: visible, Splicer: groups{p}, Facts: sharing.Facts,
			Before: p.ensureAll, BeforeNeeds: p.lacksDefault, Uses: []string{"security_group_rule"},
			Filters:  map[string]rest.Filter{"shared": sharing.Filter},
			NotFound: func(id string) error { return fault.SecurityGroupNotFound(id) },
		}),
		rest.Bind("security_group_rules", belowGroup{p.Rules, p.Groups}, rules{p}, rest.Options{
			Visible: func(ctx context.Context) store.Cond {
				seen := visible(ctx)
				return store.Or(store.Eq("project_id", auth.From(ctx).ProjectID),
					store.Expr("security_group_id IN (SELECT id FROM security_groups WHERE "+seen.SQL+")", seen.Args...))
			},
			Before: p.ensureAll, BeforeNeeds: p.lacksDefault, Splicer: rules{p}, Facts: p.ruleFacts,
			Filters: map[string]rest.Filter{"belongs_to_default_sg": ofDefault}, Bulk: together,
			Parents: []rest.Parent{{Prefix: "security_group", Ref: "security_group_id", Table: p.Groups, Extra: sharing.Facts,
				Missing: func(id string) error { return fault.SecurityGroupNotFound(id) }}},
			NotFound: func(id string) error { return fault.SecurityGroupRuleNotFound(id) },
		}),
	}...)
}

const defaultName = "default"

// lacksDefault tells whether one of the projects has no default group yet.
func (p *Plugin) lacksDefault(ctx context.Context, tx store.Tx, projects []string) (bool, error) {
	projects = named(projects)
	if len(projects) == 0 {
		return false, nil
	}
	n, err := p.Groups.Count(ctx, tx, store.In("default_of", projects))
	return n < int64(len(projects)), err
}

// ensureAll makes the default groups that are missing.
func (p *Plugin) ensureAll(ctx context.Context, tx store.WriteTx, projects []string) error {
	for _, project := range named(projects) {
		if _, err := p.ensureDefault(ctx, tx, project); err != nil {
			return err
		}
	}
	return nil
}

func named(projects []string) []string {
	out := make([]string, 0, len(projects))
	seen := map[string]bool{"": true}
	for _, p := range projects {
		if !seen[p] && len(p) <= 255 {
			seen[p] = true
			out = append(out, p)
		}
	}
	return out
}

// ensureDefault finds a project's default group or makes it, with the rules of Neutron's templates (behaviour.md, section 12).
// Two requests may try at once: the index lets one through, and the other finds it.
func (p *Plugin) ensureDefault(ctx context.Context, tx store.WriteTx, project string) (string, error) {
	id, err := p.defaultID(ctx, tx, project, "")
	if err != nil || id != "" {
		return id, err
	}
	return p.makeDefault(ctx, tx, project)
}

// holdDefault is ensureDefault for what refers to the group: it stays until the commit.
func (p *Plugin) holdDefault(ctx context.Context, tx store.WriteTx, project string) (string, error) {
	id, err := p.defaultID(ctx, tx, project, tx.Dialect().ForShare())
	if err != nil || id != "" {
		return id, err
	}
	return p.makeDefault(ctx, tx, project)
}

func (p *Plugin) makeDefault(ctx context.Context, tx store.WriteTx, project string) (string, error) {
	stateful, err := p.statefulFor(ctx, tx, project)
	if err != nil {
		return "", err
	}
	g := model.SecurityGroup{Name: defaultName, Stateful: stateful}
	g.ProjectID, g.Description = project, "Default security group"
	p.stamp(&g.Standard, 1)
	err = p.Groups.Insert(ctx, tx, &g)
	if _, dup := store.AsDuplicate(err); dup {
		return p.defaultID(ctx, tx, project, tx.Dialect().ForShare())
	}
	if err != nil {
		return "", err
	}
	return g.ID, p.templates(ctx, tx, &g)
}

func (p *Plugin) defaultID(ctx context.Context, tx store.Tx, project, lock string) (string, error) {
	var id string
	err := store.Each(ctx, tx, store.Q("SELECT id FROM security_groups WHERE default_of = ?"+lock, project),
		func(scan func(...any) error) error { return scan(&id) })
	return id, err
}

func (p *Plugin) stamp(s *model.Standard, revision int64) {
	now := model.Stamp(p.Clock.Now())
	s.ID = p.IDs.UUID()
	s.CreatedAt, s.UpdatedAt, s.Revision = now, now, revision
	s.TenantID = s.ProjectID
	if s.Tags == nil {
		s.Tags = []string{}
	}
}

func (p *Plugin) bump(s *model.Standard) {
	s.UpdatedAt = model.Stamp(p.Clock.Now())
	s.Revision++
}

func groupSet(id string) change.Set { return change.NewSet(wire.FamilyGroup, id) }
