//go:build conformance

package conformance

import (
	"fmt"
	"testing"
)

// TestGrammarLong: 100,000 requests from fixed seeds.
func TestGrammarLong(t *testing.T) {
	for seed := range 10 {
		t.Run(fmt.Sprint(seed+100), func(t *testing.T) { storm(t, uint64(seed+100), 10000) })
	}
}
