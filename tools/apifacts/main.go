// Command apifacts reduces the reference's attributes.json and extensions.json to the facts that the definitions of
// the API are tested against: apifacts ATTRIBUTES EXTENSIONS > internal/apidef/catalogue/testdata/facts.json. It is
// run by hand when the reference is read anew; nothing runs it in a build.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// attribute keeps what one line of the definitions says.
type attribute struct {
	IntroducedBy string         `json:"introduced_by"`
	Post         bool           `json:"allow_post"`
	Put          bool           `json:"allow_put"`
	Visible      bool           `json:"is_visible"`
	HasDefault   bool           `json:"has_default"`
	Default      any            `json:"default"`
	Filter       bool           `json:"is_filter"`
	Sort         bool           `json:"is_sort_key"`
	Policy       bool           `json:"required_by_policy"`
	Guarded      bool           `json:"enforce_policy"`
	Validate     map[string]any `json:"validate,omitempty"`
	Convert      any            `json:"convert_to,omitempty"`
	Redefined    []redefinition `json:"redefined_by,omitempty"`
}

type redefinition struct {
	Alias   string `json:"alias"`
	Applied bool   `json:"applied"`
}

type collection struct {
	Path         string               `json:"path"`
	Resource     *string              `json:"resource"`
	IntroducedBy string               `json:"introduced_by"`
	Unsupported  []string             `json:"unsupported"`
	Actions      map[string]string    `json:"member_actions"`
	Attributes   map[string]attribute `json:"attributes"`
}

type extension struct {
	Alias    string   `json:"alias"`
	Updated  string   `json:"updated"`
	Requires []string `json:"requires"`
	Optional []string `json:"optional"`
	Status   string   `json:"status"`
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "apifacts:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("usage: apifacts ATTRIBUTES EXTENSIONS")
	}
	var facts struct {
		Extensions  []extension           `json:"extensions"`
		Collections map[string]collection `json:"collections"`
	}
	if err := read(args[0], &facts.Collections); err != nil {
		return err
	}
	var all []extension
	if err := read(args[1], &all); err != nil {
		return err
	}
	for _, e := range all {
		if e.Status == "current" {
			facts.Extensions = append(facts.Extensions, e)
		}
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", " ")
	return out.Encode(facts)
}

func read(path string, into any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, into)
}
