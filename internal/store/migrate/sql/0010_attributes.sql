-- Attributes of DNS, private VLANs and hardware on networks, subnets and ports; statefulness of new security groups.

-- Rows that are older have what a create would have put in place.
UPDATE networks SET body = CONCAT('{"pvlan":false,"dns_domain":"",', SUBSTR(body, 2));
UPDATE subnets SET body = CONCAT('{"dns_publish_fixed_ip":false,', SUBSTR(body, 2));
UPDATE ports SET body = CONCAT('{"dns_name":"","dns_domain":"","device_profile":null,"hardware_offload_type":null,"numa_affinity_policy":null,"trusted":null,"hints":null,"pvlan_type":null,"pvlan_community":null,', SUBSTR(body, 2));

-- Whether new security groups of a project track connections.
CREATE TABLE security_groups_default_statefulness (
    id {{.Key 36}} NOT NULL PRIMARY KEY,
    project_id {{.Key 255}},
    revision {{.Int}} NOT NULL,
    body {{.Body}} NOT NULL,
    -- The project, of which there is one row; empty: all that have none of their own.
    of_project {{.Key 255}} NOT NULL
){{.Table}};
CREATE UNIQUE INDEX security_groups_default_statefulness_once ON security_groups_default_statefulness (of_project);
