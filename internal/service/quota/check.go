package quota

import (
	"context"
	"fmt"

	"isospin/internal/store"
)

// Checker compares the counts with the rows of the tables that are counted, for `db check`.
type Checker struct {
	// Tables are the tables by kind.
	Tables map[string]string
}

var _ store.Checker = Checker{}

// TableName is the table of counts.
func (Checker) TableName() string { return "quotas" }

// Check reports each project whose count of a kind is not that of its rows.
func (c Checker) Check(ctx context.Context, tx store.Tx, report func(store.Difference)) error {
	for kind, table := range c.Tables {
		rows := map[string]int64{}
		add := func(to map[string]int64) func(func(...any) error) error {
			return func(scan func(...any) error) error {
				var project string
				var n int64
				err := scan(&project, &n)
				to[project] = n
				return err
			}
		}
		if err := store.Each(ctx, tx, store.Q("SELECT project_id, COUNT(*) FROM "+table+" WHERE project_id <> '' GROUP BY project_id"), add(rows)); err != nil {
			return fmt.Errorf("count %s: %w", table, err)
		}
		counted := map[string]int64{}
		if err := store.Each(ctx, tx, store.Q("SELECT project_id, used FROM quotas WHERE resource = ?", kind), add(counted)); err != nil {
			return fmt.Errorf("read counts of %s: %w", kind, err)
		}
		for project := range rows {
			if _, ok := counted[project]; !ok {
				counted[project] = 0
			}
		}
		for project, n := range counted {
			if n != rows[project] {
				report(store.Difference{Table: "quotas", ID: project + " " + kind, Column: "used", Have: fmt.Sprint(n), Want: fmt.Sprint(rows[project])})
			}
		}
	}
	return nil
}

// Tables are the counted tables of this build by kind.
func Tables() map[string]string {
	return map[string]string{"network": "networks", "subnet": "subnets", "port": "ports", "security_group": "security_groups",
		"security_group_rule": "security_group_rules", "rbac_policy": "rbac_policies", "subnetpool": "subnetpools", "trunk": "trunks", "router": "routers", "floatingip": "floatingips"}
}
