package policy

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"isospin/internal/auth"
)

func TestResidue(t *testing.T) {
	e := engine(t, `x: "not (role:admin or rule:network_device) and user_id:%(user_id)s"`, `y: "roles:%(kind)s"`, `z: "role:%(kind)s"`)
	for _, c := range []struct {
		who  *auth.Principal
		rule string
		want [][]Condition
		ok   bool
	}{
		{admin, "get_network", [][]Condition{{}}, true},
		{member, "get_agent", nil, true},
		{member, "get_network", [][]Condition{
			{{Attr: "project_id", Value: "p1"}}, {{Attr: "shared", Value: "True", Fold: true}}, {{Attr: "router:external", Value: "True", Fold: true}},
		}, true},
		{nobody, "get_network", [][]Condition{
			{{Attr: "shared", Value: "True", Fold: true}}, {{Attr: "router:external", Value: "True", Fold: true}},
		}, true},
		{member, "get_port", [][]Condition{{{Attr: "network:project_id", Value: "p1"}}, {{Attr: "project_id", Value: "p1"}}}, true},
		{member, "x", [][]Condition{{{Attr: "device_owner", Value: "^network:", Pattern: true, Not: true}, {Attr: "user_id", Value: "u-m"}}}, true},
		{member, "y", [][]Condition{{{Attr: "kind", Value: "member"}}, {{Attr: "kind", Value: "reader"}}}, true},
		{member, "z", nil, false},
	} {
		got, ok := e.Residue(c.who, c.rule)
		if ok != c.ok || cmp.Diff(c.want, got) != "" {
			t.Errorf("%s for %v: %v\n%s", c.rule, c.who.Roles, ok, cmp.Diff(c.want, got))
		}
	}
}

func (c Condition) holds(t Target) bool {
	have, ok := t.Attr(c.Attr)
	switch {
	case !ok:
	case c.Pattern:
		ok = regexp.MustCompile("^(?:" + c.Value + ")").MatchString(have)
	case c.Fold:
		ok = strings.EqualFold(have, c.Value)
	default:
		ok = have == c.Value
	}
	return ok != c.Not
}

// TestResidueAgreesWithAllow tries every default rule on objects of all sorts.
func TestResidueAgreesWithAllow(t *testing.T) {
	e := engine(t)
	list, err := Defaults()
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, d := range list {
		needs := e.Needs(d.Name)
		for _, p := range []*auth.Principal{admin, member, reader, service, nobody, system} {
			alternatives, ok := e.Residue(p, d.Name)
			if !ok {
				t.Errorf("%s cannot be expanded", d.Name)
			}
			for bits := range 1 << len(needs) {
				target := Attrs{}
				for i, n := range needs {
					good := bits&(1<<i) != 0
					switch {
					case strings.HasSuffix(n, "project_id"):
						target[n] = map[bool]string{true: "p1", false: "p2"}[good]
					case n == "device_owner":
						target[n] = map[bool]string{true: "network:dhcp", false: "compute:nova"}[good]
					case n == "target_tenant":
						target[n] = map[bool]string{true: "*", false: "p1"}[good]
					case good: // a boolean; false is also what is absent
						target[n] = "true"
					}
				}
				want := false
				for _, all := range alternatives {
					holds := true
					for _, c := range all {
						holds = holds && c.holds(target)
					}
					want = want || holds
				}
				if got := e.Allow(p, d.Name, target); got != want {
					t.Fatalf("%s for %v on %v: Allow %v, Residue %v", d.Name, p.Roles, target, got, want)
				}
				checked++
			}
		}
	}
	if checked < 3000 {
		t.Errorf("only %d cases", checked)
	}
}
