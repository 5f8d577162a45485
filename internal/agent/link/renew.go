package link

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"slices"

	"isospin/internal/wire"
)

// renewal is the enrolment in use; Run's goroutine alone touches it.
type renewal struct {
	enrolment wire.Enrolment
	creds     *tls.Config
	trouble   string // why the newest is not in use, as it was told last
}

// credentialsOf checks an enrolment and makes what a session is opened with.
func credentialsOf(e wire.Enrolment) (*tls.Config, error) {
	pair, err := tls.X509KeyPair([]byte(e.Certificate), []byte(e.Key))
	if err != nil {
		return nil, fmt.Errorf("enrolment of host %s: %w", e.Host, err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(e.CA)) {
		return nil, fmt.Errorf("enrolment of host %s: no certificate of an authority in it", e.Host)
	}
	if len(e.Servers) == 0 {
		return nil, fmt.Errorf("enrolment of host %s: it names no server", e.Host)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots, ServerName: wire.ServerName, MinVersion: tls.VersionTLS13}, nil
}

// look takes an enrolment that is another than the one in use.
func (l *Link) look() {
	if l.o.Renew == nil {
		return
	}
	e, err := l.o.Renew()
	r := &l.renew
	if err == nil && e.Host == r.enrolment.Host && e.Certificate == r.enrolment.Certificate && e.Key == r.enrolment.Key && e.CA == r.enrolment.CA &&
		slices.Equal(e.Servers, r.enrolment.Servers) {
		r.trouble = ""
		return
	}
	if err == nil && e.Host != l.host {
		err = fmt.Errorf("the enrolment is for host %s now: restart the agent to become that host", e.Host)
	}
	var creds *tls.Config
	if err == nil {
		creds, err = credentialsOf(e)
	}
	if err != nil {
		if r.trouble != err.Error() {
			r.trouble = err.Error()
			l.o.Log.Warn("enrolment cannot be renewed", "host", l.host, "err", err)
		}
		return
	}
	*r = renewal{enrolment: e, creds: creds}
	l.o.Log.Info("enrolment renewed", "host", l.host)
}
