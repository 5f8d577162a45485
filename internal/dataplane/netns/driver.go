package netns

import (
	"context"
	"errors"
	"io/fs"

	"isospin/internal/reconcile"
)

// Driver is the driver of namespaces, keyed by name; there is nothing to say of one but that it is.
type Driver struct{ own Own }

// NewDriver makes the driver of the namespaces that own holds for.
func NewDriver(own Own) *Driver { return &Driver{own: own} }

// Equal is for the driver's stage: one namespace is as good as another.
func Equal(_, _ struct{}) bool { return true }

// List implements reconcile.Driver.
func (d *Driver) List(context.Context) (map[string]struct{}, error) {
	names, err := List(d.own)
	if err != nil {
		return nil, err
	}
	out := make(map[string]struct{}, len(names))
	for _, n := range names {
		out[n] = struct{}{}
	}
	return out, nil
}

// Put implements reconcile.Driver.
func (d *Driver) Put(ctx context.Context, batch map[string]struct{}) error {
	return each(ctx, batch, func(name string) error {
		if !d.own(name) {
			return errors.New("not a name of ours")
		}
		if err := Create(name); !errors.Is(err, fs.ErrExist) {
			return err
		}
		return nil
	})
}

// Drop implements reconcile.Driver. Names that are not ours are left alone.
func (d *Driver) Drop(ctx context.Context, batch map[string]struct{}) error {
	return each(ctx, batch, func(name string) error {
		if !d.own(name) || checkName(name) != nil {
			return nil
		}
		return Delete(name)
	})
}

func each(ctx context.Context, batch map[string]struct{}, do func(name string) error) error {
	bad := reconcile.Errors[string]{}
	for name := range batch {
		err := ctx.Err()
		if err == nil {
			err = do(name)
		}
		if err != nil {
			bad[name] = err
		}
	}
	return bad.Err()
}

var _ reconcile.Driver[string, struct{}] = (*Driver)(nil)
