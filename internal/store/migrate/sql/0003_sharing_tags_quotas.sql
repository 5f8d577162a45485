-- Counts and limits of projects, tags, and RBAC policies as resources of the API.

-- How many rows of a kind a project has, and its own limit where an administrator set one. Each transaction counts what it
-- adds and removes; nobody counts the rows.
CREATE TABLE quotas (
    project_id {{.Key 255}} NOT NULL,
    resource {{.Key 64}} NOT NULL,
    used {{.Int}} NOT NULL,
    hard_limit {{.Int}},
    PRIMARY KEY (project_id, resource)
){{.Narrow}};
INSERT INTO quotas (project_id, resource, used) SELECT project_id, 'network', COUNT(*) FROM networks WHERE project_id <> '' GROUP BY project_id;
INSERT INTO quotas (project_id, resource, used) SELECT project_id, 'subnet', COUNT(*) FROM subnets WHERE project_id <> '' GROUP BY project_id;
INSERT INTO quotas (project_id, resource, used) SELECT project_id, 'port', COUNT(*) FROM ports WHERE project_id <> '' GROUP BY project_id;
INSERT INTO quotas (project_id, resource, used) SELECT project_id, 'security_group', COUNT(*) FROM security_groups WHERE project_id <> '' GROUP BY project_id;
INSERT INTO quotas (project_id, resource, used) SELECT project_id, 'security_group_rule', COUNT(*) FROM security_group_rules WHERE project_id <> '' GROUP BY project_id;
INSERT INTO quotas (project_id, resource, used) SELECT project_id, 'rbac_policy', COUNT(*) FROM rbac_policies WHERE project_id <> '' GROUP BY project_id;

-- The tags of all resources; a resource's body holds them too.
CREATE TABLE tags (
    object_id {{.Key 36}} NOT NULL,
    tag {{.Text 255}} NOT NULL,
    PRIMARY KEY (object_id, tag)
){{.Narrow}};
CREATE INDEX tags_tag ON tags (tag, object_id);

-- Policies become rows with bodies.
ALTER TABLE rbac_policies ADD COLUMN revision {{.Int}} DEFAULT 0 NOT NULL;
ALTER TABLE rbac_policies ADD COLUMN body {{.Body}} DEFAULT '' NOT NULL;
UPDATE rbac_policies SET body = CONCAT('{"id":"', id, '","project_id":"', project_id, '","tenant_id":"', project_id, '","object_type":"', object_type, '","object_id":"', object_id, '","action":"', action, '","target_tenant":"', target_project, '"}');
CREATE INDEX rbac_policies_project ON rbac_policies (project_id);

-- Hosts that an administrator took a network's DHCP from: it is not given to them again by itself.
CREATE TABLE dhcp_refused (
    network_id {{.Key 36}} NOT NULL,
    host {{.Key 255}} NOT NULL,
    PRIMARY KEY (network_id, host)
){{.Narrow}};
