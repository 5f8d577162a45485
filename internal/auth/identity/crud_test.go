package identity

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestDomainsProjectsUsersRoles(t *testing.T) {
	w := newWorld(t)
	admin := w.admin()
	out, _ := w.do(admin, "POST", "/v3/domains", object{"domain": object{"name": "acme", "description": "d"}}, 201)
	dom := id(out, "domain")
	w.do(admin, "POST", "/v3/domains", object{"domain": object{"name": "acme"}}, 409)
	for _, c := range []struct{ plural, kind string }{{"projects", "project"}, {"users", "user"}, {"roles", "role"}} {
		path := "/v3/" + c.plural
		make := func(body object, code int) string {
			t.Helper()
			out, _ := w.do(admin, "POST", path, object{c.kind: body}, code)
			if code != 201 {
				return ""
			}
			return id(out, c.kind)
		}
		a := make(object{"name": "a"}, 201)
		b := make(object{"name": "a", "domain_id": dom}, 201)
		make(object{"name": "a"}, 409)
		make(object{"name": "a", "domain_id": dom}, 409)
		make(object{"name": "a", "domain_id": "absent"}, 404)
		make(object{"name": " "}, 400)
		make(object{}, 400)
		make(object{"name": strings.Repeat("n", 256)}, 400)
		make(object{"name": 5}, 400)
		get, _ := w.do(admin, "GET", path+"?name=a&domain_id="+dom, nil, 200)
		if l := get[c.plural].([]any); len(l) != 1 || l[0].(map[string]any)["id"] != b {
			t.Errorf("filtered %s: %v", c.plural, l)
		}
		w.do(admin, "PATCH", path+"/"+a, object{c.kind: object{"name": "z", "description": "new"}}, 200)
		w.do(admin, "PATCH", path+"/"+a, object{c.kind: object{"domain_id": "other"}}, 400)
		w.do(admin, "PATCH", path+"/absent", object{c.kind: object{"name": "z"}}, 404)
		get, _ = w.do(admin, "GET", path+"/"+a, nil, 200)
		if v := get[c.kind].(map[string]any); v["name"] != "z" || v["description"] != "new" {
			t.Errorf("%s: %v", c.kind, v)
		}
		make(object{"name": "q"}, 201)
		w.do(admin, "PATCH", path+"/"+a, object{c.kind: object{"name": "q"}}, 409)
		w.do(admin, "DELETE", path+"/"+a, nil, 204)
		w.do(admin, "DELETE", path+"/"+a, nil, 404)
		w.do(admin, "GET", path+"/"+a, nil, 404)
	}
	w.do(admin, "DELETE", "/v3/domains/"+dom, nil, 403)
	w.do(admin, "PATCH", "/v3/domains/"+dom, object{"domain": object{"enabled": false}}, 200)
	out, _ = w.do(admin, "GET", "/v3/domains?enabled=false", nil, 200)
	if l := out["domains"].([]any); len(l) != 1 {
		t.Errorf("disabled domains: %v", l)
	}
	w.do(admin, "DELETE", "/v3/domains/"+dom, nil, 204)
	for _, plural := range []string{"projects", "users", "roles"} {
		out, _ := w.do(admin, "GET", "/v3/"+plural+"?domain_id="+dom, nil, 200)
		if l := out[plural].([]any); len(l) != 0 {
			t.Errorf("%s of a deleted domain: %v", plural, l)
		}
	}
}

func TestProjectTree(t *testing.T) {
	w := newWorld(t)
	admin := w.admin()
	out, _ := w.do(admin, "POST", "/v3/projects", object{"project": object{"name": "top", "tags": []string{"x"}}}, 201)
	top := id(out, "project")
	out, _ = w.do(admin, "POST", "/v3/projects", object{"project": object{"name": "below", "parent_id": top}}, 201)
	below := id(out, "project")
	w.do(admin, "POST", "/v3/projects", object{"project": object{"name": "n", "parent_id": "absent"}}, 404)
	w.do(admin, "POST", "/v3/projects", object{"project": object{"name": "n", "is_domain": true}}, 400)
	w.do(admin, "DELETE", "/v3/projects/"+top, nil, 403)
	out, _ = w.do(admin, "GET", "/v3/projects?parent_id="+top, nil, 200)
	if l := out["projects"].([]any); len(l) != 1 {
		t.Errorf("children %v", l)
	}
	w.do(admin, "DELETE", "/v3/projects/"+below, nil, 204)
	w.do(admin, "DELETE", "/v3/projects/"+top, nil, 204)
}

func TestAssignments(t *testing.T) {
	w := newWorld(t)
	admin := w.admin()
	out, _ := w.do(admin, "POST", "/v3/users", object{"user": object{"name": "eve", "password": "correct horse", "email": "eve@example.org"}}, 201)
	eve := id(out, "user")
	out, _ = w.do(admin, "POST", "/v3/projects", object{"project": object{"name": "p"}}, 201)
	p := id(out, "project")
	roles := map[string]string{}
	out, _ = w.do(admin, "GET", "/v3/roles", nil, 200)
	for _, r := range out["roles"].([]any) {
		m := r.(map[string]any)
		roles[m["name"].(string)] = m["id"].(string)
	}
	w.do("", "POST", "/v3/auth/tokens", byName("eve", "correct horse", onProject("p")), 401)
	for _, at := range []string{"/v3/projects/" + p, "/v3/domains/default", "/v3/system"} {
		path := at + "/users/" + eve + "/roles"
		w.do(admin, "HEAD", path+"/"+roles["manager"], nil, 404)
		w.do(admin, "PUT", path+"/"+roles["manager"], nil, 204)
		w.do(admin, "PUT", path+"/"+roles["manager"], nil, 204) // again is the same
		w.do(admin, "HEAD", path+"/"+roles["manager"], nil, 204)
		w.do(admin, "PUT", path+"/absent", nil, 404)
		out, _ = w.do(admin, "GET", path, nil, 200)
		if l := out["roles"].([]any); len(l) != 1 {
			t.Errorf("%s: %v", path, l)
		}
	}
	w.do(admin, "PUT", "/v3/projects/absent/users/"+eve+"/roles/"+roles["member"], nil, 404)
	w.do(admin, "PUT", "/v3/projects/"+p+"/users/absent/roles/"+roles["member"], nil, 404)

	for name, scope := range map[string]object{"project": onProject("p"), "domain": {"domain": object{"id": "default"}}, "system": {"system": object{"all": true}}} {
		tok, _ := w.login(byName("eve", "correct horse", scope))
		pr, err := w.principal(tok)
		if err != nil || !slices.Equal(pr.Roles, []string{"manager", "member", "reader"}) {
			t.Errorf("%s: %+v, %v", name, pr, err)
			continue
		}
		if (pr.ProjectID != "") != (name == "project") || (pr.DomainID != "") != (name == "domain") || (pr.SystemScope == "all") != (name == "system") {
			t.Errorf("%s: %+v", name, pr)
		}
		for path, kind := range map[string]string{"/v3/auth/projects": "projects", "/v3/auth/domains": "domains", "/v3/auth/system": "system"} {
			out, _ := w.do(tok, "GET", path, nil, 200)
			if l := out[kind].([]any); len(l) != 1 {
				t.Errorf("%s: %v", path, l)
			}
		}
	}
	for query, want := range map[string]int{
		"user.id=" + eve:                                 3,
		"user.id=" + eve + "&effective":                  9,
		"user.id=" + eve + "&effective=false":            3,
		"user.id=" + eve + "&scope.project.id=" + p:      1,
		"user.id=" + eve + "&scope.domain.id=default":    1,
		"scope.system=all":                               2,
		"role.id=" + roles["manager"] + "&include_names": 4,
		"group.id=g": 0,
	} {
		out, _ := w.do(admin, "GET", "/v3/role_assignments?"+query, nil, 200)
		l := out["role_assignments"].([]any)
		if len(l) != want {
			t.Errorf("%s: %d assignments, want %d: %v", query, len(l), want, l)
		}
		if strings.Contains(query, "names") && l[0].(map[string]any)["role"].(map[string]any)["name"] != "manager" {
			t.Errorf("no names: %v", l[0])
		}
	}
	tok, _ := w.login(byName("eve", "correct horse", onProject("p")))
	w.do(admin, "DELETE", "/v3/projects/"+p+"/users/"+eve+"/roles/"+roles["manager"], nil, 204)
	w.do(admin, "DELETE", "/v3/projects/"+p+"/users/"+eve+"/roles/"+roles["manager"], nil, 404)
	w.dead(tok)

	// A default project is the scope of a login without one, once there is a role.
	w.do(admin, "PATCH", "/v3/users/"+eve, object{"user": object{"default_project_id": p}}, 200)
	if _, body := w.login(byName("eve", "correct horse", nil)); body["project"] != nil {
		t.Errorf("%v", body)
	}
	w.do(admin, "PUT", "/v3/projects/"+p+"/users/"+eve+"/roles/"+roles["member"], nil, 204)
	if _, body := w.login(byName("eve", "correct horse", nil)); body["project"] == nil {
		t.Errorf("%v", body)
	}
	w.do(admin, "DELETE", "/v3/projects/"+p, nil, 204)
	out, _ = w.do(admin, "GET", "/v3/role_assignments?scope.project.id="+p, nil, 200)
	if l := out["role_assignments"].([]any); len(l) != 0 {
		t.Errorf("a deleted project has assignments: %v", l)
	}
}

func TestCatalogue(t *testing.T) {
	w := newWorld(t)
	admin := w.admin()
	for path, want := range map[string]int{
		"regions": 1, "services": 2, "services?type=network": 1, "services?name=none": 0, "endpoints": 6,
		"endpoints?interface=public": 2, "endpoints?region_id=RegionOne&service_id=" + fixedID("service network"): 3,
	} {
		out, _ := w.do(admin, "GET", "/v3/"+path, nil, 200)
		kind, _, _ := strings.Cut(path, "?")
		if l := out[kind].([]any); len(l) != want {
			t.Errorf("%s: %d of %d", path, len(l), want)
		}
	}
	out, _ := w.do(admin, "GET", "/v3/endpoints?interface=public", nil, 200)
	for _, e := range out["endpoints"].([]any) {
		ep := e.(map[string]any)
		w.do(admin, "GET", fmt.Sprintf("/v3/endpoints/%s", ep["id"]), nil, 200)
		w.do(admin, "GET", fmt.Sprintf("/v3/services/%s", ep["service_id"]), nil, 200)
		if !strings.HasPrefix(ep["url"].(string), w.url) {
			t.Errorf("url %v", ep["url"])
		}
	}
	w.do(admin, "GET", "/v3/regions/RegionOne", nil, 200)
	w.do(admin, "GET", "/v3/regions/absent", nil, 404)
}
