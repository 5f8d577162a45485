package catalogue

import "testing"

// TestTextsAreBounded: a text that a request writes has a bound, since columns have one: without it PostgreSQL and MariaDB
// refuse the row, and the caller gets a server error for what was his own mistake.
func TestTextsAreBounded(t *testing.T) {
	reg, err := Build(Served())
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, r := range reg.Resources() {
		for _, a := range r.Attributes {
			if a.Post == 0 && a.Put == 0 {
				continue
			}
			s := a.Type.Schema()
			if s["type"] != "string" || s["enum"] != nil || s["format"] != nil || s["pattern"] != nil {
				continue
			}
			seen++
			if s["maxLength"] == nil {
				t.Errorf("%s of %s takes a text of any length", a.Name, r.Name)
			}
		}
	}
	if seen < 40 {
		t.Errorf("%d texts were looked at", seen)
	}
}
