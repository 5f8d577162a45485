package mariadb

// dialect is MariaDB's SQL.
type dialect struct{}

func (dialect) Name() string { return "mariadb" }

// Rebind has nothing to do: MariaDB takes ? marks.
func (dialect) Rebind(sql string) string { return sql }

// JSONText looks at the type first, since unquoting would make a null the text "null".
func (dialect) JSONText(column, member string) string {
	value := "JSON_EXTRACT(" + column + `, '$."` + member + `"')`
	return "IF(JSON_TYPE(" + value + ") = 'NULL', NULL, JSON_UNQUOTE(" + value + ")) COLLATE utf8mb4_nopad_bin"
}

func (dialect) ForUpdate(skipLocked bool) string {
	if skipLocked {
		return " FOR UPDATE SKIP LOCKED"
	}
	return " FOR UPDATE"
}

func (dialect) ForShare() string { return " LOCK IN SHARE MODE" }

// InsertIgnore also makes an error of a value into a warning; who uses it inserts values that fit.
func (dialect) InsertIgnore() (head, tail string) { return "INSERT IGNORE INTO", "" }

func (dialect) Random() string { return "rand()" }

func (dialect) Packed(string) string { return "" }

func (dialect) Body(column string) string { return column }

// Direction needs no word for NULL: it sorts first as it is.
func (dialect) Direction(desc bool) string {
	if desc {
		return " DESC"
	}
	return ""
}
