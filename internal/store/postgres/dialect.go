package postgres

import (
	"strconv"
	"strings"
	"sync"
)

// dialect is PostgreSQL's SQL.
type dialect struct {
	rebound *sync.Map // text with ? -> text with $1, $2, ...; the texts are constant, so they are few
}

func (dialect) Name() string { return "postgres" }

// Rebind numbers the marks; those inside quotes are text.
func (d dialect) Rebind(sql string) string {
	if v, ok := d.rebound.Load(sql); ok {
		return v.(string)
	}
	out := rebind(sql)
	d.rebound.Store(strings.Clone(sql), out)
	return out
}

func rebind(sql string) string {
	var b strings.Builder
	n := 0
	var quote byte
	for i := range len(sql) {
		c := sql[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '?':
			n++
			b.WriteByte('$')
			b.WriteString(strconv.Itoa(n))
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// JSONText casts: bodies are text, so that their bytes stay what they are.
func (dialect) JSONText(column, member string) string {
	return "(" + column + "::json ->> '" + member + "') COLLATE \"C\""
}

func (dialect) ForUpdate(skipLocked bool) string {
	if skipLocked {
		return " FOR UPDATE SKIP LOCKED"
	}
	return " FOR UPDATE"
}

func (dialect) ForShare() string { return " FOR SHARE" }

func (dialect) InsertIgnore() (head, tail string) { return "INSERT INTO", "ON CONFLICT DO NOTHING" }

func (dialect) Random() string { return "random()" }

func (dialect) Packed(string) string { return "" }

func (dialect) Body(column string) string { return column }

func (dialect) Direction(desc bool) string {
	if desc {
		return " DESC NULLS LAST"
	}
	return " NULLS FIRST"
}
