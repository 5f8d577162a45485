-- Segments as resources, subnets on segments, ranges of segmentation ids, trunks.

-- A segment's name is NULL unless somebody gave one.
ALTER TABLE segments ADD COLUMN project_id {{.Key 255}};
ALTER TABLE segments ADD COLUMN revision {{.Int}} DEFAULT 0 NOT NULL;
ALTER TABLE segments ADD COLUMN name {{.Text 255}};
ALTER TABLE segments ADD COLUMN body {{.Body}} DEFAULT '' NOT NULL;
UPDATE segments SET project_id = '', body = CONCAT('{"id":"', id, '","name":null,"description":null,"network_id":"', network_id, '","network_type":"', network_type,
    '","physical_network":', CASE WHEN physical_network = '' THEN 'null' ELSE CONCAT('"', physical_network, '"') END,
    ',"segmentation_id":', CASE WHEN segmentation_id = 0 THEN 'null' ELSE CONCAT('', segmentation_id) END,
    ',"created_at":"', SUBSTR(CAST(CURRENT_TIMESTAMP AS CHAR(32)), 1, 10), 'T', SUBSTR(CAST(CURRENT_TIMESTAMP AS CHAR(32)), 12, 8),
    'Z","updated_at":"', SUBSTR(CAST(CURRENT_TIMESTAMP AS CHAR(32)), 1, 10), 'T', SUBSTR(CAST(CURRENT_TIMESTAMP AS CHAR(32)), 12, 8), 'Z","revision_number":0}');

-- The segment that a subnet is on; NULL for networks that are one broadcast domain.
ALTER TABLE subnets ADD COLUMN segment_id {{.Key 36}};
CREATE INDEX subnets_segment ON subnets (segment_id);
UPDATE subnets SET body = CONCAT('{"segment_id":null,', SUBSTR(body, 2));
UPDATE networks SET body = CONCAT('{"l2_adjacency":true,', SUBSTR(body, 2));

-- The trunk that a port carries or is in; '' for the others.
ALTER TABLE ports ADD COLUMN trunk_id {{.Key 36}} DEFAULT '' NOT NULL;
UPDATE ports SET body = CONCAT('{"ip_allocation":"immediate",', SUBSTR(body, 2));

CREATE TABLE trunks (
    id {{.Key 36}} NOT NULL PRIMARY KEY,
    project_id {{.Key 255}},
    revision {{.Int}} NOT NULL,
    body {{.Body}} NOT NULL,
    name {{.Text 255}} NOT NULL,
    port_id {{.Key 36}} NOT NULL,
    status {{.Key 16}} NOT NULL
){{.Table}};
CREATE INDEX trunks_project ON trunks (project_id);
CREATE UNIQUE INDEX trunks_port ON trunks (port_id);

-- A port is in one trunk, and a tag of a trunk is one port's.
CREATE TABLE subports (
    port_id {{.Key 36}} NOT NULL PRIMARY KEY,
    trunk_id {{.Key 36}} NOT NULL,
    segmentation_type {{.Key 32}} NOT NULL,
    segmentation_id {{.Int}} NOT NULL
){{.Narrow}};
CREATE UNIQUE INDEX subports_segment ON subports (trunk_id, segmentation_type, segmentation_id);

CREATE TABLE network_segment_ranges (
    id {{.Key 36}} NOT NULL PRIMARY KEY,
    project_id {{.Key 255}},
    revision {{.Int}} NOT NULL,
    body {{.Body}} NOT NULL,
    name {{.Text 255}} NOT NULL,
    network_type {{.Key 32}} NOT NULL,
    physical_network {{.Key 64}} NOT NULL,
    is_default {{.Int}} NOT NULL
){{.Table}};
CREATE INDEX network_segment_ranges_type ON network_segment_ranges (network_type, physical_network);

-- What administrators' ranges make of the ids of a network type on a physical network ('' for tunnels), as JSON. Who takes or gives
-- back an id keeps the row as it is meanwhile; who changes ranges locks it.
CREATE TABLE segment_pools (
    network_type {{.Key 32}} NOT NULL,
    physical_network {{.Key 64}} NOT NULL,
    ranges {{.Long}} NOT NULL,
    PRIMARY KEY (network_type, physical_network)
){{.Narrow}};
