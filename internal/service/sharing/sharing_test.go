package sharing

import (
	"context"
	"testing"

	"isospin/internal/auth"
	"isospin/internal/model"
	"isospin/internal/store"
	"isospin/internal/store/engine"
	"isospin/internal/store/open"
)

// shared opens a database in which owner's objects are shared: "one" with the project friend, "all" with everybody, "ext" as
// an external network with everybody, "none" with nobody.
func shared(t *testing.T) *engine.Engine {
	t.Helper()
	st, err := open.Open(t.Context(), "sqlite://", open.Options{Upgrade: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	err = st.Write(t.Context(), func(tx store.WriteTx) error {
		for _, p := range []model.RBACPolicy{
			{ID: "1", ProjectID: "owner", ObjectType: "network", ObjectID: "one", Action: AsShared, TargetTenant: "friend"},
			{ID: "2", ProjectID: "owner", ObjectType: "network", ObjectID: "all", Action: AsShared, TargetTenant: Everyone},
			{ID: "3", ProjectID: "owner", ObjectType: "network", ObjectID: "ext", Action: AsExternal, TargetTenant: Everyone},
		} {
			if err := NewPolicies().Insert(t.Context(), tx, &p); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func as(t *testing.T, project string, roles ...string) context.Context {
	return auth.With(t.Context(), &auth.Principal{ProjectID: project, Roles: roles})
}

// TestUsable: who may refer to an object of the project owner.
func TestUsable(t *testing.T) {
	st := shared(t)
	for _, c := range []struct {
		who, object string
		ctx         context.Context
		want        bool
	}{
		{"the owner", "none", as(t, "owner", "member"), true},
		{"a friend", "one", as(t, "friend", "member"), true},
		{"a stranger", "one", as(t, "stranger", "member"), false},
		{"a stranger", "all", as(t, "stranger", "member"), true},
		{"a stranger", "ext", as(t, "stranger", "member"), false},
		{"a stranger", "none", as(t, "stranger", "member"), false},
		{"an administrator", "none", as(t, "stranger", auth.RoleAdmin), true},
		{"a service", "none", as(t, "stranger", auth.RoleService), true},
		{"the server itself", "none", t.Context(), true},
	} {
		var got bool
		err := st.Read(c.ctx, func(tx store.Tx) (err error) {
			got, err = Usable(c.ctx, tx, "owner", c.object)
			return err
		})
		if err != nil || got != c.want {
			t.Errorf("%s may refer to %s: %v %v", c.who, c.object, got, err)
		}
	}
}

// TestFacts: what policy is told of objects, in one statement for all.
func TestFacts(t *testing.T) {
	st := shared(t)
	for project, want := range map[string]map[string][2]string{
		"friend":   {"one": {"true", "false"}, "all": {"true", "false"}, "ext": {"false", "true"}, "none": {"false", "false"}},
		"stranger": {"one": {"false", "false"}, "all": {"true", "false"}, "ext": {"false", "true"}, "none": {"false", "false"}},
		"owner":    {"one": {"false", "false"}, "all": {"true", "false"}, "ext": {"false", "true"}, "none": {"false", "false"}},
	} {
		ctx := as(t, project, "member")
		before := st.Stats().Statements
		var facts map[string]map[string]string
		err := st.Read(ctx, func(tx store.Tx) (err error) {
			facts, err = Facts(ctx, tx, []string{"one", "all", "ext", "none"})
			return err
		})
		if err != nil || st.Stats().Statements != before+1 {
			t.Fatalf("%d statements, %v", st.Stats().Statements-before, err)
		}
		for id, w := range want {
			if got := facts[id]; got["shared"] != w[0] || got["router:external"] != w[1] {
				t.Errorf("%s for %s: %v", id, project, got)
			}
		}
	}
}

// TestVisible: the condition finds what is the caller's and what is shared with it, in whatever way.
func TestVisible(t *testing.T) {
	st := shared(t)
	for project, want := range map[string]int{"owner": 4, "friend": 3, "stranger": 2} {
		ctx := as(t, project, "member")
		cond := Visible(ctx, "network")
		n := 0
		err := st.Read(ctx, func(tx store.Tx) error {
			const objects = "(SELECT 'one' AS id, 'owner' AS project_id UNION SELECT 'all', 'owner' UNION SELECT 'ext', 'owner' UNION SELECT 'none', 'owner') AS o"
			return store.Each(ctx, tx, store.Q("SELECT id FROM "+objects+" WHERE "+cond.SQL, cond.Args...), func(scan func(...any) error) error {
				var id string
				n++
				return scan(&id)
			})
		})
		if err != nil || n != want {
			t.Errorf("%s sees %d, not %d: %v", project, n, want, err)
		}
	}
}
