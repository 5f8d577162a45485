package archtest

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// noMutablePackageState: a package-level variable is a constant that Go cannot write as one: an error
// value, a compiled pattern, a table, an embedded file. It is never assigned, and nothing keeps state in it.
func noMutablePackageState(all *tree, fail report) {
	for dir, sources := range all.packages() {
		if dir == "internal/archtest" {
			continue
		}
		touched := map[string]string{}
		for _, s := range sources {
			if !s.test {
				assignments(all, s, touched)
			}
		}
		for _, s := range sources {
			if s.test || s.generated {
				continue
			}
			for _, d := range s.ast.Decls {
				if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
					judge(fail, all, s, g, touched)
				}
			}
		}
	}
}

// judge holds one var declaration to the rule.
func judge(fail report, all *tree, s *source, g *ast.GenDecl, touched map[string]string) {
	for _, spec := range g.Specs {
		v := spec.(*ast.ValueSpec)
		if embedded(g.Doc) || embedded(v.Doc) {
			continue
		}
		for i, name := range v.Names {
			if name.Name == "_" {
				continue
			}
			if where, ok := touched[name.Name]; ok {
				fail("%s: package variable %s is changed at %s; give it an owner", all.at(name), name.Name, where)
				continue
			}
			if i >= len(v.Values) || !constant(s, v.Values[i]) {
				fail("%s: package variable %s can hold state; make it in a constructor or a function", all.at(name), name.Name)
			}
		}
	}
}

func embedded(doc *ast.CommentGroup) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed ") })
}

// constant tells whether a value is one that stays as it is when nobody assigns to it.
func constant(s *source, e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit, *ast.Ident, *ast.FuncLit, *ast.SelectorExpr:
		return true
	case *ast.ParenExpr:
		return constant(s, e.X)
	case *ast.BinaryExpr:
		return constant(s, e.X) && constant(s, e.Y)
	case *ast.UnaryExpr:
		return e.Op != token.AND && constant(s, e.X)
	case *ast.IndexExpr:
		return constant(s, e.X)
	case *ast.CompositeLit:
		sel, ok := e.Type.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := sel.X.(*ast.Ident)
		return ok && !strings.HasPrefix(s.imports()[x.Name], "sync")
	case *ast.CallExpr:
		return constantCall(s, e)
	}
	return false
}

// constantCall tells whether a call makes a value rather than something that keeps state: conversions, errors,
// patterns, and functions whose name says that they parse (Must..., Parse..., As...).
func constantCall(s *source, c *ast.CallExpr) bool {
	fun := c.Fun
	if ix, ok := fun.(*ast.IndexExpr); ok { // an instantiated generic function
		fun = ix.X
	}
	switch f := fun.(type) {
	case *ast.ArrayType, *ast.MapType, *ast.ParenExpr:
		return true
	case *ast.Ident:
		return strings.HasPrefix(f.Name, "must") || slices.Contains([]string{"string", "byte", "len", "min", "max"}, f.Name) ||
			f.Obj != nil && f.Obj.Kind == ast.Typ
	case *ast.SelectorExpr:
		x, ok := f.X.(*ast.Ident)
		if !ok {
			return false
		}
		name := s.imports()[x.Name] + "." + f.Sel.Name
		return strings.HasPrefix(f.Sel.Name, "Must") || slices.Contains([]string{
			"errors.New", "fmt.Errorf", "fmt.Sprintf", "net/netip.AddrFrom4", "net/netip.AddrFrom16", "net/netip.PrefixFrom",
			"strings.NewReplacer", "strings.Join", "strings.Repeat", "strings.Fields", "net.IPv4", "net.CIDRMask", "math/big.NewInt",
			"encoding/binary.NativeEndian", "reflect.TypeFor", "time.Duration", "encoding/json.RawMessage", "unsafe.Sizeof",
			"encoding/base64.NewEncoding", "hash/crc32.MakeTable",
		}, name)
	}
	return false
}

// assignments notes the package variables that a file changes: assigns, counts, takes the address of, deletes from.
func assignments(all *tree, s *source, touched map[string]string) {
	note := func(e ast.Expr) {
		if name := global(all, e); name != "" {
			touched[name] = all.at(e)
		}
	}
	ast.Inspect(s.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				for _, e := range n.Lhs {
					note(e)
				}
			}
		case *ast.IncDecStmt:
			note(n.X)
		case *ast.UnaryExpr:
			if _, literal := n.X.(*ast.CompositeLit); n.Op == token.AND && !literal {
				note(n.X)
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok && (f.Name == "delete" || f.Name == "clear") && len(n.Args) > 0 {
				note(n.Args[0])
			}
		}
		return true
	})
}

// global is the package-level variable at the root of an expression, or nothing.
func global(all *tree, e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			if x.Obj == nil { // declared in another file, or predeclared
				return x.Name
			}
			spec, ok := x.Obj.Decl.(*ast.ValueSpec)
			if ok && x.Obj.Kind == ast.Var && topLevel(all, spec) {
				return x.Name
			}
			return ""
		case *ast.IndexExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return ""
		}
	}
}

// topLevel tells whether the spec is a package's and not a function's.
func topLevel(all *tree, spec *ast.ValueSpec) bool {
	for _, s := range all.sources {
		if s.ast.FileStart <= spec.Pos() && spec.Pos() < s.ast.FileEnd {
			return slices.ContainsFunc(s.ast.Decls, func(d ast.Decl) bool {
				g, ok := d.(*ast.GenDecl)
				return ok && slices.Contains(g.Specs, ast.Spec(spec))
			})
		}
	}
	return false
}
