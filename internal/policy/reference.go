package policy

import (
	"fmt"
	"strings"
)

// Reference is docs/reference/policy.md: every default rule, what it guards and for whom.
func Reference() ([]byte, error) {
	rules, err := Defaults()
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	b.WriteString(referenceHead)
	b.WriteString("\n## Base rules\n\nOther rules refer to them as `rule:name`.\n\n| rule | check |\n|---|---|\n")
	for _, r := range rules {
		if len(r.Operations) == 0 {
			fmt.Fprintf(&b, "| `%s` | %s |\n", r.Name, code(r.Check))
		}
	}
	b.WriteString("\n## Rules of the API\n\n| rule | check | guards |\n|---|---|---|\n")
	for _, r := range rules {
		if len(r.Operations) == 0 {
			continue
		}
		var ops []string
		for _, o := range r.Operations {
			ops = append(ops, fmt.Sprintf("`%s %s`", o.Method, o.Path))
		}
		name := "`" + r.Name + "`"
		if r.Formerly != "" {
			name += " (formerly `" + r.Formerly + "`)"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, code(r.Check), strings.Join(ops, ", "))
	}
	return []byte(b.String()), nil
}

func code(check string) string {
	if check == "" {
		return "(always)"
	}
	return "`" + strings.ReplaceAll(check, "|", "\\|") + "`"
}

const referenceHead = `# Policy rules

Generated from internal/policy/defaults.json; do not edit.

A request is allowed when the rule of its action holds (` + "`create_port`" + `), and, for each guarded attribute that it
sets, the rule of that attribute too (` + "`create_port:mac_address`" + `). What a caller may not read of an object
(` + "`get_port:binding:host_id`" + `) is left out of answers. A rule that does not exist is the rule ` + "`default`" + `; an attribute
without a rule of its own may be read by whoever may see the object.

Rules are written in the language of oslo.policy. An operator replaces them one by one in a policy file, YAML from
names to rules; a mistake in it stops the start with file and line:

    "create_network": "role:network_admin and project_id:%(project_id)s"
    "get_port:binding:host_id": "@"

| check | true when |
|---|---|
| ` + "`role:NAME`" + ` | the token has the role |
| ` + "`rule:NAME`" + ` | that rule holds |
| ` + "`project_id:%(project_id)s`" + ` | the token's project owns the object; likewise user_id, domain_id, system_scope, service_roles, ... |
| ` + "`project_id:%(network:project_id)s`" + ` | it owns the object's network; ` + "`security_group:`" + ` and ` + "`ext_parent:`" + ` (the parent in the URL) likewise |
| ` + "`'VALUE':%(ATTRIBUTE)s`" + ` | the attribute has the value |
| ` + "`field:COLLECTION:ATTRIBUTE=VALUE`" + ` | the object, or its parent of that collection, has the value; ` + "`=~`" + ` begins a regular expression |
| ` + "`is_admin:True`" + ` | the rule context_is_admin holds |
| ` + "`@`, `!`" + `, empty | always, never, always |
| ` + "`and`, `or`, `not`, `( )`" + ` | as one expects; ` + "`not`" + ` binds first, then ` + "`and`" + ` |

Two things differ from oslo.policy, both towards safety: a rule that cannot be understood is an error and not
a silent "never", and a caller without a project never equals an object without one. Checks of the kinds ` + "`http:`" + ` and
` + "`https:`" + ` are not supported.

A rule for project tokens refuses tokens scoped to the system or to a domain, as upstream does (` + "`enforce_scope`" + `).

These rules differ from Neutron's, where only the service role passes; Isospin lets admin pass too, as older
clouds expect: ` + "`create_port:binding:profile`, `update_port:binding:profile`, `create_port_binding`, `delete_port_binding`, `activate`" + `.
`
