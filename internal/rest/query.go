package rest

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
	"isospin/internal/fault"
	"isospin/internal/policy"
	"isospin/internal/store"
)

// listQuery is the query string of a list, understood.
type listQuery struct {
	where   store.Cond
	below   store.Cond // the parent in the URL
	sort    []sortKey
	limit   int
	marker  string
	reverse bool
	paged   bool // links are wanted
}

type sortKey struct {
	attr apidef.Attribute
	desc bool
}

// query parses the query string; what a database cannot hold is refused here.
func query(r *http.Request) (url.Values, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, fault.HTTPBadRequest("The query string is malformed.")
	}
	for k, vs := range values {
		for _, v := range append(vs, k) {
			if !utf8.ValidString(v) || strings.ContainsRune(v, 0) {
				return nil, fault.HTTPBadRequest("The query string holds text that is not valid.")
			}
		}
	}
	return values, nil
}

// parse understands filters, sorting and paging.
func (s *Server) parse(ctx context.Context, e *endpoint, values url.Values) (*listQuery, error) {
	q := &listQuery{}
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names) // so that the SQL text, and with it the prepared statement, is the same for the same filters
	for _, name := range names {
		switch name {
		case "fields", "limit", "marker", "page_reverse", "sort_key", "sort_dir":
			continue
		}
		if _, timed := e.res.Attribute("updated_at"); timed && (name == "changed_since" || name == "changed-since") {
			c, err := s.changedSince(values[name])
			if err != nil {
				return nil, err
			}
			q.where = store.And(q.where, c)
			continue
		}
		c, err := s.filter(ctx, e, name, values[name])
		if err != nil {
			return nil, err
		}
		q.where = store.And(q.where, c)
	}
	if err := q.sorting(e, values); err != nil {
		return nil, err
	}
	return q, s.paging(q, values)
}

// changedSince is the filter that the timestamps promise (upstream-faults.md: Neutron refuses it): what was created or
// changed at the moment or later. Of several moments the earliest counts, as values of one filter are joined by OR.
func (s *Server) changedSince(values []string) (store.Cond, error) {
	var earliest time.Time
	for _, v := range values {
		at, err := time.Parse("2006-01-02T15:04:05", strings.TrimSuffix(v, "Z"))
		if err != nil || at.Year() < 1 || at.Year() > 9999 {
			return store.Cond{}, fault.BadInput("changed_since is a moment such as 2026-01-31T12:00:00Z, not %s.", printable(v))
		}
		if earliest.IsZero() || at.Before(earliest) {
			earliest = at
		}
	}
	return store.Expr(s.Store.Dialect().JSONText("body", "updated_at")+" >= ?", earliest.Format("2006-01-02T15:04:05Z")), nil
}

// filter makes the condition of one filter name: its values are joined by OR.
func (s *Server) filter(ctx context.Context, e *endpoint, name string, values []string) (store.Cond, error) {
	if name == "tenant_id" {
		name = "project_id"
	}
	a, ok := e.res.Attribute(name)
	if !ok || !a.Filter {
		return store.Cond{}, fault.HTTPBadRequest("Invalid filter: " + printable(name) + " is not an attribute of " + e.res.Name + " to filter on.")
	}
	// A filter on what the caller may not see must not tell anything (upstream-faults.md).
	if s.Policy.Verdict(principal(ctx), "get_"+e.noun+":"+hides(name)) == policy.Never {
		return store.Expr("1 = 0"), nil
	}
	if e.res.Taggable {
		if c, ok := tagFilter(name, values); ok {
			return c, nil
		}
	}
	if f := e.Options.Filters[name]; f != nil {
		return f(ctx, values)
	}
	converted := make([]string, len(values))
	for i, v := range values {
		c, err := a.Type.Filter(v)
		if err != nil {
			return store.Cond{}, blame(name, err)
		}
		converted[i] = c
	}
	return s.compare(e, a, converted)
}

// hides is the attribute whose rule says who may filter by name.
func hides(name string) string {
	switch name {
	case "tags-any", "not-tags", "not-tags-any":
		return "tags"
	}
	return name
}

// compare matches a stored attribute with texts, by its column or inside the body.
func (s *Server) compare(e *endpoint, a *apidef.Attribute, values []string) (store.Cond, error) {
	kind := schemaType(a.Type)
	if column, ok := e.table.ColumnOf(a.Name); ok {
		if kind != "integer" {
			return store.In(column, values), nil
		}
		numbers := make([]int64, 0, len(values))
		for _, v := range values {
			if n, err := strconv.ParseInt(v, 10, 64); err == nil {
				numbers = append(numbers, n)
			}
		}
		return store.In(column, numbers), nil
	}
	expr := s.Store.Dialect().JSONText("body", a.Name)
	if kind == "boolean" {
		var truths []string
		for _, v := range values {
			if v == "true" {
				truths = append(truths, "true", "1")
			} else {
				truths = append(truths, "false", "0")
			}
		}
		return store.In(expr, truths), nil
	}
	return store.In(expr, values), nil
}

// Truth reads a boolean of a query string, for filters that a plugin makes itself.
func Truth(text string) (bool, error) {
	v, err := types.Bool().Filter(text)
	return v == "true", err
}

// schemaType is the JSON type that an attribute's schema names, the first where it names several.
func schemaType(t apidef.Type) string {
	switch k := t.Schema()["type"].(type) {
	case string:
		return k
	case []string:
		if len(k) > 0 {
			return k[0]
		}
	case []any:
		if len(k) > 0 {
			return fmt.Sprint(k[0])
		}
	}
	return ""
}

// sorting reads sort_key and sort_dir, which come in pairs.
func (q *listQuery) sorting(e *endpoint, values url.Values) error {
	keys, dirs := values["sort_key"], values["sort_dir"]
	if len(keys) != len(dirs) {
		return fault.HTTPBadRequest("The number of sort_key and of sort_dir must be the same.")
	}
	for i, k := range keys {
		name := k
		if name == "tenant_id" {
			name = "project_id"
		}
		a, ok := e.res.Attribute(name)
		if !ok || !a.Sort {
			return fault.HTTPBadRequest(printable(k) + " is not an attribute of " + e.res.Name + " to sort by.")
		}
		if dirs[i] != "asc" && dirs[i] != "desc" {
			return fault.HTTPBadRequest("sort_dir is asc or desc, not " + printable(dirs[i]) + ".")
		}
		q.sort = append(q.sort, sortKey{attr: *a, desc: dirs[i] == "desc"})
	}
	return nil
}

// paging reads limit, marker and page_reverse.
func (s *Server) paging(q *listQuery, values url.Values) error {
	if l := values.Get("limit"); values.Has("limit") {
		n, err := strconv.ParseInt(l, 10, 64)
		switch {
		case err != nil && allDigits(l):
			n = 0 // more than any table holds
		case err != nil || n < 0:
			return fault.HTTPBadRequest("limit is a whole number that is not negative, not " + printable(l) + ".")
		}
		if n > 1<<31-1 {
			n = 0
		}
		q.limit = int(n)
	}
	if s.MaxPage > 0 && (q.limit == 0 || q.limit > s.MaxPage) {
		q.limit = s.MaxPage
	}
	q.marker = values.Get("marker")
	if q.marker != "" && !plain(q.marker) {
		return fault.HTTPBadRequest("marker is not an identifier.")
	}
	q.paged = q.limit > 0
	if values.Has("page_reverse") {
		switch strings.ToLower(values.Get("page_reverse")) {
		case "true", "1", "yes", "on", "t", "y":
			q.reverse = q.paged
		}
	}
	return nil
}

func allDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// orderExprs are the sort keys as SQL, the id last; turned round for a reverse page.
func (q *listQuery) orderExprs(e *endpoint, d store.Dialect) []store.Order {
	var out []store.Order
	for _, k := range q.sort {
		if k.attr.Name == "id" {
			// Nothing that comes behind it can decide any more, and the key's index gives the order.
			return q.turned(append(out, store.Order{Expr: "id", Desc: k.desc}))
		}
		column, ok := e.table.ColumnOf(k.attr.Name)
		if ok {
			out = append(out, store.Order{Expr: "COALESCE(" + column + ", " + zero(k.attr) + ")", Desc: k.desc})
			continue
		}
		expr := "COALESCE(" + d.JSONText("body", k.attr.Name) + ", '')"
		if schemaType(k.attr.Type) == "integer" {
			// Numbers kept as text sort by length first.
			out = append(out, store.Order{Expr: "LENGTH(" + expr + ")", Desc: k.desc})
		}
		out = append(out, store.Order{Expr: expr, Desc: k.desc})
	}
	return q.turned(append(out, store.Order{Expr: "id"}))
}

// turned is an order, turned round for a reverse page.
func (q *listQuery) turned(order []store.Order) []store.Order {
	if q.reverse {
		for i := range order {
			order[i].Desc = !order[i].Desc
		}
	}
	return order
}

func zero(a apidef.Attribute) string {
	if schemaType(a.Type) == "integer" {
		return "0"
	}
	return "''"
}

// markerCond is what comes behind the marker in the order; a marker that is not there, or that the caller may not see,
// is the resource's 404.
func markerCond(ctx context.Context, tx store.Tx, e *endpoint, order []store.Order, visible store.Cond, marker string) (store.Cond, error) {
	exprs := make([]string, len(order))
	for i, o := range order {
		exprs[i] = o.Expr
	}
	where := store.And(store.Eq("id", marker), visible)
	rows, err := tx.Query(ctx, store.Q("SELECT "+strings.Join(exprs, ", ")+" FROM "+e.table.TableName()+" WHERE "+where.SQL, where.Args...))
	if err != nil {
		return store.Cond{}, err
	}
	defer func(r *sql.Rows) { _ = r.Close() }(rows)
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return store.Cond{}, err
		}
		return store.Cond{}, e.notFound(marker)
	}
	values, into := make([]any, len(order)), make([]any, len(order))
	for i := range values {
		into[i] = &values[i]
	}
	if err := rows.Scan(into...); err != nil {
		return store.Cond{}, err
	}
	var steps []store.Cond
	for i, o := range order {
		var step []store.Cond
		for j := range i {
			step = append(step, store.Expr(order[j].Expr+" = ?", sqlValue(values[j])))
		}
		op := " > ?"
		if o.Desc {
			op = " < ?"
		}
		steps = append(steps, store.And(append(step, store.Expr(o.Expr+op, sqlValue(values[i])))...))
	}
	return store.Or(steps...), rows.Err()
}

// sqlValue turns what a driver scanned back into an argument.
func sqlValue(v any) any {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return v
}

// links are the page links of an answer, or nil. next is given unless a forward page came short, previous unless a
// reverse page came short (behaviour.md, section 6). found is how many rows the page has, rows are those of them that the caller
// sees: only they are named.
func (s *Server) links(r *http.Request, e *endpoint, q *listQuery, found int, rows []store.Row) []byte {
	if !q.paged {
		return nil
	}
	short := found < q.limit
	var out []link
	add := func(rel string, i int) {
		v := r.URL.Query()
		v.Del("marker")
		v.Del("page_reverse")
		if len(rows) > 0 {
			v.Set("marker", rows[i].ID)
		}
		if rel == "previous" {
			v.Set("page_reverse", "True")
		}
		out = append(out, link{Rel: rel, Href: s.baseURL(r) + strings.TrimSuffix(r.URL.Path, "/") + "?" + v.Encode()})
	}
	if len(rows) > 0 && (q.reverse || !short) {
		add("next", len(rows)-1)
	}
	if !q.reverse || !short {
		add("previous", 0)
	}
	if out == nil {
		return []byte("[]")
	}
	return mustJSON(out)
}
