-- Subnet pools, address scopes, address groups, templates of security groups, and bindings to further hosts.

CREATE TABLE address_scopes (
    id {{.Key 36}} NOT NULL PRIMARY KEY,
    project_id {{.Key 255}},
    revision {{.Int}} NOT NULL,
    body {{.Body}} NOT NULL,
    name {{.Text 255}} NOT NULL
){{.Table}};
CREATE INDEX address_scopes_project ON address_scopes (project_id);

CREATE TABLE subnetpools (
    id {{.Key 36}} NOT NULL PRIMARY KEY,
    project_id {{.Key 255}},
    revision {{.Int}} NOT NULL,
    body {{.Body}} NOT NULL,
    name {{.Text 255}} NOT NULL,
    ip_version {{.Int}} NOT NULL,
    address_scope_id {{.Key 36}},
    -- The IP version that it is the default pool of; NULL for the others.
    default_for {{.Key 8}}
){{.Table}};
CREATE INDEX subnetpools_project ON subnetpools (project_id);
CREATE INDEX subnetpools_scope ON subnetpools (address_scope_id);
CREATE UNIQUE INDEX subnetpools_default ON subnetpools (default_for);

-- What no subnet has yet, as the fewest prefixes; first is the lowest address in 32 hexadecimal digits.
CREATE TABLE subnetpool_free (
    subnetpool_id {{.Key 36}} NOT NULL,
    first {{.Key 32}} NOT NULL,
    prefixlen {{.Int}} NOT NULL,
    prefix {{.Key 64}} NOT NULL,
    PRIMARY KEY (subnetpool_id, first)
){{.Table}};
CREATE INDEX subnetpool_free_size ON subnetpool_free (subnetpool_id, prefixlen, first);

ALTER TABLE subnets ADD COLUMN subnetpool_id {{.Key 36}};
CREATE INDEX subnets_pool ON subnets (subnetpool_id);

CREATE TABLE address_groups (
    id {{.Key 36}} NOT NULL PRIMARY KEY,
    project_id {{.Key 255}},
    revision {{.Int}} NOT NULL,
    body {{.Body}} NOT NULL,
    name {{.Text 255}} NOT NULL
){{.Table}};
CREATE INDEX address_groups_project ON address_groups (project_id);

ALTER TABLE security_group_rules ADD COLUMN remote_address_group_id {{.Key 36}};
CREATE INDEX security_group_rules_address_group ON security_group_rules (remote_address_group_id);

CREATE TABLE default_security_group_rules (
    id {{.Key 36}} NOT NULL PRIMARY KEY,
    project_id {{.Key 255}},
    revision {{.Int}} NOT NULL,
    body {{.Body}} NOT NULL,
    -- The rule's meaning as text: equal templates clash here.
    meaning {{.Key 255}} NOT NULL
){{.Table}};
CREATE UNIQUE INDEX default_security_group_rules_once ON default_security_group_rules (meaning);
-- The templates that Neutron begins with.
INSERT INTO default_security_group_rules (id, project_id, revision, body, meaning) VALUES
    ('00000000-0000-4000-8000-000000000001', '', 0, '{"id":"00000000-0000-4000-8000-000000000001","description":"","direction":"egress","ethertype":"IPv4","protocol":null,"port_range_min":null,"port_range_max":null,"remote_ip_prefix":null,"remote_group_id":null,"remote_address_group_id":null,"used_in_default_sg":true,"used_in_non_default_sg":true}', 'egress/IPv4//////'),
    ('00000000-0000-4000-8000-000000000002', '', 0, '{"id":"00000000-0000-4000-8000-000000000002","description":"","direction":"egress","ethertype":"IPv6","protocol":null,"port_range_min":null,"port_range_max":null,"remote_ip_prefix":null,"remote_group_id":null,"remote_address_group_id":null,"used_in_default_sg":true,"used_in_non_default_sg":true}', 'egress/IPv6//////'),
    ('00000000-0000-4000-8000-000000000003', '', 0, '{"id":"00000000-0000-4000-8000-000000000003","description":"","direction":"ingress","ethertype":"IPv4","protocol":null,"port_range_min":null,"port_range_max":null,"remote_ip_prefix":null,"remote_group_id":"PARENT","remote_address_group_id":null,"used_in_default_sg":true,"used_in_non_default_sg":false}', 'ingress/IPv4/////PARENT/'),
    ('00000000-0000-4000-8000-000000000004', '', 0, '{"id":"00000000-0000-4000-8000-000000000004","description":"","direction":"ingress","ethertype":"IPv6","protocol":null,"port_range_min":null,"port_range_max":null,"remote_ip_prefix":null,"remote_group_id":"PARENT","remote_address_group_id":null,"used_in_default_sg":true,"used_in_non_default_sg":false}', 'ingress/IPv6/////PARENT/');

-- Bindings of a port to hosts where it is not in force, as JSON; the one in force stands in the body.
ALTER TABLE ports ADD COLUMN bindings {{.Long}} DEFAULT '' NOT NULL;
CREATE INDEX binding_levels_host ON binding_levels (host);
