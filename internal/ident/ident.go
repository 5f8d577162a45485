// Package ident makes identifiers an argument: UUIDs for rows, MAC addresses for ports and secrets for
// credentials. Services take a Source; only assemble passes Random. It never looks at the database:
// whoever stores an identifier finds out whether it is taken.
package ident

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net"
	"sync/atomic"

	"github.com/google/uuid"
)

// Source makes identifiers. All methods are safe for concurrent use.
type Source interface {
	// UUID is a new identifier in the canonical text form of 36 characters.
	UUID() string
	// MAC is an address whose first octets are those of base (all that are not zero, three at least, as
	// Neutron's base_mac is read).
	MAC(base net.HardwareAddr) net.HardwareAddr
	// Secret is URL-safe text that holds n random bytes.
	Secret(n int) string
	// Uint64 is a random number; for spreading load, not for secrets.
	Uint64() uint64
}

// Random draws from the machine's random source.
type Random struct{}

// UUID is a random (version 4) UUID.
func (Random) UUID() string { return uuid.NewString() }

// MAC keeps base's leading octets and draws the rest.
func (Random) MAC(base net.HardwareAddr) net.HardwareAddr {
	var tail [6]byte
	_, _ = rand.Read(tail[:]) // crypto/rand.Read never fails: it ends the process instead.
	return compose(base, tail)
}

// Secret is base64url without padding.
func (Random) Secret(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return base64.RawURLEncoding.EncodeToString(b)
}

// Uint64 draws eight bytes.
func (Random) Uint64() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return binary.BigEndian.Uint64(b[:])
}

// Counter gives 1, 2, 3, ... in every form, for tests that compare output.
type Counter struct{ n atomic.Uint64 }

// UUID is the count in the last group.
func (c *Counter) UUID() string { return fmt.Sprintf("00000000-0000-4000-8000-%012x", c.n.Add(1)) }

// MAC is the count below base.
func (c *Counter) MAC(base net.HardwareAddr) net.HardwareAddr {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], c.n.Add(1))
	return compose(base, [6]byte(b[2:]))
}

// Secret is the count as text; n is not looked at.
func (c *Counter) Secret(int) string { return fmt.Sprintf("secret-%d", c.n.Add(1)) }

// Uint64 is the count.
func (c *Counter) Uint64() uint64 { return c.n.Add(1) }

func compose(base net.HardwareAddr, tail [6]byte) net.HardwareAddr {
	mac := make(net.HardwareAddr, 6)
	copy(mac, tail[:])
	for i := 0; i < 6 && i < len(base); i++ {
		if i >= 3 && base[i] == 0 {
			break
		}
		mac[i] = base[i]
	}
	return mac
}

var (
	_ Source = Random{}
	_ Source = (*Counter)(nil)
)

// Derived is the identifier that a name always has below another identifier (a version 5 UUID); an error for a namespace that
// is no UUID.
func Derived(namespace, name string) (string, error) {
	space, err := uuid.Parse(namespace)
	if err != nil {
		return "", fmt.Errorf("derive an identifier: %w", err)
	}
	return uuid.NewSHA1(space, []byte(name)).String(), nil
}
