package identity

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"golang.org/x/crypto/bcrypt"

	"isospin/internal/auth"
)

// DefaultDomain is the ID of the domain that everything seeded belongs to.
const DefaultDomain = "default"

// seedUser is a user of the first start, its project and roles there, and its name in clouds.yaml.
type seedUser struct {
	name, project, cloud string
	roles                []string
	system               bool // has the roles on the system too
}

func seedUsers() []seedUser {
	return []seedUser{
		{"admin", "admin", "isospin", []string{auth.RoleAdmin, auth.RoleManager, auth.RoleMember, auth.RoleReader}, true},
		{"demo", "demo", "isospin-demo", []string{auth.RoleMember, auth.RoleReader}, false},
		{"reader", "demo", "isospin-reader", []string{auth.RoleReader}, false},
		{"isospin-service", "service", "isospin-service", []string{auth.RoleService}, false},
	}
}

// seed fills an empty snapshot and gives the seeded users passwords: those of the clouds file, or new ones.
func (s *Service) seed() error {
	known := map[string]string{}
	if s.cfg.CloudsFile != "" {
		var err error
		if known, err = readClouds(s.cfg.CloudsFile); err != nil {
			return err
		}
	}
	fresh := s.state.Load().snap.Revision == 0
	hashes := map[string]string{}
	for _, u := range seedUsers() {
		password, ok := known[u.cloud]
		if !ok {
			password = s.cfg.IDs.Secret(24)
		}
		if !fresh && !ok && s.cfg.CloudsFile == "" {
			continue // somebody else's passwords, which nobody told us
		}
		s.passwords[u.cloud] = password
		if !fresh && ok {
			continue
		}
		h, err := s.hash(context.Background(), password, bcrypt.MinCost)
		if err != nil {
			return err
		}
		hashes[u.name] = h
	}
	if len(hashes) == 0 {
		return nil
	}
	return s.update(func(st *state, next *Snapshot) error {
		if next.Revision == 0 {
			s.fill(next)
			st = index(next)
		}
		for name, h := range hashes {
			if u := st.userNames[[2]string{DefaultDomain, name}]; u != nil {
				u.Hash = h
				u.TokensSince = s.now()
			}
		}
		return nil
	})
}

// fill makes the first start's domain, projects, roles, users and assignments.
func (s *Service) fill(next *Snapshot) {
	next.Key = s.cfg.IDs.Secret(32)
	next.Domains = []Domain{{ID: DefaultDomain, Name: "Default", Description: "The default domain", Enabled: true}}
	roles, projects := map[string]string{}, map[string]string{}
	for _, name := range []string{auth.RoleAdmin, auth.RoleManager, auth.RoleMember, auth.RoleReader, auth.RoleService} {
		roles[name] = s.newID()
		next.Roles = append(next.Roles, Role{ID: roles[name], Name: name})
	}
	for _, name := range []string{"admin", "demo", "service"} {
		projects[name] = s.newID()
		next.Projects = append(next.Projects, Project{
			ID: projects[name], Name: name, DomainID: DefaultDomain, ParentID: DefaultDomain, Enabled: true,
		})
	}
	for _, u := range seedUsers() {
		id := s.newID()
		next.Users = append(next.Users, User{ID: id, Name: u.name, DomainID: DefaultDomain, Enabled: true})
		for _, r := range u.roles {
			next.Assignments = append(next.Assignments, Assignment{UserID: id, RoleID: roles[r], Scope: Scope{ProjectID: projects[u.project]}})
		}
		if u.system {
			next.Assignments = append(next.Assignments, Assignment{UserID: id, RoleID: roles[auth.RoleAdmin], Scope: Scope{System: true}})
		}
	}
}

// WriteClouds writes the clouds file, mode 0600, for an API at the address (host:port or a URL). Entries are
// those of the seeded users; a password changed through the API since is not known here and stays what it was
// in the file.
func (s *Service) WriteClouds(address string) error {
	if s.cfg.CloudsFile == "" {
		return nil
	}
	if !strings.Contains(address, "://") {
		address = "http://" + reachable(address)
	}
	var b strings.Builder
	b.WriteString("# Written by isospin at each start; the passwords are kept. For openstackclient, openstacksdk, gophercloud:\n" +
		"#   export OS_CLIENT_CONFIG_FILE=" + s.cfg.CloudsFile + " OS_CLOUD=isospin\nclouds:\n")
	for _, u := range seedUsers() {
		fmt.Fprintf(&b, "  %s:\n    auth:\n      auth_url: %q\n      username: %q\n      password: %q\n      project_name: %q\n",
			u.cloud, strings.TrimRight(address, "/")+"/identity/v3", u.name, s.passwords[u.cloud], u.project)
		fmt.Fprintf(&b, "      user_domain_id: %q\n      project_domain_id: %q\n    region_name: %q\n    interface: public\n    identity_api_version: 3\n",
			DefaultDomain, DefaultDomain, s.cfg.Region)
	}
	if err := writeFile(s.cfg.CloudsFile, []byte(b.String())); err != nil {
		return fmt.Errorf("identity: clouds file: %w", err)
	}
	return nil
}

// reachable replaces "all addresses", which a client cannot connect to, by loopback.
func reachable(hostport string) string {
	host, port, err := net.SplitHostPort(hostport)
	if err != nil {
		return hostport
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return hostport
}

// Password is that of a seeded user by its name in the clouds file, for callers in the same process; the
// caller keeps it out of logs.
func (s *Service) Password(cloud string) (string, bool) {
	p, ok := s.passwords[cloud]
	return p, ok
}

// readClouds finds the passwords in a file that WriteClouds wrote, perhaps edited by hand since: it looks at the
// entries' names and at the password lines below them.
func readClouds(path string) (map[string]string, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("identity: clouds file: %w", err)
	}
	out := map[string]string{}
	cloud := ""
	for line := range strings.Lines(string(raw)) {
		text := strings.TrimSpace(line)
		depth := len(line) - len(strings.TrimLeft(line, " "))
		switch {
		case text == "" || text[0] == '#':
		case depth == 2 && strings.HasSuffix(text, ":"):
			cloud = strings.Trim(strings.TrimSuffix(text, ":"), `"'`)
		case strings.HasPrefix(text, "password:") && cloud != "":
			v := strings.TrimSpace(strings.TrimPrefix(text, "password:"))
			if q, err := strconv.Unquote(v); err == nil {
				v = q
			}
			out[cloud] = strings.Trim(v, "'")
		}
	}
	return out, nil
}
