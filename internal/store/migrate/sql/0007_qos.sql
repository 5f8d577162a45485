-- QoS policies and their rules, and what has a policy.

CREATE TABLE qos_policies (
    id {{.Key 36}} NOT NULL PRIMARY KEY,
    project_id {{.Key 255}},
    revision {{.Int}} NOT NULL,
    body {{.Body}} NOT NULL,
    name {{.Text 255}} NOT NULL,
    -- The project whose default policy it is; NULL for the others.
    default_of {{.Key 255}}
){{.Table}};
CREATE INDEX qos_policies_project ON qos_policies (project_id);
CREATE UNIQUE INDEX qos_policies_default ON qos_policies (default_of);

-- The rules of all types. One of a type and direction in a policy; what has no direction has an empty one.
CREATE TABLE qos_rules (
    id {{.Key 36}} NOT NULL PRIMARY KEY,
    project_id {{.Key 255}},
    revision {{.Int}} NOT NULL,
    body {{.Body}} NOT NULL,
    qos_policy_id {{.Key 36}} NOT NULL,
    rule_type {{.Key 32}} NOT NULL,
    direction {{.Key 16}} NOT NULL
){{.Table}};
CREATE UNIQUE INDEX qos_rules_once ON qos_rules (qos_policy_id, rule_type, direction);

ALTER TABLE networks ADD COLUMN qos_policy_id {{.Key 36}};
CREATE INDEX networks_qos ON networks (qos_policy_id);
UPDATE networks SET body = CONCAT('{"qos_policy_id":null,', SUBSTR(body, 2));
ALTER TABLE ports ADD COLUMN qos_policy_id {{.Key 36}};
CREATE INDEX ports_qos ON ports (qos_policy_id);
UPDATE ports SET body = CONCAT('{"qos_policy_id":null,"qos_network_policy_id":null,"resource_request":null,', SUBSTR(body, 2));
