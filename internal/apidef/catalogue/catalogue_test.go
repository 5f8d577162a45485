package catalogue

import "testing"

func TestServedBuilds(t *testing.T) {
	if _, err := Build(Served()); err != nil {
		t.Fatal(err)
	}
}
