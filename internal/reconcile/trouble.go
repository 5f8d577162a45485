package reconcile

import (
	"cmp"
	"fmt"
	"slices"
)

// Troubles implements Stage. They are in a stable order: what concerns the kind as a whole first, then by the object's name.
func (r *Reconciler[K, V]) Troubles() []Trouble {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []Trouble
	if r.view.err != nil && r.view.failures > 0 {
		out = append(out, Trouble{Err: fmt.Errorf("%s cannot be read: %w", r.name, r.view.err), Since: r.view.since})
	}
	if !r.view.known {
		return out
	}
	alike := map[string]int{} // where in out, by the error's text
	for k, f := range r.failures {
		text, name := f.err.Error(), fmt.Sprint(k)
		at, known := alike[text]
		if !known {
			alike[text] = len(out)
			out = append(out, Trouble{Object: r.name + " " + name, Err: f.err, Since: f.since})
			continue
		}
		t := &out[at]
		t.Others++
		t.Object = min(t.Object, r.name+" "+name)
		if f.since.Before(t.Since) {
			t.Since = f.since
		}
	}
	slices.SortFunc(out, func(a, b Trouble) int {
		return cmp.Or(cmp.Compare(a.Object, b.Object), cmp.Compare(a.Err.Error(), b.Err.Error()))
	})
	return out
}

// String tells a trouble in one sentence.
func (t Trouble) String() string {
	switch {
	case t.Object == "":
		return t.Err.Error()
	case t.Others > 0:
		return fmt.Sprintf("%s and %d more: %v", t.Object, t.Others, t.Err)
	}
	return fmt.Sprintf("%s: %v", t.Object, t.Err)
}
