package netns_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"isospin/internal/dataplane/netns"
)

func BenchmarkDo(b *testing.B) {
	n := fmt.Sprintf("tb%d", os.Getpid())
	if err := netns.Create(n); err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := netns.Delete(n); err != nil {
			b.Error(err)
		}
	}()
	b.Run("enter", func(b *testing.B) {
		for b.Loop() {
			if err := netns.Do(b.Context(), n, func(context.Context) error { return nil }); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("handle", func(b *testing.B) {
		for b.Loop() {
			h, err := netns.Handle(b.Context(), n)
			if err != nil {
				b.Fatal(err)
			}
			h.Close()
		}
	})
	b.Run("create and delete", func(b *testing.B) {
		for b.Loop() {
			if err := errors.Join(netns.Create(n+"x"), netns.Delete(n+"x")); err != nil {
				b.Fatal(err)
			}
		}
	})
}
