package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"isospin/internal/apidef"
	"isospin/internal/fault"
	"isospin/internal/policy"
	"isospin/internal/store"
)

// create answers POST on a collection: one item or a bulk, all or nothing, in one transaction.
func (s *Server) create(w http.ResponseWriter, r *http.Request, e *endpoint, parent string) error {
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	items, many, err := envelope(e.res, body, !e.res.NoBulk)
	if err != nil {
		return err
	}
	ctx := r.Context()
	p := principal(ctx)
	type checked struct{ given, full map[string]json.RawMessage }
	in := make([]checked, len(items))
	for i, it := range items {
		if in[i].given, in[i].full, err = e.attributes(p, it, true); err != nil {
			return err
		}
	}
	if e.Options.Bulk != nil && many {
		bulk := make([]Item, len(in))
		for i := range in {
			bulk[i] = in[i].full
		}
		if err := e.Options.Bulk(bulk); err != nil {
			return err
		}
	}
	if err := s.before(ctx, e, []string{p.ProjectID}); err != nil {
		return err
	}
	var answer []byte
	err = s.transact(ctx, func(tx store.WriteTx) error {
		if parent != "" {
			if err := s.parentSeen(ctx, tx, e, parent); err != nil {
				return err
			}
		}
		rows := make([]store.Row, len(in))
		for i, it := range in {
			if column := e.Options.ParentColumn; parent != "" && column != "" {
				it.full[column] = mustJSON(parent) // for policy, and for the model where it has such a field
			}
			if err := s.referencesSeen(ctx, tx, e, it.full); err != nil {
				return err
			}
			if err := s.mayWrite(ctx, tx, e, "create", it.full, nil); err != nil {
				return s.parentFirst(ctx, tx, e, parent, err)
			}
			row, err := e.Binding.create(ctx, tx, it.given, it.full, parent)
			if err != nil {
				return err
			}
			rows[i] = row
			if err := s.madeTagged(ctx, tx, e, row); err != nil {
				return err
			}
			s.bound(tx, e, row)
		}
		answer, err = s.renderWritten(ctx, tx, e, rows, many)
		return err
	})
	if err != nil {
		return err
	}
	return s.write(w, http.StatusCreated, answer)
}

// update answers PUT on a member.
func (s *Server) update(w http.ResponseWriter, r *http.Request, e *endpoint, parent, id string) error {
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	items, _, err := envelope(e.res, body, false)
	if err != nil {
		return err
	}
	ctx := r.Context()
	want, match, err := ifMatch(r)
	if err != nil {
		return err
	}
	given, _, invalid := e.attributes(principal(ctx), items[0], false)
	var answer []byte
	err = s.transact(ctx, func(tx store.WriteTx) error {
		row, err := s.locked(ctx, tx, e, parent, id)
		if err != nil {
			return err
		}
		if invalid != nil {
			return invalid
		}
		if err := matches(row, want, match); err != nil {
			return err
		}
		if err := s.mayWrite(ctx, tx, e, "update", given, &row); err != nil {
			return err
		}
		if row, err = e.Binding.update(ctx, tx, row, given); err != nil {
			return err
		}
		answer, err = s.renderWritten(ctx, tx, e, []store.Row{row}, false)
		return err
	})
	if err != nil {
		return err
	}
	return s.write(w, http.StatusOK, answer)
}

// delete answers DELETE on a member.
func (s *Server) delete(w http.ResponseWriter, r *http.Request, e *endpoint, parent, id string) error {
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	if len(body) > 0 {
		return fault.HTTPBadRequest("A DELETE takes no body.")
	}
	ctx := r.Context()
	want, match, err := ifMatch(r)
	if err != nil {
		return err
	}
	err = s.transact(ctx, func(tx store.WriteTx) error {
		row, err := s.locked(ctx, tx, e, parent, id)
		if err != nil {
			return err
		}
		if err := matches(row, want, match); err != nil {
			return err
		}
		if err := s.mayWrite(ctx, tx, e, "delete", nil, &row); err != nil {
			return err
		}
		if err := e.remove(ctx, tx, row); err != nil || !s.taggable(e) || len(shownTags(row.Body)) == 0 {
			return err
		}
		return ForgetTags(ctx, tx, row.ID)
	})
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// act answers a member action with what the plugin says.
func (s *Server) act(w http.ResponseWriter, r *http.Request, e *endpoint, id string, a apidef.Action) error {
	if e.Options.Actor == nil {
		return fault.HTTPNotFound("There is nothing at this path.")
	}
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	in := json.RawMessage("null")
	if a.Input != nil {
		if len(body) == 0 {
			return fault.HTTPBadRequest("The request has no body.")
		}
		if in, err = a.Input.Decode(body); err != nil {
			return err
		}
	}
	ctx := r.Context()
	var answer []byte
	err = s.transact(ctx, func(tx store.WriteTx) error {
		row, err := s.locked(ctx, tx, e, "", id)
		if err != nil {
			return err
		}
		if err := s.mayAct(ctx, tx, e, a.Name, in, &row); err != nil {
			return err
		}
		out, err := e.Options.Actor.Act(ctx, tx, id, a.Name, in)
		if err != nil {
			return err
		}
		if m, ok := out.(Member); ok {
			row, err := e.Binding.row(m.Value)
			if err != nil {
				return err
			}
			answer, err = s.renderWritten(ctx, tx, e, []store.Row{row}, false)
			return err
		}
		answer, err = json.Marshal(out)
		return err
	})
	if err != nil {
		return err
	}
	return s.write(w, http.StatusOK, answer)
}

// rounds bounds how often a write begins anew because others changed rows that it had read without keeping them.
const rounds = 20

// transact runs a request's transaction; where rows that it looked at have changed or gone by the time it writes them, it
// begins anew and sees what is there now.
func (s *Server) transact(ctx context.Context, fn func(store.WriteTx) error) error {
	for round := 1; ; round++ {
		err := s.Store.Write(ctx, fn)
		var over *store.Over
		if asType(err, &over) {
			return fault.OverQuotaFault("['" + over.Kind + "']")
		}
		if round == rounds || !store.IsStale(err) && (!store.IsNotFound(err) || fault.IsNotFound(err)) {
			return err
		}
	}
}

// bound holds a create to what the owner of the new row may have.
func (s *Server) bound(tx store.WriteTx, e *endpoint, row store.Row) {
	if s.Quota == nil || !e.res.Quota || !s.Registry.Enabled("quotas") {
		return
	}
	tx.Bound(e.res.Name, row.Project, s.Quota(e.res.Name))
	for _, kind := range e.Options.Uses {
		tx.Bound(kind, row.Project, s.Quota(kind))
	}
}

// mayAct judges a member action by the rule of its own name, and by those of the attributes that it gives under the resource's name and
// of their keys; one without a rule by that of an update.
func (s *Server) mayAct(ctx context.Context, tx store.Tx, e *endpoint, action string, in json.RawMessage, row *store.Row) error {
	if !s.Policy.Has(action) {
		action = "update_" + e.res.Name
	}
	ts, err := e.targets(ctx, tx, []store.Row{*row})
	if err != nil {
		return err
	}
	rules := []string{action}
	var outer map[string]map[string]json.RawMessage
	if json.Unmarshal(in, &outer) == nil { // an action whose body is of another shape gives no attributes
		for name, raw := range outer[e.res.Name] {
			rules = append(rules, action+":"+name)
			for _, key := range subKeys(raw) {
				rules = append(rules, action+":"+name+":"+key)
			}
		}
	}
	for i, rule := range rules {
		if (i == 0 || s.Policy.Has(rule)) && !s.Policy.Allow(principal(ctx), rule, ts[0]) {
			return fault.PolicyNotAuthorized(rule)
		}
	}
	return nil
}

// locked reads a member for a write; what the caller may not see does not exist.
func (s *Server) locked(ctx context.Context, tx store.WriteTx, e *endpoint, parent, id string) (store.Row, error) {
	if e.parent != nil { // first, so that nobody learns what is below a parent that is hidden from it
		if err := s.parentSeen(ctx, tx, e, parent); err != nil {
			return store.Row{}, err
		}
	}
	if !plain(id) {
		return store.Row{}, e.notFound(id)
	}
	row, err := e.lock(ctx, tx, e.rowID(parent, id))
	if err != nil {
		if isMissing(err) {
			err = e.notFound(id)
		}
		return row, err
	}
	if e.parent != nil {
		if above, ok := textMember(row.Body, e.Options.ParentColumn); ok && above != parent {
			return row, e.notFound(id)
		}
	}
	_, ok, err := s.seen(ctx, tx, e, row)
	if err == nil && !ok {
		err = e.notFound(id)
	}
	return row, err
}

// rowID is the id of the row that an id in a URL stands for.
func (e *endpoint) rowID(parent, id string) string {
	if e.Options.RowID == nil {
		return id
	}
	return e.Options.RowID(parent, id)
}

// parentFirst is the parent's 404 in place of a refusal, where the parent has gone since it was seen: no rule lets anybody then.
func (s *Server) parentFirst(ctx context.Context, tx store.Tx, e *endpoint, parent string, refused error) error {
	if parent == "" {
		return refused
	}
	if err := s.parentSeen(ctx, tx, e, parent); err != nil {
		return err
	}
	return refused
}

// parentSeen checks the member above a sub-resource.
func (s *Server) parentSeen(ctx context.Context, tx store.Tx, e *endpoint, id string) error {
	if !plain(id) {
		return e.parent.notFound(id)
	}
	rows, err := e.parent.table.Bodies(ctx, tx, store.List{Where: store.Eq("id", id)})
	if err != nil {
		return err
	}
	if len(rows) == 1 {
		_, ok, err := s.seen(ctx, tx, e.parent, rows[0])
		if err != nil || ok {
			return err
		}
	}
	return e.parent.notFound(id)
}

// referencesSeen answers 404 for a create below a parent (a port's network) that the caller may not see.
func (s *Server) referencesSeen(ctx context.Context, tx store.Tx, e *endpoint, full map[string]json.RawMessage) error {
	for _, p := range e.Options.Parents {
		raw, ok := full[p.Ref]
		up := s.byTable[p.Table.TableName()]
		if !ok || p.Missing == nil || up == nil || string(raw) == "null" ||
			s.Policy.Verdict(principal(ctx), "get_"+up.noun) == policy.Always {
			continue // the controller, who needs the parent anyway, finds out whether it exists
		}
		id := text(raw)
		rows, err := up.table.Bodies(ctx, tx, store.List{Where: store.Eq("id", id)})
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return p.Missing(id)
		}
		if _, ok, err := s.seen(ctx, tx, up, rows[0]); err != nil || !ok {
			if err == nil {
				err = p.Missing(id)
			}
			return err
		}
	}
	return nil
}

// ifMatch reads "If-Match: revision_number=N"; other entity tags are ignored (behaviour.md, section 7).
func ifMatch(r *http.Request) (revision int64, given bool, err error) {
	for _, h := range r.Header.Values("If-Match") {
		n, ok := strings.CutPrefix(strings.TrimSpace(h), "revision_number=")
		if !ok {
			continue
		}
		revision, err = strconv.ParseInt(strings.TrimSpace(n), 10, 64)
		if err != nil {
			return 0, false, fault.HTTPBadRequest("If-Match wants revision_number=N with a whole number.")
		}
		return revision, true, nil
	}
	return 0, false, nil
}

func matches(row store.Row, want int64, given bool) error {
	if !given {
		return nil
	}
	have, ok := member(row.Body, "revision_number")
	if !ok || string(have) != strconv.FormatInt(want, 10) {
		return fault.RevisionNumberConstraintFailed(strconv.FormatInt(want, 10), row.ID)
	}
	return nil
}

// plain tells whether text can be an identifier in the database at all.
func plain(id string) bool {
	if id == "" || len(id) > 255 {
		return false
	}
	for _, c := range id {
		if c < 0x20 || c == 0xFFFD {
			return false
		}
	}
	return true
}
