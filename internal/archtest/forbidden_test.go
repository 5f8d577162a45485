package archtest

import (
	"go/ast"
	"slices"
	"strings"
)

// timeAndChanceAreArguments: below assemble, clocks and makers of identifiers are passed in, so that tests own them.
func timeAndChanceAreArguments(all *tree, fail report) {
	clocks := []string{"Now", "Since", "Until", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer"}
	seeded := []string{"New", "NewPCG", "NewChaCha8", "NewZipf", "Rand", "Source", "PCG", "ChaCha8", "Zipf"} // the caller gives the seed
	for _, s := range all.sources {
		if s.test || s.generated || support(s.dir) || under(s.dir, "cmd", "internal/assemble", "internal/clock", "internal/ident") {
			continue
		}
		s.calls(func(n ast.Node, path, name string) {
			switch {
			case path == "time" && slices.Contains(clocks, name):
				fail("%s: time.%s; take a clock.Clock", all.at(n), name)
			case strings.HasPrefix(path, "math/rand") && !slices.Contains(seeded, name):
				fail("%s: %s.%s; take an ident.Source", all.at(n), path, name)
			case path == "github.com/google/uuid" && strings.HasPrefix(name, "New"):
				fail("%s: uuid.%s; take an ident.Source", all.at(n), name)
			}
		})
	}
}

// logsArePassedIn: no package writes to a logger that it was not given.
func logsArePassedIn(all *tree, fail report) {
	global := []string{"Default", "SetDefault", "Debug", "Info", "Warn", "Error", "Log",
		"DebugContext", "InfoContext", "WarnContext", "ErrorContext", "With"}
	for _, s := range all.sources {
		if s.test || s.generated {
			continue
		}
		s.calls(func(n ast.Node, path, name string) {
			switch {
			case path == "log":
				fail("%s: log.%s; take a *slog.Logger", all.at(n), name)
			case path == "log/slog" && slices.Contains(global, name):
				fail("%s: slog.%s; take a *slog.Logger", all.at(n), name)
			case path == "context" && name == "TODO":
				fail("%s: context.TODO; take a context", all.at(n))
			}
		})
	}
}

// noSleeps: wait for a state, step a clock; a sleep is too long or too short.
func noSleeps(all *tree, fail report) {
	for _, s := range all.sources {
		s.calls(func(n ast.Node, path, name string) {
			if path == "time" && name == "Sleep" {
				fail("%s: time.Sleep; wait for a state", all.at(n))
			}
		})
	}
}

// noSkips: a test that cannot run has failed.
func noSkips(all *tree, fail report) {
	skips := []string{"Skip", "Skipf", "SkipNow"}
	for _, s := range all.sources {
		if !s.test && !support(s.dir) {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := sel.X.(*ast.Ident)
			if !ok {
				return true
			}
			if slices.Contains(skips, sel.Sel.Name) && len(x.Name) <= 2 || x.Name == "testing" && sel.Sel.Name == "Short" {
				fail("%s: %s.%s; a test that needs something fails without it", all.at(call), x.Name, sel.Sel.Name)
			}
			return true
		})
	}
}

// noInit: nothing happens before main.
func noInit(all *tree, fail report) {
	for _, s := range all.sources {
		if s.generated {
			continue
		}
		for _, d := range s.ast.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				fail("%s: func init; let a constructor do it", all.at(f))
			}
		}
	}
}

// noRegistryHosts: where packages are downloaded from is the machine's affair.
func noRegistryHosts(all *tree, fail report) {
	var hosts []string
	for _, h := range [][2]string{{"proxy.golang", "org"}, {"sum.golang", "org"}, {"goproxy", "io"}, {"goproxy", "cn"}, {"pypi", "org"},
		{"pythonhosted", "org"}, {"registry.npmjs", "org"}, {"crates", "io"}, {"rubygems", "org"}, {"deb.debian", "org"},
		{"archive.ubuntu", "com"}, {"docker", "io"}, {"ghcr", "io"}, {"quay", "io"}, {"dl.google", "com"}} {
		hosts = append(hosts, h[0]+"."+h[1])
	}
	for path, text := range all.texts {
		for _, h := range hosts {
			if strings.Contains(string(text), h) {
				fail("%s names %s", path, h)
			}
		}
	}
}
