package policy

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"isospin/internal/auth"
)

var update = flag.Bool("update", false, "write docs/reference/policy.md")

func engine(t testing.TB, lines ...string) *Engine {
	t.Helper()
	over, err := Parse("policy.yaml", []byte(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	e, err := New(Options{Overrides: over})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

var (
	admin   = &auth.Principal{UserID: "u-admin", ProjectID: "p-admin", Roles: []string{"admin", "manager", "member", "reader"}}
	member  = &auth.Principal{UserID: "u-m", ProjectID: "p1", Roles: []string{"member", "reader"}}
	reader  = &auth.Principal{UserID: "u-r", ProjectID: "p1", Roles: []string{"Reader"}}
	service = &auth.Principal{UserID: "u-s", ProjectID: "p-service", Roles: []string{"service"}}
	nobody  = &auth.Principal{UserID: "u-n", Roles: []string{"member", "reader"}} // unscoped
	system  = &auth.Principal{UserID: "u-admin", SystemScope: "all", Roles: []string{"admin", "member", "reader"}}
)

func TestEveryDefaultCompiles(t *testing.T) {
	e := engine(t)
	list, err := Defaults()
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 492 {
		t.Errorf("%d default rules", len(list))
	}
	for _, d := range list {
		if !e.Has(d.Name) {
			t.Errorf("no rule %s", d.Name)
		}
		for _, p := range []*auth.Principal{admin, member, reader, service, nobody, system} {
			v := e.Verdict(p, d.Name)
			full := e.Allow(p, d.Name, Attrs{"project_id": "x"})
			if v == Always && !full || v == Never && full {
				t.Errorf("%s for %v: verdict %v but Allow %v", d.Name, p.Roles, v, full)
			}
		}
	}
	if w := e.Warnings(); len(w) > 0 {
		t.Error(w)
	}
}

// TestWhoMayDoWhat follows behaviour.md section 5 and section 11, with the five rules that differ.
func TestWhoMayDoWhat(t *testing.T) {
	e := engine(t)
	own := Attrs{"project_id": "p1"}
	foreign := Attrs{"project_id": "p2"}
	ownPort := Attrs{"project_id": "p1", "network:project_id": "p1", "device_owner": "network:dhcp"}
	onShared := Attrs{"project_id": "p1", "network:project_id": "p2", "network:shared": "true", "device_owner": "network:dhcp"}
	onForeign := Attrs{"project_id": "p1", "network:project_id": "p2", "network:shared": "false", "device_owner": "compute:nova"}
	rule := Attrs{"project_id": "p1", "ext_parent:project_id": "p1"}
	foreignRule := Attrs{"project_id": "p2", "ext_parent:project_id": "p2"}
	cases := []struct {
		who  *auth.Principal
		rule string
		what Target
		want bool
	}{
		{member, "create_network", own, true},
		{member, "create_network", foreign, false},
		{reader, "create_network", own, false},
		{admin, "create_network", foreign, true},
		{service, "create_network", own, false},
		{reader, "get_network", own, true},
		{reader, "get_network", foreign, false},
		{reader, "get_network", Attrs{"project_id": "p2", "shared": "True"}, true},
		{member, "get_network", Attrs{"project_id": "p2", "router:external": "true"}, true},
		{service, "get_network", foreign, true},
		{reader, "update_network", own, false},
		{member, "update_network", Attrs{"project_id": "p2", "shared": "true"}, false},
		{member, "create_network:shared", own, false},
		{admin, "create_network:shared", own, true},
		{member, "create_network:provider:network_type", own, false},
		{member, "get_network:provider:network_type", own, false},
		{admin, "get_network:provider:network_type", own, true},
		{member, "get_network:name", foreign, true}, // no rule guards it
		{member, "get_agent", own, false},
		{member, "get_segment", own, false},
		{admin, "get_agent", nil, true},
		{member, "get_network_ip_availability", own, false},
		{service, "get_network_ip_availability", own, true},

		{member, "create_port", ownPort, true},
		{member, "create_port", onShared, true},
		{member, "create_port", onForeign, false},
		{reader, "create_port", ownPort, false},
		{member, "create_port:mac_address", ownPort, true},
		{member, "create_port:mac_address", onShared, false},
		{member, "create_port:fixed_ips:ip_address", onShared, false},
		{member, "create_port:fixed_ips:subnet_id", onShared, true},
		{member, "create_port:port_security_enabled", onShared, false},
		{member, "create_port:device_owner", ownPort, true},
		{member, "create_port:device_owner", onShared, false},
		{member, "create_port:device_owner", onForeign, true},
		{member, "create_port:device_owner", Attrs{"network:project_id": "p2"}, true},
		{member, "create_port:binding:host_id", ownPort, false},
		{member, "create_port:binding:profile", ownPort, false},
		{admin, "create_port:binding:profile", ownPort, true},
		{service, "create_port:binding:profile", ownPort, true},
		{admin, "create_port_binding", ownPort, true},
		{admin, "delete_port_binding", ownPort, true},
		{admin, "activate", ownPort, true},
		{service, "activate", ownPort, true},
		{member, "activate", ownPort, false},
		{member, "get_port:binding:vif_type", ownPort, false},
		{service, "get_port:binding:vif_type", ownPort, true},
		{member, "get_port", Attrs{"project_id": "p2", "network:project_id": "p1"}, true},
		{member, "get_port", Attrs{"project_id": "p2", "network:project_id": "p2"}, false},

		{member, "get_subnet", Attrs{"project_id": "p2", "network:shared": "true"}, true},
		{member, "get_subnet", Attrs{"project_id": "p2", "network:router:external": "true"}, true},
		{member, "get_subnet", Attrs{"project_id": "p2", "router:external": "true"}, true},
		{member, "get_subnet", foreign, false},
		{member, "create_subnet", Attrs{"project_id": "p1", "network:project_id": "p2"}, false},

		{member, "create_router:ha", own, false},
		{member, "get_router:ha", own, false},
		{member, "add_router_interface", own, true},
		{reader, "add_router_interface", own, false},
		{member, "create_router:external_gateway_info:enable_snat", own, false},
		{member, "create_floatingip:floating_ip_address", own, false},
		{admin, "create_floatingip:floating_ip_address", foreign, true},
		{member, "create_floatingip_port_forwarding", rule, true},
		{member, "create_floatingip_port_forwarding", foreignRule, false},
		{reader, "get_floatingip_port_forwarding", rule, true},
		{member, "create_policy_bandwidth_limit_rule", rule, false},
		{member, "create_rbac_policy:target_tenant", Attrs{"project_id": "p1", "target_tenant": "*"}, false},
		{member, "create_rbac_policy:target_tenant", Attrs{"project_id": "p1", "target_tenant": "p9"}, true},
		{admin, "create_rbac_policy:target_tenant", Attrs{"project_id": "p1", "target_tenant": "*"}, true},
		{member, "get_security_group_rule", Attrs{"project_id": "p2", "security_group:project_id": "p1"}, true},
		{member, "get_availability_zone", nil, true},

		{nobody, "get_network", Attrs{"project_id": ""}, false},
		{nobody, "get_network", Attrs{}, false},
		{system, "create_network", own, false}, // a rule for project tokens
		{member, "no_such_rule", own, true},    // default: admin_or_owner
		{member, "no_such_rule", foreign, false},
	}
	for _, c := range cases {
		if got := e.Allow(c.who, c.rule, c.what); got != c.want {
			t.Errorf("%s for %v on %v: %v\n%s", c.rule, c.who.Roles, c.what, got, e.Explain(c.who, c.rule, c.what))
		}
		if c.want != e.Explain(c.who, c.rule, c.what).Allowed {
			t.Errorf("%s: Explain does not agree", c.rule)
		}
	}
}

func TestVerdicts(t *testing.T) {
	e := engine(t)
	for _, c := range []struct {
		who  *auth.Principal
		rule string
		want Verdict
	}{
		{admin, "get_network", Always},
		{member, "get_network", Depends},
		{nobody, "get_network", Depends}, // shared ones
		{nobody, "get_router", Never},
		{member, "get_network:provider:segmentation_id", Never},
		{admin, "get_network:provider:segmentation_id", Always},
		{member, "get_network:name", Always},
		{member, "get_port:binding:host_id", Never},
		{service, "get_port:binding:host_id", Always},
		{member, "get_agent", Never},
		{system, "get_agent", Never},
	} {
		if got := e.Verdict(c.who, c.rule); got != c.want {
			t.Errorf("%s for %v: %v, want %v", c.rule, c.who.Roles, got, c.want)
		}
	}
}

func TestNeeds(t *testing.T) {
	e := engine(t)
	for rule, want := range map[string][]string{
		"create_port":                       {"network:project_id", "network:shared"},
		"get_network":                       {"project_id", "router:external", "shared"},
		"get_subnet":                        {"network:project_id", "network:router:external", "network:shared", "project_id"},
		"get_agent":                         nil,
		"create_port:device_owner":          {"device_owner", "network:project_id"},
		"delete_floatingip_port_forwarding": {"ext_parent:project_id"},
		"no_such_rule":                      {"project_id"},
	} {
		if got := e.Needs(rule); !slices.Equal(got, want) {
			t.Errorf("%s needs %v, want %v", rule, got, want)
		}
	}
}

func TestLanguage(t *testing.T) {
	p := &auth.Principal{
		UserID: "u1", ProjectID: "p1", ProjectName: "one", DomainID: "", Roles: []string{"member", "Ops"},
		ServiceRoles: []string{"service", "vouch"},
	}
	target := Attrs{"project_id": "p1", "user_id": "u2", "mtu": "1500", "shared": "true", "owner": "network:dhcp", "kind": "Ops"}
	for check, want := range map[string]bool{
		"":                                           true,
		"@":                                          true,
		"!":                                          false,
		"role:MEMBER":                                true,
		"role:%(kind)s":                              true,
		"role:%(absent)s":                            false,
		"not role:admin":                             true,
		"NOT role:admin":                             true,
		"not not role:admin":                         false,
		"role:admin or role:member and !":            false,
		"(role:admin or role:member) and @":          true,
		"role:member or role:admin and !":            true,
		"not role:admin and role:member":             true,
		"not (role:admin or role:member)":            false,
		"((role:member))":                            true,
		"tenant_id:%(tenant_id)s":                    true,
		"project_id:p1":                              true,
		"project_id:%(user_id)s":                     false,
		"project_name:one":                           true,
		"user_id:%(user_id)s":                        false,
		"'1500':%(mtu)s":                             true,
		"1500:%(mtu)s":                               true,
		"1501:%(mtu)s":                               false,
		"True:%(shared)s":                            true,
		"'network:dhcp':%(owner)s":                   true,
		`"network:dhcp":%(owner)s`:                   true,
		"'network:dhcp':network:%(absent)s":          false,
		"system_scope:all":                           false,
		"system_scope:None":                          true,
		"service_roles:service":                      true,
		"service_roles:admin":                        false,
		"roles:Ops":                                  true,
		"is_admin:True":                              false,
		"is_admin:False":                             true,
		"field:ports:mtu=1500":                       true,
		"field:ports:shared=True":                    true,
		"field:ports:shared=False":                   false,
		"field:ports:owner=~network:":                true,
		"field:ports:owner=~dhcp":                    false,
		"not field:ports:absent=1":                   true,
		"project_id:%(absent)s or rule:regular_user": true,
	} {
		e := engine(t)
		over := []Override{{Name: "x", Check: check, Origin: "here:1"}}
		if err := e.Replace(Options{Overrides: over}); err != nil {
			t.Errorf("%q: %v", check, err)
			continue
		}
		if got := e.Allow(p, "x", target); got != want {
			t.Errorf("%q: %v", check, got)
		}
	}
}

func TestAdministratorsByAnotherRule(t *testing.T) {
	e := engine(t, `context_is_admin: "role:cloud or is_admin:True"`, `x: "is_admin:True and not is_admin:False"`)
	boss := &auth.Principal{Roles: []string{"cloud"}}
	if !e.IsAdmin(boss) || !e.Allow(boss, "x", nil) || e.IsAdmin(admin) || e.Allow(admin, "x", nil) {
		t.Error("context_is_admin does not decide is_admin")
	}
	if !e.Allow(boss, "create_network:shared", nil) || e.Allow(admin, "create_network:shared", nil) {
		t.Error("context_is_admin does not decide admin_only")
	}
}

func TestMistakesAreToldWithTheirPlace(t *testing.T) {
	for text, want := range map[string]string{
		"a: 'role:x'\nb: 'role:x and'":     `policy.yaml:2: rule "b": the rule ends too early`,
		"a: 'rule:nope'":                   `policy.yaml:1: rule "a": there is no rule "nope"`,
		"a: 'rule:b'\nb: 'not rule:a'":     `rule "a": the rule refers to itself`,
		"a: 'role:x) or role:y'":           `unexpected ")"`,
		"a: '(role:x'":                     `")" is missing`,
		"a: 'role:x role:y'":               `unexpected "role:y"`,
		"a: 'and role:y'":                  `unexpected "and"`,
		"a: nonsense":                      `is no check`,
		"a: 'http://example.org/%(name)s'": `not supported`,
		"a: 'colour:%(x)s'":                `no credential "colour"`,
		"a: 'project_id:%(x'":              `%(attribute)s is expected`,
		"a: 'field:x'":                     `field:collection:attribute=value`,
		"a: 'field:x:y=~['":                `missing closing ]`,
		"a: \"'lonely'\"":                  `stands alone`,
		"a: '@'\na: '!'":                   `policy.yaml:2: rule "a": given before, in line 1`,
		"a:":                               `the rule is missing`,
		"a: !":                             `the rule is missing`,
		"- a":                              `policy.yaml:1: a mapping`,
		"a: {b: c}":                        `text is expected`,
		"x: '@'\na: 'b":                    `policy.yaml:`,
		"a: '" + strings.Repeat("(", 300) + "role:x'": `nests too deep`,
		"a: '" + strings.Repeat("not ", 300) + "@'":   `nests too deep`,
	} {
		over, err := Parse("policy.yaml", []byte(text))
		if err == nil {
			_, err = New(Options{Overrides: over})
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: error %v, want %s", text, err, want)
		}
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("1.json", "{\n\t\"create_network\": [[\"role:a\", \"role:b\"], [\"role:c\"]],\n\t\"update_network\": [[]],\n\t\"delete_network\": []\n}")
	write("2.yaml", "# nothing but a comment\n")
	write("3.yaml", "get_network: '!'\ncreate_networks_tags: 'role:old'\nodd_name: 'role:x'\n")
	over, err := ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	e, err := New(Options{Overrides: over})
	if err != nil {
		t.Fatal(err)
	}
	has := func(roles ...string) *auth.Principal { return &auth.Principal{ProjectID: "p1", Roles: roles} }
	for i, c := range []struct {
		p    *auth.Principal
		rule string
		want bool
	}{
		{has("a"), "create_network", false}, {has("a", "b"), "create_network", true}, {has("c"), "create_network", true},
		{has("c"), "update_network", false}, {has(), "delete_network", true}, {admin, "get_network", false},
		{has("old"), "create_network:tags", true}, {admin, "create_network:tags", false},
	} {
		if got := e.Allow(c.p, c.rule, Attrs{"project_id": "p1"}); got != c.want {
			t.Errorf("case %d, %s: %v", i, c.rule, got)
		}
	}
	w := e.Warnings()
	if len(w) != 1 || !strings.Contains(w[0], `3.yaml:3: nothing asks for the rule "odd_name"`) {
		t.Error(w)
	}
	if x := e.Explain(admin, "get_network", nil); x.Origin == "" || x.Allowed || !strings.Contains(x.String(), "nobody is allowed") {
		t.Errorf("%+v", x)
	}
	if _, err := ReadFile(filepath.Join(dir, "absent.yaml")); err == nil {
		t.Error("a missing file is no error")
	}
}

func TestExplain(t *testing.T) {
	e := engine(t)
	for _, c := range []struct {
		who  *auth.Principal
		rule string
		what Target
		want []string
	}{
		{member, "create_network:shared", Attrs{"project_id": "p1"}, []string{"the caller lacks the role admin (it has member, reader)"}},
		{member, "update_network", Attrs{"project_id": "p2"}, []string{"the caller lacks the role admin (it has member, reader)", `the caller's project_id "p1" is not "p2" (%(project_id)s)`}},
		{system, "create_network", nil, []string{"the token's scope is system, the rule is for project"}},
		{member, "create_rbac_policy:target_tenant", Attrs{"target_tenant": "*"}, []string{"the caller lacks the role admin (it has member, reader)", "what the rule excludes is the case (field:rbac_policy:target_tenant=*)"}},
	} {
		got := e.Explain(c.who, c.rule, c.what)
		if got.Allowed || !slices.Equal(got.Missing, c.want) {
			t.Errorf("%s: %q, want %q", c.rule, got.Missing, c.want)
		}
	}
}

func TestReplaceKeepsTheOldRulesOnError(t *testing.T) {
	e := engine(t, "get_network: '!'")
	if err := e.Replace(Options{Overrides: []Override{{Name: "x", Check: "("}}}); err == nil {
		t.Fatal("no error")
	}
	if e.Allow(admin, "get_network", nil) {
		t.Error("the old rules are gone")
	}
}

func TestScopesCanBeIgnored(t *testing.T) {
	e, err := New(Options{IgnoreScope: true})
	if err != nil {
		t.Fatal(err)
	}
	if !e.Allow(system, "create_network", Attrs{"project_id": "p1"}) {
		t.Error("a system token is refused although scopes are ignored")
	}
}

func TestReferenceIsFresh(t *testing.T) {
	want, err := Reference()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("..", "..", "docs", "reference", "policy.md")
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want) {
		t.Error("docs/reference/policy.md is stale: go test ./internal/policy -run Reference -update")
	}
}

func FuzzParse(f *testing.F) {
	list, err := Defaults()
	if err != nil {
		f.Fatal(err)
	}
	seen := map[string]bool{}
	for _, d := range list {
		if !seen[d.Check] {
			seen[d.Check] = true
			f.Add(d.Check)
		}
	}
	for _, s := range []string{"'", "\"", "'a':", "a:%", "a:%(", "a:%()s", "((", "))", "not", "field::=", "is_admin:", "role:", "'a':%(b)s%%", "rule:"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := parse(s)
		if err != nil {
			return
		}
		unresolved := false
		walk(n, func(n node) {
			if _, ok := n.(*reference); ok {
				unresolved = true
			}
		})
		if describe(n) == "" {
			t.Error("no description")
		}
		if unresolved {
			return
		}
		v, full := n.eval(member, nil), n.eval(member, Attrs{"project_id": "p1"})
		if full == Depends || v == Always && full != Always || v == Never && full != Never {
			t.Errorf("%q: %v without a target, %v with one", s, v, full)
		}
	})
}

func BenchmarkAllow(b *testing.B) {
	e := engine(b)
	target := Target(Attrs{"project_id": "p1", "network:project_id": "p1", "shared": "false", "router:external": "false"})
	for _, c := range []struct {
		name string
		who  *auth.Principal
		rule string
	}{
		{"member/create_port", member, "create_port"},
		{"member/get_network", member, "get_network"},
		{"member/refused", member, "create_network:shared"},
		{"admin/get_port", admin, "get_port"},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				e.Allow(c.who, c.rule, target)
			}
		})
	}
}

func BenchmarkVerdict(b *testing.B) {
	e := engine(b)
	b.ReportAllocs()
	for b.Loop() {
		e.Verdict(member, "get_port:binding:host_id")
	}
}
