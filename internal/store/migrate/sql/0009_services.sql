-- Flavours and what they offer, metering, logs, local addresses.

CREATE TABLE flavors (
    id {{.Key 36}} NOT NULL PRIMARY KEY,
    project_id {{.Key 255}},
    revision {{.Int}} NOT NULL,
    body {{.Body}} NOT NULL,
    name {{.Text 255}} NOT NULL
){{.Table}};

CREATE TABLE service_profiles (
    id {{.Key 36}} NOT NULL PRIMARY KEY,
    project_id {{.Key 255}},
    revision {{.Int}} NOT NULL,
    body {{.Body}} NOT NULL
){{.Table}};

-- Which profiles a flavour offers, in the order in which they came; id joins the two.
CREATE TABLE flavor_profiles (
    id {{.Key 80}} NOT NULL PRIMARY KEY,
    project_id {{.Key 255}},
    revision {{.Int}} NOT NULL,
    body {{.Body}} NOT NULL,
    flavor_id {{.Key 36}} NOT NULL,
    service_profile_id {{.Key 36}} NOT NULL,
    place {{.Int}} NOT NULL
){{.Table}};
CREATE INDEX flavor_profiles_flavor ON flavor_profiles (flavor_id, place);
CREATE INDEX flavor_profiles_profile ON flavor_profiles (service_profile_id);

CREATE TABLE metering_labels (
    id {{.Key 36}} NOT NULL PRIMARY KEY,
    project_id {{.Key 255}},
    revision {{.Int}} NOT NULL,
    body {{.Body}} NOT NULL,
    name {{.Text 255}} NOT NULL
){{.Table}};
CREATE INDEX metering_labels_project ON metering_labels (project_id);

CREATE TABLE metering_label_rules (
    id {{.Key 36}} NOT NULL PRIMARY KEY,
    project_id {{.Key 255}},
    revision {{.Int}} NOT NULL,
    body {{.Body}} NOT NULL,
    metering_label_id {{.Key 36}} NOT NULL
){{.Table}};
CREATE INDEX metering_label_rules_project ON metering_label_rules (project_id);
CREATE INDEX metering_label_rules_label ON metering_label_rules (metering_label_id);

CREATE TABLE logs (
    id {{.Key 36}} NOT NULL PRIMARY KEY,
    project_id {{.Key 255}},
    revision {{.Int}} NOT NULL,
    body {{.Body}} NOT NULL,
    name {{.Text 255}} NOT NULL,
    resource_id {{.Key 36}},
    target_id {{.Key 36}}
){{.Table}};
CREATE INDEX logs_project ON logs (project_id);
CREATE INDEX logs_resource ON logs (resource_id);
CREATE INDEX logs_target ON logs (target_id);

CREATE TABLE local_ips (
    id {{.Key 36}} NOT NULL PRIMARY KEY,
    project_id {{.Key 255}},
    revision {{.Int}} NOT NULL,
    body {{.Body}} NOT NULL,
    name {{.Text 255}} NOT NULL,
    local_port_id {{.Key 36}} NOT NULL,
    network_id {{.Key 36}} NOT NULL
){{.Table}};
CREATE INDEX local_ips_project ON local_ips (project_id);
CREATE INDEX local_ips_port ON local_ips (local_port_id);

-- id joins the local address and the port: a port stands once for an address.
CREATE TABLE local_ip_associations (
    id {{.Key 80}} NOT NULL PRIMARY KEY,
    project_id {{.Key 255}},
    revision {{.Int}} NOT NULL,
    body {{.Body}} NOT NULL,
    local_ip_id {{.Key 36}} NOT NULL,
    fixed_port_id {{.Key 36}} NOT NULL,
    -- The port's host, kept in step with the port.
    host {{.Key 255}} NOT NULL
){{.Table}};
CREATE INDEX local_ip_associations_ip ON local_ip_associations (local_ip_id);
CREATE INDEX local_ip_associations_port ON local_ip_associations (fixed_port_id);
