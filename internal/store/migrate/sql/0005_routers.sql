-- Routers, their ports, the hosts that they work on, and the networks of highly available ones.

CREATE TABLE routers (
    id {{.Key 36}} NOT NULL PRIMARY KEY,
    project_id {{.Key 255}},
    revision {{.Int}} NOT NULL,
    body {{.Body}} NOT NULL,
    name {{.Text 255}} NOT NULL,
    status {{.Key 16}} NOT NULL,
    -- The first gateway: its port, its network and the QoS policy of its addresses.
    gw_port_id {{.Key 36}},
    external_network_id {{.Key 36}},
    qos_policy_id {{.Key 36}},
    flavor_id {{.Key 36}},
    -- The ports of all gateways in their order, as JSON; '' without any.
    gateway_ports {{.Long}} NOT NULL,
    -- The number on the network of highly available routers; 0 for the others.
    vr_id {{.Int}} NOT NULL
){{.Table}};
CREATE INDEX routers_project ON routers (project_id);
CREATE INDEX routers_external ON routers (external_network_id);
CREATE INDEX routers_qos ON routers (qos_policy_id);
CREATE INDEX routers_flavor ON routers (flavor_id);

-- Whose ports are whose: what makes a port a router's is its row here.
CREATE TABLE router_ports (
    port_id {{.Key 36}} NOT NULL PRIMARY KEY,
    router_id {{.Key 36}} NOT NULL,
    network_id {{.Key 36}} NOT NULL,
    -- The port's device_owner.
    port_type {{.Key 255}} NOT NULL
){{.Narrow}};
CREATE INDEX router_ports_router ON router_ports (router_id);
CREATE INDEX router_ports_network ON router_ports (network_id, port_type);

-- The hosts whose L3 agents a router was given to. A highly available router has a port on each of them.
CREATE TABLE router_hosts (
    router_id {{.Key 36}} NOT NULL,
    host {{.Key 255}} NOT NULL,
    ha_port_id {{.Key 36}} NOT NULL,
    -- What the host last said of itself: active, standby, '' for not yet.
    ha_state {{.Key 16}} NOT NULL,
    -- How much the host is preferred among those of a highly available router.
    priority {{.Int}} NOT NULL,
    PRIMARY KEY (router_id, host)
){{.Narrow}};
CREATE INDEX router_hosts_host ON router_hosts (host);

-- The network over which the highly available routers of a project speak.
CREATE TABLE router_ha_networks (
    project_id {{.Key 255}} NOT NULL PRIMARY KEY,
    network_id {{.Key 36}} NOT NULL
){{.Narrow}};
CREATE UNIQUE INDEX router_ha_networks_network ON router_ha_networks (network_id);
CREATE TABLE router_vrids (
    network_id {{.Key 36}} NOT NULL,
    vr_id {{.Int}} NOT NULL,
    router_id {{.Key 36}} NOT NULL,
    PRIMARY KEY (network_id, vr_id)
){{.Narrow}};

-- The topologies that projects got by themselves.
CREATE TABLE auto_allocated_topologies (
    project_id {{.Key 255}} NOT NULL PRIMARY KEY,
    network_id {{.Key 36}} NOT NULL,
    -- '' once the router went.
    router_id {{.Key 36}} NOT NULL
){{.Narrow}};
CREATE INDEX auto_allocated_topologies_network ON auto_allocated_topologies (network_id);
CREATE INDEX auto_allocated_topologies_router ON auto_allocated_topologies (router_id);

-- '1' for the network that such topologies lead out through, of which there is one at most.
ALTER TABLE networks ADD COLUMN default_external {{.Key 8}};
CREATE UNIQUE INDEX networks_default_external ON networks (default_external);
-- External networks of before show is_default too.
UPDATE networks SET body = REPLACE(body, '"router:external":true', '"router:external":true,"is_default":false');
