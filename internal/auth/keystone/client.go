package keystone

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"isospin/internal/clock"
	"isospin/internal/config"
	"isospin/internal/telemetry"
)

const (
	// atOnce is how many questions Keystone is asked at a time; more wait for their turn.
	atOnce = 32
	// firstPause is between two attempts; it doubles.
	firstPause = 100 * time.Millisecond
	// holdOff is how long nobody asks after Keystone was found away: those who wait would only be more.
	holdOff = time.Second
	// reach bounds the making of a connection.
	reach = 3 * time.Second
)

var (
	// errUnknown is Keystone's word that there is no such token, or no longer.
	errUnknown = errors.New("keystone: no such token")
	// errAway says that Keystone was found away a moment ago.
	errAway = errors.New("keystone: it did not answer a moment ago")
	// errStranger says that something answers that is not Keystone.
	errStranger = errors.New("keystone: what answers at auth_url is not Keystone's v3 API")
)

// client asks Keystone with Isospin's own token.
type client struct {
	v3      *gophercloud.ServiceClient
	clock   clock.Clock
	log     *slog.Logger
	timeout time.Duration
	retries int
	asked   telemetry.Counter

	mu    sync.Mutex
	away  bool
	until time.Time // nobody asks before then
}

// versionSuffix is what operators write after Keystone's address.
var versionSuffix = regexp.MustCompile(`/v(3|2\.0)/?$`)

func newClient(c config.Authtoken, clk clock.Clock, log *slog.Logger, reg *telemetry.Registry) (*client, error) {
	transport, err := newTransport(c)
	if err != nil {
		return nil, err
	}
	root := strings.TrimRight(versionSuffix.ReplaceAllString(c.URL, ""), "/") + "/"
	// Keystone redirects nobody, and who does is not to be shown a caller's token or Isospin's password.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	p := &gophercloud.ProviderClient{IdentityBase: root, IdentityEndpoint: root + "v3/",
		HTTPClient: http.Client{Transport: transport, CheckRedirect: stay}}
	p.UserAgent.Prepend("isospin")
	p.UseTokenLock()
	k := &client{clock: clk, log: log, timeout: c.Timeout, retries: c.Retries,
		v3:    &gophercloud.ServiceClient{ProviderClient: p, Endpoint: root + "v3/", Type: "identity"},
		asked: reg.Counter("isospin_keystone_questions_total", "Questions to Keystone about tokens, by how they ended.", "outcome")}
	opts := options(c)
	// A client of its own logs in: this one's token must not be sent along, nor its refusal lead here again.
	bare := &gophercloud.ProviderClient{IdentityBase: root, HTTPClient: p.HTTPClient, UserAgent: p.UserAgent, Throwaway: true}
	login := &gophercloud.ServiceClient{ProviderClient: bare, Endpoint: root + "v3/", Type: "identity"}
	p.ReauthFunc = func(ctx context.Context) error {
		result := tokens.Create(ctx, login, opts)
		if result.Err != nil {
			return plain("logging in", result.Err)
		}
		return p.SetTokenAndAuthResult(result)
	}
	return k, nil
}

// options says who Isospin is.
func options(c config.Authtoken) *tokens.AuthOptions {
	fallback := func(id, name string) (string, string) {
		switch {
		case id != "" || name != "":
		case c.DomainID != "" || c.DomainName != "":
			id, name = c.DomainID, c.DomainName
		default:
			id = "default"
		}
		if id != "" {
			name = ""
		}
		return id, name
	}
	o := &tokens.AuthOptions{Username: c.Username, UserID: c.UserID, Password: c.Password}
	if c.UserID == "" {
		o.DomainID, o.DomainName = fallback(c.UserDomainID, c.UserDomainName)
	} else {
		o.Username = ""
	}
	switch {
	case c.SystemScope != "":
		o.Scope.System = true
	case c.ProjectID != "":
		o.Scope.ProjectID = c.ProjectID
	case c.ProjectName != "":
		o.Scope.ProjectName = c.ProjectName
		o.Scope.DomainID, o.Scope.DomainName = fallback(c.ProjectDomainID, c.ProjectDomain)
	}
	return o
}

func newTransport(c config.Authtoken) (*http.Transport, error) {
	t := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: c.Insecure}
	if c.CAFile != "" {
		raw, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, fmt.Errorf("cafile: %w", err)
		}
		t.RootCAs = x509.NewCertPool()
		if !t.RootCAs.AppendCertsFromPEM(raw) {
			return nil, fmt.Errorf("cafile %s holds no certificate", c.CAFile)
		}
	}
	if c.CertFile != "" {
		key := c.KeyFile
		if key == "" {
			key = c.CertFile
		}
		pair, err := tls.LoadX509KeyPair(c.CertFile, key)
		if err != nil {
			return nil, fmt.Errorf("certfile: %w", err)
		}
		t.Certificates = []tls.Certificate{pair}
	}
	dial := &net.Dialer{Timeout: min(reach, c.Timeout)}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: dial.DialContext, TLSClientConfig: t, TLSHandshakeTimeout: reach,
		MaxConnsPerHost: atOnce, MaxIdleConnsPerHost: atOnce, IdleConnTimeout: 90 * time.Second, ForceAttemptHTTP2: true,
	}, nil
}

// login takes a token for Isospin itself.
func (k *client) login(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, k.timeout)
	defer cancel()
	return k.v3.Reauthenticate(ctx, "")
}

// about asks about a token. The errors: errUnknown when there is no such token; anything else says that Keystone could not
// be asked, which was logged when it began.
func (k *client) about(ctx context.Context, token string, allowExpired bool) (*answer, error) {
	if err := k.held(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, k.timeout)
	defer cancel()
	var said *answer
	var err error
	pause := firstPause
	for attempt := 0; ; attempt++ {
		said, err = k.once(ctx, token, allowExpired)
		if err == nil || !transient(err) || attempt >= k.retries || ctx.Err() != nil {
			break
		}
		select {
		case <-ctx.Done():
		case <-k.clock.After(pause):
		}
		pause *= 2
	}
	k.note(err)
	return said, err
}

// once is one attempt; gophercloud takes a new token of Isospin's own when the old one is refused.
func (k *client) once(ctx context.Context, token string, allowExpired bool) (*answer, error) {
	if k.v3.Token() == "" {
		if err := k.v3.Reauthenticate(ctx, ""); err != nil {
			return nil, err
		}
	}
	url := k.v3.ServiceURL("auth", "tokens") + "?nocatalog"
	if allowExpired {
		url += "&allow_expired=1"
	}
	var body struct {
		Token answer `json:"token"`
	}
	// The second header tells Keystone that access rules are heeded here; without it such tokens are unknown to it.
	_, err := k.v3.Get(ctx, url, &body, &gophercloud.RequestOpts{OkCodes: []int{http.StatusOK, http.StatusNonAuthoritativeInfo},
		MoreHeaders: map[string]string{"X-Subject-Token": token, "OpenStack-Identity-Access-Rules": "1.0"}})
	var code gophercloud.ErrUnexpectedResponseCode
	switch {
	case errors.As(err, &code) && code.Actual == http.StatusNotFound:
		if !keystones(code.Body) {
			return nil, errStranger
		}
		return nil, errUnknown
	case err != nil:
		return nil, plain("asked about a token", err)
	}
	if err := body.Token.whole(); err != nil {
		return nil, err
	}
	return &body.Token, nil
}

// keystones tells whether the body of a 404 is Keystone's, and not that of a proxy which does not know the path.
func keystones(body []byte) bool {
	var b struct {
		Error struct {
			Code int `json:"code"`
		} `json:"error"`
	}
	return json.Unmarshal(body, &b) == nil && b.Error.Code == http.StatusNotFound
}

// statusError is an answer that says neither yes nor no.
type statusError struct {
	status int
	what   string
}

func (e *statusError) Error() string {
	hint := ""
	switch e.status {
	case http.StatusUnauthorized:
		hint = ": are user and password in [keystone_authtoken] right?"
	case http.StatusForbidden:
		hint = ": the user in [keystone_authtoken] needs the role service or admin"
	}
	return fmt.Sprintf("keystone: %s: it answered %d%s", e.what, e.status, hint)
}

// plain leaves out what a client library's error may carry: addresses, bodies, headers.
func plain(what string, err error) error {
	var login *gophercloud.ErrUnableToReauthenticate
	if errors.As(err, &login) {
		return login.ErrReauth
	}
	var code gophercloud.ErrUnexpectedResponseCode
	if errors.As(err, &code) {
		return &statusError{code.Actual, what}
	}
	return fmt.Errorf("keystone: %s: %w", what, err)
}

// transient tells whether asking again at once may help.
func transient(err error) bool {
	var status *statusError
	if errors.As(err, &status) {
		return status.status >= 500
	}
	var network net.Error
	return errors.As(err, &network)
}

// held gives an error while nobody is to ask.
func (k *client) held() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.clock.Now().Before(k.until) {
		return errAway
	}
	return nil
}

// note counts the outcome and tells of Keystone's going and coming, once each. That it stumbles over one token says
// nothing of the others: whoever finds such a token must not keep everybody from asking.
func (k *client) note(err error) {
	outcome := "valid"
	switch {
	case errors.Is(err, errUnknown):
		outcome = "unknown"
	case err != nil:
		outcome = "failed"
	}
	k.asked.Inc(outcome)
	if outcome == "failed" && !gone(err) {
		k.log.Warn("Keystone gave no answer about a token", "err", err)
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if outcome != "failed" {
		if k.away {
			k.log.Info("Keystone answers again")
		}
		k.away, k.until = false, time.Time{}
		return
	}
	if !k.away {
		k.log.Error("Keystone cannot be asked about tokens; those known go on working until token_cache_time has passed", "err", err)
	}
	k.away, k.until = true, k.clock.Now().Add(holdOff)
}

// gone tells of an error that has nothing to do with the token that was asked about.
func gone(err error) bool {
	var status *statusError
	return !errors.Is(err, errAnswer) && (!errors.As(err, &status) || status.status != http.StatusInternalServerError)
}
