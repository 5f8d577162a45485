//go:build conformance

package conformance

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/pagination"

	"isospin/isospintest"
)

const gopherNetworking = "github.com/gophercloud/gophercloud/v2/openstack/networking/v2"

// gopherLeftOut are the packages, and functions of packages, of gophercloud's networking that no test calls, and why.
func gopherLeftOut() map[string]string {
	return map[string]string{
		"common": "holds tests alone", "extensions": "is the root of those below", "extensions/layer3": "is the root of those below", "extensions/security": "is the root of those below",
		"extensions/bgp/peers": "dynamic routing is a project beside Neutron", "extensions/bgp/speakers": "dynamic routing is a project beside Neutron",
		"extensions/bgpvpns": "is a project beside Neutron", "extensions/taas/tapmirrors": "is a project beside Neutron",
		"extensions/fwaas_v2": "comes with the firewalls", "extensions/fwaas_v2/groups": "comes with the firewalls",
		"extensions/fwaas_v2/policies": "comes with the firewalls", "extensions/fwaas_v2/rules": "comes with the firewalls",
		"extensions/vpnaas/endpointgroups": "comes with the VPNs", "extensions/vpnaas/ikepolicies": "comes with the VPNs",
		"extensions/vpnaas/ipsecpolicies": "comes with the VPNs", "extensions/vpnaas/services": "comes with the VPNs", "extensions/vpnaas/siteconnections": "comes with the VPNs",
		"extensions/agents.ListBGPSpeakers": "dynamic routing", "extensions/agents.ScheduleBGPSpeaker": "dynamic routing",
		"extensions/agents.RemoveBGPSpeaker": "dynamic routing", "extensions/agents.ListDRAgentHostingBGPSpeakers": "dynamic routing",
	}
}

// TestGophercloudWhole: every package of gophercloud's networking is used by this package's tests, with every function of it
// that sends a request, or is named with the reason.
func TestGophercloudWhole(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.ImportPath}} {{.Dir}}", gopherNetworking+"/...").Output()
	must(t, err)
	used := gopherUsed(t)
	left := gopherLeftOut()
	packages := 0
	for line := range strings.Lines(string(out)) {
		path, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
		name := strings.TrimPrefix(path, gopherNetworking+"/")
		if strings.HasSuffix(name, "testing") {
			continue
		}
		packages++
		if left[name] != "" {
			if used[name] != nil {
				t.Errorf("%s is used and left out", name)
			}
			continue
		}
		if used[name] == nil {
			t.Errorf("%s is not used", name)
		}
		for _, f := range gopherRequests(t, dir) {
			if why := left[name+"."+f]; used[name][f] == (why != "") {
				t.Errorf("%s.%s: used %v, left out %v", name, f, used[name][f], why != "")
			}
		}
	}
	if packages < 40 {
		t.Errorf("gophercloud has %d packages", packages)
	}
}

// gopherRequests are the exported functions of a package that take its client.
func gopherRequests(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	must(t, err)
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		must(t, err)
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv != nil || !fn.Name.IsExported() {
				continue
			}
			for _, p := range fn.Type.Params.List {
				star, ok := p.Type.(*ast.StarExpr)
				if !ok {
					continue
				}
				if sel, ok := star.X.(*ast.SelectorExpr); ok && sel.Sel.Name == "ServiceClient" {
					names = append(names, fn.Name.Name)
				}
			}
		}
	}
	return names
}

// gopherUsed are the names that the files beside this one use of each package of gophercloud's networking.
func gopherUsed(t *testing.T) map[string]map[string]bool {
	t.Helper()
	used := map[string]map[string]bool{}
	files, err := filepath.Glob("*_test.go")
	must(t, err)
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		must(t, err)
		local := map[string]string{}
		for _, im := range f.Imports {
			path, found := strings.CutPrefix(strings.Trim(im.Path.Value, `"`), gopherNetworking+"/")
			if !found {
				continue
			}
			name := path[strings.LastIndexByte(path, '/')+1:]
			if im.Name != nil {
				name = im.Name.Name
			}
			local[name] = path
			if used[path] == nil {
				used[path] = map[string]bool{}
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok && local[x.Name] != "" {
					used[local[x.Name]][sel.Sel.Name] = true
				}
			}
			return true
		})
	}
	return used
}

// TestGophercloudExtensions goes through what is beside networks, subnets, ports and groups on every database.
func TestGophercloudExtensions(t *testing.T) {
	for _, kind := range []string{"sqlite", "postgres", "mariadb"} {
		t.Run(kind, func(t *testing.T) {
			options := listening(t, databases.Fresh(t, kind))
			options["DEFAULT/dns_domain"], options["DEFAULT/vlan_transparent"] = "example.org.", "true"
			s := isospintest.Start(t, isospintest.Options{Auth: "dev", Config: options})
			hosts(t, options, 2)
			g := gopher{t, t.Context(), loggedIn(t, s, "admin", "isospin", "admin")}
			project := projectOf(t, loggedIn(t, s, "demo", "isospin-demo", "demo"))
			t.Run("versions", func(t *testing.T) { g.as(t).versions() })
			t.Run("agents", func(t *testing.T) { g.as(t).agents() })
			t.Run("tags", func(t *testing.T) { g.as(t).tags() })
			t.Run("pools", func(t *testing.T) { g.as(t).pools() })
			t.Run("quotas", func(t *testing.T) { g.as(t).quotas(project) })
			t.Run("sharing", func(t *testing.T) { g.as(t).sharing(project) })
			t.Run("addresses", func(t *testing.T) { g.as(t).addresses() })
			t.Run("qos", func(t *testing.T) { g.as(t).qos() })
			t.Run("trunks", func(t *testing.T) { g.as(t).trunks() })
			t.Run("segments", func(t *testing.T) { g.as(t).segments() })
			t.Run("names", func(t *testing.T) { g.as(t).names() })
			t.Run("availability", func(t *testing.T) { g.as(t).availability() })
			t.Run("ports", func(t *testing.T) { g.as(t).portsMore() })
			t.Run("routers", func(t *testing.T) { g.as(t).routers() })
			t.Run("gateways", func(t *testing.T) { g.as(t).gateways() })
			t.Run("floating IPs", func(t *testing.T) { g.as(t).floating() })
		})
	}
}

// as is the same for a test's part.
func (g gopher) as(t *testing.T) gopher { return gopher{t, t.Context(), g.c} }

// all reads a list to its end.
func all[T any](g gopher, p pagination.Pager, extract func(pagination.Page) ([]T, error)) []T {
	g.t.Helper()
	page, err := p.AllPages(g.ctx)
	must(g.t, err)
	list, err := extract(page)
	must(g.t, err)
	return list
}

// one is the only element of a list.
func one[T any](g gopher, p pagination.Pager, extract func(pagination.Page) ([]T, error)) T {
	g.t.Helper()
	list := all(g, p, extract)
	if len(list) != 1 {
		g.t.Fatalf("%d in the list, not one: %+v", len(list), list)
	}
	return list[0]
}

// is compares what came with what was to come.
func is[T comparable](g gopher, got, want T) {
	g.t.Helper()
	if got != want {
		g.t.Errorf("%v instead of %v", got, want)
	}
}

// made takes a result's value, and its error, which must be none.
func made[T any](v T, err error) func(g gopher) T {
	return func(g gopher) T {
		g.t.Helper()
		must(g.t, err)
		return v
	}
}
