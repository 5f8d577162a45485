package ident

import (
	"net"
	"strings"
	"testing"
)

func TestMACKeepsTheBase(t *testing.T) {
	for base, want := range map[string]string{
		"fa:16:3e:00:00:00": "fa:16:3e:",
		"fa:16:3e:4f:00:00": "fa:16:3e:4f:",
	} {
		b, err := net.ParseMAC(base)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []Source{Random{}, &Counter{}} {
			if got := s.MAC(b).String(); !strings.HasPrefix(got, want) {
				t.Errorf("%T: MAC(%s) = %s", s, base, got)
			}
		}
	}
}

func TestSecretsAndUUIDsDiffer(t *testing.T) {
	s := Random{}
	if a, b := s.Secret(24), s.Secret(24); a == b || len(a) != 32 {
		t.Errorf("secrets %q and %q", a, b)
	}
	if a, b := s.UUID(), s.UUID(); a == b || len(a) != 36 {
		t.Errorf("UUIDs %q and %q", a, b)
	}
}

// TestDerived: values of Python's uuid.uuid5, which other services compute too.
func TestDerived(t *testing.T) {
	got, err := Derived("6ba7b810-9dad-11d1-80b4-00c04fd430c8", "python.org")
	if err != nil || got != "886313e1-3b8a-5372-9b90-0c9aee199e5d" {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := Derived("nope", "python.org"); err == nil {
		t.Errorf("a namespace that is no UUID gave %s", got)
	}
}
