package qos

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"isospin/internal/auth"
	"isospin/internal/fault"
	"isospin/internal/rest"
	"isospin/internal/store"
)

// types lists the types of rules.
type types struct{ *Plugin }

var _ rest.Lister = types{}

type ruleType struct {
	Type    string     `json:"type"`
	Drivers *[]support `json:"drivers,omitempty"`
}

type support struct {
	Name       string      `json:"name"`
	Parameters []parameter `json:"supported_parameters"`
}

// List makes the types that all drivers keep, those that one keeps (all_supported) or all that there are (all_rules). One that is
// asked for by name is shown with its drivers, to administrators alone.
func (p types) List(ctx context.Context, _ store.Tx, want map[string][]string) ([]store.Row, error) {
	if name := want["type"]; name != nil {
		return p.details(ctx, name[0])
	}
	shown := p.inAll
	switch {
	case slices.Contains(want["all_rules"], "true"):
		shown = func(string) bool { return true }
	case slices.Contains(want["all_supported"], "true"):
		shown = func(kind string) bool {
			return slices.ContainsFunc(p.Drivers, func(d Driver) bool { return d.Rules[kind] != nil })
		}
	}
	var rows []store.Row
	for _, kind := range ruleTypes() {
		if shown(kind) {
			row, err := asRow(ruleType{Type: kind})
			if err != nil {
				return nil, err
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

func (p types) inAll(kind string) bool {
	return len(p.Drivers) > 0 && !slices.ContainsFunc(p.Drivers, func(d Driver) bool { return d.Rules[kind] == nil })
}

func (p types) details(ctx context.Context, kind string) ([]store.Row, error) {
	if !auth.From(ctx).HasRole(auth.RoleAdmin) {
		return nil, fault.NotAuthorized()
	}
	if !slices.Contains(ruleTypes(), kind) {
		return nil, nil
	}
	drivers := []support{}
	for _, d := range p.Drivers {
		rule := d.Rules[kind]
		if rule == nil {
			continue
		}
		s := support{Name: d.Name}
		for _, b := range rule {
			s.Parameters = append(s.Parameters, b.details())
		}
		drivers = append(drivers, s)
	}
	row, err := asRow(ruleType{Type: kind, Drivers: &drivers})
	return []store.Row{row}, err
}

func asRow(t ruleType) (store.Row, error) {
	body, err := json.Marshal(t)
	if err != nil {
		return store.Row{}, fmt.Errorf("encode a type of rules: %w", err)
	}
	return store.Row{ID: t.Type, Body: body}, nil
}
