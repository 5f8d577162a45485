package hostcred

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"isospin/internal/store"
	"isospin/internal/wire"
)

// Host is one enrolled host. Times are Unix milliseconds, Revoked 0 while its certificate counts.
type Host struct {
	Name     string `json:"name"`
	Serial   string `json:"serial"`
	Enrolled int64  `json:"enrolled_at"`
	Revoked  int64  `json:"revoked_at"`
}

// Enrol signs a certificate for a host and returns all that its agent needs. A host that was enrolled before is enrolled anew:
// its earlier certificate stops counting, and a session that it opened ends.
func (k *Keeper) Enrol(ctx context.Context, host string, servers []string) (wire.Enrolment, error) {
	if host == "" || len(host) > 255 || strings.ContainsAny(host, " /\\:\x00") {
		return wire.Enrolment{}, fmt.Errorf("%q is no name for a host: 1 to 255 characters without spaces, slashes and colons", host)
	}
	if len(servers) == 0 {
		return wire.Enrolment{}, errors.New("an enrolment names at least one server")
	}
	a, err := k.authority(ctx)
	if err != nil {
		return wire.Enrolment{}, err
	}
	t := &x509.Certificate{Subject: pkix.Name{CommonName: host}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	cert, key, err := k.sign(a, t, hostLife)
	if err != nil {
		return wire.Enrolment{}, fmt.Errorf("sign the certificate of host %s: %w", host, err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return wire.Enrolment{}, err
	}
	now := k.clock.Now().UnixMilli()
	err = k.store.Write(ctx, func(tx store.WriteTx) error {
		n, err := tx.Exec(ctx, store.Q("UPDATE hosts SET serial = ?, enrolled_at = ?, revoked_at = 0 WHERE name = ?", Serial(t), now, host))
		if err != nil {
			return err
		}
		changed(tx, host)
		if n > 0 {
			return nil
		}
		_, err = tx.Exec(ctx, store.Q("INSERT INTO hosts (name, serial, enrolled_at, revoked_at) VALUES (?, ?, ?, 0)", host, Serial(t), now))
		return err
	})
	if err != nil {
		return wire.Enrolment{}, fmt.Errorf("enrol host %s: %w", host, err)
	}
	return wire.Enrolment{Host: host, Servers: servers, CA: a.pem(), Certificate: block("CERTIFICATE", cert), Key: block("EC PRIVATE KEY", der)}, nil
}

// Revoke ends what a host's certificate opens; its open session ends as soon as its server hears of the change. A
// *store.NotFound when the host was never enrolled.
func (k *Keeper) Revoke(ctx context.Context, host string) error {
	return k.store.Write(ctx, func(tx store.WriteTx) error {
		n, err := tx.Exec(ctx, store.Q("UPDATE hosts SET revoked_at = ? WHERE name = ? AND revoked_at = 0", k.clock.Now().UnixMilli(), host))
		if err != nil {
			return err
		}
		if n > 0 {
			changed(tx, host)
			return nil
		}
		known, _, err := store.Int(ctx, tx, store.Q("SELECT COUNT(*) FROM hosts WHERE name = ?", host))
		if err == nil && known == 0 {
			err = &store.NotFound{Table: "hosts", ID: host}
		}
		return err
	})
}

// List is every host that was enrolled, by name.
func (k *Keeper) List(ctx context.Context) ([]Host, error) {
	return k.hosts(ctx, store.Cond{SQL: "1 = 1"})
}

func (k *Keeper) host(ctx context.Context, name string) (h Host, found bool, err error) {
	hs, err := k.hosts(ctx, store.Eq("name", name))
	if err != nil || len(hs) == 0 {
		return Host{}, false, err
	}
	return hs[0], true, nil
}

func (k *Keeper) hosts(ctx context.Context, where store.Cond) ([]Host, error) {
	var out []Host
	err := k.store.Read(ctx, func(tx store.Tx) error {
		out = nil
		return store.Each(ctx, tx, store.Q("SELECT name, serial, enrolled_at, revoked_at FROM hosts WHERE "+where.SQL+" ORDER BY name", where.Args...), func(scan func(...any) error) error {
			var h Host
			err := scan(&h.Name, &h.Serial, &h.Enrolled, &h.Revoked)
			out = append(out, h)
			return err
		})
	})
	return out, err
}

// WriteFile writes an enrolment for its agent to read: readable by its owner alone, whole or not at all.
func WriteFile(path string, e wire.Enrolment) error {
	raw, err := e.Marshal()
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".enrolment-*") // 0600
	if err != nil {
		return fmt.Errorf("write the enrolment of host %s: %w", e.Host, err)
	}
	_, err = f.Write(raw)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		err = fmt.Errorf("write the enrolment of host %s: %w", e.Host, errors.Join(err, os.Remove(f.Name())))
	}
	return err
}
