package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"isospin/internal/apidef/types"
	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/store"
)

// Tags are words on objects: in the body, and once more in the table of tags, where filters find them. behaviour.md, section 7.

const (
	tagsAlias  = "standard-attr-tag"
	maxTags    = 50
	maxTagText = 255
)

// taggable tells whether members of the collection have tags.
func (s *Server) taggable(e *endpoint) bool {
	return e.res.Taggable && e.retag != nil && s.Registry.Enabled(tagsAlias)
}

// tags answers /{collection}/{id}/tags and /{collection}/{id}/tags/{tag}.
func (s *Server) tags(w http.ResponseWriter, r *http.Request, e *endpoint, parent, id string, rest []string) error {
	verb := map[string]string{http.MethodGet: "get", http.MethodPost: "create", http.MethodPut: "update", http.MethodDelete: "delete"}[r.Method]
	switch {
	case len(rest) > 1:
		return fault.HTTPNotFound("There is nothing at this path.")
	case verb == "", len(rest) == 1 && r.Method == http.MethodPost, r.Method == http.MethodPost && !s.Registry.Enabled("tag-creation"):
		return methodNotAllowed(r)
	}
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	if r.Method == http.MethodDelete && len(body) > 0 {
		return fault.HTTPBadRequest("A DELETE takes no body.")
	}
	a := tagging{verb: verb, rule: verb + "_" + e.res.Name + ":tags"}
	if len(rest) == 1 {
		a.one, a.list = true, []string{rest[0]}
		if err := checkTags(a.list); err != nil {
			return err
		}
	} else if verb == "create" || verb == "update" {
		if a.list, err = tagsIn(body); err != nil {
			return err
		}
	}
	ctx := r.Context()
	if verb == "get" {
		var have []string
		if err := s.Store.Read(ctx, func(tx store.Tx) (err error) {
			have, err = s.tagsOf(ctx, tx, e, parent, id, a.rule)
			return err
		}); err != nil {
			return err
		}
		return s.answerTags(w, a, have)
	}
	if err := s.transact(ctx, func(tx store.WriteTx) error { return s.tag(ctx, tx, e, id, a) }); err != nil {
		return err
	}
	return s.answerTags(w, a, a.list)
}

// tagging is what a request does to the tags of an object.
type tagging struct {
	verb, rule string
	one        bool // a single tag that the URL names
	list       []string
}

// apply is the tags after the request.
func (a tagging) apply(have []string) ([]string, error) {
	switch {
	case a.verb == "delete" && !a.one:
		return []string{}, nil
	case a.verb == "delete":
		at := slices.Index(have, a.list[0])
		if at < 0 {
			return nil, fault.TagNotFound(printable(a.list[0]))
		}
		return slices.Delete(slices.Clone(have), at, at+1), nil
	case a.verb == "update" && !a.one:
		return a.list, nil
	}
	out := slices.Clone(have)
	for _, t := range a.list {
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out, nil
}

func (s *Server) answerTags(w http.ResponseWriter, a tagging, tags []string) error {
	switch {
	case a.verb == "delete":
		w.WriteHeader(http.StatusNoContent)
		return nil
	case a.one && a.verb == "update":
		return s.write(w, http.StatusCreated, []byte("null"))
	case a.one:
		if !slices.Contains(tags, a.list[0]) {
			return fault.TagNotFound(printable(a.list[0]))
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return s.write(w, http.StatusOK, wrap("tags", mustJSON(append([]string{}, tags...))))
}

// tagsIn reads {"tags": [...]}.
func tagsIn(body []byte) ([]string, error) {
	in, err := objectOf(body, "")
	if err != nil {
		return nil, err
	}
	raw, ok := in["tags"]
	if !ok || len(in) != 1 {
		return nil, fault.BadInput("The body of a request for tags has one member, tags.")
	}
	canonical, err := types.UniqueStrings(maxTagText).Decode(raw)
	if err != nil {
		return nil, blame("tags", err)
	}
	var out []string
	if err := json.Unmarshal(canonical, &out); err != nil || out == nil {
		return nil, fault.BadInput("tags is not a list of texts.")
	}
	return out, checkTags(out)
}

func checkTags(tags []string) error {
	if len(tags) > maxTags {
		return fault.BadInput("An object has at most %d tags.", maxTags)
	}
	for _, t := range tags {
		if utf8.RuneCountInString(t) > maxTagText || !utf8.ValidString(t) || strings.ContainsRune(t, 0) {
			return fault.BadInput("A tag is a text of at most %d characters.", maxTagText)
		}
	}
	return nil
}

// mayTag judges a request for the tags of an object that exists: 403 where the caller may see the object. One that it may not see
// does not exist for it.
func (s *Server) mayTag(ctx context.Context, tx store.Tx, e *endpoint, row store.Row, rule string) error {
	ts, err := e.targets(ctx, tx, []store.Row{row})
	if err != nil {
		return err
	}
	p := principal(ctx)
	switch {
	case !s.Policy.Allow(p, "get_"+e.noun, ts[0]):
		return fault.TagResourceNotFound(e.res.Name, printable(row.ID))
	case !s.Policy.Allow(p, rule, ts[0]):
		return fault.PolicyNotAuthorized(rule)
	}
	return nil
}

func (s *Server) tagsOf(ctx context.Context, tx store.Tx, e *endpoint, parent, id, rule string) ([]string, error) {
	missing := fault.TagResourceNotFound(e.res.Name, printable(id))
	if !plain(id) {
		return nil, missing
	}
	where := store.Eq("id", id)
	if e.parent != nil {
		where = store.And(where, store.Eq(e.Options.ParentColumn, parent))
	}
	rows, err := e.table.Bodies(ctx, tx, store.List{Where: where})
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, missing
	}
	if err := s.mayTag(ctx, tx, e, rows[0], rule); err != nil {
		return nil, err
	}
	return shownTags(rows[0].Body), nil
}

// shownTags are the tags that a body shows.
func shownTags(body []byte) []string {
	var out []string
	if raw, ok := member(body, "tags"); ok && !bytes.Equal(raw, []byte("[]")) && json.Unmarshal(raw, &out) != nil {
		return nil
	}
	return out
}

func (s *Server) tag(ctx context.Context, tx store.WriteTx, e *endpoint, id string, a tagging) error {
	if !plain(id) {
		return fault.TagResourceNotFound(e.res.Name, printable(id))
	}
	row, err := e.lock(ctx, tx, id)
	if isMissing(err) {
		err = fault.TagResourceNotFound(e.res.Name, printable(id))
	}
	if err != nil {
		return err
	}
	if err := s.mayTag(ctx, tx, e, row, a.rule); err != nil {
		return err
	}
	have := shownTags(row.Body)
	want, err := a.apply(have)
	if err != nil {
		return err
	}
	if err := checkTags(want); err != nil {
		return err
	}
	if slices.Equal(slices.Sorted(slices.Values(have)), slices.Sorted(slices.Values(want))) {
		return nil
	}
	if err := e.retag(ctx, tx, row, want, model.Stamp(s.Clock.Now())); err != nil {
		return err
	}
	if err := ForgetTags(ctx, tx, id); err != nil {
		return err
	}
	return keepTags(ctx, tx, id, want)
}

// keepTags writes the tags of an object that has none in the table. One statement.
func keepTags(ctx context.Context, tx store.WriteTx, id string, tags []string) error {
	if len(tags) == 0 {
		return nil
	}
	args := make([]any, 0, 2*len(tags))
	for _, t := range tags {
		args = append(args, id, t)
	}
	_, err := tx.Exec(ctx, store.Q("INSERT INTO tags (object_id, tag) VALUES (?, ?)"+strings.Repeat(", (?, ?)", len(tags)-1), args...))
	return err
}

// ForgetTags removes the tags of an object that goes.
func ForgetTags(ctx context.Context, tx store.WriteTx, id string) error {
	_, err := tx.Exec(ctx, store.Q("DELETE FROM tags WHERE object_id = ?", id))
	return err
}

// madeTagged keeps the tags that a create gave.
func (s *Server) madeTagged(ctx context.Context, tx store.WriteTx, e *endpoint, row store.Row) error {
	if !s.taggable(e) {
		return nil
	}
	tags := shownTags(row.Body)
	if err := checkTags(tags); err != nil {
		return err
	}
	return keepTags(ctx, tx, row.ID, tags)
}

// tagFilter is the condition of a filter on tags; ok is false for other filters. A comma parts tags.
func tagFilter(name string, values []string) (c store.Cond, ok bool) {
	var tags []string
	for _, v := range values {
		for t := range strings.SplitSeq(v, ",") {
			if t != "" && !slices.Contains(tags, t) {
				tags = append(tags, t)
			}
		}
	}
	if len(tags) > maxTags {
		tags = tags[:maxTags+1] // more than any object has
	}
	with := func(c store.Cond) store.Cond {
		return store.Expr("id IN (SELECT object_id FROM tags WHERE "+c.SQL+")", c.Args...)
	}
	all := make([]store.Cond, len(tags))
	for i, t := range tags {
		all[i] = with(store.Eq("tag", t))
	}
	some := store.Expr("1 = 0")
	every := store.Expr("1 = 0")
	if len(tags) > 0 {
		some, every = with(store.In("tag", tags)), store.And(all...)
	}
	switch name {
	case "tags":
		return every, true
	case "tags-any":
		return some, true
	case "not-tags":
		return store.Not(every), true
	case "not-tags-any":
		return store.Not(some), true
	}
	return store.Cond{}, false
}
