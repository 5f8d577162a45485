package rest

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"isospin/internal/fault"
	"isospin/internal/policy"
	"isospin/internal/store"
)

// isMissing tells whether the store has no such row.
func isMissing(err error) bool {
	var nf *store.NotFound
	return errors.As(err, &nf) || fault.IsNotFound(err)
}

// show answers GET on a member.
func (s *Server) show(w http.ResponseWriter, r *http.Request, e *endpoint, parent, id string) error {
	values, err := query(r)
	if err != nil {
		return err
	}
	ctx := r.Context()
	var answer []byte
	err = s.Store.Read(ctx, func(tx store.Tx) error {
		if e.parent != nil {
			if err := s.parentSeen(ctx, tx, e, parent); err != nil {
				return err
			}
		}
		row, err := s.find(ctx, tx, e, parent, id)
		if err != nil {
			return err
		}
		answer, err = s.render(ctx, tx, e, []store.Row{row}, values["fields"])
		if err != nil {
			return err
		}
		answer = wrap(e.res.Name, answer[1:len(answer)-1])
		return nil
	})
	if err != nil {
		return err
	}
	return s.write(w, http.StatusOK, answer)
}

// find reads a member that the caller may see.
func (s *Server) find(ctx context.Context, tx store.Tx, e *endpoint, parent, id string) (store.Row, error) {
	if !plain(id) {
		return store.Row{}, e.notFound(id)
	}
	where := store.Eq("id", e.rowID(parent, id))
	if e.parent != nil {
		where = store.And(where, store.Eq(e.Options.ParentColumn, parent))
	}
	rows, err := e.table.Bodies(ctx, tx, store.List{Where: where})
	if err != nil {
		return store.Row{}, err
	}
	if len(rows) == 0 {
		return store.Row{}, e.notFound(id)
	}
	if _, ok, err := s.seen(ctx, tx, e, rows[0]); err != nil || !ok {
		if err == nil {
			err = e.notFound(id)
		}
		return store.Row{}, err
	}
	return rows[0], nil
}

// list answers GET on a collection: the whole answer is made inside one read transaction, then written.
func (s *Server) list(w http.ResponseWriter, r *http.Request, e *endpoint, parent string) error {
	values, err := query(r)
	if err != nil {
		return err
	}
	ctx := r.Context()
	q, err := s.parse(ctx, e, values)
	if err != nil {
		return err
	}
	if err := s.before(ctx, e, s.projectsOf(ctx, values)); err != nil {
		return err
	}
	var answer []byte
	err = s.Store.Read(ctx, func(tx store.Tx) error {
		if e.parent != nil {
			if err := s.parentSeen(ctx, tx, e, parent); err != nil {
				return err
			}
			q.below = store.Eq(e.Options.ParentColumn, parent)
		}
		rows, err := s.page(ctx, tx, e, q)
		if err != nil {
			return err
		}
		found := len(rows)
		if rows, err = s.filterSeen(ctx, tx, e, rows); err != nil {
			return err
		}
		answer, err = s.renderList(ctx, tx, e, rows, values["fields"], s.links(r, e, q, found, rows))
		return err
	})
	if err != nil {
		return err
	}
	return s.write(w, http.StatusOK, answer)
}

// page reads the rows of one page, in the order of the answer.
func (s *Server) page(ctx context.Context, tx store.Tx, e *endpoint, q *listQuery) ([]store.Row, error) {
	if s.Policy.Verdict(principal(ctx), "get_"+e.noun) == policy.Never {
		return nil, nil // not a refusal: behaviour.md, section 5
	}
	visible := store.And(s.visible(ctx, e), q.below)
	where := store.And(q.where, visible)
	order := q.orderExprs(e, tx.Dialect())
	if q.marker != "" && q.limit > 0 {
		after, err := markerCond(ctx, tx, e, order, visible, q.marker)
		if err != nil {
			return nil, err
		}
		where = store.And(where, after)
	}
	// Nobody is promised an order without asking for one or for pages.
	list := store.List{Where: where, Order: order, Limit: q.limit, AnyOrder: len(q.sort) == 0 && q.limit == 0}
	rows, err := e.table.Bodies(ctx, tx, list)
	if err != nil {
		return nil, err
	}
	if q.reverse {
		for i, j := 0, len(rows)-1; i < j; i, j = i+1, j-1 {
			rows[i], rows[j] = rows[j], rows[i]
		}
	}
	return rows, nil
}

// visible is what limits callers who do not see everything.
func (s *Server) visible(ctx context.Context, e *endpoint) store.Cond {
	if s.Policy.Verdict(principal(ctx), "get_"+e.noun) == policy.Always {
		return store.Cond{}
	}
	if e.Options.Visible == nil && e.parent != nil {
		return store.Cond{} // the parent was looked at
	}
	if e.Options.Visible == nil {
		return store.Eq("project_id", principal(ctx).ProjectID)
	}
	return e.Options.Visible(ctx)
}

// filterSeen drops rows that policy hides although SQL found them.
func (s *Server) filterSeen(ctx context.Context, tx store.Tx, e *endpoint, rows []store.Row) ([]store.Row, error) {
	p, rule := principal(ctx), "get_"+e.noun
	if len(rows) == 0 || s.Policy.Verdict(p, rule) == policy.Always {
		return rows, nil
	}
	ts, err := e.targets(ctx, tx, rows)
	if err != nil {
		return nil, err
	}
	kept := rows[:0]
	for i := range rows {
		if s.Policy.Allow(p, rule, ts[i]) {
			kept = append(kept, rows[i])
		}
	}
	return kept, nil
}

// before runs a binding's preparation in a transaction of its own, when there is something to do.
func (s *Server) before(ctx context.Context, e *endpoint, projects []string) error {
	if e.Options.Before == nil {
		return nil
	}
	var needed bool
	err := s.Store.Read(ctx, func(tx store.Tx) (err error) {
		needed, err = e.Options.BeforeNeeds(ctx, tx, projects)
		return err
	})
	if err != nil || !needed {
		return err
	}
	return s.transact(ctx, func(tx store.WriteTx) error { return e.Options.Before(ctx, tx, projects) })
}

// projectsOf is the project that a list asks for, else the caller's.
func (s *Server) projectsOf(ctx context.Context, values url.Values) []string {
	p := principal(ctx)
	own := []string{p.ProjectID}
	asked := append(values["project_id"], values["tenant_id"]...)
	if len(asked) == 0 || s.Policy.Verdict(p, "get_network") != policy.Always {
		return own
	}
	return asked
}
