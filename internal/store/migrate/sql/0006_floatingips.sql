-- Floating IPs and what hangs on them and on routers.

CREATE TABLE floatingips (
    id {{.Key 36}} NOT NULL PRIMARY KEY,
    project_id {{.Key 255}},
    revision {{.Int}} NOT NULL,
    body {{.Body}} NOT NULL,
    floating_network_id {{.Key 36}} NOT NULL,
    floating_ip_address {{.Key 64}} NOT NULL,
    -- The port that holds the address on the external network.
    floating_port_id {{.Key 36}} NOT NULL,
    -- The port inside, its address and the router between; NULL while the floating IP leads nowhere.
    port_id {{.Key 36}},
    fixed_ip_address {{.Key 64}},
    router_id {{.Key 36}},
    status {{.Key 16}} NOT NULL,
    qos_policy_id {{.Key 36}}
){{.Table}};
CREATE INDEX floatingips_project ON floatingips (project_id);
CREATE UNIQUE INDEX floatingips_address ON floatingips (floating_network_id, floating_ip_address);
CREATE UNIQUE INDEX floatingips_holder ON floatingips (floating_port_id);
-- One floating IP of a network to one address inside.
CREATE UNIQUE INDEX floatingips_once ON floatingips (port_id, fixed_ip_address, floating_network_id);
CREATE INDEX floatingips_router ON floatingips (router_id);
CREATE INDEX floatingips_policy ON floatingips (qos_policy_id);

-- project_id is the floating IP's. Ranges may not overlap, which the lock on the floating IP and on the port inside keeps;
-- the indexes keep equal starts apart.
CREATE TABLE port_forwardings (
    id {{.Key 36}} NOT NULL PRIMARY KEY,
    project_id {{.Key 255}},
    revision {{.Int}} NOT NULL,
    body {{.Body}} NOT NULL,
    floatingip_id {{.Key 36}} NOT NULL,
    internal_port_id {{.Key 36}} NOT NULL,
    internal_ip_address {{.Key 64}} NOT NULL,
    protocol {{.Key 40}} NOT NULL,
    external_first {{.Int}} NOT NULL,
    external_last {{.Int}} NOT NULL,
    internal_first {{.Int}} NOT NULL,
    internal_last {{.Int}} NOT NULL
){{.Table}};
CREATE UNIQUE INDEX port_forwardings_outside ON port_forwardings (floatingip_id, protocol, external_first);
CREATE UNIQUE INDEX port_forwardings_inside ON port_forwardings (internal_port_id, protocol, internal_ip_address, internal_first);

-- project_id is the router's.
CREATE TABLE conntrack_helpers (
    id {{.Key 36}} NOT NULL PRIMARY KEY,
    project_id {{.Key 255}},
    revision {{.Int}} NOT NULL,
    body {{.Body}} NOT NULL,
    router_id {{.Key 36}} NOT NULL,
    protocol {{.Key 40}} NOT NULL,
    port {{.Int}} NOT NULL,
    helper {{.Key 64}} NOT NULL
){{.Table}};
CREATE UNIQUE INDEX conntrack_helpers_once ON conntrack_helpers (router_id, protocol, port, helper);

CREATE TABLE ndp_proxies (
    id {{.Key 36}} NOT NULL PRIMARY KEY,
    project_id {{.Key 255}},
    revision {{.Int}} NOT NULL,
    body {{.Body}} NOT NULL,
    name {{.Text 255}} NOT NULL,
    router_id {{.Key 36}} NOT NULL,
    port_id {{.Key 36}} NOT NULL,
    ip_address {{.Key 64}} NOT NULL
){{.Table}};
CREATE INDEX ndp_proxies_project ON ndp_proxies (project_id);
CREATE UNIQUE INDEX ndp_proxies_once ON ndp_proxies (router_id, ip_address);
CREATE INDEX ndp_proxies_port ON ndp_proxies (port_id);
