package policy

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Override replaces a default rule or adds one for others to refer to. Origin is its file:line.
type Override struct {
	Name   string
	Check  string
	Origin string
}

// ReadFile reads an operator's policy file: YAML, or JSON as older releases wrote it. Errors carry file and line.
func ReadFile(path string) ([]Override, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("policy file: %w", err)
	}
	return Parse(path, raw)
}

// ReadDir reads every *.yaml and *.json of a policy.d folder in the order of their names.
func ReadDir(dir string) ([]Override, error) {
	var files []string
	for _, pattern := range []string{"*.yaml", "*.json"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return nil, fmt.Errorf("policy folder: %w", err)
		}
		files = append(files, found...)
	}
	slices.Sort(files)
	var out []Override
	for _, f := range files {
		o, err := ReadFile(f)
		if err != nil {
			return nil, err
		}
		out = append(out, o...)
	}
	return out, nil
}

// yamlLine is how the YAML library tells where it stopped.
var yamlLine = regexp.MustCompile(`^yaml: line (\d+): `)

// Parse reads the text of a policy file; name is for messages.
func Parse(name string, raw []byte) ([]Override, error) {
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
		raw = bytes.ReplaceAll(raw, []byte("\t"), []byte(" ")) // JSON may indent by tabs, YAML may not
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		text := err.Error()
		if m := yamlLine.FindStringSubmatch(text); m != nil {
			return nil, fmt.Errorf("%s:%s: %s", name, m[1], text[len(m[0]):])
		}
		return nil, fmt.Errorf("%s: %s", name, strings.TrimPrefix(text, "yaml: "))
	}
	if doc.Kind == 0 { // nothing but comments
		return nil, nil
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s:%d: a mapping from rule names to rules is expected", name, root.Line)
	}
	var out []Override
	var bad []error
	seen := map[string]int{}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, val := root.Content[i], root.Content[i+1]
		check, err := checkString(val)
		if before, ok := seen[key.Value]; ok && err == nil {
			err = fmt.Errorf("given before, in line %d", before)
		}
		if err != nil {
			bad = append(bad, fmt.Errorf("%s:%d: rule %q: %w", name, val.Line, key.Value, err))
			continue
		}
		seen[key.Value] = key.Line
		out = append(out, Override{Name: key.Value, Check: check, Origin: fmt.Sprintf("%s:%d", name, key.Line)})
	}
	return out, errors.Join(bad...)
}

// checkString reads a rule: text, or the older list of lists, which is an `or` of `and`s.
func checkString(n *yaml.Node) (string, error) {
	switch n.Kind {
	case yaml.AliasNode:
		return checkString(n.Alias)
	case yaml.ScalarNode:
		if n.Tag == "!!null" || n.Tag == "!" && n.Value == "" {
			return "", errors.New(`the rule is missing; quote it: "" is always, "!" never`)
		}
		return n.Value, nil
	case yaml.SequenceNode:
		return listRule(n)
	}
	return "", errors.New("text is expected")
}

func listRule(n *yaml.Node) (string, error) {
	var any []string
	for _, c := range n.Content {
		if c.Kind == yaml.ScalarNode {
			any = append(any, c.Value)
			continue
		}
		var all []string
		for _, w := range c.Content {
			if w.Kind != yaml.ScalarNode {
				return "", errors.New("a list of lists of checks is expected")
			}
			all = append(all, w.Value)
		}
		if len(all) == 0 {
			continue // oslo.policy skips an empty inner list
		}
		any = append(any, "("+strings.Join(all, " and ")+")")
	}
	if len(any) == 0 && len(n.Content) > 0 {
		return "!", nil
	}
	return strings.Join(any, " or "), nil
}
