package identity

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"time"
)

// claims is what a token says. Text fields hold at most 255 bytes.
type claims struct {
	user    string
	scope   Scope
	methods []string
	issued  time.Time // microseconds count
	expires time.Time
	audit   string // of this token
	origin  string // audit of the token that it was made from; empty for a first one
}

const tokenVersion = 1

var errToken = errors.New("identity: not a valid token")

// The methods that a token can tell of, a bit each.
const (
	byPassword byte = 1 << iota
	byToken
)

// seal writes the claims and their HMAC as URL-safe text.
func (c claims) seal(key []byte) string {
	b := make([]byte, 0, 256)
	b = append(b, tokenVersion, byte(c.scope.kind()), c.bits())
	b = binary.BigEndian.AppendUint64(b, uint64(c.issued.UnixMicro()))
	b = binary.BigEndian.AppendUint64(b, uint64(c.expires.UnixMicro()))
	for _, s := range []string{c.user, c.scope.ProjectID + c.scope.DomainID, c.audit, c.origin} {
		b = append(b, byte(len(s)))
		b = append(b, s...)
	}
	return base64.RawURLEncoding.EncodeToString(mac(key, b, b))
}

// mac appends the HMAC of msg to dst.
func mac(key, msg, dst []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(msg)
	return h.Sum(dst)
}

func (c claims) bits() byte {
	var m byte
	for _, s := range c.methods {
		switch s {
		case "password":
			m |= byPassword
		case "token":
			m |= byToken
		}
	}
	return m
}

// open checks the HMAC, then reads the claims. It does not look at the times.
func open(token string, key []byte) (claims, error) {
	var c claims
	if len(token) > 2048 {
		return c, errToken
	}
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(b) < 19+sha256.Size {
		return c, errToken
	}
	body, sum := b[:len(b)-sha256.Size], b[len(b)-sha256.Size:]
	if !hmac.Equal(mac(key, body, nil), sum) || body[0] != tokenVersion {
		return c, errToken
	}
	kind, bits := scopeKind(body[1]), body[2]
	c.issued = time.UnixMicro(int64(binary.BigEndian.Uint64(body[3:]))).UTC()
	c.expires = time.UnixMicro(int64(binary.BigEndian.Uint64(body[11:]))).UTC()
	body = body[19:]
	var scope string
	for _, to := range []*string{&c.user, &scope, &c.audit, &c.origin} {
		if len(body) == 0 || len(body) < 1+int(body[0]) {
			return c, errToken
		}
		n := 1 + int(body[0])
		*to, body = string(body[1:n]), body[n:]
	}
	switch kind {
	case projectScope:
		c.scope.ProjectID = scope
	case domainScope:
		c.scope.DomainID = scope
	case systemScope:
		c.scope.System = true
	}
	if bits&byToken != 0 {
		c.methods = append(c.methods, "token")
	}
	if bits&byPassword != 0 {
		c.methods = append(c.methods, "password")
	}
	return c, nil
}
