package identity

import (
	"net/http"
	"slices"

	"isospin/internal/auth"
)

func (s *Service) showOfUser(c *call, u *User) object {
	out := object{
		"id": u.ID, "name": u.Name, "domain_id": u.DomainID, "enabled": u.Enabled, "description": u.Description,
		"default_project_id": orNil(u.DefaultProjectID), "password_expires_at": nil, "options": object{}, "links": s.self(c, "/users/"+u.ID),
	}
	if u.Email != "" {
		out["email"] = u.Email
	}
	return out
}

func (s *Service) listUsers(c *call) (any, error) {
	var out []object
	for i := range c.st.snap.Users {
		out = append(out, s.showOfUser(c, &c.st.snap.Users[i]))
	}
	return s.list(c, "users", keep(c, out, "name", "domain_id", "enabled")), nil
}

// reachable is the user that the path names, if the caller may see it: admins any, others themselves.
func (c *call) reachable() (*User, error) {
	id := c.PathValue("id")
	if !c.admin() && id != c.me.claims.user {
		return nil, forbidden()
	}
	u := c.st.users[id]
	if u == nil {
		return nil, notFound("user", id)
	}
	return u, nil
}

func (s *Service) showUser(c *call) (any, error) {
	u, err := c.reachable()
	if err != nil {
		return nil, err
	}
	return object{"user": s.showOfUser(c, u)}, nil
}

func (s *Service) userProjects(c *call) (any, error) {
	u, err := c.reachable()
	if err != nil {
		return nil, err
	}
	var out []object
	for _, p := range c.st.projectsOf(u.ID) {
		out = append(out, s.showOfProject(c, p))
	}
	return s.list(c, "projects", out), nil
}

// noGroups answers clients that ask for groups, of which there are none.
func (s *Service) noGroups(c *call) (any, error) { return s.list(c, "groups", nil), nil }

func (s *Service) createUser(c *call) (any, error) {
	in, err := read[fields](c, "user")
	if err != nil {
		return nil, err
	}
	if err := in.checkName(true); err != nil {
		return nil, err
	}
	u := User{ID: s.newID(), DomainID: c.ownDomain(), Enabled: true}
	set(&u.DomainID, in.DomainID)
	if err := s.apply(c, in, &u); err != nil {
		return nil, err
	}
	err = s.update(func(st *state, next *Snapshot) error {
		if st.domains[u.DomainID] == nil {
			return notFound("domain", u.DomainID)
		}
		if st.userNames[[2]string{u.DomainID, u.Name}] != nil {
			return conflict("There is a user named %q in the domain already.", u.Name)
		}
		next.Users = append(next.Users, u)
		return nil
	})
	c.code = http.StatusCreated
	return object{"user": s.showOfUser(c, &u)}, err
}

// apply sets what the request gives. A new password, and disabling, void the tokens issued before.
func (s *Service) apply(c *call, in fields, u *User) error {
	set(&u.Name, in.Name)
	set(&u.Description, in.Description)
	set(&u.Email, in.Email)
	set(&u.DefaultProjectID, in.DefaultProjectID)
	if in.Enabled != nil && u.Enabled && !*in.Enabled {
		u.TokensSince = s.now()
	}
	set(&u.Enabled, in.Enabled)
	if in.Password == nil {
		return nil
	}
	if *in.Password == "" {
		return bad("A password cannot be empty.")
	}
	h, err := s.hash(c.Context(), *in.Password, s.cfg.Cost)
	if err != nil {
		return err
	}
	u.Hash, u.TokensSince = h, s.now()
	return nil
}

func (s *Service) updateUser(c *call) (any, error) {
	in, err := read[fields](c, "user")
	if err != nil {
		return nil, err
	}
	if err := in.checkName(false); err != nil {
		return nil, err
	}
	id := c.PathValue("id")
	before := c.st.users[id]
	if before == nil {
		return nil, notFound("user", id)
	}
	// The password is hashed before the change begins: nobody waits for that.
	var hashed User
	if in.Password != nil {
		if err := s.apply(c, fields{Password: in.Password}, &hashed); err != nil {
			return nil, err
		}
		in.Password = nil
	}
	var out User
	err = s.update(func(st *state, _ *Snapshot) error {
		u := st.users[id]
		if u == nil {
			return notFound("user", id)
		}
		if in.DomainID != nil && *in.DomainID != u.DomainID {
			return bad("A user stays in its domain.")
		}
		if in.Name != nil {
			if o := st.userNames[[2]string{u.DomainID, *in.Name}]; o != nil && o != u {
				return conflict("There is a user named %q in the domain already.", *in.Name)
			}
		}
		if err := s.apply(c, in, u); err != nil {
			return err
		}
		if hashed.Hash != "" {
			u.Hash, u.TokensSince = hashed.Hash, hashed.TokensSince
		}
		out = *u
		return nil
	})
	return object{"user": s.showOfUser(c, &out)}, err
}

func (s *Service) deleteUser(c *call) (any, error) {
	id := c.PathValue("id")
	err := s.update(func(st *state, next *Snapshot) error {
		if st.users[id] == nil {
			return notFound("user", id)
		}
		next.drop(func(a Assignment) bool { return a.UserID == id })
		next.Users = slices.DeleteFunc(next.Users, func(u User) bool { return u.ID == id })
		return nil
	})
	if err == nil {
		s.verifiedMu.Lock()
		delete(s.verified, id)
		s.verifiedMu.Unlock()
	}
	return nil, err
}

// changePassword is a user's own change: the old password is what authorises it, as in Keystone.
func (s *Service) changePassword(c *call) (any, error) {
	in, err := read[struct {
		Password string `json:"password"`
		Original string `json:"original_password"`
	}](c, "user")
	if err != nil {
		return nil, err
	}
	id := c.PathValue("id")
	u := c.st.users[id]
	if !s.verify(c.Context(), u, in.Original) || !u.Enabled || !c.st.domainAlive(u.DomainID) {
		return nil, auth.Unauthenticated()
	}
	var next User
	if err := s.apply(c, fields{Password: &in.Password}, &next); err != nil {
		return nil, err
	}
	return nil, s.update(func(st *state, _ *Snapshot) error {
		now := st.users[id]
		if now == nil || now.Hash != u.Hash { // changed by somebody else meanwhile
			return auth.Unauthenticated()
		}
		now.Hash, now.TokensSince = next.Hash, next.TokensSince
		return nil
	})
}
