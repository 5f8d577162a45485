package migrate

import (
	"slices"
	"strings"
	"testing"
)

func TestRender(t *testing.T) {
	const text = "-- why\nCREATE TABLE a (\n    -- inside\n    id {{.Key 36}} NOT NULL,\n    body {{.Body}}\n){{.Table}};\n\nDROP TABLE b;\n"
	for dialect, want := range map[string][]string{
		"sqlite":   {"CREATE TABLE a (\n    id TEXT NOT NULL,\n    body TEXT\n)", "DROP TABLE b"},
		"postgres": {"CREATE TABLE a (\n    id VARCHAR(36) COLLATE \"C\" NOT NULL,\n    body TEXT\n)", "DROP TABLE b"},
		"mariadb": {
			"CREATE TABLE a (\n    id VARCHAR(36) NOT NULL,\n    body LONGTEXT\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin",
			"DROP TABLE b",
		},
	} {
		w, _, err := wordsOf(dialect)
		if err != nil {
			t.Fatal(err)
		}
		got, err := render("a.sql", []byte(text), w)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", dialect, got, err)
		}
		for _, wrong := range []string{"CREATE TABLE a (", "{{.Wrong}};", "{{"} {
			if got, err := render("a.sql", []byte(wrong), w); err == nil {
				t.Errorf("%s: %q gave %q", dialect, wrong, got)
			}
		}
	}
	if _, _, err := wordsOf("oracle"); err == nil || !strings.Contains(err.Error(), "oracle") {
		t.Errorf("an unknown dialect: %v", err)
	}
}
