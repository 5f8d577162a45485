// Package hostcred keeps the authority of host sessions and which hosts were enrolled: it signs the certificates of hosts and of
// the servers' session listeners, and tells which of them still count. `isospin host` and the session listener call
// it. Private keys of hosts leave it in the enrolment and are kept nowhere.
package hostcred

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"

	"isospin/internal/change"
	"isospin/internal/clock"
	"isospin/internal/store"
	"isospin/internal/wire"
)

// KindCredential is the kind of the change that tells servers to look at a host's credential again.
const KindCredential = "credential"

// The lives of certificates. A host's is ended by revoking it.
const (
	authorityLife = 30 * 365 * 24 * time.Hour
	hostLife      = 10 * 365 * 24 * time.Hour
	serverLife    = 10 * 365 * 24 * time.Hour
	leeway        = time.Hour // for clocks that differ
)

// ErrRefused says that a certificate does not open a host's session; its text says why.
var ErrRefused = errors.New("the certificate does not count")

// Keeper is the authority and the list of hosts. Safe for concurrent use; everything is in the database.
type Keeper struct {
	store store.Store
	clock clock.Clock
}

// New makes a keeper on the cloud's database.
func New(st store.Store, c clock.Clock) *Keeper { return &Keeper{store: st, clock: c} }

// authority is the pair that signs.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func (a *authority) pem() string { return block("CERTIFICATE", a.cert.Raw) }

func block(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// authority reads the cloud's authority, or makes it: the first server to insert its row wins, and the others take that one.
func (k *Keeper) authority(ctx context.Context) (*authority, error) {
	a, err := k.stored(ctx)
	if a != nil || err != nil {
		return a, err
	}
	fresh, der, err := k.fresh()
	if err != nil {
		return nil, err
	}
	err = k.store.Write(ctx, func(tx store.WriteTx) error {
		head, tail := tx.Dialect().InsertIgnore()
		_, err := tx.Exec(ctx, store.Q(head+" authority (id, certificate, private_key) VALUES (1, ?, ?) "+tail, fresh.cert.Raw, der))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("keep the authority of host sessions: %w", err)
	}
	return k.stored(ctx)
}

func (k *Keeper) stored(ctx context.Context) (*authority, error) {
	var a *authority
	err := k.store.Read(ctx, func(tx store.Tx) error {
		a = nil
		return store.Each(ctx, tx, store.Q("SELECT certificate, private_key FROM authority WHERE id = 1"), func(scan func(...any) error) error {
			var cert, key []byte
			if err := scan(&cert, &key); err != nil {
				return err
			}
			c, err := x509.ParseCertificate(cert)
			if err != nil {
				return err
			}
			p, err := x509.ParseECPrivateKey(key)
			a = &authority{cert: c, key: p}
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read the authority of host sessions: %w", err)
	}
	return a, nil
}

func (k *Keeper) fresh() (*authority, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := newSerial()
	if err != nil {
		return nil, nil, err
	}
	now := k.clock.Now()
	t := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: "Isospin host sessions"}, NotBefore: now.Add(-leeway),
		NotAfter: now.Add(authorityLife), IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign}
	raw, err := x509.CreateCertificate(rand.Reader, t, t, &key.PublicKey, key)
	if err != nil {
		return nil, nil, err
	}
	cert, err := x509.ParseCertificate(raw)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	return &authority{cert: cert, key: key}, der, err
}

func newSerial() (*big.Int, error) {
	return rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
}

// sign makes a key pair and a certificate for it.
func (k *Keeper) sign(a *authority, t *x509.Certificate, life time.Duration) (cert []byte, key *ecdsa.PrivateKey, err error) {
	if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, nil, err
	}
	if t.SerialNumber, err = newSerial(); err != nil {
		return nil, nil, err
	}
	now := k.clock.Now()
	t.NotBefore, t.NotAfter, t.KeyUsage = now.Add(-leeway), now.Add(life), x509.KeyUsageDigitalSignature
	cert, err = x509.CreateCertificate(rand.Reader, t, a.cert, &key.PublicKey, a.key)
	return cert, key, err
}

// ServerTLS is the configuration of a session listener: a certificate signed just now, good for the fixed name that agents verify
// and for the addresses, and the demand for a host's certificate. refused is told of clients whose certificate the
// authority did not sign, whose handshake fails.
func (k *Keeper) ServerTLS(ctx context.Context, addresses []string, refused func(peer string, err error)) (*tls.Config, error) {
	a, err := k.authority(ctx)
	if err != nil {
		return nil, err
	}
	t := &x509.Certificate{Subject: pkix.Name{CommonName: wire.ServerName}, DNSNames: []string{wire.ServerName}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	for _, address := range addresses {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			host = address
		}
		if ip := net.ParseIP(host); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else if host != "" {
			t.DNSNames = append(t.DNSNames, host)
		}
	}
	cert, key, err := k.sign(a, t, serverLife)
	if err != nil {
		return nil, fmt.Errorf("sign the certificate of the session listener: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{cert}, PrivateKey: key}},
		ClientCAs:    roots,
		// Verified below and not by the library, which would fail the handshake without a word to the log.
		ClientAuth: tls.RequireAnyClientCert,
		MinVersion: tls.VersionTLS13,
		NextProtos: []string{"h2"},
		Time:       k.clock.Now,
		// Sessions that are resumed would pass by VerifyPeerCertificate.
		SessionTicketsDisabled: true,
		VerifyPeerCertificate: func(raw [][]byte, _ [][]*x509.Certificate) error {
			name, err := k.verify(roots, raw)
			if err != nil {
				refused(name, err)
			}
			return err
		},
	}, nil
}

func (k *Keeper) verify(roots *x509.CertPool, raw [][]byte) (name string, err error) {
	if len(raw) == 0 {
		return "", ErrRefused
	}
	leaf, err := x509.ParseCertificate(raw[0])
	if err != nil {
		return "", err
	}
	_, err = leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: k.clock.Now(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	return leaf.Subject.CommonName, err
}

// Check tells whether the certificate with this serial number (hexadecimal) still opens the host's session; the error wraps
// ErrRefused when it does not.
func (k *Keeper) Check(ctx context.Context, host, serial string) error {
	h, found, err := k.host(ctx, host)
	switch {
	case err != nil:
		return err
	case !found:
		return fmt.Errorf("%w: host %s was never enrolled", ErrRefused, host)
	case h.Revoked != 0:
		return fmt.Errorf("%w: host %s was revoked", ErrRefused, host)
	case h.Serial != serial:
		return fmt.Errorf("%w: host %s was enrolled anew since", ErrRefused, host)
	}
	return nil
}

// Serial is how a certificate's serial number is written here.
func Serial(c *x509.Certificate) string { return c.SerialNumber.Text(16) }

func changed(tx store.WriteTx, host string) {
	tx.Changed(change.Key{Kind: KindCredential, ID: host}, change.NewSet(wire.FamilyHost, host))
}
