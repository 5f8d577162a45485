package identity

import (
	"net/http"
	"slices"
)

func (s *Service) showOfRole(c *call, r *Role) object {
	return object{
		"id": r.ID, "name": r.Name, "domain_id": orNil(r.DomainID), "description": orNil(r.Description), "options": object{},
		"links": s.self(c, "/roles/"+r.ID),
	}
}

// listRoles lists the roles of no domain unless the query names one, as Keystone does.
func (s *Service) listRoles(c *call) (any, error) {
	want := c.URL.Query().Get("domain_id")
	var out []object
	for i := range c.st.snap.Roles {
		if r := &c.st.snap.Roles[i]; r.DomainID == want {
			out = append(out, s.showOfRole(c, r))
		}
	}
	return s.list(c, "roles", keep(c, out, "name")), nil
}

func (s *Service) showRole(c *call) (any, error) {
	r := c.st.roles[c.PathValue("id")]
	if r == nil {
		return nil, notFound("role", c.PathValue("id"))
	}
	return object{"role": s.showOfRole(c, r)}, nil
}

func (st *state) roleNamed(domain, name string) *Role {
	for _, r := range st.roles {
		if r.DomainID == domain && r.Name == name {
			return r
		}
	}
	return nil
}

func (s *Service) createRole(c *call) (any, error) {
	in, err := read[fields](c, "role")
	if err != nil {
		return nil, err
	}
	if err := in.checkName(true); err != nil {
		return nil, err
	}
	r := Role{ID: s.newID(), Name: *in.Name}
	set(&r.DomainID, in.DomainID)
	set(&r.Description, in.Description)
	err = s.update(func(st *state, next *Snapshot) error {
		if r.DomainID != "" && st.domains[r.DomainID] == nil {
			return notFound("domain", r.DomainID)
		}
		if st.roleNamed(r.DomainID, r.Name) != nil {
			return conflict("There is a role named %q already.", r.Name)
		}
		next.Roles = append(next.Roles, r)
		return nil
	})
	c.code = http.StatusCreated
	return object{"role": s.showOfRole(c, &r)}, err
}

func (s *Service) updateRole(c *call) (any, error) {
	in, err := read[fields](c, "role")
	if err != nil {
		return nil, err
	}
	if err := in.checkName(false); err != nil {
		return nil, err
	}
	id := c.PathValue("id")
	var out Role
	err = s.update(func(st *state, _ *Snapshot) error {
		r := st.roles[id]
		if r == nil {
			return notFound("role", id)
		}
		if in.DomainID != nil && *in.DomainID != r.DomainID {
			return bad("A role stays in its domain.")
		}
		if in.Name != nil {
			if o := st.roleNamed(r.DomainID, *in.Name); o != nil && o != r {
				return conflict("There is a role named %q already.", *in.Name)
			}
		}
		set(&r.Name, in.Name)
		set(&r.Description, in.Description)
		out = *r
		return nil
	})
	return object{"role": s.showOfRole(c, &out)}, err
}

func (s *Service) deleteRole(c *call) (any, error) {
	id := c.PathValue("id")
	return nil, s.update(func(st *state, next *Snapshot) error {
		if st.roles[id] == nil {
			return notFound("role", id)
		}
		next.drop(func(a Assignment) bool { return a.RoleID == id })
		next.Roles = slices.DeleteFunc(next.Roles, func(r Role) bool { return r.ID == id })
		return nil
	})
}

// assignment is the one that the path names; its parts must exist.
func (c *call) assignment(st *state) (Assignment, error) {
	a := Assignment{UserID: c.PathValue("user"), RoleID: c.PathValue("role")}
	a.Scope = Scope{ProjectID: c.PathValue("project"), DomainID: c.PathValue("domain")}
	a.Scope.System = a.Scope == Scope{}
	switch {
	case a.Scope.ProjectID != "" && st.projects[a.Scope.ProjectID] == nil:
		return a, notFound("project", a.Scope.ProjectID)
	case a.Scope.DomainID != "" && st.domains[a.Scope.DomainID] == nil:
		return a, notFound("domain", a.Scope.DomainID)
	case st.users[a.UserID] == nil:
		return a, notFound("user", a.UserID)
	case a.RoleID != "" && st.roles[a.RoleID] == nil:
		return a, notFound("role", a.RoleID)
	}
	return a, nil
}

func (s *Service) heldRoles(c *call) (any, error) {
	a, err := c.assignment(c.st)
	if err != nil {
		return nil, err
	}
	var out []object
	for _, h := range c.st.held[a.UserID] {
		if r := c.st.roles[h.RoleID]; h.Scope == a.Scope && r != nil {
			out = append(out, s.showOfRole(c, r))
		}
	}
	return s.list(c, "roles", out), nil
}

func (s *Service) checkRole(c *call) (any, error) {
	a, err := c.assignment(c.st)
	if err == nil && !slices.Contains(c.st.held[a.UserID], a) {
		err = notFound("role assignment with role", a.RoleID)
	}
	return nil, err
}

func (s *Service) grantRole(c *call) (any, error) {
	return nil, s.update(func(st *state, next *Snapshot) error {
		a, err := c.assignment(st)
		if err != nil {
			return err
		}
		if !slices.Contains(st.held[a.UserID], a) {
			next.Assignments = append(next.Assignments, a)
		}
		return nil
	})
}

func (s *Service) withdrawRole(c *call) (any, error) {
	return nil, s.update(func(st *state, next *Snapshot) error {
		a, err := c.assignment(st)
		if err != nil {
			return err
		}
		if !slices.Contains(st.held[a.UserID], a) {
			return notFound("role assignment with role", a.RoleID)
		}
		next.drop(func(b Assignment) bool { return a == b })
		return nil
	})
}

// listAssignments shows admins all assignments, others their own.
func (s *Service) listAssignments(c *call) (any, error) {
	q := c.URL.Query()
	if !c.admin() && q.Get("user.id") != c.me.claims.user {
		return nil, forbidden()
	}
	var out []object
	if q.Has("group.id") {
		return s.list(c, "role_assignments", out), nil
	}
	all := c.st.snap.Assignments
	if flag(c, "effective") {
		all = c.st.effective()
	}
	for _, a := range all {
		switch {
		case q.Has("user.id") && a.UserID != q.Get("user.id"),
			q.Has("role.id") && a.RoleID != q.Get("role.id"),
			q.Has("scope.project.id") && a.Scope.ProjectID != q.Get("scope.project.id"),
			q.Has("scope.domain.id") && a.Scope.DomainID != q.Get("scope.domain.id"),
			q.Has("scope.system") && !a.Scope.System,
			q.Has("scope.OS-INHERIT:inherited_to"): // nothing is inherited
			continue
		}
		out = append(out, s.showOfAssignment(c, a, flag(c, "include_names")))
	}
	return s.list(c, "role_assignments", out), nil
}

// flag is a query key that is on when it is there, unless it says no.
func flag(c *call, name string) bool {
	q := c.URL.Query()
	return q.Has(name) && truth(q.Get(name))
}

// effective are the assignments with the implied roles.
func (st *state) effective() []Assignment {
	var out []Assignment
	type place struct {
		user  string
		scope Scope
	}
	seen := map[place]bool{}
	for _, a := range st.snap.Assignments {
		at := place{a.UserID, a.Scope}
		if seen[at] {
			continue
		}
		seen[at] = true
		for _, r := range st.rolesIn(a.UserID, a.Scope) {
			out = append(out, Assignment{UserID: a.UserID, RoleID: r.ID, Scope: a.Scope})
		}
	}
	return out
}

func (s *Service) showOfAssignment(c *call, a Assignment, names bool) object {
	role, user := object{"id": a.RoleID}, object{"id": a.UserID}
	scope, at := object{"system": object{"all": true}}, "/system"
	if names {
		if r := c.st.roles[a.RoleID]; r != nil {
			role["name"] = r.Name
		}
		if u := c.st.users[a.UserID]; u != nil {
			user["name"], user["domain"] = u.Name, c.st.domainRef(u.DomainID)
		}
	}
	switch a.Scope.kind() {
	case projectScope:
		p := object{"id": a.Scope.ProjectID}
		if pr := c.st.projects[a.Scope.ProjectID]; names && pr != nil {
			p["name"], p["domain"] = pr.Name, c.st.domainRef(pr.DomainID)
		}
		scope, at = object{"project": p}, "/projects/"+a.Scope.ProjectID
	case domainScope:
		d := object{"id": a.Scope.DomainID}
		if names {
			d = c.st.domainRef(a.Scope.DomainID)
		}
		scope, at = object{"domain": d}, "/domains/"+a.Scope.DomainID
	}
	return object{
		"role": role, "user": user, "scope": scope,
		"links": object{"assignment": s.base(c.Request) + "/identity/v3" + at + "/users/" + a.UserID + "/roles/" + a.RoleID},
	}
}
