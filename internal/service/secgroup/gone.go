package secgroup

import (
	"context"

	"isospin/internal/store"
)

// Gone is called in the transaction that deletes a group, with the group's id, by whoever deletes it.
type Gone func(ctx context.Context, tx store.WriteTx, group string) error

// WhenGone adds who is told of groups that go; called by assemble, before anything is served.
func (p *Plugin) WhenGone(f Gone) { p.gone = append(p.gone, f) }

func (p *Plugin) left(ctx context.Context, tx store.WriteTx, group string) error {
	for _, f := range p.gone {
		if err := f(ctx, tx, group); err != nil {
			return err
		}
	}
	return nil
}
