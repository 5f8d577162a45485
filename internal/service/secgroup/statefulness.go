package secgroup

import (
	"context"

	"isospin/internal/auth"
	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/store"
)

// Statefulness is the table of what new groups of projects are.
type Statefulness = store.Table[model.DefaultStatefulness]

// NewStatefulness declares the table.
func NewStatefulness() *Statefulness {
	return store.NewTable("security_groups_default_statefulness",
		func(d *model.DefaultStatefulness) string { return d.ID }, ofProject,
		store.Column[model.DefaultStatefulness]{Name: "of_project", Of: func(d *model.DefaultStatefulness) any { return ofProject(d) }},
	)
}

// ofProject is "" for the setting of all projects.
func ofProject(d *model.DefaultStatefulness) string {
	if d.ProjectID == nil {
		return ""
	}
	return *d.ProjectID
}

// settings is the controller of default statefulness. A setting counts for groups that come after it
// (neutron/db/security_groups_default_statefulness.py).
type settings struct{ *Plugin }

func (p settings) binding() rest.Binding {
	return rest.Bind("security_groups_default_statefulness", p.statefulRows, p, rest.Options{
		Visible:  func(ctx context.Context) store.Cond { return store.Eq("project_id", auth.From(ctx).ProjectID) },
		NotFound: func(id string) error { return fault.SecurityGroupDefaultStatefulnessNotFound(id) },
	})
}

// Create sets what new groups of a project are; without a project, of all that have no setting.
func (p settings) Create(ctx context.Context, tx store.WriteTx, in rest.Input[model.DefaultStatefulness]) (model.DefaultStatefulness, error) {
	d := in.Value
	d.ID = p.IDs.UUID()
	err := p.statefulRows.Insert(ctx, tx, &d)
	if _, dup := store.AsDuplicate(err); dup {
		name := "of all projects"
		if d.ProjectID != nil {
			name = *d.ProjectID
		}
		err = fault.SecurityGroupDefaultStatefulnessAlreadyExists(name)
	}
	return d, err
}

// Update changes a setting; groups that exist stay as they are.
func (p settings) Update(ctx context.Context, tx store.WriteTx, cur model.DefaultStatefulness, in rest.Input[model.DefaultStatefulness]) (model.DefaultStatefulness, error) {
	d := cur
	if err := in.Apply(&d); err != nil || d.Stateful == cur.Stateful {
		return d, err
	}
	return d, p.statefulRows.Update(ctx, tx, &d, -1)
}

// Delete removes a setting.
func (p settings) Delete(ctx context.Context, tx store.WriteTx, cur model.DefaultStatefulness) error {
	return p.statefulRows.Delete(ctx, tx, cur.ID)
}

// statefulFor is whether new groups of a project track connections: its own setting, else that of all, else yes.
// One statement.
func (p *Plugin) statefulFor(ctx context.Context, tx store.Tx, project string) (bool, error) {
	rows, err := p.statefulRows.Find(ctx, tx, store.List{Where: store.In("of_project", []string{"", project})})
	if err != nil {
		return false, err
	}
	stateful := true
	for i := range rows {
		if rows[i].ProjectID != nil {
			return rows[i].Stateful, nil
		}
		stateful = rows[i].Stateful
	}
	return stateful, nil
}
