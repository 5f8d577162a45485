package openflow

import (
	"fmt"
	"slices"
	"strings"
)

// Pipeline is the tables of a bridge, declared once as data: flows are named by it, the reference page is
// printed from it, and its misses are flows like others.
type Pipeline struct {
	// Bridge is what kind of bridge this is, by its usual name ("br-int").
	Bridge string
	// Doc says in a sentence or more what the bridge does.
	Doc string
	// Tables in the order in which a packet meets them.
	Tables []Table
}

// Table is one table of a pipeline.
type Table struct {
	ID   uint8
	Name string // upper case, as in flow dumps of other projects
	Doc  string
	// Miss is what happens to a packet that no flow takes, as a flow of priority 0; nothing means drop.
	Miss []Action
}

// Check tells of two tables with one number or name, and of misses that cannot be.
func (p Pipeline) Check() error {
	ids, names := map[uint8]bool{}, map[string]bool{}
	for _, t := range p.Tables {
		if t.Name == "" || t.Doc == "" {
			return fmt.Errorf("pipeline %s: table %d lacks a name or a doc", p.Bridge, t.ID)
		}
		if ids[t.ID] || names[t.Name] {
			return fmt.Errorf("pipeline %s: table %d %s is declared twice", p.Bridge, t.ID, t.Name)
		}
		ids[t.ID], names[t.Name] = true, true
	}
	for _, f := range p.Misses() {
		if err := f.Check(); err != nil {
			return fmt.Errorf("pipeline %s: %w", p.Bridge, err)
		}
	}
	return nil
}

// Misses is the flow of priority 0 of every table.
func (p Pipeline) Misses() []Flow {
	fs := make([]Flow, len(p.Tables))
	for i, t := range p.Tables {
		fs[i] = Flow{Table: t.ID, Actions: t.Miss}
	}
	return fs
}

// Name gives a table's name; "" for a table that p does not declare.
func (p Pipeline) Name(id uint8) string {
	for _, t := range p.Tables {
		if t.ID == id {
			return t.Name
		}
	}
	return ""
}

// Markdown is the part of the reference page that tells of p.
func (p Pipeline) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n%s\n\n", p.Bridge, p.Doc)
	b.WriteString("| table | name | what it does | a packet that no flow takes |\n|---|---|---|---|\n")
	for _, t := range p.Tables {
		miss := Flow{Actions: t.Miss}
		fmt.Fprintf(&b, "| %d | `%s` | %s | `%s` |\n", t.ID, t.Name, cell(t.Doc), cell(string(miss.appendActions(nil, p.Name))))
	}
	return b.String()
}

// Markdown is the whole reference page of several pipelines.
func Markdown(ps ...Pipeline) string {
	var b strings.Builder
	b.WriteString("# Open vSwitch pipelines\n\nGenerated from the declarations in the source; do not edit.\n")
	for _, p := range ps {
		b.WriteString("\n" + p.Markdown())
	}
	return b.String()
}

func cell(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", "\\|")
}

// Golden prints flows for people and golden files: by table in the pipeline's order, by falling priority, then by
// text, with table names.
//
//	table 0 CLASSIFY
//	  100 in_port=3 -> set_field:0x1->reg6,resubmit(,FORWARD)
func (p Pipeline) Golden(fs []Flow) string {
	rank := map[uint8]int{}
	for i, t := range p.Tables {
		rank[t.ID] = i - len(p.Tables)
	}
	place := func(table uint8) int {
		if r, ok := rank[table]; ok {
			return r
		}
		return int(table)
	}
	fs = slices.Clone(fs)
	slices.SortStableFunc(fs, func(x, y Flow) int {
		if c := place(x.Table) - place(y.Table); c != 0 {
			return c
		}
		if c := int(y.Priority) - int(x.Priority); c != 0 {
			return c
		}
		return strings.Compare(x.String(), y.String())
	})
	var b strings.Builder
	for i, f := range fs {
		if i == 0 || fs[i-1].Table != f.Table {
			fmt.Fprintf(&b, "table %d", f.Table)
			if n := p.Name(f.Table); n != "" {
				b.WriteString(" " + n)
			}
			b.WriteString("\n")
		}
		match := f.Match.String()
		if match == "" {
			match = "*"
		}
		fmt.Fprintf(&b, "  %d %s -> %s\n", f.Priority, match, f.appendActions(nil, p.Name))
	}
	return b.String()
}

// Golden prints flows of no declared pipeline, by table number.
func Golden(fs []Flow) string { return Pipeline{}.Golden(fs) }

// Conflicts tells of flows that claim one place, that is table, priority and match, with different actions: a bridge can
// hold only one of them. Tests of features call it.
func Conflicts(fs []Flow) error {
	seen := map[string]Flow{}
	for _, f := range fs {
		slot := f.slot()
		if other, ok := seen[slot]; ok && other.String() != f.String() {
			return fmt.Errorf("two flows in one place: %s and %s", other, f)
		}
		seen[slot] = f
	}
	return nil
}
