package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// source is one Go file.
type source struct {
	path      string // from the project's folder, with slashes
	dir       string // of path: the package's place, "internal/fault"
	ast       *ast.File
	lines     int
	test      bool // *_test.go
	generated bool
}

// tree is every Go file and every other text file of the project.
type tree struct {
	fset    *token.FileSet
	sources []*source
	texts   map[string][]byte // by path; also the Go files
}

// report is how a rule tells of a place that breaks it.
type report func(format string, args ...any)

// read gathers the files below a folder.
func read(root string) (*tree, error) {
	t := &tree{fset: token.NewFileSet(), texts: map[string][]byte{}}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != root && (strings.HasPrefix(name, ".") && name != ".ci" || name == "bin") {
				return filepath.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		return t.add(filepath.ToSlash(rel), path)
	})
	return t, err
}

func (t *tree) add(rel, path string) error {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if bytes.IndexByte(text, 0) >= 0 {
		return nil // not a text
	}
	t.texts[rel] = text
	if !strings.HasSuffix(rel, ".go") || strings.Contains("/"+rel, "/testdata/") {
		return nil
	}
	f, err := parser.ParseFile(t.fset, rel, text, parser.ParseComments)
	if err != nil {
		return err
	}
	t.sources = append(t.sources, &source{
		path: rel, dir: filepath.ToSlash(filepath.Dir(rel)), ast: f,
		lines: bytes.Count(text, []byte("\n")), test: strings.HasSuffix(rel, "_test.go"), generated: ast.IsGenerated(f),
	})
	return nil
}

// packages is the sources by folder, test files included.
func (t *tree) packages() map[string][]*source {
	all := map[string][]*source{}
	for _, s := range t.sources {
		all[s.dir] = append(all[s.dir], s)
	}
	return all
}

// at is a node's place for a message.
func (t *tree) at(n ast.Node) string {
	p := t.fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}

// version is the last part of an import path that is not the package's name.
var version = regexp.MustCompile(`^v[0-9]+$`)

// paths is what a file imports.
func (s *source) paths() []string {
	var all []string
	for _, spec := range s.ast.Imports {
		all = append(all, strings.Trim(spec.Path.Value, "`\""))
	}
	return all
}

// imports is what a file imports, by the name that it has in the file.
func (s *source) imports() map[string]string {
	all := map[string]string{}
	for _, spec := range s.ast.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		name := path[strings.LastIndexByte(path, '/')+1:]
		if version.MatchString(name) {
			name = strings.TrimSuffix(path, "/"+name)
			name = name[strings.LastIndexByte(name, '/')+1:]
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		all[name] = path
	}
	return all
}

// calls visits every mention of name in an imported package, as in time.Now.
func (s *source) calls(visit func(n ast.Node, path, name string)) {
	imported := s.imports()
	ast.Inspect(s.ast, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := sel.X.(*ast.Ident)
		if !ok || x.Obj != nil { // a variable shadows the package
			return true
		}
		if path := imported[x.Name]; path != "" {
			visit(sel, path, sel.Sel.Name)
		}
		return true
	})
}

// under tells whether dir is one of the folders or below one.
func under(dir string, folders ...string) bool {
	for _, f := range folders {
		if dir == f || strings.HasPrefix(dir, f+"/") {
			return true
		}
	}
	return false
}

// support tells whether a folder holds what only tests, tools and the roof use.
func support(dir string) bool {
	return under(dir, "tools", "test", "isospintest", "internal/lab", "internal/archtest") || strings.HasSuffix(dir, "test")
}
