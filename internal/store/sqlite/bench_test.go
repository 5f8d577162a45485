package sqlite_test

import (
	"testing"

	"isospin/internal/store/storetest"
)

func BenchmarkStore(b *testing.B) { storetest.Bench(b, onFile) }
