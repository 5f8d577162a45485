package identity

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/bcrypt"

	"isospin/internal/auth"
	"isospin/internal/clock"
	"isospin/internal/ident"
)

// Entry is a service of the catalogue, served at Path of the address that the client asked.
type Entry struct {
	Type, Name, Path string
}

// Config is what a Service is made of. Backend, Clock, IDs and Log are needed; zero values of the rest are good.
type Config struct {
	Backend Backend
	Clock   clock.Clock
	IDs     ident.Source
	Log     *slog.Logger

	Region string // RegionOne
	// BaseURL is http://host:port of this server, for requests that name no host.
	BaseURL string
	// Services is the catalogue; nil: identity at /identity and network at /.
	Services []Entry
	// TokenLife is how long a new token is valid; 0: 12 hours.
	TokenLife time.Duration
	// Cost is bcrypt's, for passwords that people chose; 0: 10. Generated ones need no stretching.
	Cost int
	// CloudsFile is where the seeded users' passwords are kept for clients; empty: nowhere, and then nobody knows them.
	// A file that is missing gives these users new passwords: deleting it is how a lost one is replaced.
	// Of several servers that share a Backend one alone may have it.
	CloudsFile string
}

// Service is the identity. It is safe for concurrent use.
type Service struct {
	cfg   Config
	state atomic.Pointer[state]

	change sync.Mutex // one change at a time

	cacheMu sync.RWMutex
	cache   map[string]*session // by token

	verifiedMu sync.Mutex
	verified   map[string][sha256.Size]byte // user -> digest of the password last verified
	pepper     string
	hashing    chan struct{} // bcrypt runs at most twice at once: logins with wrong passwords must not starve the rest
	decoy      func() []byte

	mux       *http.ServeMux
	passwords map[string]string // of seeded users, for WriteClouds
}

// session is a token that was found valid under a state.
type session struct {
	under     *state
	claims    claims
	principal *auth.Principal
}

// maxSessions bounds the cache of valid tokens; more are verified anew, which costs a few microseconds.
const maxSessions = 20000

// New loads the snapshot, and seeds it if it is empty.
func New(cfg Config) (*Service, error) {
	if cfg.Region == "" {
		cfg.Region = "RegionOne"
	}
	if cfg.TokenLife == 0 {
		cfg.TokenLife = 12 * time.Hour
	}
	if cfg.Cost == 0 {
		cfg.Cost = bcrypt.DefaultCost
	}
	if cfg.Services == nil {
		cfg.Services = []Entry{{"identity", "isospin-identity", "/identity"}, {"network", "isospin", ""}}
	}
	s := &Service{
		cfg: cfg, cache: map[string]*session{}, verified: map[string][sha256.Size]byte{}, pepper: cfg.IDs.Secret(32),
		hashing: make(chan struct{}, 2), passwords: map[string]string{},
	}
	s.decoy = sync.OnceValue(func() []byte {
		// Only its cost matters; a failure makes unknown users answer faster, nothing else.
		h, _ := bcrypt.GenerateFromPassword([]byte(s.pepper[:8]), s.cfg.Cost)
		return h
	})
	s.mux = s.routes()
	if err := s.Refresh(); err != nil {
		return nil, err
	}
	if err := s.seed(); err != nil {
		return nil, err
	}
	return s, nil
}

// Refresh takes over what another server saved.
func (s *Service) Refresh() error {
	s.change.Lock()
	defer s.change.Unlock()
	return s.refresh()
}

func (s *Service) refresh() error {
	if st := s.state.Load(); st != nil {
		rev, err := s.cfg.Backend.Revision()
		if err != nil || rev == st.snap.Revision {
			return err
		}
	}
	snap, err := s.cfg.Backend.Load()
	if err != nil {
		return err
	}
	s.state.Store(index(&snap))
	return nil
}

// Run refreshes every two seconds until ctx ends; servers that share a Backend need it, a lone one does not.
func (s *Service) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.cfg.Clock.After(2 * time.Second):
			if err := s.Refresh(); err != nil {
				s.cfg.Log.Error("identity could not be refreshed", "err", err)
			}
		}
	}
}

// update applies change to a copy of the present snapshot, saves it and publishes it. change may run twice.
func (s *Service) update(change func(st *state, next *Snapshot) error) error {
	s.change.Lock()
	defer s.change.Unlock()
	for {
		st := s.state.Load()
		next := st.snap.clone()
		if err := change(index(next), next); err != nil {
			return err
		}
		next.Revision++
		now := s.cfg.Clock.Now()
		next.Revoked = slices.DeleteFunc(next.Revoked, func(r Revocation) bool { return r.Expires.Before(now) })
		err := s.cfg.Backend.Save(*next)
		if errors.Is(err, ErrStale) {
			if err := s.refresh(); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("identity: %w", err)
		}
		s.state.Store(index(next))
		return nil
	}
}

// now is the time as tokens write it.
func (s *Service) now() time.Time { return s.cfg.Clock.Now().UTC().Truncate(time.Microsecond) }

// newID is an identifier as Keystone writes them: 32 hexadecimal digits.
func (s *Service) newID() string { return strings.ReplaceAll(s.cfg.IDs.UUID(), "-", "") }

// hash stretches a password. It is digested first, because bcrypt reads 72 bytes only.
func (s *Service) hash(ctx context.Context, password string, cost int) (string, error) {
	select {
	case s.hashing <- struct{}{}:
		defer func() { <-s.hashing }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	h, err := bcrypt.GenerateFromPassword(digest(password), cost)
	if err != nil {
		return "", fmt.Errorf("identity: hash a password: %w", err)
	}
	return string(h), nil
}

func digest(password string) []byte {
	sum := sha256.Sum256([]byte(password))
	return []byte(base64.RawStdEncoding.EncodeToString(sum[:]))
}

// verify compares a password with the user's; u may be nil, which takes as long and is false.
func (s *Service) verify(ctx context.Context, u *User, password string) bool {
	hash, id := s.decoy, ""
	var tag [sha256.Size]byte
	if u != nil && u.Hash != "" {
		id = u.ID
		tag = [sha256.Size]byte(mac([]byte(s.pepper), []byte(u.Hash+"\x00"+password), nil))
		s.verifiedMu.Lock()
		known, ok := s.verified[id]
		s.verifiedMu.Unlock()
		if ok && subtle.ConstantTimeCompare(known[:], tag[:]) == 1 {
			return true
		}
		hash = func() []byte { return []byte(u.Hash) }
	}
	select {
	case s.hashing <- struct{}{}:
		defer func() { <-s.hashing }()
	case <-ctx.Done():
		return false
	}
	if bcrypt.CompareHashAndPassword(hash(), digest(password)) != nil || id == "" {
		return false
	}
	s.verifiedMu.Lock()
	s.verified[id] = tag
	s.verifiedMu.Unlock()
	return true
}
