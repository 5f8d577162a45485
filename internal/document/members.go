package document

import (
	"context"

	"isospin/internal/change"
	"isospin/internal/store"
)

// Names are the names of sets of one family, and that family.
func Names(sets []change.Set) (names []string, family string) {
	for _, s := range sets {
		names = append(names, s.Name())
		family = s.Family()
	}
	return names, family
}

// Collect runs a statement that yields pairs of a document's id and the name of a set of the family. Kinds list their members
// with it.
func Collect(ctx context.Context, tx store.Tx, family string, q store.Query) (map[change.Set][]string, error) {
	out := map[change.Set][]string{}
	err := store.Each(ctx, tx, q, func(scan func(...any) error) error {
		var id, name string
		err := scan(&id, &name)
		s := change.NewSet(family, name)
		out[s] = append(out[s], id)
		return err
	})
	return out, err
}

// Where lists the members of sets of one family whose name is in a column: head is the statement up to WHERE and yields an id
// and the column.
func Where(ctx context.Context, tx store.Tx, sets []change.Set, head, column string) (map[change.Set][]string, error) {
	names, family := Names(sets)
	in := store.In(column, names)
	return Collect(ctx, tx, family, store.Q(head+" WHERE "+in.SQL, in.Args...))
}
