package nft

import (
	"context"
	"errors"
	"fmt"

	"isospin/internal/reconcile"
)

// Fake is a table in memory. It refuses what the kernel would: what refers to sets and chains that are not there.
type Fake struct {
	reconcile.Memory[Key, Object]
}

// NewFake makes an empty one.
func NewFake() *Fake {
	f := &Fake{}
	f.Refuse = check
	return f
}

// Put implements reconcile.Driver.
func (f *Fake) Put(ctx context.Context, batch map[Key]Object) error {
	have, err := f.List(ctx)
	if err != nil {
		return err
	}
	there := func(k Key) bool {
		if _, ok := have[k]; ok {
			return true
		}
		_, ok := batch[k]
		return ok
	}
	bad := reconcile.Errors[Key]{}
	good := map[Key]Object{}
	for k, o := range batch {
		if err := refers(k, o, there); err != nil {
			bad[k] = err
			continue
		}
		good[k] = o
	}
	if err := f.Memory.Put(ctx, good); err != nil {
		var each reconcile.Errors[Key]
		if !errors.As(err, &each) {
			return err
		}
		for k, e := range each {
			bad[k] = e
		}
	}
	return bad.Err()
}

// refers tells what an object refers to that is not there.
func refers(k Key, o Object, there func(Key) bool) error {
	if k.Kind == KindElement && !there(SetKey(k.Name)) {
		return fmt.Errorf("there is no set %s", k.Name)
	}
	if c := o.Verdict.chain; c != "" && !there(ChainKey(c)) {
		return fmt.Errorf("there is no chain %s", c)
	}
	for _, r := range o.Rules {
		for _, want := range r.uses() {
			if !there(want) {
				return fmt.Errorf("there is no %s", want)
			}
		}
	}
	return nil
}
