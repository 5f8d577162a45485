package store

import (
	"math/bits"
	"strings"
)

// Cond is a condition over a table's columns, with ? for each argument; the zero Cond is true.
type Cond struct {
	SQL  string
	Args []any
}

// True tells whether c restricts nothing.
func (c Cond) True() bool { return c.SQL == "" }

// Expr makes a condition of SQL text.
func Expr(sql string, args ...any) Cond { return Cond{SQL: sql, Args: args} }

// Eq compares a column with a value; nil is IS NULL.
func Eq(column string, v any) Cond {
	if v == nil {
		return Cond{SQL: column + " IS NULL"}
	}
	return Cond{SQL: column + " = ?", Args: []any{v}}
}

// MaxIn is how many values one In takes: a statement has at most some 32,000 arguments on SQLite. Longer lists go
// through slices.Chunk.
const MaxIn = 1 << 14

// In is membership; an empty list is false. The last value is repeated up to a power of two, so that lists of
// all lengths share few texts and with them prepared statements. At most MaxIn values.
func In[T any](column string, vs []T) Cond {
	switch len(vs) {
	case 0:
		return Cond{SQL: "1 = 0"}
	case 1:
		return Eq(column, vs[0])
	}
	n := 1 << bits.Len(uint(len(vs)-1))
	args := make([]any, n)
	for i := range args {
		args[i] = vs[min(i, len(vs)-1)]
	}
	return Cond{SQL: column + " IN (" + strings.Repeat("?, ", n-1) + "?)", Args: args}
}

// And joins conditions that all must hold.
func And(cs ...Cond) Cond { return join(" AND ", cs) }

// Or joins conditions of which one must hold; no condition at all is true, as is one that is true.
func Or(cs ...Cond) Cond {
	for _, c := range cs {
		if c.True() {
			return Cond{}
		}
	}
	return join(" OR ", cs)
}

// Not turns a condition round.
func Not(c Cond) Cond {
	if c.True() {
		return Cond{SQL: "1 = 0"}
	}
	return Cond{SQL: "NOT (" + c.SQL + ")", Args: c.Args}
}

func join(op string, cs []Cond) Cond {
	var out Cond
	n := 0
	var b strings.Builder
	for _, c := range cs {
		if c.True() {
			continue
		}
		if n > 0 {
			b.WriteString(op)
		}
		b.WriteString("(" + c.SQL + ")")
		out.Args = append(out.Args, c.Args...)
		n++
	}
	out.SQL = b.String()
	return out
}
