-- Networks, subnets, ports and what belongs to them.

CREATE TABLE networks (
    id {{.Key 36}} NOT NULL PRIMARY KEY,
    project_id {{.Key 255}},
    revision {{.Int}} NOT NULL,
    body {{.Body}} NOT NULL,
    name {{.Text 255}} NOT NULL
){{.Table}};
CREATE INDEX networks_project ON networks (project_id);
CREATE INDEX networks_name ON networks (name);

-- One row a segment; a network shows its own and never the dynamic ones.
CREATE TABLE segments (
    id {{.Key 36}} NOT NULL PRIMARY KEY,
    network_id {{.Key 36}} NOT NULL,
    network_type {{.Key 32}} NOT NULL,
    physical_network {{.Key 64}} NOT NULL,
    segmentation_id {{.Int}} NOT NULL,
    segment_index {{.Int}} NOT NULL,
    is_dynamic {{.Int}} NOT NULL,
    host {{.Key 255}} NOT NULL,
    -- What a dynamic segment serves, as a digest; NULL for a network's own.
    dynamic_of {{.Key 64}}
){{.Table}};
CREATE INDEX segments_network ON segments (network_id);
CREATE UNIQUE INDEX segments_dynamic ON segments (dynamic_of);

-- Who holds a segmentation id (or a flat physical network): the primary key is what makes it exclusive, whether
-- the id came out of a pool or was asked for from outside the pool's ranges.
CREATE TABLE segment_claims (
    network_type {{.Key 32}} NOT NULL,
    physical_network {{.Key 64}} NOT NULL,
    segmentation_id {{.Int}} NOT NULL,
    segment_id {{.Key 36}} NOT NULL,
    PRIMARY KEY (network_type, physical_network, segmentation_id)
){{.Narrow}};

-- Where tunnels to a host end.
CREATE TABLE tunnel_endpoints (
    host {{.Key 255}} NOT NULL,
    tunnel_type {{.Key 32}} NOT NULL,
    ip_address {{.Key 64}} NOT NULL,
    PRIMARY KEY (tunnel_type, host)
){{.Narrow}};
CREATE UNIQUE INDEX tunnel_endpoints_ip ON tunnel_endpoints (tunnel_type, ip_address);

CREATE TABLE subnets (
    id {{.Key 36}} NOT NULL PRIMARY KEY,
    project_id {{.Key 255}},
    revision {{.Int}} NOT NULL,
    body {{.Body}} NOT NULL,
    network_id {{.Key 36}} NOT NULL,
    name {{.Text 255}} NOT NULL
){{.Table}};
CREATE INDEX subnets_project ON subnets (project_id);
CREATE INDEX subnets_network ON subnets (network_id);

CREATE TABLE ports (
    id {{.Key 36}} NOT NULL PRIMARY KEY,
    project_id {{.Key 255}},
    revision {{.Int}} NOT NULL,
    body {{.Body}} NOT NULL,
    network_id {{.Key 36}} NOT NULL,
    mac_address {{.Key 32}} NOT NULL,
    name {{.Text 255}} NOT NULL,
    device_id {{.Key 255}} NOT NULL,
    device_owner {{.Key 255}} NOT NULL,
    status {{.Key 16}} NOT NULL,
    host {{.Key 255}} NOT NULL,
    wiring {{.Int}} NOT NULL
){{.Table}};
CREATE INDEX ports_project ON ports (project_id);
CREATE UNIQUE INDEX ports_mac ON ports (network_id, mac_address);
CREATE INDEX ports_device ON ports (device_id);
CREATE INDEX ports_host ON ports (host);

-- Addresses as 32 hexadecimal digits (IPv4 mapped into IPv6), so that text sorts as numbers do.
CREATE TABLE ip_allocations (
    subnet_id {{.Key 36}} NOT NULL,
    ip {{.Key 32}} NOT NULL,
    ip_address {{.Key 64}} NOT NULL,
    port_id {{.Key 36}} NOT NULL,
    network_id {{.Key 36}} NOT NULL,
    PRIMARY KEY (subnet_id, ip)
){{.Narrow}};
CREATE INDEX ip_allocations_port ON ip_allocations (port_id);
CREATE INDEX ip_allocations_ip ON ip_allocations (ip);

-- From the network's own segment (level 0) down to the one that the host carries.
CREATE TABLE binding_levels (
    port_id {{.Key 36}} NOT NULL,
    host {{.Key 255}} NOT NULL,
    level {{.Int}} NOT NULL,
    driver {{.Key 64}} NOT NULL,
    segment_id {{.Key 36}} NOT NULL,
    PRIMARY KEY (port_id, host, level)
){{.Narrow}};
CREATE INDEX binding_levels_segment ON binding_levels (segment_id);

-- What each entity of each host said of a port; a row changes only when the answer does.
CREATE TABLE provisioning (
    port_id {{.Key 36}} NOT NULL,
    entity {{.Key 32}} NOT NULL,
    host {{.Key 255}} NOT NULL,
    generation {{.Int}} NOT NULL,
    state {{.Int}} NOT NULL,
    detail {{.Long}} NOT NULL,
    PRIMARY KEY (port_id, entity, host)
){{.Narrow}};

-- Interfaces that hosts report, also those whose port is not bound there (yet).
CREATE TABLE plugged_interfaces (
    port_id {{.Key 36}} NOT NULL,
    host {{.Key 255}} NOT NULL,
    PRIMARY KEY (port_id, host)
){{.Narrow}};

-- The DHCP hosts of a network.
CREATE TABLE dhcp_hosts (
    network_id {{.Key 36}} NOT NULL,
    host {{.Key 255}} NOT NULL,
    port_id {{.Key 36}} NOT NULL,
    PRIMARY KEY (network_id, host)
){{.Narrow}};
CREATE INDEX dhcp_hosts_host ON dhcp_hosts (host);

CREATE TABLE rbac_policies (
    id {{.Key 36}} NOT NULL PRIMARY KEY,
    project_id {{.Key 255}},
    object_type {{.Key 64}} NOT NULL,
    object_id {{.Key 36}} NOT NULL,
    action {{.Key 64}} NOT NULL,
    target_project {{.Key 255}} NOT NULL
){{.Table}};
CREATE UNIQUE INDEX rbac_policies_once ON rbac_policies (object_id, action, target_project);
CREATE INDEX rbac_policies_target ON rbac_policies (target_project, object_type);

CREATE TABLE security_groups (
    id {{.Key 36}} NOT NULL PRIMARY KEY,
    project_id {{.Key 255}},
    revision {{.Int}} NOT NULL,
    body {{.Body}} NOT NULL,
    name {{.Text 255}} NOT NULL,
    -- The project whose default group this is; NULL for the others.
    default_of {{.Key 255}}
){{.Table}};
CREATE INDEX security_groups_project ON security_groups (project_id);
CREATE UNIQUE INDEX security_groups_default ON security_groups (default_of);

CREATE TABLE security_group_rules (
    id {{.Key 36}} NOT NULL PRIMARY KEY,
    project_id {{.Key 255}},
    revision {{.Int}} NOT NULL,
    body {{.Body}} NOT NULL,
    security_group_id {{.Key 36}} NOT NULL,
    remote_group_id {{.Key 36}},
    -- The rule's meaning as text: equal rules of one group clash here.
    meaning {{.Key 255}} NOT NULL
){{.Table}};
CREATE INDEX security_group_rules_project ON security_group_rules (project_id);
CREATE INDEX security_group_rules_remote ON security_group_rules (remote_group_id);
CREATE UNIQUE INDEX security_group_rules_once ON security_group_rules (security_group_id, meaning);

CREATE TABLE port_security_groups (
    security_group_id {{.Key 36}} NOT NULL,
    port_id {{.Key 36}} NOT NULL,
    PRIMARY KEY (security_group_id, port_id)
){{.Narrow}};
CREATE INDEX port_security_groups_port ON port_security_groups (port_id);

-- One row a role of a host's agent; connected and server change when a session begins or ends, never by heartbeats.
CREATE TABLE agents (
    id {{.Key 36}} NOT NULL PRIMARY KEY,
    project_id {{.Key 255}},
    revision {{.Int}} NOT NULL,
    body {{.Body}} NOT NULL,
    agent_type {{.Key 255}} NOT NULL,
    host {{.Key 255}} NOT NULL,
    connected {{.Int}} NOT NULL,
    server {{.Key 36}} NOT NULL,
    seen_at {{.Int}} NOT NULL
){{.Table}};
CREATE UNIQUE INDEX agents_once ON agents (host, agent_type);

-- Hosts that may open a session: enrolled by `isospin host add`.
CREATE TABLE hosts (
    name {{.Key 255}} NOT NULL PRIMARY KEY,
    serial {{.Key 64}} NOT NULL,
    enrolled_at {{.Int}} NOT NULL,
    revoked_at {{.Int}} NOT NULL
){{.Table}};

-- The authority that signs host and server certificates; one row, shared by all servers of the cloud.
CREATE TABLE authority (
    id {{.Int}} NOT NULL PRIMARY KEY,
    certificate {{.Bytes}} NOT NULL,
    private_key {{.Bytes}} NOT NULL
){{.Table}};
