package assemble

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"isospin/internal/config"
	"isospin/internal/service/ml2"
	"isospin/internal/service/secgroup"
	"isospin/internal/store"
)

func nothing(store.Tx) error { return nil }

var errDiffer = errors.New("columns and bodies do not agree")

// Checkers are the checks of `isospin db check`.
func Checkers() []store.Checker {
	return append([]store.Checker{ml2.NewNetworks(), ml2.NewSubnets(), ml2.NewPorts(), secgroup.NewGroups(), secgroup.NewRules(),
		secgroup.NewTemplates(), secgroup.NewAddressGroups(), secgroup.NewStatefulness()}, append(append(append(counts(), trunkTables()...), qosCheckers()...), append(routingCheckers(), floatingCheckers()...)...)...)
}

// CheckDatabase is `isospin db check`: columns against bodies, table by table.
func CheckDatabase(ctx context.Context, c *config.Server, env Env, out io.Writer) error {
	if c.Database.Connection.Embedded() && !c.Isospin.Memory {
		// To open one would make one, and an empty database always agrees.
		if _, err := os.Stat(filepath.Join(c.State.Dir, "isospin.db")); err != nil {
			return fmt.Errorf("there is no database to check: %w", err)
		}
	}
	st, err := OpenStore(ctx, c, env, false)
	if err != nil {
		return err
	}
	bad := 0
	err = store.CheckAll(ctx, st, Checkers(),
		func(d store.Difference) {
			bad++
			_, _ = fmt.Fprintln(out, d) // the count below tells all the same
		})
	if err != nil {
		return errors.Join(err, st.Close())
	}
	if bad > 0 {
		err = fmt.Errorf("%d differences: %w", bad, errDiffer)
	} else {
		_, err = fmt.Fprintln(out, "columns and bodies agree")
	}
	return errors.Join(err, st.Close())
}
