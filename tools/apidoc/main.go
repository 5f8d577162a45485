// Command apidoc writes api.md and openapi.json, the reference of the API that Isospin serves, from the attribute
// registry. `go generate ./internal/apidef/refdoc` runs it; a test there fails when its output is stale.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"isospin/internal/apidef/catalogue"
	"isospin/internal/apidef/refdoc"
)

func main() {
	dir := flag.String("dir", "docs/reference", "where to write")
	flag.Parse()
	if err := run(*dir); err != nil {
		fmt.Fprintln(os.Stderr, "apidoc:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	reg, err := catalogue.Build(catalogue.Served())
	if err != nil {
		return err
	}
	openapi, err := refdoc.OpenAPI(reg)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "api.md"), refdoc.Markdown(reg), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "openapi.json"), openapi, 0o644)
}
