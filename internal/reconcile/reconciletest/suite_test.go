package reconciletest

import (
	"errors"
	"testing"

	"isospin/internal/reconcile"
)

func TestMemoryConforms(t *testing.T) {
	Run(t, Subject[string, int]{
		New: func(*testing.T) World[string, int] {
			m := &reconcile.Memory[string, int]{Refuse: func(_ string, v int) error {
				if v < 0 {
					return errors.New("negative")
				}
				return nil
			}}
			return World[string, int]{
				Open: func() reconcile.Driver[string, int] { return m },
				Meddle: func(k string) {
					m.Meddle(func(objects map[string]int) {
						if objects[k] > 2 {
							delete(objects, k)
							return
						}
						objects[k] += 100
					})
				},
			}
		},
		Equal:   func(a, b int) bool { return a == b },
		Objects: map[string][]int{"a": {1, 2}, "b": {3}, "c": {4, 5, 6}, "d": {7}},
		Bad:     map[string]int{"e": -1},
	})
}
