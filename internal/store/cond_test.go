package store

import (
	"slices"
	"strings"
	"testing"
)

func TestConditions(t *testing.T) {
	a, b := Eq("a", 1), Eq("b", nil)
	for _, c := range []struct {
		cond Cond
		sql  string
		args []any
	}{
		{And(), "", nil},
		{And(Cond{}, a), "(a = ?)", []any{1}},
		{And(a, b), "(a = ?) AND (b IS NULL)", []any{1}},
		{Or(a, Cond{}), "", nil},
		{Or(a, Eq("a", 2)), "(a = ?) OR (a = ?)", []any{1, 2}},
		{Not(And(a, b)), "NOT ((a = ?) AND (b IS NULL))", []any{1}},
		{Not(Cond{}), "1 = 0", nil},
		{In("a", []string{}), "1 = 0", nil},
		{In("a", []string{"x"}), "a = ?", []any{"x"}},
		{In("a", []string{"x", "y"}), "a IN (?, ?)", []any{"x", "y"}},
		{In("a", []string{"x", "y", "z"}), "a IN (?, ?, ?, ?)", []any{"x", "y", "z", "z"}},
	} {
		if c.cond.SQL != c.sql || !slices.Equal(c.cond.Args, c.args) {
			t.Errorf("%q %v, want %q %v", c.cond.SQL, c.cond.Args, c.sql, c.args)
		}
		if c.cond.True() != (c.sql == "") {
			t.Errorf("%q is true: %v", c.sql, c.cond.True())
		}
	}
}

// TestTextsAreFew: lists of all lengths share few texts, since each is a prepared statement.
func TestTextsAreFew(t *testing.T) {
	texts := make(map[string]bool)
	for n := range 1000 {
		c := In("a", make([]int, n))
		texts[c.SQL] = true
		if strings.Count(c.SQL, "?") != len(c.Args) {
			t.Fatalf("%d marks for %d arguments", strings.Count(c.SQL, "?"), len(c.Args))
		}
	}
	if len(texts) > 12 {
		t.Errorf("%d texts", len(texts))
	}
}
