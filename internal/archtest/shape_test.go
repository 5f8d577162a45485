package archtest

import (
	"go/ast"
	"slices"
	"strings"
	"unicode"
)

// The longest that things may be, in lines. What is generated may be longer.
const (
	maxFile     = 500
	maxTestFile = 800
	maxFunction = 80
)

func sizes(all *tree, fail report) {
	for _, s := range all.sources {
		if s.generated {
			continue
		}
		limit := maxFile
		if s.test {
			limit = maxTestFile
		}
		if s.lines > limit {
			fail("%s has %d lines, more than %d: split it by what its parts are about", s.path, s.lines, limit)
		}
		if s.test {
			continue
		}
		for _, d := range s.ast.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || table(f) {
				continue
			}
			n := all.fset.Position(f.End()).Line - all.fset.Position(f.Pos()).Line + 1
			if n > maxFunction {
				fail("%s: %s has %d lines, more than %d", all.at(f), f.Name.Name, n, maxFunction)
			}
		}
	}
}

// table tells whether a function only gives a literal: a table is as long as what it lists.
func table(f *ast.FuncDecl) bool {
	if f.Body == nil || len(f.Body.List) != 1 {
		return false
	}
	r, ok := f.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(r.Results) != 1 {
		return false
	}
	_, ok = r.Results[0].(*ast.CompositeLit)
	return ok
}

// packageDocs: each package has one comment that says what it is for, who calls it, what it never does.
func packageDocs(all *tree, fail report) {
	for dir, sources := range all.packages() {
		var docs []string
		start := "Package " + sources[0].ast.Name.Name
		onlyTests, onlyGenerated := true, true
		for _, s := range sources {
			onlyTests = onlyTests && s.test
			onlyGenerated = onlyGenerated && s.generated
			if s.test || s.generated {
				continue
			}
			start = "Package " + s.ast.Name.Name + " "
			if s.ast.Name.Name == "main" {
				start = "Command "
			}
			if s.ast.Doc != nil {
				docs = append(docs, s.ast.Doc.Text())
			}
		}
		if onlyTests || onlyGenerated {
			continue
		}
		if len(docs) != 1 {
			fail("%s has %d package comments; it needs one", dir, len(docs))
			continue
		}
		if !strings.HasPrefix(docs[0], start) {
			fail("%s: its comment begins with %q and not with %q", dir, strings.SplitN(docs[0], "\n", 2)[0], start)
		}
	}
}

// names: a name says what a thing is; these words say nothing. Neutron's own words may stay.
func names(all *tree, fail report) {
	empty := []string{"Manager", "Helper", "Helpers", "Util", "Utils", "Base", "Common", "Misc"}
	neutrons := []string{"TypeManager", "MechanismManager", "ExtensionManager"}
	for _, s := range all.sources {
		if s.generated {
			continue
		}
		for _, w := range empty {
			if strings.EqualFold(strings.TrimSuffix(s.ast.Name.Name, "_test"), w) {
				fail("%s: package %s", s.path, s.ast.Name.Name)
			}
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || slices.Contains(neutrons, spec.Name.Name) {
				return true
			}
			for _, w := range words(spec.Name.Name) {
				if slices.ContainsFunc(empty, func(e string) bool { return strings.EqualFold(e, w) }) {
					fail("%s: type %s; name it after what it does", all.at(spec), spec.Name.Name)
				}
			}
			return true
		})
	}
}

// words cuts a Go name: "ExtensionManager" is Extension, Manager.
func words(name string) []string {
	var all []string
	start := 0
	runes := []rune(name)
	for i := 1; i < len(runes); i++ {
		if unicode.IsUpper(runes[i]) && !unicode.IsUpper(runes[i-1]) {
			all = append(all, string(runes[start:i]))
			start = i
		}
	}
	return append(all, string(runes[start:]))
}

// noStoredContext: a context belongs to a call. A message to a goroutine that works for a caller who waits
// may carry the caller's; the comment at the field says that it waits.
func noStoredContext(all *tree, fail report) {
	for _, s := range all.sources {
		if s.test || s.generated {
			continue
		}
		imported := s.imports()
		ast.Inspect(s.ast, func(n ast.Node) bool {
			st, ok := n.(*ast.StructType)
			if !ok {
				return true
			}
			for _, f := range st.Fields.List {
				sel, ok := f.Type.(*ast.SelectorExpr)
				if !ok || sel.Sel.Name != "Context" {
					continue
				}
				if x, ok := sel.X.(*ast.Ident); ok && imported[x.Name] == "context" && !strings.Contains(f.Comment.Text()+f.Doc.Text(), "wait") {
					fail("%s: a struct keeps a context; pass it to the functions that need it", all.at(f))
				}
			}
			return true
		})
	}
}
