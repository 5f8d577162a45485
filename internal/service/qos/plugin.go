package qos

import (
	"context"

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

// Policies and Rules are the plugin's tables.
type (
	Policies = store.Table[model.QoSPolicy]
	Rules    = store.Table[model.QoSRule]
)

// NewPolicies declares the table of policies.
func NewPolicies() *Policies {
	return store.NewTable("qos_policies",
		func(p *model.QoSPolicy) string { return p.ID }, func(p *model.QoSPolicy) string { return p.ProjectID },
		store.Column[model.QoSPolicy]{Name: "revision", Attr: "revision_number", Of: func(p *model.QoSPolicy) any { return p.Revision }},
		store.Column[model.QoSPolicy]{Name: "name", Attr: "name", Of: func(p *model.QoSPolicy) any { return p.Name }},
		store.Column[model.QoSPolicy]{Name: "default_of", Of: func(p *model.QoSPolicy) any {
			if p.IsDefault {
				return p.ProjectID
			}
			return nil
		}},
	)
}

// NewRules declares the table of the rules of all types.
func NewRules() *Rules {
	return store.NewTable("qos_rules",
		func(r *model.QoSRule) string { return r.ID }, func(*model.QoSRule) string { return "" },
		store.Column[model.QoSRule]{Name: "qos_policy_id", Attr: "qos_policy_id", Of: func(r *model.QoSRule) any { return r.PolicyID }},
		store.Column[model.QoSRule]{Name: "rule_type", Of: func(r *model.QoSRule) any { return r.Type }},
		store.Column[model.QoSRule]{Name: "direction", Attr: "direction", Of: func(r *model.QoSRule) any { return r.Direction }},
	)
}

// ObjectType is what RBAC policies call a QoS policy.
const ObjectType = "qos_policy"

// User is a kind of what can have a policy: its name in errors, and its table, which has the columns id, project_id and qos_policy_id.
type User struct{ Kind, Table string }

// Config is what the plugin is made of.
type Config struct {
	Policies *Policies
	Rules    *Rules
	Drivers  []Driver
	Users    []User
	Clock    clock.Clock
	IDs      ident.Source
}

// Plugin is QoS policies.
type Plugin struct{ Config }

// New makes the plugin.
func New(c Config) *Plugin { return &Plugin{c} }

// Name is the plugin's name in `service_plugins`.
func (p *Plugin) Name() string { return "qos" }

// Bindings are policies, their rules, rules by their own identifiers, and the types of rules.
func (p *Plugin) Bindings() []rest.Binding {
	out := []rest.Binding{
		rest.Bind("policies", p.Policies, policies{p}, rest.Options{
			Visible: func(ctx context.Context) store.Cond { return sharing.Visible(ctx, ObjectType) },
			Filters: map[string]rest.Filter{"shared": sharing.Filter}, Splicer: policies{p}, Facts: sharing.Facts,
			NotFound: func(id string) error { return fault.QosPolicyNotFound(id) },
		}),
		rest.Computed("rule_types", "type", types{p}, rest.Options{
			NotFound: func(id string) error { return fault.HTTPNotFound("There is no type of QoS rules " + id + ".") },
		}),
	}
	// Rules are seen by those who see their policy; which of them may, policy says.
	visible := func(ctx context.Context) store.Cond {
		seen := sharing.Visible(ctx, ObjectType)
		return store.Expr("qos_policy_id IN (SELECT id FROM qos_policies WHERE "+seen.SQL+")", seen.Args...)
	}
	missing := func(id string) error { return fault.QosRuleNotFound(id) }
	owner := []rest.Parent{{Prefix: "ext_parent", Ref: "qos_policy_id", Table: p.Policies}}
	for _, kind := range ruleTypes() {
		table, control := ofType{p.Rules, p.Policies, kind}, rules{p, kind}
		out = append(out, rest.Bind(kind+"_rules", table, control, rest.Options{Visible: visible, ParentColumn: "qos_policy_id", NotFound: missing}),
			rest.Bind("alias_"+kind+"_rules", table, control, rest.Options{Visible: visible, Parents: owner, NotFound: missing}))
	}
	return out
}

func set(policy string) change.Set { return change.NewSet(wire.FamilyQoS, policy) }

// changed says that who has the policy must look at it.
func changed(tx store.WriteTx, policy string) {
	tx.Changed(change.Key{Kind: wire.KindQoS, ID: policy}, set(policy))
}

// bump marks a change of a policy.
func (p *Plugin) bump(s *model.Standard) {
	s.UpdatedAt = model.Stamp(p.Clock.Now())
	s.Revision++
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
