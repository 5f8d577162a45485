package rest

import (
	"bytes"
	"context"
	"encoding/json"

	"isospin/internal/policy"
	"isospin/internal/store"
)

// wrap makes {"name": value}.
func wrap(name string, value []byte) []byte {
	out := make([]byte, 0, len(value)+len(name)+5)
	out = append(out, `{"`...)
	out = append(out, name...)
	out = append(out, `":`...)
	out = append(out, value...)
	return append(out, '}')
}

// renderWritten makes the answer to a create or update.
func (s *Server) renderWritten(ctx context.Context, tx store.Tx, e *endpoint, rows []store.Row, many bool) ([]byte, error) {
	items, err := s.render(ctx, tx, e, rows, nil)
	if err != nil {
		return nil, err
	}
	if many {
		return wrap(e.res.Collection, items), nil
	}
	return wrap(e.res.Name, items[1:len(items)-1]), nil
}

// renderList makes the answer to a list: the rows, with the links to other pages if there are any. Answers are long: the text is
// written once.
func (s *Server) renderList(ctx context.Context, tx store.Tx, e *endpoint, rows []store.Row, fields []string, links []byte) ([]byte, error) {
	out, err := s.renderTo(ctx, tx, e, rows, fields, `{"`+e.res.Collection+`":`, len(links)+len(e.res.Collection)+16)
	if err != nil {
		return nil, err
	}
	if links != nil {
		out = append(append(append(out, `,"`+e.res.Collection+`_links":`...), links...), '}')
		return out, nil
	}
	return append(out, '}'), nil
}

// render makes the JSON list of rows for the caller: spliced, then cut down to what the caller may and wants to see.
func (s *Server) render(ctx context.Context, tx store.Tx, e *endpoint, rows []store.Row, fields []string) ([]byte, error) {
	return s.renderTo(ctx, tx, e, rows, fields, "", 0)
}

// renderTo is render behind a head, with room for so many bytes behind the list.
func (s *Server) renderTo(ctx context.Context, tx store.Tx, e *endpoint, rows []store.Row, fields []string, head string, room int) ([]byte, error) {
	p := principal(ctx)
	drop := map[string]bool{}
	for name := range e.hidden {
		drop[name] = true
	}
	var perRow []string
	for _, read := range e.strip {
		switch s.Policy.Verdict(p, read.rule) {
		case policy.Never:
			drop[read.name] = true
		case policy.Depends:
			perRow = append(perRow, read.name)
		}
	}
	var only map[string]bool
	if len(fields) > 0 {
		only = map[string]bool{}
		for _, f := range fields {
			only[f] = true
		}
	}
	wants := func(name string) bool { return !drop[name] && (only == nil || only[name]) }
	page := &Page{Rows: rows, Wants: wants}
	if e.Options.Splicer != nil && len(rows) > 0 {
		if err := e.Options.Splicer.Splice(ctx, tx, page); err != nil {
			return nil, err
		}
	}
	var ts []*target
	if len(perRow) > 0 && len(rows) > 0 {
		page.fold() // rules may look at what was added
		var err error
		if ts, err = e.targets(ctx, tx, rows); err != nil {
			return nil, err
		}
	}
	patterns := make([][]byte, 0, len(drop))
	for name := range drop {
		patterns = append(patterns, []byte(`"`+name+`":`))
	}
	size := len(head) + 2 + room
	for i, r := range rows {
		size += len(r.Body) + len(page.added(i)) + 1
	}
	out := append(append(make([]byte, 0, size), head...), '[')
	for i, r := range rows {
		if i > 0 {
			out = append(out, ',')
		}
		more := page.added(i)
		if only == nil && len(perRow) == 0 && !holdsAny(r.Body, patterns) && !holdsAny(more, patterns) {
			out = whole(out, r.Body, more)
			continue
		}
		out = project(out, whole(nil, r.Body, more), s.keep(ctx, e, drop, only, perRow, ts, i))
	}
	return append(out, ']'), nil
}

// holdsAny tells whether one of the members may be in the body: most of what is never shown is hardly ever stored, and
// to look for it costs less than to copy the rest member by member.
func holdsAny(body []byte, patterns [][]byte) bool {
	for _, p := range patterns {
		if bytes.Contains(body, p) {
			return true
		}
	}
	return false
}

// keep is the filter of one row's members; nil keeps all.
func (s *Server) keep(ctx context.Context, e *endpoint, drop, only map[string]bool, perRow []string, ts []*target, i int) func([]byte) bool {
	if len(drop) == 0 && only == nil && len(perRow) == 0 {
		return nil
	}
	var hidden map[string]bool
	for _, name := range perRow {
		if !s.Policy.Allow(principal(ctx), "get_"+e.noun+":"+name, ts[i]) {
			if hidden == nil {
				hidden = map[string]bool{}
			}
			hidden[name] = true
		}
	}
	return func(key []byte) bool {
		return !drop[string(key)] && !hidden[string(key)] && (only == nil || only[string(key)])
	}
}

// mustJSON encodes values that cannot fail to encode: texts, numbers, lists and maps of them.
func mustJSON(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return raw
}
