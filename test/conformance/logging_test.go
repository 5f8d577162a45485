package conformance

import (
	"testing"

	"isospin/test/rig"
)

// TestLogs: neutron/services/logapi.
func TestLogs(t *testing.T) {
	log := func(rest string) string { return `{"log": {"resource_type": "security_group"` + rest + `}}` }
	const nobody = "5b9c5d1e-0d83-4d0c-a1ff-7d8b4a8f7d00"
	everywhere(t, func(t *testing.T, c rig.Caller) {
		c.Run(t, rig.Vars{}, []rig.Step{
			{As: "A", Do: "GET /log/loggable-resources", Want: "200", Has: "loggable_resources = [{\"type\": \"security_group\"}]"},
			{As: "M", Do: "GET /log/loggable-resources", Want: "200", Has: "loggable_resources = []"},
			{As: "A", Do: "POST /log/loggable-resources", Body: `{"loggable_resource": {"type": "x"}}`, Want: "400"},
			{As: "A", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net=network.id"},
			{As: "A", Do: "POST /security-groups", Body: `{"security_group": {"name": "g"}}`, Want: "201", Save: "sg=security_group.id"},
			{As: "A", Do: "POST /security-groups", Body: `{"security_group": {"name": "h"}}`, Want: "201", Save: "other=security_group.id"},
			{As: "A", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "security_groups": ["${sg}"]}}`, Want: "201", Save: "port=port.id"},
			{As: "A", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "security_groups": ["${sg}"], "binding:vnic_type": "direct"}}`, Want: "201", Save: "direct=port.id"},

			{As: "M", Do: "POST /log/logs", Body: log(``), Want: "403 PolicyNotAuthorized"},
			{As: "A", Do: "POST /log/logs", Body: `{"log": {}}`, Want: "400"},
			{As: "A", Do: "POST /log/logs", Body: `{"log": {"resource_type": "router"}}`, Want: "400 InvalidLogResourceType"},
			{As: "A", Do: "POST /log/logs", Body: log(`, "event": "REJECT"`), Want: "400"},
			{As: "A", Do: "POST /log/logs", Body: log(`, "resource_id": "` + nobody + `"`), Want: "404 ResourceNotFound"},
			{As: "A", Do: "POST /log/logs", Body: log(`, "target_id": "` + nobody + `"`), Want: "404 TargetResourceNotFound"},
			{As: "A", Do: "POST /log/logs", Body: log(`, "target_id": "${direct}"`), Want: "409 LoggingTypeNotSupported"},
			{As: "A", Do: "POST /log/logs", Body: log(`, "resource_id": "${other}", "target_id": "${port}"`), Want: "400 InvalidResourceConstraint"},
			{As: "A", Do: "POST /log/logs", Body: log(`, "resource_id": "${sg}", "target_id": "${port}", "name": "one"`), Want: "201", Save: "one=log.id",
				Has: "log.event = \"ALL\"\nlog.enabled = true\nlog.revision_number = 0\nlog.description = \"\"\nlog.created_at present\nlog.project_id = \"" + rig.ProjectA + "\"\nlog.tags absent"},
			{As: "A", Do: "POST /log/logs", Body: log(`, "resource_id": "${other}", "event": "DROP"`), Want: "201", Save: "two=log.id", Has: "log.target_id = null"},
			{As: "A", Do: "POST /log/logs", Body: log(`, "enabled": false`), Want: "201", Save: "all=log.id"},
			{As: "A", Do: "PUT /log/logs/${one}", Body: `{"log": {"event": "DROP"}}`, Want: "400"},
			{As: "A", Do: "PUT /log/logs/${one}", Body: `{"log": {"enabled": false, "description": "d"}}`, Want: "200", Has: "log.revision_number = 1\nlog.enabled = false"},
			{As: "A", Do: "PUT /log/logs/${one}", Body: `{"log": {"enabled": false}}`, Want: "200", Has: "log.revision_number = 1"},
			{As: "A", Do: "PUT /log/logs/${one}", Header: "If-Match: revision_number=0", Body: `{"log": {"name": "x"}}`, Want: "412 RevisionNumberConstraintFailed"},
			{As: "A", Do: "GET /log/logs?resource_id=${sg}", Want: "200", Has: "logs.# = 1"},
			{As: "A", Do: "GET /log/logs?event=DROP", Want: "200", Has: "logs.# = 1\nlogs.0.id = \"${two}\""},
			{As: "A", Do: "GET /log/logs?enabled=true", Want: "200", Has: "logs.# = 1"},
			{As: "M", Do: "GET /log/logs", Want: "200", Has: "logs = []"},
			{As: "M", Do: "GET /log/logs/${one}", Want: "404 LogResourceNotFound"},
			// An order goes with its port or its group.
			{As: "A", Do: "DELETE /ports/${port}", Want: "204"},
			{As: "A", Do: "GET /log/logs/${one}", Want: "404 LogResourceNotFound"},
			{As: "A", Do: "DELETE /security-groups/${other}", Want: "204"},
			{As: "A", Do: "GET /log/logs/${two}", Want: "404 LogResourceNotFound"},
			{As: "A", Do: "DELETE /log/logs/${all}", Want: "204"},
			{As: "A", Do: "DELETE /log/logs/${all}", Want: "404 LogResourceNotFound"},
		})
	})
}

// TestLogsManager: a manager names only what its project has or is shared with it.
func TestLogsManager(t *testing.T) {
	c := quick(t)
	net := c.Make("/networks", "network", map[string]any{"shared": true})
	sg := c.Make("/security-groups", "security_group", map[string]any{"name": "theirs"})
	port := c.Make("/ports", "port", map[string]any{"network_id": net["id"]})
	m := c.As(rig.ProjectM, "manager,member,reader")
	if a := m.Do("GET", "/log/loggable-resources", nil); len(a.Items("loggable_resources")) != 1 {
		t.Errorf("loggable resources of a manager: %d %s", a.Status, a.Body)
	}
	for _, x := range []struct {
		attribute string
		id        any
		fault     string
	}{{"resource_id", sg["id"], "ResourceNotFound"}, {"target_id", port["id"], "TargetResourceNotFound"}} {
		body := map[string]any{"log": map[string]any{"resource_type": "security_group", x.attribute: x.id}}
		if a := m.Do("POST", "/log/logs", body); a.Status != 404 || a.Fault() != x.fault {
			t.Errorf("another project's %s: %d %s", x.attribute, a.Status, a.Body)
		}
	}
	c.Make("/rbac-policies", "rbac_policy", map[string]any{"object_type": "security_group", "object_id": sg["id"],
		"action": "access_as_shared", "target_tenant": rig.ProjectM})
	m.Make("/log/logs", "log", map[string]any{"resource_type": "security_group", "resource_id": sg["id"]})
}
