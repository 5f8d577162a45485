// Command optiondoc writes the reference page of Isospin's options. `go generate ./internal/config` runs it;
// a test of internal/config holds that the page is fresh. It never reads configuration.
package main

import (
	"fmt"
	"os"

	"isospin/internal/config"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: optiondoc FILE")
		os.Exit(2)
	}
	if err := os.WriteFile(os.Args[1], config.Reference(), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "optiondoc:", err)
		os.Exit(1)
	}
}
