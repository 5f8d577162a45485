package rest

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"isospin/internal/fault"
	"isospin/internal/policy"
	"isospin/internal/store"
)

// Lister makes the rows of a collection that is computed from others: availability zones, counts of addresses. want are
// the filters, converted, by attribute; a lister may leave to rest all but those that no body shows. Rows' ids are what a
// URL names them by.
type Lister interface {
	List(ctx context.Context, tx store.Tx, want map[string][]string) ([]store.Row, error)
}

// Computed is the binding of a collection that a lister makes. idAttribute is the attribute that a URL names a row by; "":
// rows cannot be shown one by one.
func Computed(collection, idAttribute string, l Lister, o Options) Binding {
	return Binding{Collection: collection, Options: o, lister: l, idAttribute: idAttribute}
}

// computed answers the requests to a collection without a table.
func (s *Server) computed(w http.ResponseWriter, r *http.Request, e *endpoint, rest []string) error {
	if len(rest) > 1 {
		return fault.HTTPNotFound("There is nothing at this path.")
	}
	switch {
	case r.Method == http.MethodGet && len(rest) == 0:
		return s.listComputed(w, r, e)
	case r.Method == http.MethodGet:
		return s.showComputed(w, r, e, rest[0])
	case r.Method == http.MethodPost && len(rest) == 0:
		return fault.BadRequest(e.res.Name, "it cannot be created by a request.")
	case r.Method == http.MethodPut && len(rest) == 0, r.Method == http.MethodDelete && len(rest) == 0:
		return e.notFound("None")
	case r.Method == http.MethodPut:
		return fault.BadRequest(e.res.Name, "it cannot be updated.")
	case r.Method == http.MethodDelete:
		return fault.BadRequest(e.res.Name, "it cannot be deleted.")
	}
	return methodNotAllowed(r)
}

func (s *Server) showComputed(w http.ResponseWriter, r *http.Request, e *endpoint, id string) error {
	values, err := query(r)
	if err != nil {
		return err
	}
	if e.idAttribute == "" || !plain(id) {
		return e.notFound(id)
	}
	ctx := r.Context()
	var answer []byte
	err = s.Store.Read(ctx, func(tx store.Tx) error {
		rows, err := e.lister.List(ctx, tx, map[string][]string{e.idAttribute: {id}})
		if err != nil {
			return err
		}
		rows = slices.DeleteFunc(rows, func(row store.Row) bool { return row.ID != id })
		if len(rows) == 0 {
			return e.notFound(id)
		}
		if _, ok, err := s.seen(ctx, tx, e, rows[0]); err != nil || !ok {
			if err == nil {
				err = e.notFound(id)
			}
			return err
		}
		items, err := s.render(ctx, tx, e, rows[:1], values["fields"])
		if err == nil {
			answer = wrap(e.res.Name, items[1:len(items)-1])
		}
		return err
	})
	if err != nil {
		return err
	}
	return s.write(w, http.StatusOK, answer)
}

func (s *Server) listComputed(w http.ResponseWriter, r *http.Request, e *endpoint) error {
	values, err := query(r)
	if err != nil {
		return err
	}
	ctx := r.Context()
	q := &listQuery{}
	want, never, err := s.wanted(ctx, e, values)
	if err != nil {
		return err
	}
	if err := q.sorting(e, values); err != nil {
		return err
	}
	if err := s.paging(q, values); err != nil {
		return err
	}
	var answer []byte
	err = s.Store.Read(ctx, func(tx store.Tx) error {
		var rows []store.Row
		if !never && s.Policy.Verdict(principal(ctx), "get_"+e.res.Name) != policy.Never {
			var err error
			if rows, err = e.lister.List(ctx, tx, want); err != nil {
				return err
			}
		}
		rows, err := s.filterSeen(ctx, tx, e, slices.DeleteFunc(rows, func(row store.Row) bool { return !fits(row, want) }))
		if err != nil {
			return err
		}
		if rows, err = q.cut(e, rows); err != nil {
			return err
		}
		answer, err = s.renderList(ctx, tx, e, rows, values["fields"], s.links(r, e, q, len(rows), rows))
		return err
	})
	if err != nil {
		return err
	}
	return s.write(w, http.StatusOK, answer)
}

// wanted converts the filters of a query; never says that one is on what the caller may not see, which tells nothing.
func (s *Server) wanted(ctx context.Context, e *endpoint, values url.Values) (want map[string][]string, never bool, err error) {
	want = map[string][]string{}
	for name, vs := range values {
		switch name {
		case "fields", "limit", "marker", "page_reverse", "sort_key", "sort_dir":
			continue
		case "tenant_id":
			name = "project_id"
		}
		a, ok := e.res.Attribute(name)
		if !ok || !a.Filter {
			return nil, false, fault.HTTPBadRequest("Invalid filter: " + printable(name) + " is not an attribute of " + e.res.Name + " to filter on.")
		}
		never = never || s.Policy.Verdict(principal(ctx), "get_"+e.res.Name+":"+name) == policy.Never
		for _, v := range vs {
			c, err := a.Type.Filter(v)
			if err != nil {
				return nil, false, blame(name, err)
			}
			want[name] = append(want[name], c)
		}
	}
	return want, never, nil
}

// fits tells whether a row's body has one of the values wanted of each attribute that it shows.
func fits(row store.Row, want map[string][]string) bool {
	for name, values := range want {
		if raw, ok := member(row.Body, name); ok && !slices.Contains(values, text(raw)) {
			return false
		}
	}
	return true
}

// cut sorts rows and takes the page that the query asks for.
func (q *listQuery) cut(e *endpoint, rows []store.Row) ([]store.Row, error) {
	slices.SortStableFunc(rows, func(a, b store.Row) int {
		for _, k := range q.sort {
			x, _ := member(a.Body, k.attr.Name)
			y, _ := member(b.Body, k.attr.Name)
			if c := strings.Compare(text(x), text(y)); c != 0 {
				if k.desc {
					return -c
				}
				return c
			}
		}
		return cmp.Compare(a.ID, b.ID)
	})
	if q.limit == 0 {
		return rows, nil
	}
	if q.marker != "" {
		at := slices.IndexFunc(rows, func(r store.Row) bool { return r.ID == q.marker })
		if at < 0 {
			return nil, e.notFound(q.marker)
		}
		if q.reverse {
			rows = rows[:at]
		} else {
			rows = rows[at+1:]
		}
	}
	if q.reverse {
		return rows[max(0, len(rows)-q.limit):], nil
	}
	return rows[:min(len(rows), q.limit)], nil
}
