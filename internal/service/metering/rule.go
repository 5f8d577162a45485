package metering

import (
	"context"
	"net/netip"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/store"
)

// rules is the controller of rules.
type rules struct{ *Plugin }

// belowLabel is the table of rules for requests: who writes a rule keeps its label first, as who removes a label does.
type belowLabel struct {
	*Rules
	labels *Labels
}

// GetForUpdate keeps label and rule.
func (t belowLabel) GetForUpdate(ctx context.Context, tx store.WriteTx, id string) (model.MeteringRule, error) {
	r, err := t.Get(ctx, tx, id)
	if err != nil {
		return r, err
	}
	if _, err := t.labels.GetForUpdate(ctx, tx, r.MeteringLabelID); err != nil {
		return r, err // the label went, and the rule with it
	}
	return t.Rules.GetForUpdate(ctx, tx, id)
}

// Create adds a rule to its label, whose project it then belongs to. The label's row is what two rules that come at once wait at.
func (p rules) Create(ctx context.Context, tx store.WriteTx, in rest.Input[model.MeteringRule]) (model.MeteringRule, error) {
	r := in.Value
	if err := settle(&r); err != nil {
		return r, err
	}
	label, err := p.Labels.GetForUpdate(ctx, tx, r.MeteringLabelID)
	if store.IsNotFound(err) {
		err = fault.MeteringLabelNotFound(r.MeteringLabelID)
	}
	if err != nil {
		return r, err
	}
	r.ID, r.ProjectID, r.TenantID = p.IDs.UUID(), label.ProjectID, label.ProjectID
	if err := p.apart(ctx, tx, &r); err != nil {
		return r, err
	}
	return r, p.Rules.Insert(ctx, tx, &r)
}

// settle gives the prefixes of a rule their lengths and judges them together (neutron/services/metering/metering_plugin.py).
func settle(r *model.MeteringRule) error {
	remote, err := prefix("remote_ip_prefix", r.RemoteIPPrefix)
	if err != nil {
		return err
	}
	source, err := prefix("source_ip_prefix", r.SourcePrefix)
	if err != nil {
		return err
	}
	dest, err := prefix("destination_ip_prefix", r.DestPrefix)
	switch {
	case err != nil:
		return err
	case remote.IsValid() && (source.IsValid() || dest.IsValid()):
		return fault.BadInput("remote_ip_prefix does not go with source_ip_prefix or destination_ip_prefix.")
	case !remote.IsValid() && !source.IsValid() && !dest.IsValid():
		return fault.BadInput("a rule needs one of remote_ip_prefix, source_ip_prefix and destination_ip_prefix.")
	case source.IsValid() && dest.IsValid() && source.Addr().Is4() != dest.Addr().Is4():
		return fault.BadInput("source_ip_prefix and destination_ip_prefix are of different IP versions.")
	}
	return nil
}

// prefix reads a prefix and completes an address to one; an empty text is none.
func prefix(name string, text *string) (netip.Prefix, error) {
	if text == nil || *text == "" {
		return netip.Prefix{}, nil
	}
	out, err := netip.ParsePrefix(*text)
	if err != nil {
		a, aerr := netip.ParseAddr(*text)
		if aerr != nil || a.Zone() != "" {
			return out, fault.BadInput("%s: %s is neither an address nor a prefix.", name, *text)
		}
		out = netip.PrefixFrom(a, a.BitLen())
	}
	*text = out.String()
	return out, nil
}

// apart refuses a remote prefix that overlaps one of the same label, direction and exclusion. One statement.
func (p rules) apart(ctx context.Context, tx store.Tx, r *model.MeteringRule) error {
	mine, err := prefix("remote_ip_prefix", r.RemoteIPPrefix)
	if err != nil || !mine.IsValid() {
		return err
	}
	others, err := p.Rules.Find(ctx, tx, store.List{Where: store.Eq("metering_label_id", r.MeteringLabelID)})
	if err != nil {
		return err
	}
	for i := range others {
		o := &others[i]
		if o.ID == r.ID || o.Direction != r.Direction || o.Excluded != r.Excluded {
			continue
		}
		theirs, err := prefix("remote_ip_prefix", o.RemoteIPPrefix)
		if err != nil {
			return err
		}
		if theirs.IsValid() && theirs.Masked().Overlaps(mine.Masked()) {
			return fault.MeteringLabelRuleOverlaps(mine.String(), o.ID)
		}
	}
	return nil
}

// Update changes the source and the destination.
func (p rules) Update(ctx context.Context, tx store.WriteTx, cur model.MeteringRule, in rest.Input[model.MeteringRule]) (model.MeteringRule, error) {
	r := cur
	if err := in.Apply(&r); err != nil {
		return r, err
	}
	if err := settle(&r); err != nil {
		return r, err
	}
	return r, p.Rules.Update(ctx, tx, &r, -1)
}

// Delete removes a rule.
func (p rules) Delete(ctx context.Context, tx store.WriteTx, cur model.MeteringRule) error {
	return p.Rules.Delete(ctx, tx, cur.ID)
}
