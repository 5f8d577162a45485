package conformance

import (
	"testing"

	"isospin/test/rig"
)

// TestMetering: neutron/services/metering/metering_plugin.py, and docs/differences.md where it answers 500.
func TestMetering(t *testing.T) {
	rule := func(rest string) string {
		return `{"metering_label_rule": {"metering_label_id": "${l}", ` + rest + `}}`
	}
	label := func(rest string) string { return `{"metering_label": {` + rest + `}}` }
	everywhere(t, func(t *testing.T, c rig.Caller) {
		c.Run(t, rig.Vars{}, []rig.Step{
			{As: "M", Do: "POST /metering/metering-labels", Body: label(`"name": "m"`), Want: "403 PolicyNotAuthorized"},
			{As: "A", Do: "POST /metering/metering-labels", Body: label(`"name": "m", "project_id": "` + rig.ProjectM + `"`), Want: "201", Save: "l=metering_label.id",
				Has: "metering_label.shared = false\nmetering_label.description = \"\"\nmetering_label.tenant_id = \"" + rig.ProjectM + "\"\nmetering_label.revision_number absent\nmetering_label.created_at absent"},
			{As: "A", Do: "POST /metering/metering-labels", Body: `{"metering_labels": [{"name": "x", "shared": true}, {"name": "y", "shared": "yes"}]}`, Want: "201", Save: "x=metering_labels.0.id y=metering_labels.1.id",
				Has: "metering_labels.1.shared = true"},
			{As: "A", Do: "PUT /metering/metering-labels/${l}", Body: label(`"name": "n"`), Want: "400"},
			{As: "A", Do: "PUT /metering/metering-labels/${l}", Body: label(``), Want: "200", Has: "metering_label.name = \"m\""},
			{As: "R", Do: "GET /metering/metering-labels", Want: "200", Has: "metering_labels.# = 1\nmetering_labels.0.id = \"${l}\""},
			{As: "O", Do: "GET /metering/metering-labels", Want: "200", Has: "metering_labels = []"},
			{As: "O", Do: "GET /metering/metering-labels/${l}", Want: "404 MeteringLabelNotFound"},
			{As: "A", Do: "GET /metering/metering-labels?shared=true", Want: "200", Has: "metering_labels.# = 2"},
			{As: "A", Do: "GET /metering/metering-labels?sort_key=name&sort_dir=desc&limit=1", Want: "200", Has: "metering_labels.0.id = \"${y}\"\nmetering_labels_links present"},

			{As: "A", Do: "POST /metering/metering-label-rules", Body: rule(`"direction": "ingress"`), Want: "400 InvalidInput"},
			{As: "A", Do: "POST /metering/metering-label-rules", Body: rule(`"direction": "sideways", "remote_ip_prefix": "10.0.0.0/24"`), Want: "400"},
			{As: "A", Do: "POST /metering/metering-label-rules", Body: rule(`"remote_ip_prefix": "10.0.0.0/24"`), Want: "400"},
			{As: "A", Do: "POST /metering/metering-label-rules", Body: rule(`"direction": "ingress", "remote_ip_prefix": "10.0.0.0/99"`), Want: "400"},
			{As: "A", Do: "POST /metering/metering-label-rules", Body: rule(`"direction": "ingress", "remote_ip_prefix": "10.0.0.0/24", "source_ip_prefix": "10.1.0.0/24"`), Want: "400 InvalidInput"},
			{As: "A", Do: "POST /metering/metering-label-rules", Body: rule(`"direction": "ingress", "source_ip_prefix": "10.1.0.0/24", "destination_ip_prefix": "2001:db8::/64"`), Want: "400 InvalidInput"},
			{As: "A", Do: "POST /metering/metering-label-rules", Body: `{"metering_label_rule": {"metering_label_id": "5b9c5d1e-0d83-4d0c-a1ff-7d8b4a8f7d00", "direction": "ingress", "remote_ip_prefix": "10.0.0.0/24"}}`, Want: "404 MeteringLabelNotFound"},
			{As: "M", Do: "POST /metering/metering-label-rules", Body: rule(`"direction": "ingress", "remote_ip_prefix": "10.0.0.0/24"`), Want: "403 PolicyNotAuthorized"},
			{As: "A", Do: "POST /metering/metering-label-rules", Body: rule(`"direction": "ingress", "remote_ip_prefix": "10.0.0.0/24"`), Want: "201", Save: "r=metering_label_rule.id",
				Has: "metering_label_rule.project_id = \"" + rig.ProjectM + "\"\nmetering_label_rule.excluded = false\nmetering_label_rule.remote_ip_prefix = \"10.0.0.0/24\"\nmetering_label_rule.source_ip_prefix = null\nmetering_label_rule.destination_ip_prefix = null"},
			{As: "A", Do: "POST /metering/metering-label-rules", Body: rule(`"direction": "ingress", "remote_ip_prefix": "10.0.0.7"`), Want: "409 MeteringLabelRuleOverlaps"},
			{As: "A", Do: "POST /metering/metering-label-rules", Body: rule(`"direction": "ingress", "remote_ip_prefix": "0.0.0.0/0"`), Want: "409 MeteringLabelRuleOverlaps"},
			{As: "A", Do: "POST /metering/metering-label-rules", Body: rule(`"direction": "egress", "remote_ip_prefix": "10.0.0.7"`), Want: "201", Has: "metering_label_rule.remote_ip_prefix = \"10.0.0.7/32\""},
			{As: "A", Do: "POST /metering/metering-label-rules", Body: rule(`"direction": "ingress", "excluded": true, "remote_ip_prefix": "10.0.0.7/24"`), Want: "201"},
			{As: "A", Do: "POST /metering/metering-label-rules", Body: rule(`"direction": "ingress", "remote_ip_prefix": "2001:DB8::1"`), Want: "201", Has: "metering_label_rule.remote_ip_prefix = \"2001:db8::1/128\""},
			{As: "A", Do: "POST /metering/metering-label-rules", Body: rule(`"direction": "ingress", "source_ip_prefix": "10.0.0.0/24"`), Want: "201", Save: "s=metering_label_rule.id"},
			{As: "A", Do: "PUT /metering/metering-label-rules/${s}", Body: `{"metering_label_rule": {"destination_ip_prefix": "10.9.0.1", "source_ip_prefix": null}}`, Want: "200",
				Has: "metering_label_rule.source_ip_prefix = null\nmetering_label_rule.destination_ip_prefix = \"10.9.0.1/32\""},
			{As: "A", Do: "PUT /metering/metering-label-rules/${s}", Body: `{"metering_label_rule": {"destination_ip_prefix": null}}`, Want: "400 InvalidInput"},
			{As: "A", Do: "PUT /metering/metering-label-rules/${s}", Body: `{"metering_label_rule": {"direction": "egress"}}`, Want: "400"},
			{As: "R", Do: "GET /metering/metering-label-rules?metering_label_id=${l}", Want: "200", Has: "metering_label_rules.# = 5"},
			{As: "R", Do: "GET /metering/metering-label-rules?direction=egress", Want: "200", Has: "metering_label_rules.# = 1"},
			{As: "O", Do: "GET /metering/metering-label-rules/${r}", Want: "404 MeteringLabelRuleNotFound"},
			{As: "O", Do: "DELETE /metering/metering-label-rules/${r}", Want: "404 MeteringLabelRuleNotFound"},
			{As: "M", Do: "DELETE /metering/metering-label-rules/${r}", Want: "403 PolicyNotAuthorized"},
			{As: "A", Do: "DELETE /metering/metering-label-rules/${r}", Want: "204"},
			{As: "A", Do: "POST /metering/metering-label-rules", Body: rule(`"direction": "ingress", "remote_ip_prefix": "0.0.0.0/0"`), Want: "201"},
			{As: "M", Do: "DELETE /metering/metering-labels/${l}", Want: "403 PolicyNotAuthorized"},
			{As: "A", Do: "DELETE /metering/metering-labels/${l}", Want: "204"},
			{As: "A", Do: "GET /metering/metering-label-rules", Want: "200", Has: "metering_label_rules = []"},
			{As: "A", Do: "GET /metering/metering-labels/${l}", Want: "404 MeteringLabelNotFound"},
		})
	})
}

// TestMeteringManager: a manager meters its own project and nobody else's.
func TestMeteringManager(t *testing.T) {
	c := quick(t)
	theirs := c.Make("/metering/metering-labels", "metering_label", map[string]any{"shared": true})
	manager := c.As(rig.ProjectM, "manager,member,reader")
	mine := manager.Make("/metering/metering-labels", "metering_label", map[string]any{})
	manager.Make("/metering/metering-label-rules", "metering_label_rule",
		map[string]any{"metering_label_id": mine["id"], "direction": "egress", "source_ip_prefix": "10.0.0.0/8"})
	a := manager.Do("POST", "/metering/metering-label-rules", map[string]any{"metering_label_rule": map[string]any{
		"metering_label_id": theirs["id"], "direction": "egress", "source_ip_prefix": "10.0.0.0/8"}})
	if a.Status != 404 || a.Fault() != "MeteringLabelNotFound" {
		t.Errorf("a rule on another project's label: %d %s", a.Status, a.Body)
	}
}
