// Package metering is labels that count the traffic of routers and the rules that say which traffic a label counts. The counting
// is the hosts' work; here is what they are told. It knows no router.
package metering

import (
	"context"

	"isospin/internal/fault"
	"isospin/internal/ident"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/store"
)

// Labels and Rules are the plugin's tables.
type (
	Labels = store.Table[model.MeteringLabel]
	Rules  = store.Table[model.MeteringRule]
)

// NewLabels declares the table of labels.
func NewLabels() *Labels {
	return store.NewTable("metering_labels",
		func(l *model.MeteringLabel) string { return l.ID }, func(l *model.MeteringLabel) string { return l.ProjectID },
		store.Column[model.MeteringLabel]{Name: "name", Attr: "name", Of: func(l *model.MeteringLabel) any { return l.Name }})
}

// NewRules declares the table of rules.
func NewRules() *Rules {
	return store.NewTable("metering_label_rules",
		func(r *model.MeteringRule) string { return r.ID }, func(r *model.MeteringRule) string { return r.ProjectID },
		store.Column[model.MeteringRule]{Name: "metering_label_id", Attr: "metering_label_id", Of: func(r *model.MeteringRule) any { return r.MeteringLabelID }})
}

// Config is what the plugin is made of.
type Config struct {
	Labels *Labels
	Rules  *Rules
	IDs    ident.Source
}

// Plugin is metering.
type Plugin struct{ Config }

// New makes the plugin.
func New(c Config) *Plugin { return &Plugin{c} }

// Name is the plugin's name.
func (p *Plugin) Name() string { return "metering" }

// Bindings are labels and rules.
func (p *Plugin) Bindings() []rest.Binding {
	unknown := func(id string) error { return fault.MeteringLabelNotFound(id) }
	return []rest.Binding{
		rest.Bind("metering_labels", p.Labels, labels{p}, rest.Options{NotFound: unknown}),
		rest.Bind("metering_label_rules", belowLabel{p.Rules, p.Labels}, rules{p}, rest.Options{
			Parents:  []rest.Parent{{Prefix: "metering_label", Ref: "metering_label_id", Table: p.Labels, Missing: unknown}},
			NotFound: func(id string) error { return fault.MeteringLabelRuleNotFound(id) },
		}),
	}
}

// labels is the controller of labels.
type labels struct{ *Plugin }

// Create makes a label.
func (p labels) Create(ctx context.Context, tx store.WriteTx, in rest.Input[model.MeteringLabel]) (model.MeteringLabel, error) {
	l := in.Value
	l.ID, l.TenantID = p.IDs.UUID(), l.ProjectID
	return l, p.Labels.Insert(ctx, tx, &l)
}

// Update changes nothing: no attribute of a label can be changed.
func (p labels) Update(_ context.Context, _ store.WriteTx, cur model.MeteringLabel, _ rest.Input[model.MeteringLabel]) (model.MeteringLabel, error) {
	return cur, nil
}

// Delete removes a label with its rules.
func (p labels) Delete(ctx context.Context, tx store.WriteTx, cur model.MeteringLabel) error {
	if _, err := tx.Exec(ctx, store.Q("DELETE FROM metering_label_rules WHERE metering_label_id = ?", cur.ID)); err != nil {
		return err
	}
	return p.Labels.Delete(ctx, tx, cur.ID)
}
