package agent

import (
	"errors"
	"regexp"
	"sync"
)

var (
	errFine = errors.New("fine")
	counter = 0
	table   = map[string]int{}
	lock    sync.Mutex
	cache   = newCache()
	pattern = regexp.MustCompile("x")
)

func newCache() any {
	counter++
	table["x"] = 1
	local := 0
	local++
	return []any{errFine, pattern, local, cache}
}
