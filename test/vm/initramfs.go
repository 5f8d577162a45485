package main

import (
	"bufio"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

//go:embed init.sh
var initScript []byte

// Modules that the first process needs to see the machine's files.
var first = []string{"virtio_pci", "virtio_rng", "9pnet_virtio", "9p", "overlay"}

// initramfs writes what the kernel starts with: busybox, the script and a few modules, in the order in which they load.
func (m machine) initramfs(path, version string) error {
	busybox, err := os.ReadFile("/bin/busybox")
	if err != nil {
		return fmt.Errorf("busybox-static is missing: %w", err)
	}
	root := filepath.Join(m.kernel, "lib", "modules", version)
	order, err := loadOrder(filepath.Join(root, "modules.dep"), first)
	if err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	a := archive{w: w}
	a.dir("bin")
	a.dir("modules")
	a.file("bin/busybox", 0o755, busybox)
	a.file("init", 0o755, initScript)
	var names strings.Builder
	for _, module := range order {
		body, err := os.ReadFile(filepath.Join(root, module))
		if err != nil {
			return err
		}
		a.file("modules/"+filepath.Base(module), 0o644, body)
		fmt.Fprintln(&names, filepath.Base(module))
	}
	a.file("modules/order", 0o644, []byte(names.String()))
	a.end()
	if a.err != nil {
		return a.err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

// loadOrder lists the modules and all that they need, what is needed first.
func loadOrder(dep string, modules []string) ([]string, error) {
	text, err := os.ReadFile(dep)
	if err != nil {
		return nil, err
	}
	needs, paths := map[string][]string{}, map[string]string{}
	for line := range strings.Lines(string(text)) {
		path, rest, ok := strings.Cut(strings.TrimSpace(line), ":")
		if ok {
			needs[path] = strings.Fields(rest)
			paths[moduleName(path)] = path
		}
	}
	var out []string
	done := map[string]bool{}
	var add func(path string)
	add = func(path string) {
		if done[path] {
			return
		}
		done[path] = true
		for _, n := range needs[path] {
			add(n)
		}
		out = append(out, path)
	}
	for _, name := range modules {
		if path, ok := paths[moduleName(name)]; ok { // else it is built in
			add(path)
		}
	}
	return out, nil
}

// moduleName is how a module is called, whatever its file: dashes and underscores are the same.
func moduleName(path string) string {
	name, _, _ := strings.Cut(filepath.Base(path), ".ko")
	return strings.ReplaceAll(name, "-", "_")
}

// archive writes the format that kernels unpack (cpio, "newc").
type archive struct {
	w   *bufio.Writer
	ino int
	err error
}

func (a *archive) dir(name string) { a.entry(name, 0o040755, nil) }

func (a *archive) file(name string, mode int, body []byte) { a.entry(name, 0o100000|mode, body) }

func (a *archive) end() { a.entry("TRAILER!!!", 0, nil) }

func (a *archive) entry(name string, mode int, body []byte) {
	a.ino++
	head := fmt.Sprintf("070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\x00",
		a.ino, mode, 0, 0, 1, 0, len(body), 0, 0, 0, 0, len(name)+1, 0, name)
	for _, part := range [][]byte{[]byte(head), body} {
		if a.err == nil {
			_, a.err = a.w.Write(part)
		}
		if pad := -len(part) & 3; a.err == nil && pad > 0 {
			_, a.err = a.w.Write(make([]byte, pad))
		}
	}
}
